"""The words that `gitops-connect explain` explains: fields, rules, errors, holds, exit codes and settings."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from gitops_connect import errors
from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.checks.schema_fields import FieldExplanation, document_fields
from gitops_connect.cli.exit_codes import EXIT_CODES, ExitCode, exit_code
from gitops_connect.cli.setting_docs import TABLES, SettingDoc, described_settings, section_meaning
from gitops_connect.errors import GitopsConnectError, Waiting
from gitops_connect.model.hold import HoldKind
from gitops_connect.offsets.rules.rules import RULES
from gitops_connect.plan.precedence import PASSES, Intent
from gitops_connect.report.code_scanning import RuleExplanation, rule_explanations

_WIDTH = 100

Explain = Callable[[], str]


@cache
def known_words() -> Mapping[str, Explain]:
    """Each word, and what explains it."""
    return {**dict(_each_word()), **dict(_each_setting())}


def _each_word() -> Iterator[tuple[str, Explain]]:
    for page in ("connector", "offset-change"):
        for field in document_fields(read_schema(page)):
            yield field.path, partial(_field, field, page)
    for rule, explanation in rule_explanations().items():
        yield rule, partial(_rule, rule, explanation)
    for hold in HoldKind:
        yield hold.value, partial(_hold, hold)
    for error in _error_classes(GitopsConnectError):
        yield error.__name__, partial(_error, error)
    for code in ExitCode:
        yield f"exit code {code.value}", partial(_exit_code, code)
        yield f"exit code {code.name}", partial(_exit_code, code)


def _each_setting() -> Iterator[tuple[str, Explain]]:
    for cls, section in TABLES.items():
        settings = [*described_settings(cls, section)]
        yield section, partial(_section, section, section_meaning(cls), settings)
        for setting in settings:
            yield f"{section}.{setting.name}", partial(_setting, section, setting)


def _error_classes(base: type[GitopsConnectError]) -> Iterator[type[GitopsConnectError]]:
    for one in base.__subclasses__():
        if errors.explanation(one)[2]:
            yield one
        yield from _error_classes(one)


def _page(title: str, page: str, **parts: str) -> str:
    """A title, and each part that is not empty below its heading, as `kubectl explain` prints them."""
    filled = {name: text for name, text in {**parts, "docs": f"docs/reference/{page}"}.items() if text}
    return "\n".join(
        [f"{title}\n", *(f"{name.upper().replace('_', ' ')}:\n{_wrapped(text)}\n" for name, text in filled.items())]
    )


def _wrapped(text: str) -> str:
    hanging = "  " if "\n" in text else ""
    lines = (
        textwrap.fill(line, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )
    return textwrap.indent("\n".join(lines), "  ")


def _field(field: FieldExplanation, page: str) -> str:
    return _page(
        field.path,
        f"documents/{page}.md",
        type=", ".join(filter(None, (field.type, "required" if field.required else ""))),
        default=field.default,
        allowed_values=", ".join(field.allowed),
        description=field.description,
        example=field.examples[0] if field.examples else "",
        fields="\n".join(f"{one.name} ({one.facts}): {one.description}" for one in field.fields),
    )


def _rule(rule: str, known: RuleExplanation) -> str:
    return _page(
        f"[{rule}]",
        "rules.md",
        meaning=known.trigger,
        severity="; ".join(filter(None, ((known.severity or RULES[rule].severity).value, known.exception))),
        what_to_do=known.fix,
        example=known.example,
    )


def _error(error: type[GitopsConnectError]) -> str:
    meaning, retry, fix = errors.explanation(error)
    kind = "temporary: a later attempt may succeed" if issubclass(error, Waiting) else "permanent: it must be fixed"
    code = str(exit_code(error("")).value)
    return _page(error.__name__, "errors.md", meaning=meaning, kind=kind, retry=retry, what_to_do=fix, exit_code=code)


def _hold(hold: HoldKind) -> str:
    held, passes = (", ".join(one.value for one in Intent if (one in PASSES[hold]) is let) for let in (False, True))
    return _page(
        hold.value,
        "holds.md",
        meaning="A hold: a reason to leave a connector as it is.",
        does_not_let_pass=held,
        lets_pass=passes or "nothing",
        what_to_do="`gitops-connect explain connector NAME` says what releases the hold of a connector.",
    )


def _exit_code(code: ExitCode) -> str:
    return _page(f"exit code {code.value} ({code.name})", "exit-codes.md", meaning=EXIT_CODES[code])


def _section(section: str, meaning: str, settings: Sequence[SettingDoc]) -> str:
    listed = "\n".join(f"{one.name} ({one.type}): {one.meaning}" for one in settings)
    return _page(f"[{section}]", "settings.md", meaning=meaning, settings=listed)


def _setting(section: str, setting: SettingDoc) -> str:
    return _page(
        f"[{section}] {setting.name}",
        "settings.md",
        meaning=setting.meaning,
        type=setting.type,
        default=setting.default,
        environment_variable=setting.variable,
    )
