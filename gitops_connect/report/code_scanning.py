"""Diagnostics for views of code: SARIF 2.1.0, code quality reports of GitLab, and workflow commands of GitHub."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gitops_connect import __version__
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.problems import in_pieces, summary_line
from gitops_connect.report.rule_explanations import rule_explanations

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
"""The name that code-scanning views use for the root of the repository."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_LINK_END = re.compile(r"(?<!\\)(\\*)\](?=\()")
"""The end of the text of an embedded link, with all backslashes before it."""
_IN_MESSAGES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
_IN_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_IN_CODE_QUALITY = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}
_IN_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def sarif(diagnostics: Diagnostics) -> Iterator[str]:
    """One run with every rule that occurs and every diagnostic, as JSON text in pieces.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/
    """
    rules = sorted({item.rule for item in diagnostics})
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(rules)},
                "columnKind": "unicodeCodePoints",
                "results": diagnostics.items,
            }
        ],
    }
    return in_pieces(document, lambda item: _result(item, rules.index(item.rule)))


def _driver(rules: Iterable[str]) -> dict[str, Any]:
    return {
        "name": "gitops-connect",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }


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
                    "artifactLocation": {"uri": _uri(item.location.file), "uriBaseId": _ROOT},
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


def _uri(path: str) -> str:
    """A relative reference of RFC 3986; a path may contain spaces, `#` and any other character."""
    return "".join(
        chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in path.encode("utf-8", "surrogatepass")
    )


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
