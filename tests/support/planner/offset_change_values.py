"""One change of offsets, as tests of the ledger begin, settle and rewrite it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.differences import Difference
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    Failure,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
)
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from support.planner.situations import record

LOCAL = ClusterName("local")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
STATES = (None, *OffsetChangeState)
FREE = {None, OffsetChangeState.INTENDED, OffsetChangeState.FAILED, OffsetChangeState.RELEASED}
"""States in which the offset change certainly has no effect."""


def offsets(*positions: int) -> Offsets:
    return {partition_text({"filename": f"/{n}"}): offset_text({"position": at}) for n, at in enumerate(positions)}


EARLIER = offsets(7, 8)
DECLARED: OffsetPatch = {**offsets(1), partition_text({"filename": "/1"}): None}
SKIP = OffsetChange(
    OffsetChangeName("skip"),
    ConnectorName("orders"),
    OffsetChangeKind.ALTER,
    Digest("d" * 64),
    Revision("a" * 40),
    DECLARED,
    frozenset({Acknowledgement.REWIND, Acknowledgement.TOMBSTONE}),
)
REWRITTEN = replace(SKIP, digest=Digest("e" * 64), revision=Revision("b" * 40), offsets=offsets(2))


def effect_at(begun: datetime) -> AppliedEffect:
    return AppliedEffect(begun, Difference())


def bring_to(offset_changes: OffsetChangeStore, state: OffsetChangeState | None) -> OffsetChangeRecord | None:
    """Bring the offset change to that state by the calls that lead to it."""
    match state:
        case OffsetChangeState.INTENDED:
            offset_changes.intend(LOCAL, SKIP, NOON)
        case OffsetChangeState.OPEN:
            offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
        case OffsetChangeState.SETTLED:
            offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
            offset_changes.settle(LOCAL, SKIP.name, offsets(1), "externally managed", NOON)
        case OffsetChangeState.FAILED:
            offset_changes.fail(LOCAL, SKIP, Failure("no"), NOON)
        case OffsetChangeState.RELEASED:
            bring_to(offset_changes, OffsetChangeState.SETTLED)
            offset_changes.release(LOCAL, SKIP.name)
        case OffsetChangeState.UNKNOWN:
            offset_changes.mark(LOCAL, replace(record_of(SKIP), state=OffsetChangeState.UNKNOWN))
    return offset_changes.records(LOCAL).get(SKIP.name)


def record_of(offset_change: OffsetChange) -> OffsetChangeRecord:
    return record(offset_change, OffsetChangeState.OPEN.value, revision=offset_change.revision, since=NOON)
