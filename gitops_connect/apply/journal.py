"""What applying needs of the ledger, so that an offset change takes effect once: written before, and after."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from gitops_connect.model.differences import Review
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation


class Chunk(NamedTuple):
    """Part of what a large change sends: its number of entries, and the body of the request (KIP-875)."""

    entries: int
    body: bytes


class LargeChange(Protocol):
    """One change whose offsets, or those that stand, are too many to be held; its connector stands still.

    `review` comes first and `begin` second; what is sent stays the same from then on, in the same order, in this cycle
    and in all others. All but `chunk` and `mark` may take minutes. They raise what Connect, Spark and the ledger raise.
    """

    @property
    def is_begun(self) -> bool:
        """Whether an earlier cycle began it, so that some of it may have been sent. Known at once."""

    def review(self) -> Review:
        """Read what stands, and say what the change would do to it, and whether it may. The patch is not in it.

        Called again where that could not be read.
        """

    @property
    def entries(self) -> int:
        """How many there are to be sent, or to be taken away by a reset; 0: all is as it should be.

        Known after `review`.
        """

    @property
    def sent(self) -> int:
        """How many of them, the first ones, were accepted in an earlier cycle."""

    def begin(self) -> None:
        """Durable: it is about to be sent, this is what stands, and this is what is sent.

        Nothing happens where an earlier cycle began it.
        """

    def chunk(self, start: int, size: int) -> Chunk:
        """The entries from number `start` (from 0) on: at most so many bytes, and at least one entry.

        Mostly those after the last chunk, or again from where that one began. Not called for a reset.
        """

    def mark(self, sent: int) -> None:
        """Durable: so many were accepted. Raises LedgerBusy where the cluster is not ours to change any more.

        A number that is not larger than before changes nothing, and raises all the same. Not called for a reset.
        """

    def is_untouched(self) -> bool:
        """Read what stands, and say whether it certainly is what stood before `begin`."""

    def difference(self) -> str:
        """Read what stands, and say how it is otherwise than it should be now; empty: it is not."""

    def settle(self, warning: str) -> None:
        """Durable: it took effect and was seen to. Not called for a connector that is to be deleted."""


class Journal(Protocol):
    """Durable when a call returns, used by several threads at once.

    Every method raises LedgerUnusable, or LedgerBusy where the cluster is not ours to change any more.
    """

    def intend(self, operation: Operation) -> None:
        """A connector is about to be created that must not run before this operation."""

    def is_begun(self, operation: Operation) -> bool:
        """Whether an earlier cycle began it, so that some of it may have been sent."""

    def begin(self, operation: Operation, before: Offsets) -> None:
        """It is about to be sent, and this is what stands; where it was begun before, what stood then is kept."""

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """It took effect and was seen to."""

    def record(self, operation: Operation) -> None:
        """The plan found every partition at the declared offset: it counts as applied, and nothing is sent."""

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """It certainly had no effect; `final`: nor will it have."""

    def note(self, operation: Operation, message: str) -> None:
        """It was begun, and how it ended is not known."""

    def review(self, operation: Operation, live: Offsets) -> Review:
        """What it would do to these offsets, and whether it may."""

    def are_too_many(self, operation: Operation) -> bool:
        """Whether the offsets that stand for its connector are too many to be held; False where that is not known."""

    def large(self, operation: Operation) -> AbstractContextManager[LargeChange]:
        """The same for a large one. Leaving the context removes the files that it was made of."""


class NoJournal:
    """For plans without operations."""

    def intend(self, operation: Operation) -> None:
        raise _unexpected(operation)

    def is_begun(self, operation: Operation) -> bool:
        raise _unexpected(operation)

    def begin(self, operation: Operation, before: Offsets) -> None:
        raise _unexpected(operation)

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        raise _unexpected(operation)

    def record(self, operation: Operation) -> None:
        raise _unexpected(operation)

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        raise _unexpected(operation)

    def note(self, operation: Operation, message: str) -> None:
        raise _unexpected(operation)

    def review(self, operation: Operation, live: Offsets) -> Review:
        raise _unexpected(operation)

    def are_too_many(self, operation: Operation) -> bool:
        raise _unexpected(operation)

    def large(self, operation: Operation) -> AbstractContextManager[LargeChange]:
        raise _unexpected(operation)


def _unexpected(operation: Operation) -> AssertionError:
    return AssertionError(f"{operation.name} cannot be applied without a ledger")
