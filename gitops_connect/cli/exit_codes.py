"""The exit codes, which scripts rely on."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from gitops_connect.errors import GitopsConnectError, LedgerBusy, StalePlan, UsageError


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


def worst_code(codes: Collection[ExitCode]) -> ExitCode:
    """The code of a command for several clusters; DONE if none of the codes is worse."""
    order = (ExitCode.BUG, ExitCode.FAILED, ExitCode.USAGE, ExitCode.STALE, ExitCode.UNCONFIRMED, ExitCode.INVALID)
    return next((code for code in order if code in codes), ExitCode.DONE)


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
