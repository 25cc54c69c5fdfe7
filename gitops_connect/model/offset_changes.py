"""Offset changes: changes of a connector's offsets that are applied once, and are history afterwards.

    pending --begin--> in_progress --settle--> applied
                        | \\--fail-----> failed (retried with back-off, or when its document changes)
                        +-- a crash leaves it in_progress: the next reconciliation finishes it

A declared offset change without a record in the ledger is pending. Three declarations make offset changes: an
`OffsetChange` document, `spec.initialOffsets` of a connector, and `spec.onDelete` of a connector that is to be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from gitops_connect.model.clock import Backoff
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offsets import OffsetPatch

NOTHING_SENT = "every offset already matched: nothing was sent"
"""The message of an applied offset change that found every partition at the declared offset."""
RETRY = Backoff(first=60, longest=3600)
"""Each try stops the connector for a short time."""


class OffsetChangeKind(Enum):
    """What an offset change does to the offsets. The first three are the values of `spec.operation` in a document."""

    ALTER = "alter"
    """Merges: declared offsets are set, a null removes the offset of its partition, the rest is unchanged (KIP-875)."""
    REPLACE = "replace"
    """Makes the offsets exactly the declared ones (KIP-875's "full overwrite")."""
    RESET = "reset"
    SEED = "seed"
    """`spec.initialOffsets`: merges as ALTER does, for a connector that has never run."""
    CLEAR = "clear"
    """`spec.onDelete: {offsets: reset}`: removes all offsets, and the connector is deleted afterwards."""
    LIST = "list"
    """Changes nothing: writes the current offsets to an entry of a ConfigMap (Strimzi's proposals 076 and 083)."""


class Acknowledgement(Enum):
    """An effect that a document declares to be intended."""

    REWIND = "rewind"
    """Records are reprocessed."""
    SKIP = "skip"
    """More records are skipped than the administrator's `max_skip` allows."""
    TOMBSTONE = "tombstone"
    """Offsets of single partitions are removed."""
    RESET = "reset"
    UNREAD = "unread"
    """Offsets are set for partitions that the connector, as it is configured, does not read."""
    SHAPE = "shape"
    """The entries have other fields or types than the class is known to have: its format has changed."""
    EXTERNAL = "external"
    """The source system also decides where the connector resumes, and not the offset alone."""


def lack_words(lacks: Iterable[Acknowledgement]) -> str:
    """`it lacks the acknowledgement rewind`, and nothing if it lacks none."""
    names = sorted(one.value for one in lacks)
    return f"it lacks the acknowledgement{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""


def resolve_command(cluster: ClusterName, name: OffsetChangeName, outcome: str) -> str:
    """The command line, in backticks, that records an outcome: `applied` or `not-applied`."""
    return f"`{command_line('ledger resolve', name, '--cluster', cluster, f'--{outcome}')}`"


def resolve_commands(cluster: ClusterName, name: OffsetChangeName) -> str:
    """The two command lines of which an administrator runs one if the outcome of a change is unknown."""
    return " or ".join(resolve_command(cluster, name, outcome) for outcome in ("applied", "not-applied"))


class OffsetChangeState(Enum):
    """The state of an offset change in the ledger."""

    INTENDED = "intended"
    """Of a seed: recorded before its connector is created; no offsets were changed."""
    OPEN = "in_progress"
    """Begun. The offset change may have taken effect or not."""
    SETTLED = "applied"
    """Took effect, and the effect was observed. Never sent again."""
    FAILED = "failed"
    """Certainly had no effect."""
    UNKNOWN = "unknown"
    """Was in the repository before this ledger knew its cluster: whether it ever took effect is not known."""
    RELEASED = "released"
    """Of an applied seed: its connector was deleted with its offsets, so the seed counts as never applied."""


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """One offset change with everything that is needed to carry it out, from a document or from the ledger.

    `digest` covers what the offset change does, and not its reason or its acknowledgements. `offsets` are empty for
    RESET and CLEAR. They are also empty if `is_large` is True: then the declared or the current offsets are too many
    for memory, and are streamed.
    """

    name: OffsetChangeName
    connector: ConnectorName
    kind: OffsetChangeKind
    digest: Digest
    revision: Revision
    offsets: OffsetPatch = field(default_factory=dict, repr=False)
    acknowledged: frozenset[Acknowledgement] = frozenset()
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an offset change certainly had no effect. `final` is True if a retry cannot succeed.

    `lacks` are the acknowledgements with which it might have had an effect.
    """

    message: str
    final: bool = False
    lacks: frozenset[Acknowledgement] = frozenset()


@dataclass(frozen=True, slots=True)
class OffsetChangeRecord:
    """The ledger's record of an offset change, without its offsets.

    `digest` is None if it is not known: the offset change was marked as applied in a ledger without a record of it.
    `failures` counts how often it failed in a row with this digest; `final` is True if a retry cannot succeed.
    `warning` is the message that Connect added to its success. `before` and `after` are digests of the connector's
    offsets before and after the offset change. `entries` is how many entries a large offset change sends, and `sent`
    how many of them, from the first, were accepted; for other offset changes both are None. `lacks` are the
    acknowledgements without which it failed: its effect was known only after the connector was stopped.
    """

    name: OffsetChangeName
    connector: ConnectorName
    kind: OffsetChangeKind
    state: OffsetChangeState
    digest: Digest | None
    revision: Revision
    since: datetime
    """When the offset change reached its state."""
    failures: int = 0
    final: bool = False
    message: str = ""
    warning: str = ""
    before: Digest | None = None
    after: Digest | None = None
    entries: int | None = None
    sent: int | None = None
    lacks: frozenset[Acknowledgement] = frozenset()

    @property
    def retry_at(self) -> datetime:
        """When a failed offset change is tried again, if its document does not change before."""
        return self.since + timedelta(seconds=RETRY.after(self.failures))

    @property
    def failure(self) -> str:
        """As in `it failed once; next retry at 03:20:00 UTC or when its document changes: connection refused`."""
        if self.final:
            return f"it failed and is not retried: {self.message}"
        retry = f"next retry at {self.retry_at:%H:%M:%S} UTC or when its document changes"
        return f"{self.tries}; {retry}: {self.message}"

    @property
    def tries(self) -> str:
        return "it failed once" if self.failures == 1 else f"it failed {self.failures} times"


def seed_name(connector: ConnectorName) -> OffsetChangeName:
    """The name of the change of `spec.initialOffsets`. No `OffsetChange` has it: it contains a slash."""
    return OffsetChangeName(f"initialOffsets/{connector}")


def plain_name(name: str) -> str:
    """The name with only the characters that the name of an offset change may have."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name.replace("->", "--"))


def clear_name(connector: ConnectorName) -> OffsetChangeName:
    return OffsetChangeName(f"onDelete/{connector}")


# The ledger's knowledge of the offset changes of one cluster: which took effect, and which may have.


class Past(Enum):
    PENDING = "pending"
    """It has not taken effect: it is checked against its connector as it is declared now."""
    DONE = "done"
    """It has taken effect, or it was begun and is finished from the ledger: its document is never sent again."""
    UNKNOWN = "unknown"
    """It may have taken effect. If so, its connector may have changed since."""


@dataclass(frozen=True, slots=True)
class OffsetChangeHistory:
    """The ledger's records of one cluster's offset changes.

    `is_complete` is False if a change without a record may have been applied: the ledger could not be read, or has
    never worked on this cluster.
    """

    records: Mapping[OffsetChangeName, OffsetChangeRecord] = field(default_factory=dict)
    is_complete: bool = False

    def past(self, name: OffsetChangeName) -> Past:
        record = self.records.get(name)
        if record is None:
            return Past.PENDING if self.is_complete else Past.UNKNOWN
        match record.state:
            case OffsetChangeState.SETTLED | OffsetChangeState.OPEN:
                return Past.DONE
            case OffsetChangeState.UNKNOWN:
                return Past.UNKNOWN
            case OffsetChangeState.FAILED | OffsetChangeState.INTENDED | OffsetChangeState.RELEASED:
                return Past.PENDING
            case _:
                assert_never(record.state)
