"""Diagnostics for views of code: SARIF 2.1.0, code quality reports of GitLab, and workflow commands of GitHub.

`rules.yaml` explains each rule: what triggers it, how severe it is, how to fix the problem, and an example.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import yaml

from gitops_connect import __version__
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.problems import in_pieces, summary_line

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
"""The name that code-scanning views use for the root of the repository."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINK_END = re.compile(r"(?<!\\)(\\*)\](?=\()")
"""The end of the text of an embedded link, with all backslashes before it."""
_IN_MESSAGES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
_IN_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_IN_CODE_QUALITY = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}
_IN_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """`trigger` and `fix` are sentences. `example` is a message, or input that triggers the rule; it may have lines.

    `severity` is None for rules of offset manifests, whose severity is in `offsets/rules/rules.toml`. `exception` says
    when the severity differs; empty if it never does.
    """

    trigger: str
    fix: str
    example: str
    severity: Severity | None = None
    exception: str = ""


@cache
def rule_explanations() -> Mapping[str, RuleExplanation]:
    """The explanation of each rule by its id: docs/reference/rules.md lists them, code-scanning views show them."""
    text = files("gitops_connect.report").joinpath("rules.yaml").read_text(encoding="utf-8")
    found: Mapping[str, dict[str, Any]] = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe
    explained = {}
    for rule, fields in found.items():
        severity = None if rule.startswith("manifest/") else Severity(fields.pop("severity", "error"))
        explained[rule] = RuleExplanation(**fields, severity=severity)
    return explained


def sarif(diagnostics: Diagnostics) -> Iterator[str]:
    """One run with all rules and diagnostics, as JSON in pieces: https://docs.oasis-open.org/sarif/sarif/v2.1.0/"""
    rules = sorted({item.rule for item in diagnostics})
    driver = {"name": "gitops-connect", "semanticVersion": __version__, "rules": [_rule(rule) for rule in rules]}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": diagnostics.items}],
    }
    return in_pieces(document, lambda item: _result(item, rules.index(item.rule)))


def _rule(rule: str) -> dict[str, Any]:
    known = rule_explanations().get(rule)
    trigger = known.trigger if known is not None else f"A violation of the rule {rule}."
    return {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.replace("/", "-").split("-")),
        "shortDescription": {"text": trigger},
        "fullDescription": {"text": trigger},
        "help": {"text": f"{trigger} {known.fix}" if known is not None else trigger},
    }


def _result(item: Diagnostic, index: int) -> dict[str, Any]:
    return {
        "ruleId": item.rule,
        "ruleIndex": index,
        "level": _IN_SARIF[item.severity],
        "message": {"text": _without_links(_text(item))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(item.location.file, errors="surrogatepass"), "uriBaseId": _ROOT},
                    "region": {"startLine": item.location.line, "startColumn": item.location.column},
                }
            }
        ],
        "partialFingerprints": {"diagnostic/v1": _fingerprint(item)},
    }


def _text(item: Diagnostic) -> str:
    return one_line(f"{item.summary} ({item.hint})" if item.hint else item.summary)


def _without_links(text: str) -> str:
    """The text; `]` is escaped if the text would otherwise contain an embedded link (section 3.11.6)."""
    return _LINK_END.sub(lambda end: rf"{end[1]}{end[1]}\]", text)


def _fingerprint(item: Diagnostic) -> str:
    """A digest that does not depend on the line of the problem, so that a dismissed alert stays dismissed."""
    words = "\n".join((item.rule, item.location.file, item.connector or "", item.summary))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def code_quality(diagnostics: Diagnostics) -> Iterator[str]:
    """A JSON list with every diagnostic, as text in pieces: https://docs.gitlab.com/ci/testing/code_quality/.

    GitLab shows only one of several problems with the same fingerprint. So equal problems on different lines are
    numbered.
    """
    seen: Counter[str] = Counter()

    def problem(item: Diagnostic) -> dict[str, Any]:
        base = _fingerprint(item)
        seen[base] += 1
        return {
            "description": _text(item),
            "check_name": item.rule,
            "fingerprint": base if seen[base] == 1 else f"{base}-{seen[base]}",
            "severity": _IN_CODE_QUALITY[item.severity],
            "location": {"path": item.location.file, "lines": {"begin": item.location.line}},
        }

    return in_pieces(diagnostics.items, problem)


def workflow_commands(diagnostics: Diagnostics, documents: int | None = None) -> Iterator[str]:
    """A command for each diagnostic, which GitHub shows as an annotation of its line, and a line with their number.

    Each line begins with our own words, so that no value from outside can begin a command. A message contains the
    location too, because the runner shows only the messages in its log.
    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    for item in diagnostics:
        yield f"{escaped(_command(item))}\n"
    yield f"{summary_line(diagnostics, documents)}\n"


def _command(item: Diagnostic) -> str:
    place = item.location
    file, title = place.file.translate(_IN_PROPERTIES), item.rule.translate(_IN_PROPERTIES)
    message = f"{place}: {one_line(item.summary)}" + (f"\nhint: {one_line(item.hint)}" if item.hint else "")
    properties = f"file={file},line={place.line},col={place.column},title={title}"
    return f"::{_IN_COMMANDS[item.severity]} {properties}::{message.translate(_IN_MESSAGES)}"
