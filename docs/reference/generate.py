"""Writes the reference pages from the code, so that they cannot fall behind: `make docs`.

cli.md        every command and option, from the command line itself
settings.md   every setting, from the docstrings of its field
errors.md     every error by situation, from the docstring of its class (error_page.py)
connectors.md what decides where each known connector class resumes, from the rules of the plan
rules.md      every rule: trigger, severity, fix and example
../plan.svg   a plan, drawn from the program's own coloured output (picture.py)
exit-codes.md is written by hand; tests/test_docs.py holds it to the code
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
import typing
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from error_page import error_page
from generated_tables import NOTICE, cell
from picture import PICTURE, picture
from resume_page import connectors

from gitops_connect.cli.main import command_line
from gitops_connect.model.worker_heap import size_text
from gitops_connect.report.rules import RULE_EXPLANATIONS
from gitops_connect.settings import sections

FOLDER = Path(__file__).parent
SETTINGS_INTRODUCTION = """\
The settings file is the one that `--config FILE` names, otherwise the one that `GITOPS_CONNECT_CONFIG` names, otherwise
`gitops-connect.toml` in the current directory. Relative paths start from the directory of the settings file.

Every setting can also be set by the environment, which wins: `GITOPS_CONNECT_` and its path in capitals, with two
underscores between the parts, as in `GITOPS_CONNECT_REPOSITORY__URL` or `GITOPS_CONNECT_CLUSTERS__LOCAL__PRUNE`. A list
is separated by commas.

| type | how to write it |
| --- | --- |
| duration | `"30s"`, `"5m"`, `"1m30s"`, `"500ms"`, or a number of seconds |
| size | `"2GiB"`, `"512MiB"`, or a number of bytes |
| credential | `{env = "NAME"}` or `{file = "PATH"}`; read whenever it is used |
| list | `["a", "b"]` |

## Example

```toml
[repository]
url = "https://git.example.org/platform/connectors.git"
branch = "main"
path = "connect"
interval = "60s"
password = {file = "/run/secrets/git-token"}

[state]
url = "sqlite:////var/lib/gitops-connect/state.db"

[clusters.prod]
url = ["https://connect-1:8083", "https://connect-2:8083"]
prune = true
protected = ["payments-*"]
max_deletions = 0.3
settle_timeout = "2m"
worker_heap = "4GiB"
username = "gitops"
password = {env = "CONNECT_PASSWORD"}
headers = {X-Team = "platform", X-Api-Key = {env = "CONNECT_API_KEY"}}
ca_file = "ca.pem"

[clusters.prod.max_skip]
records = 10000
time = "5m"

[secrets]
env = ["ORDERS_*"]
files = ["/run/secrets/connectors"]

[spark]
master = "local[*]"
uris = ["s3a://offsets/*"]

[spark.options]
"spark.driver.memory" = "4g"

[daemon]
log_format = "json"
```
"""
TYPES = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "`true`, `false`",
    "tuple[str, ...]": "list of strings",
    "tuple[Path, ...]": "list of paths",
    "Mapping[str, Credential]": "table of strings or credentials",
    "SkipSettings": "table, or a number",
}
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
    lines = ["# Commands", "", NOTICE, *_command(command_line(), "gitops-connect")]
    return "\n".join(lines).rstrip() + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    yield f"## `{name}`"
    yield ""
    yield (command.help or "").strip()
    yield ""
    every = name == "gitops-connect"  # the global options are listed once
    parameters = [one for one in command.params if one.name != "help" and (every or one.expose_value)]
    if parameters:
        yield "| option | meaning | value | default |"
        yield "| --- | --- | --- | --- |"
    for one in parameters:
        meaning = cell(getattr(one, "help", "") or "")
        yield f"| {_spelling(one)} | {meaning} | {_value(one, command)} | {_default(one)} |"
    if parameters:
        yield ""
    for child, below in sorted(getattr(command, "commands", {}).items()):
        if not below.hidden:
            yield from _command(below, f"{name} {child}")


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name != "option":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    spellings = [
        ", ".join(f"`{option}`" for option in options) for options in (parameter.opts, parameter.secondary_opts)
    ]
    return " or ".join(filter(None, spellings))


def _value(parameter: Any, command: Any) -> str:
    """What follows an option: its choices, or the name or type of its value; nothing for a flag."""
    if parameter.param_type_name != "option" or parameter.is_flag:
        return ""
    kind = parameter.display_type(command.context_class(command)).strip("<>")
    return ", ".join(f"`{one}`" for one in (kind.split("|") if "|" in kind else [parameter.metavar or kind]))


def _default(parameter: Any) -> str:
    value = getattr(parameter.default, "value", parameter.default)
    if parameter.required:
        return "required"
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
            f"As variables of the environment: `{_variable(name)}` and the name of the setting in capitals.",
            "",
            "| setting | meaning | type | default |",
            "| --- | --- | --- | --- |",
        ]
        for field in dataclasses.fields(cls):
            if field.name != "name":
                cells = (cell(documented.get(field.name, "")), _type(cls, field), _field_default(field))
                lines.append(f"| `{field.name}` | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _variable(table: str) -> str:
    return "GITOPS_CONNECT_" + "".join(f"{part.upper()}__" for part in table.split("."))


def _type(cls: type, field: Any) -> str:
    """In the words of the introduction; the choices of an enumeration."""
    hint = typing.get_type_hints(cls)[field.name]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{one.value}`" for one in hint)
    words = field.type.removesuffix(" | None")
    return TYPES.get(words, words.lower())


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
        if field.type == "Duration":
            return f"`{value:g}s`"
        return "" if value in (None, (), "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return "" if field.default_factory is not dataclasses.MISSING else "required"


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


def main() -> None:
    """Write every page, and the picture of a plan."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"docs/reference/{name}\n")
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stderr.write("docs/plan.svg\n")


if __name__ == "__main__":
    main()
