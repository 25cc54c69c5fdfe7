"""Diagnostics as SARIF 2.1.0, which code-scanning views load: https://docs.oasis-open.org/sarif/sarif/v2.1.0/."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from gitops_connect import __version__
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.json_text import in_pieces
from gitops_connect.report.printable import one_line
from gitops_connect.report.rules import RULE_EXPLANATIONS

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
"""The name that code-scanning views use for the root of the repository."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_LINK_END = re.compile(r"(?<!\\)(\\*)\](?=\()")
"""The end of the text of an embedded link, with all backslashes before it."""


def render(diagnostics: Diagnostics) -> Iterator[str]:
    """One run with every rule that occurs and every diagnostic, as JSON text in pieces."""
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
    known = RULE_EXPLANATIONS.get(rule)
    trigger = known.trigger if known is not None else f"A violation of the rule {rule}."
    return {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.replace("/", "-").split("-")),
        "shortDescription": {"text": trigger},
        "fullDescription": {"text": trigger},
        "help": {"text": f"{trigger} {known.fix}" if known is not None else trigger},
    }


def _result(item: Diagnostic, index: int) -> dict[str, Any]:
    text = f"{item.summary} ({item.hint})" if item.hint else item.summary
    return {
        "ruleId": item.rule,
        "ruleIndex": index,
        "level": _level(item.severity),
        "message": {"text": _without_links(one_line(text))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(item.location.file), "uriBaseId": _ROOT},
                    "region": {"startLine": item.location.line, "startColumn": item.location.column},
                }
            }
        ],
        "partialFingerprints": {"diagnostic/v1": fingerprint(item)},
    }


def _without_links(text: str) -> str:
    """The text; `]` is escaped if the text would otherwise contain an embedded link (section 3.11.6)."""
    return _LINK_END.sub(lambda end: rf"{end[1]}{end[1]}\]", text)


def _level(severity: Severity) -> str:
    match severity:
        case Severity.ERROR:
            return "error"
        case Severity.WARNING:
            return "warning"
        case Severity.NOTE:
            return "note"
        case _:
            assert_never(severity)


def _uri(path: str) -> str:
    """A relative reference of RFC 3986; a path may contain spaces, `#` and any other character."""
    return "".join(
        chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in path.encode("utf-8", "surrogatepass")
    )


def fingerprint(item: Diagnostic) -> str:
    """A digest that does not depend on the line of the problem, so that a dismissed alert stays dismissed."""
    words = "\n".join((item.rule, item.location.file, item.connector or "", item.summary))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
