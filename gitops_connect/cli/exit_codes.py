"""The exit codes, which scripts rely on."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import TYPE_CHECKING

from gitops_connect.errors import GitopsConnectError, LedgerBusy, StalePlan, UsageError

if TYPE_CHECKING:
    from gitops_connect.model.outcomes import ReconciliationOutcome


class ExitCode(IntEnum):
    """docs/reference/exit-codes.md explains each to users."""

    DONE = 0
    FAILED = 1
    CHANGES = 2
    DRIFT = 3
    INVALID = 4
    STALE = 5
    UNCONFIRMED = 6
    USAGE = 64
    BUG = 70
    INTERRUPTED = 130


EXIT_CODES = {
    ExitCode.DONE: "Success, or nothing to do.",
    ExitCode.FAILED: "A step, a request or a check failed, or an object that you named does not exist.",
    ExitCode.CHANGES: "There are changes: from `plan` and `offsets diff`, with `--detailed-exitcode`.",
    ExitCode.DRIFT: "From `plan --drift-exitcode`: a cluster was changed since the last apply. From `acls --check`: the"
    " brokers do not grant all permissions that are needed.",
    ExitCode.INVALID: "Documents or offset manifests have errors, or `convert` did not convert something.",
    ExitCode.STALE: "The saved plan is stale, or another process holds the lease of the cluster.",
    ExitCode.UNCONFIRMED: "Every change is in place, but it is not confirmed yet that a connector works.",
    ExitCode.USAGE: "The command line or the settings are wrong.",
    ExitCode.BUG: "A bug in gitops-connect. stderr contains a report that you can paste into an issue.",
    ExitCode.INTERRUPTED: "Ended by Ctrl-C or SIGTERM, after the steps in progress.",
}
"""What each means in short, for `explain`."""


def worst_code(codes: Collection[ExitCode]) -> ExitCode:
    """The code of a command for several clusters; DONE if none of the codes is worse."""
    order = (ExitCode.BUG, ExitCode.FAILED, ExitCode.USAGE, ExitCode.STALE, ExitCode.UNCONFIRMED, ExitCode.INVALID)
    return next((code for code in order if code in codes), ExitCode.DONE)


def outcome_code(end: ReconciliationOutcome | Exception) -> ExitCode:
    """The code for the end of a reconciliation."""
    if isinstance(end, Exception):
        return exit_code(end)
    if end.has_bugs:
        return ExitCode.BUG
    if not end.succeeded:
        return ExitCode.FAILED
    if end.is_unconfirmed:
        return ExitCode.UNCONFIRMED
    return ExitCode.INVALID if end.diagnostics.errors else ExitCode.DONE


def exit_code(error: Exception) -> ExitCode:
    """The code for an error that ends a command or the processing of a cluster."""
    match error:
        case UsageError():
            return ExitCode.USAGE
        case StalePlan() | LedgerBusy():
            return ExitCode.STALE
        case GitopsConnectError():
            return ExitCode.FAILED
        case _:
            return ExitCode.BUG
