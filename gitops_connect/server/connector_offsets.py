"""The offsets of a connector as the daemon read them last, for its page and the API. No request is sent for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_connect.daemon.state import ClusterView
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.lag import ConnectorLag
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.plans import OffsetChangeStatus, Plan

_DONE = (OffsetChangeStatus.APPLIED, OffsetChangeStatus.IDLE, OffsetChangeStatus.WITHDRAWN)
_Changes = Mapping[PartitionText, tuple[OffsetChangeName, OffsetText | None]]


@dataclass(frozen=True, slots=True)
class OffsetLine:
    """A partition with its current offset: a position in a Kafka partition, or what Connect returns. None: not known.

    `age` is how long the first of the unread `records` waits, `moved` the difference to the position in the measurement
    before, and `since` when exactly this offset was first seen. `change` is the next offset change of the partition,
    and `target` its offset after that: None if it has none.
    """

    partition: PartitionText
    current: int | OffsetText
    end: int | None = None
    records: int | None = None
    age: timedelta | None = None
    moved: int | None = None
    since: datetime | None = None
    change: OffsetChangeName | None = None
    target: OffsetText | None = None


@dataclass(frozen=True, slots=True)
class ReadOffsets:
    """The offsets of a connector, as they were read at `read`: `counted` partitions, of which some are kept.

    With `has_lag`, they are those of the measurement of the lag, the largest lag first; `before` is the time of the
    measurement before. Otherwise, the partition that has not moved for the longest time comes first.
    """

    read: datetime
    counted: int
    lines: Sequence[OffsetLine]
    before: datetime | None = None
    has_lag: bool = False

    @property
    def moved(self) -> int | None:
        """The difference of all partitions to the measurement before; None if it is not known of each one."""
        far = [one.moved for one in self.lines if one.moved is not None]
        return sum(far) if far and len(far) == self.counted else None


def read_offsets(ledger: Ledger, view: ClusterView, name: ConnectorName) -> ReadOffsets | None:
    """The offsets that the lag was measured with, or those that a reconciliation has recorded in the ledger.

    None if the daemon reads neither.
    """
    lag, changes = view.lag(name), _next_changes(view.plan, name)
    if lag is not None:
        lines = [_with_change(one, changes) for one in _measured(lag)]
        return ReadOffsets(lag.measured, lag.counted, lines, lag.before, has_lag=True)
    if view.plan is None or view.observed is None or name not in view.plan.offset_progress:
        return None
    found = ledger.status.offset_positions.get(view.cluster, name)
    if found is None or not found.partitions:
        return None
    slowest = sorted(found.partitions.items(), key=lambda one: (one[1].since, one[0]))
    seen = (OffsetLine(partition, one.offset, since=one.since) for partition, one in slowest)
    return ReadOffsets(view.observed, len(slowest), [_with_change(one, changes) for one in seen])


def _measured(lag: ConnectorLag) -> Iterator[OffsetLine]:
    """Only the worst partition has an age: the first one."""
    for number, one in enumerate(lag.partitions):
        age = lag.age if number == 0 and one.records == lag.worst_records else None
        yield OffsetLine(one.partition, one.position, one.end, one.records, age if one.records else None, one.moved)


def _with_change(line: OffsetLine, changes: _Changes) -> OffsetLine:
    change, target = changes.get(line.partition, (None, None))
    return replace(line, change=change, target=target) if change is not None else line


def _next_changes(plan: Plan | None, name: ConnectorName) -> _Changes:
    """The next offset change of each partition, with the offset after it."""
    connector = None if plan is None else next((one for one in plan.connectors if one.name == name), None)
    return {
        move.partition: (one.name, move.declared)
        for one in reversed(() if connector is None else connector.offset_changes)
        if one.status not in _DONE and one.difference is not None
        for move in one.difference.moves
    }
