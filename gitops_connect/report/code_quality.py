"""Diagnostics as a code quality report of GitLab: https://docs.gitlab.com/ci/testing/code_quality/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, assert_never

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.json_text import in_pieces
from gitops_connect.report.printable import one_line
from gitops_connect.report.sarif import fingerprint


def render(diagnostics: Diagnostics) -> Iterator[str]:
    """A JSON list with every diagnostic, as text in pieces.

    GitLab shows only one of several problems with the same fingerprint. So equal problems on different lines are
    numbered.
    """
    seen: Counter[str] = Counter()

    def problem(item: Diagnostic) -> dict[str, Any]:
        base = fingerprint(item)
        seen[base] += 1
        return _problem(item, base if seen[base] == 1 else f"{base}-{seen[base]}")

    return in_pieces(diagnostics.items, problem)


def _problem(item: Diagnostic, identity: str) -> dict[str, Any]:
    return {
        "description": one_line(f"{item.summary} ({item.hint})" if item.hint else item.summary),
        "check_name": item.rule,
        "fingerprint": identity,
        "severity": _severity(item.severity),
        "location": {"path": item.location.file, "lines": {"begin": item.location.line}},
    }


def _severity(severity: Severity) -> str:
    match severity:
        case Severity.ERROR:
            return "major"
        case Severity.WARNING:
            return "minor"
        case Severity.NOTE:
            return "info"
        case _:
            assert_never(severity)
