"""Writes the reference pages from the code, so that they cannot fall behind: `make docs`.

cli.md        every command and option, from the command line itself
settings.md   every setting, from the docstrings of its field
errors.md     every error, from its class
connectors.md what decides where each known connector class resumes, from the rules of the plan
    rules.md      every rule: trigger, severity, fix and example
exit-codes.md is written by hand; tests/test_docs.py holds it to the code
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer.main

from gitops_connect import errors
from gitops_connect.cli.main import app
from gitops_connect.model.differences import Direction, ResumeAspect
from gitops_connect.model.resume import ALL, Condition, ResumeRule, ResumeRules
from gitops_connect.model.resume_rules import PLAIN_SINK, PLAIN_SINKS, RESUME_RULES, SINK
from gitops_connect.model.worker_heap import size_text
from gitops_connect.report.rules import RULE_EXPLANATIONS
from gitops_connect.settings import sections

FOLDER = Path(__file__).parent
NOTICE = "<!-- Made by `make docs` from the code; edit there. -->\n"
SETTINGS_INTRODUCTION = """\
`--config FILE`, else the file that `GITOPS_CONNECT_CONFIG` names, else `gitops-connect.toml` in the current folder.
Every setting can also be given by environment, which wins: `GITOPS_CONNECT_` and its path in capitals, with two
underscores between the parts, as in `GITOPS_CONNECT_REPOSITORY__URL` or `GITOPS_CONNECT_CLUSTERS__LOCAL__PRUNE`; a list
is written with commas.

A credential is `{env = "NAME"}` or `{file = "PATH"}`, read when it is used. Durations are `30s`, `5m`, `1m30s`, `500ms`
or a number of seconds; sizes are `2GiB`, `512MiB` or a number of bytes. Relative paths start from the folder of the
settings file.
"""
TABLES = {
    sections.RepositorySettings: "repository",
    sections.StateSettings: "state",
    sections.ClusterSettings: "clusters.NAME",
    sections.SkipSettings: "clusters.NAME.max_skip",
    sections.SecretsSettings: "secrets",
    sections.SparkSettings: "spark",
    sections.DaemonSettings: "daemon",
}


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {
        "cli.md": cli(),
        "settings.md": settings(),
        "errors.md": error_page(),
        "rules.md": rules(),
        "connectors.md": connectors(),
    }


def cli() -> str:
    """The command line."""
    lines = ["# Commands", "", NOTICE, *_command(typer.main.get_command(app), "gitops-connect")]
    return "\n".join(lines).rstrip() + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    yield f"## `{name}`"
    yield ""
    yield (command.help or "").strip()
    yield ""
    parameters = [one for one in command.params if one.name != "help"]
    if parameters:
        yield "| option | meaning | default |"
        yield "| --- | --- | --- |"
    for one in parameters:
        names = (
            ", ".join(f"`{option}`" for option in one.opts)
            if _is_option(one)
            else f"`{one.metavar or one.name.upper()}`"
        )
        yield f"| {names} | {_cell(getattr(one, 'help', '') or '')} | {_default(one)} |"
    if parameters:
        yield ""
    for child in sorted(getattr(command, "commands", {})):
        yield from _command(command.commands[child], f"{name} {child}")


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _default(parameter: Any) -> str:
    value = getattr(parameter.default, "value", parameter.default)
    return "" if value is None or value is False or value == () else f"`{value}`"


def settings() -> str:
    """The settings file."""
    lines = [
        "# Settings",
        "",
        NOTICE,
        SETTINGS_INTRODUCTION,
    ]
    for cls, name in TABLES.items():
        documented = _field_docs(cls)
        lines += [
            f"## `[{name}]`",
            "",
            _sentence(inspect.getdoc(cls) or ""),
            "",
            "| setting | meaning | default |",
            "| --- | --- | --- |",
        ]
        lines += [
            f"| `{field.name}` | {_cell(documented.get(field.name, ''))} | {_field_default(field)} |"
            for field in dataclasses.fields(cls)
            if field.name != "name"
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _sentence(doc: str) -> str:
    text = doc.partition(": ")[2]
    return text[:1].upper() + text[1:]


def _field_docs(cls: type) -> dict[str, str]:
    """The text under each field of a dataclass."""
    body = ast.parse(inspect.getsource(cls)).body[0].body  # type: ignore[attr-defined]  # a class has a body
    return {
        field.target.id: text.value.value
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _field_default(field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        value = getattr(field.default, "value", field.default)
        if field.type == "Size":
            return f"`{size_text(value).replace(' ', '')}`"
        return "" if value in (None, (), "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return "" if field.default_factory is not dataclasses.MISSING else "required"


def error_page() -> str:
    """The tree of errors."""
    lines = ["# Errors", "", NOTICE, "```text", _tree(), "```", ""]
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.GitopsConnectError):
            lines += [f"- **{name}**: {_cell(inspect.getdoc(cls) or '')}"]
    return "\n".join(lines) + "\n"


def _tree() -> str:
    text = inspect.getdoc(errors) or ""
    start = text.index("    GitopsConnectError")
    return textwrap.dedent(text[start:].split("\n\n")[0])


RULES_INTRODUCTION = """\
Each message of `validate` and `plan` ends with the id of its rule in brackets:
`orders.yaml:7:3: error: metadata.name is missing [schema/required]`.

