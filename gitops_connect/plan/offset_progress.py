"""Offsets that do not move: all offsets of a connector, or those of some partitions while others move.

Connect does not know the end of a topic or table: a partition that does not move is stuck, or has no new records. So
only `spec.health.partitionsMoveWithin`, which excludes the second, makes a connector degraded because of a partition.
With `offsetsMoveWithin`, such a partition is named in the status. A partition that was never seen to move, such as that
of a deleted table, is not named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from gitops_connect.families.sinks import partition_label
from gitops_connect.model.health import OffsetProgress, UnhealthyConnector
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.offsets import PartitionText, offsets_digest
from gitops_connect.plan.situation import Situation

_NAMED = 3
"""The number of partitions that a message names."""
_LONGEST = 120
"""Characters of the name of a partition."""
Stopped = Sequence[tuple[datetime, PartitionText]]
"""Partitions that do not move, and since when; the first is the one that has not moved for the longest time."""


def not_moving(situation: Situation, name: ConnectorName) -> UnhealthyConnector | None:
    """The connector, if its offsets or those of a partition have not moved for longer than its document allows."""
    desired, position = situation.desired.by_name.get(name), situation.positions.get(name)
    if desired is None or position is None or not position.digest:
        return None
    limit = desired.offsets_move_within
    if limit is not None and situation.now - position.since >= limit:
        message = f"its offsets have been the same since {time_words(position.since)}"
        return UnhealthyConnector(name, not_moving=message, since=position.since)
    if stopped := _stopped(position, situation.now, desired.partitions_move_within):
        return UnhealthyConnector(name, not_moving=_words(situation, position, stopped), since=stopped[0][0])
    return None


def offset_progress(situation: Situation) -> Mapping[ConnectorName, OffsetProgress]:
    """How the offsets move of each running connector whose document limits how long they may be the same."""
    moving = ((name, one) for name, one in situation.positions.items() if one.digest)
    return {name: _progress(situation, name, position) for name, position in moving}


def _progress(situation: Situation, name: ConnectorName, position: OffsetPosition) -> OffsetProgress:
    shape = situation.families.shape(situation.observed.connectors[name].config)
    slowest = min((one.since for one in position.partitions.values() if one.has_moved), default=None)
    unit, note = "" if shape is None else shape.scale.name, _note(situation, name, position)
    return OffsetProgress(position.since, slowest, position.distance, unit, note)


def _note(situation: Situation, name: ConnectorName, position: OffsetPosition) -> str:
    desired = situation.desired.by_name[name]
    if not position.partitions and position.digest != offsets_digest({}) and desired.partitions_move_within:
        return "its partitions are too many to follow each of them: spec.health.partitionsMoveWithin has no effect"
    stopped = _stopped(position, situation.now, desired.offsets_move_within)
    return _words(situation, position, stopped) if stopped else ""


def _stopped(position: OffsetPosition, now: datetime, limit: timedelta | None) -> Stopped:
    if limit is None:
        return ()
    found = ((one.since, name) for name, one in position.partitions.items() if one.has_moved)
    return sorted((since, name) for since, name in found if now - since >= limit)


def _words(situation: Situation, position: OffsetPosition, stopped: Stopped) -> str:
    named = ", ".join(
        f"{mask(partition_label(name), situation.secrets)[:_LONGEST]} since {time_words(since)}"
        for since, name in stopped[:_NAMED]
    )
    more = f" and {len(stopped) - _NAMED} more" if len(stopped) > _NAMED else ""
    do = "does" if len(stopped) == 1 else "do"
    return f"{len(stopped)} of {len(position.partitions)} partitions {do} not move: {named}{more}"


def time_words(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"
