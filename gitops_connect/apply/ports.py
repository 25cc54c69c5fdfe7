"""What applying needs from outside: the effects of offset changes, and records in the ledger."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.model.differences import Difference, Review
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Failure, OffsetChange
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.plans import Step
from gitops_connect.model.strimzi import RequestedListing


class Chunk(NamedTuple):
    """Part of a large change: its number of entries, and the body of the request (KIP-875)."""

    entries: int
    body: bytes


class LargeChange(Protocol):
    """One change whose declared or current offsets are too many for memory; its connector is STOPPED.

    `review` comes first and `begin` second. From then on the entries and their order stay the same, in this
    reconciliation and in all later ones. All but `chunk` and `mark` may take minutes. They raise what Connect, Spark
    and the ledger raise.
    """

    @property
    def is_begun(self) -> bool:
        """Whether an earlier reconciliation began the change, so that some of it may have been sent. Known at once."""

    def review(self) -> Review:
        """Read the current offsets. Returns what the change would do to them, without the patch, and whether it may.

        Called again if the offsets could not be read, or if they have changed since.
        """

    def is_settled(self) -> bool:
        """Read the current offsets again. Returns whether they are the same as when they were last read."""

    @property
    def entries(self) -> int:
        """The number of entries to send, or to remove by a reset; 0 if the current offsets are as declared.

        Known after `review`.
        """

    @property
    def sent(self) -> int:
        """How many of the entries, counted from the first, were accepted in an earlier reconciliation."""

    @property
    def chunk_size(self) -> ChunkSize:
        """The size of the first chunk, and how the workers limit the size of further ones. Known at once."""

    def begin(self, difference: Difference) -> None:
        """Durably record that the change is about to be sent, the current offsets, what is sent, and what it does.

        Not called if an earlier reconciliation began the change.
        """

    def chunk(self, start: int, size: int) -> Chunk:
        """The entries from number `start` (from 0) on: at most `size` bytes, and at least one entry.

        `start` mostly follows the last chunk, or is the start of that chunk again. Not called for a reset.
        """

    def mark(self, sent: int) -> None:
        """Durably record that `sent` entries were accepted. Raises LedgerBusy if this process lost the lease.

        A number that is not larger than before changes nothing, but LedgerBusy is still raised. Not called for a reset.
        """

    def is_untouched(self) -> bool:
        """Read the current offsets. Returns whether they certainly equal the offsets before `begin`."""

    def difference(self) -> str:
        """Read the current offsets. Returns how they differ from the declared offsets; empty if they do not."""

    def settle(self, warning: str) -> None:
        """Durably record that the change took effect and was observed.

        Not called for a connector that is to be deleted.
        """


class OffsetChanges(Protocol):
    """The offset changes of one plan. Used by several threads at once."""

    def is_begun(self, offset_change: OffsetChange) -> bool:
        """Whether an earlier reconciliation began the offset change, so that some of it may have been sent."""

    def review(self, offset_change: OffsetChange, current: Offsets) -> Review:
        """What the offset change would do to these offsets, and whether it may."""

    def has_too_many_offsets(self, offset_change: OffsetChange) -> bool:
        """Whether the connector's current offsets are too many for memory; False if that is unknown."""

    def write_listing(self, listing: RequestedListing, offsets: Offsets) -> str:
        """Write the current offsets to the entry of the ConfigMap. Returns where. Raises a GitopsConnectError."""

    def large(self, offset_change: OffsetChange) -> AbstractContextManager[LargeChange]:
        """The large change of this offset change. Leaving the context removes its files."""


class Journal(Protocol):
    """The ledger of one cluster. A call is durable when it returns. Used by several threads at once.

    Every method raises LedgerUnusable, or LedgerBusy if this process lost the lease on the cluster.
    """

    def adopt(self, connectors: Collection[ConnectorName]) -> None:
        """Record that these connectors, which exist on the cluster, are managed from now on: all of them, or none."""

    def begin(self, offset_change: OffsetChange, before: Offsets, difference: Difference) -> None:
        """Record that the offset change is about to be sent, with the current offsets, and what it does.

        Those of an earlier begin are kept.
        """

    def settle(self, offset_change: OffsetChange, after: Offsets, warning: str) -> None:
        """Record that the offset change took effect and was observed."""

    def record(self, offset_change: OffsetChange) -> None:
        """Record an offset change as applied without a request: the plan found every partition at the declared
        offset."""

    def fail(self, offset_change: OffsetChange, failure: Failure) -> None:
        """Record that the offset change certainly had no effect."""

    def note(self, offset_change: OffsetChange, message: str) -> None:
        """Record that the offset change was begun and that its outcome is unknown."""

    def creating(self, steps: Collection[Step]) -> None:
        """Record that these connectors are about to be created, all of them or none; a second call does nothing.

        They are managed even if an answer is lost. One with an offset change must not run before that.
        """

    def configuring(self, connector: ConnectorName) -> None:
        """Record that the connector is about to get another config: its trial begins even if this process is killed."""

    def rejected(self, connector: ConnectorName) -> None:
        """Record that Connect has rejected that config: what was on trial before it still is."""

    def stopping(self, connector: ConnectorName) -> None:
        """Record that the connector is about to be stopped, if a later step of the plan starts or deletes it."""

    def count_restart(self, connector: ConnectorName) -> None:
        """Record that the connector is about to be restarted automatically; once, if the request is sent again."""
