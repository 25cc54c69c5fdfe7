"""The result of a whole reconciliation in one word, for the API and for metrics."""

from __future__ import annotations

from gitops_connect.errors import LedgerBusy
from gitops_connect.model.outcomes import ReconciliationOutcome

WORDS = ("applied", "unchanged", "failed", "postponed")


def outcome_word(result: ReconciliationOutcome | Exception) -> str:
    """`applied`, `unchanged` (there was no step), `failed`, or `postponed`: another process holds the lease."""
    if isinstance(result, LedgerBusy):
        return "postponed"
    if isinstance(result, Exception) or not (result.succeeded or result.interrupted):
        return "failed"
    return "applied" if result.steps else "unchanged"
