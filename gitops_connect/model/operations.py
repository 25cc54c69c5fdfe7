"""Operations: changes of a connector's offsets that are done once, and then history.

    pending --begin--> in_progress --settle--> applied
                        | \\--fail-----> failed (retried with back-off, or when its document changes)
                        +-- a crash leaves it in_progress: the next reconciliation finishes it

A declared one that the ledger does not know is pending. Three declarations make operations: an `OffsetChange` document,
`spec.initialOffsets` of a connector, and `spec.onDelete` of one that is to be deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from gitops_connect.model.names import ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.offsets import OffsetPatch

NOTHING_SENT = "every offset already matched: nothing was sent"
"""The message of a settled operation that found every partition at the declared offset."""


class OperationKind(Enum):
    """What an operation does to the offsets. The first three are the words of the document."""

    ALTER = "alter"
    """Merges: what is declared is set, a null takes that one partition away, the rest stays (KIP-875)."""
    REPLACE = "replace"
    """Makes the set exact (KIP-875's "full overwrite")."""
    RESET = "reset"
    """Takes all away."""
    SEED = "seed"
    """`spec.initialOffsets`: as ALTER, for a connector that has never run."""
    CLEAR = "clear"
    """`spec.onDelete: {offsets: reset}`: as RESET, and the connector is deleted after it."""


class Acknowledgement(Enum):
    """What a document says of itself that it does on purpose."""

    REWIND = "rewind"
    """Records come again."""
    SKIP = "skip"
    """More records are skipped than the operator's `max_skip` lets pass."""
    TOMBSTONE = "tombstone"
    """Offsets of single partitions are taken away."""
    RESET = "reset"
    """All offsets are taken away."""
    UNREAD = "unread"
    """Offsets are set for partitions that the connector, as it is configured, does not read."""
    EXTERNAL = "external"
    """The source system also decides where the connector resumes, and not the offset alone."""


class OperationState(Enum):
    """How far the ledger knows an operation to be."""

    INTENDED = "intended"
    """Of a seed: written before its connector is created; nothing was done to any offsets."""
    OPEN = "in_progress"
    """Begun. It may have taken effect or not."""
    SETTLED = "applied"
    """Took effect, and was seen to. Never sent again."""
    FAILED = "failed"
    """Certainly without effect."""
    UNKNOWN = "unknown"
    """Was in the repository before this ledger knew its cluster: whether it ever took effect is not known."""
    RELEASED = "released"
    """Of a settled seed: its connector was deleted with its offsets, so that it counts as never done."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with everything that carrying it out needs, wherever it comes from: a document, or the ledger.

    `digest` is that of what it does, and not of its reason or its acknowledgements. `offsets` are empty for RESET
    and CLEAR, and where `is_large` is True: then they, or those that stand, are too many to be held, and are streamed.
    """

    name: OperationName
    connector: ConnectorName
    kind: OperationKind
    digest: Digest
    revision: Revision
    offsets: OffsetPatch = field(default_factory=dict, repr=False)
    acknowledged: frozenset[Acknowledgement] = frozenset()
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """What the ledger remembers of an operation, without its offsets.

    `digest` is None where it is not known: marked as applied for a ledger that never saw it. `failures` counts how
    often it failed in a row with this digest; `final` is True where trying again is of no use. `warning` is what
    Connect said along with its success. `before` and `after` are digests of the offsets that stood then. `entries` is
    how many a large one sends, and `sent` how many of them, the first ones, were accepted; for others both are None.
    """

    name: OperationName
    connector: ConnectorName
    kind: OperationKind
    state: OperationState
    digest: Digest | None
    revision: Revision
    since: datetime
    """When it came into its state."""
    failures: int = 0
    final: bool = False
    message: str = ""
    warning: str = ""
    before: Digest | None = None
    after: Digest | None = None
    entries: int | None = None
    sent: int | None = None


def seed_name(connector: ConnectorName) -> OperationName:
    """The operation of `spec.initialOffsets`. No `OffsetChange` has such a name: a slash is not allowed there."""
    return OperationName(f"initialOffsets/{connector}")


def clear_name(connector: ConnectorName) -> OperationName:
    """The operation of `spec.onDelete`."""
    return OperationName(f"onDelete/{connector}")