| severity | effect |
| --- | --- |
| error | the connector or the offset change is blocked until the error is fixed |
| warning | the message is shown, and nothing is blocked |
| note | the message is shown; whether it is a problem depends on something unknown, such as what was applied before |

If `validate` cannot read a ledger, it reports rules that compare an offset manifest with its connector as notes: the
offset change may have been applied before.
"""


def rules() -> str:
    """Every rule: what triggers it, its severity, how to fix it, and an example."""
    lines = ["# Rules", "", NOTICE, RULES_INTRODUCTION.rstrip()]
    for rule, known in sorted(RULE_EXPLANATIONS.items()):
        severity = f"{known.severity.value}; {known.exception}" if known.exception else known.severity.value
        example = textwrap.indent(known.example, "    ")
        lines += ["", f"## `{rule}`", "", known.trigger, "", f"- **Severity:** {severity}", f"- **Fix:** {known.fix}"]
        lines += ["", "Example:", "", example]
    return "\n".join(lines) + "\n"


CONNECTORS_INTRODUCTION = """\
Connect stores the offsets of a connector, but often something else also decides where the connector resumes: a
replication slot, the logs that a database still has, a schema history topic. This page lists, for each known class,
what decides, what an earlier position needs, and what a later position risks. `plan`, `offsets diff` and
`offsets check` show the lines that apply to a change and to the config of its connector.

**external** marks what a document must acknowledge with `acknowledge: [external]`: Connect's offset alone does not
decide.

The first table is for a config that sets none of the keys that the tables below it name. If a table names two keys, the
first one that the config has decides.
"""
_DIRECTION_WORDS = {
    Direction.REWIND: "rewind",
    Direction.FORWARD: "forward",
    Direction.NEW: "new",
    Direction.REMOVED: "removed",
}


def connectors() -> str:
    """What decides where each class resumes."""
    by_rules: dict[ResumeRules, list[str]] = {}
    for name, of_class in RESUME_RULES.items():
        by_rules.setdefault(of_class, []).append(name)
    by_rules[PLAIN_SINK] = sorted(PLAIN_SINKS)
    by_rules[SINK] = ["every other sink"]
    lines = ["# Where connectors resume", "", NOTICE, CONNECTORS_INTRODUCTION]
    lines += ["| class | what decides | what a rewind needs | what a forward risks |", "| --- | --- | --- | --- |"]
    for known, names in by_rules.items():
        plain = known.of({})
        rewind, forward = (_of_direction(plain, one) for one in (Direction.REWIND, Direction.FORWARD))
        lines.append(f"| {_classes(names)} | {_cell(known.decides)} | {rewind} | {forward} |")
    for known, names in by_rules.items():
        lines += ["", f"## {_classes(names, ', ')}", "", "| offset | what is said | for configs with |"]
        lines += ["| --- | --- | --- |", *map(_resume_row, known.rules)]
    return "\n".join(lines) + "\n"


def _classes(names: list[str], separator: str = "<br>") -> str:
    return separator.join(name.rpartition(".")[2] if name.startswith("org.apache") else name for name in names)


def _of_direction(known: ResumeRules, direction: Direction) -> str:
    shown = (ResumeAspect.DECIDES, ResumeAspect.NEEDS, ResumeAspect.RISK, ResumeAspect.AGAIN)
    lines = [line for line in known.lines([direction]) if line.aspect in shown]
    return "<br>".join(_said(line.aspect, line.message, external=line.external) for line in lines) or "nothing"


def _said(aspect: ResumeAspect, message: str, *, external: bool) -> str:
    return _cell(f"{aspect.value}: {message}{' (**external**)' if external else ''}")


def _resume_row(rule: ResumeRule) -> str:
    words = [word for one, word in _DIRECTION_WORDS.items() if one in rule.directions]
    directions = "all" if rule.directions == ALL else ", ".join(words)
    said = _said(rule.aspect, rule.message, external=rule.external)
    return f"| {directions} | {said} | {_cell('; '.join(map(_condition, rule.when)) or 'any value')} |"


def _condition(condition: Condition) -> str:
    words = " or ".join(f"`{key}: {'|'.join(sorted(values))}`" for key, values in condition.keys)
    return f"not: {words}" if condition.negated else words


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("\\[", "[")


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"docs/reference/{name}\n")


if __name__ == "__main__":
    main()
