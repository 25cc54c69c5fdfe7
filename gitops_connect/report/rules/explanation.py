"""The explanation of one rule, for people."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_connect.model.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """`trigger` and `fix` are sentences. `example` is a message, or input that triggers the rule; it may have lines.

    `exception` says when the severity differs from `severity`; empty if it never does.
    """

    trigger: str
    fix: str
    example: str
    severity: Severity = Severity.ERROR
    exception: str = ""
