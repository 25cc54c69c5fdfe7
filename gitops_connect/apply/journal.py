"""What applying needs of the ledger, so that an offset change takes effect once: written before, and after."""

from __future__ import annotations

from typing import Protocol

from gitops_connect.model.differences import Review
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation


class Journal(Protocol):
    """Durable when a call returns, used by several threads at once.

    Every method raises LedgerUnusable, or LedgerBusy where the cluster is not ours to change any more.
    """

    def intend(self, operation: Operation) -> None:
        """A connector is about to be created that must not run before this operation."""

    def begin(self, operation: Operation, before: Offsets) -> None:
        """It is about to be sent, and this is what stands; where it was begun before, what stood then is kept."""

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """It took effect and was seen to."""

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """It certainly had no effect; `final`: nor will it have."""

    def note(self, operation: Operation, message: str) -> None:
        """It was begun, and how it ended is not known."""

    def review(self, operation: Operation, live: Offsets) -> Review:
        """What it would do to these offsets, and whether it may."""


class NoJournal:
    """For plans without operations."""

    def intend(self, operation: Operation) -> None:
        raise _unexpected(operation)

    def begin(self, operation: Operation, before: Offsets) -> None:
        raise _unexpected(operation)

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        raise _unexpected(operation)

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        raise _unexpected(operation)

    def note(self, operation: Operation, message: str) -> None:
        raise _unexpected(operation)

    def review(self, operation: Operation, live: Offsets) -> Review:
        raise _unexpected(operation)


def _unexpected(operation: Operation) -> AssertionError:
    return AssertionError(f"{operation.name} cannot be carried out without a ledger")
