"""Resolves the targets of an offset change to positions in Kafka's partitions, as the brokers report them.

Resolved twice: for the plan, and again once the connector is STOPPED. What was resolved then is applied and recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.model.offset_targets import OffsetTarget, OffsetTargets, PositionKind
from gitops_connect.model.reviewed_plans import tolerated
from gitops_connect.model.units import duration

_SHOWN = 3
"""Partitions that a note names."""


@dataclass(frozen=True, slots=True)
class Logs:
    """What the brokers answered: the records that exist, the first record at or after the time of the target of each
    partition (None: there is none), and why some partitions could not be read."""

    ranges: Mapping[KafkaPartition, LogRange] = field(default_factory=dict)
    found: Mapping[KafkaPartition, LoggedRecord | None] = field(default_factory=dict)
    unread: Mapping[KafkaPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TargetProblem:
    """Why a target cannot be resolved, and what to do about it."""

    location: Location
    summary: str
    hint: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The position of each partition, what a reader should know, and the problems: with any, nothing is resolved."""

    positions: Mapping[KafkaPartition, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problems: tuple[TargetProblem, ...] = ()


def times_of(
    targets: OffsetTargets, partitions: Collection[KafkaPartition], committed: datetime
) -> Mapping[KafkaPartition, int]:
    """The times for which the brokers are asked, in milliseconds since 1970. `committed`: the time of the commit."""
    found = {}
    for partition in partitions:
        for one in targets.of(partition)[:1]:
            if one.kind in (PositionKind.TIME, PositionKind.AGO):
                found[partition] = _time(one, committed)
    return found


def _time(target: OffsetTarget, committed: datetime) -> int:
    return target.number if target.kind is PositionKind.TIME else round(committed.timestamp() * 1000) - target.number


def resolve(
    targets: OffsetTargets, partitions: Collection[KafkaPartition], current: Mapping[KafkaPartition, int], logs: Logs
) -> Resolution:
    """The position of each of these partitions for which there is a target. `current` are the current positions."""
    positions, problems, used = dict[KafkaPartition, int](), list[TargetProblem](), set[OffsetTarget]()
    no_record, cut = list[KafkaPartition](), list[KafkaPartition]()
    for partition in sorted(partitions):
        matching = targets.of(partition)
        used.update(one for one in targets.targets if one.matches(partition))
        if not matching:
            continue
        if (problem := _problem(partition, matching, current, logs)) is not None:
            problems.append(problem)
            continue
        target, log = matching[0], logs.ranges[partition]
        wanted = _wanted(target, partition, current, logs)
        positions[partition] = min(max(wanted, log.start), log.end)
        if target.kind is PositionKind.SHIFT and positions[partition] != wanted:
            cut.append(partition)
        if target.kind in (PositionKind.TIME, PositionKind.AGO) and logs.found[partition] is None:
            no_record.append(partition)
    problems += [_unused(one) for one in targets.targets if one not in used]
    notes = _notes("no record at or after the time, so these go to the end", no_record)
    notes += _notes("the partition has fewer records than the shift, so these go to its start or end", cut)
    return Resolution({} if problems else positions, notes, tuple(problems))


def _wanted(target: OffsetTarget, partition: KafkaPartition, current: Mapping[KafkaPartition, int], logs: Logs) -> int:
    match target.kind:
        case PositionKind.EARLIEST:
            return logs.ranges[partition].start
        case PositionKind.LATEST:
            return logs.ranges[partition].end
        case PositionKind.TIME | PositionKind.AGO:
            found = logs.found[partition]
            return logs.ranges[partition].end if found is None else found.offset
        case PositionKind.SHIFT:
            return current[partition] + target.number
        case PositionKind.OFFSET:
            return target.number


def _problem(
    partition: KafkaPartition, matching: tuple[OffsetTarget, ...], current: Mapping[KafkaPartition, int], logs: Logs
) -> TargetProblem | None:
    target, name = matching[0], f"{partition.topic}/{partition.partition}"
    if len(matching) > 1:
        places = " and ".join(f"line {one.location.line}" for one in matching)
        hint = "name the partition, or a more exact topic, in one of them"
        return TargetProblem(matching[1].location, f"two targets are equally exact for {name}: {places}", hint)
    if partition in logs.unread:
        hint = "the change is blocked until the brokers answer for this partition"
        return TargetProblem(
            target.location, f"the position in {name} could not be read: {logs.unread[partition]}", hint
        )
    if target.kind is PositionKind.SHIFT and partition not in current:
        hint = "use position, time or offset for this partition"
        return TargetProblem(target.location, f"{name} has no current offset that could be shifted", hint)
    if target.kind is PositionKind.OFFSET and (wrong := out_of_range(target.number, logs.ranges[partition])):
        return TargetProblem(target.location, f"{name}: {wrong[0]}", wrong[1])
    return None


def _unused(target: OffsetTarget) -> TargetProblem:
    of = f"partition {', '.join(map(str, sorted(target.partitions)))} of " if target.partitions else ""
    what = f"{of}a topic that matches {target.topics!r}" if target.topics else "any partition"
    hint = "check the name of the topic, and the topics in the connector's config"
    return TargetProblem(target.location, f"the connector does not read {what}", hint)


def out_of_range(position: int, log: LogRange) -> tuple[str, str] | None:
    """Why no record can be read from that position, and what to do; None if it is in the log, or at its end."""
    if position < log.start:
        why = f"offset {position:,} is before the start ({log.start:,}): these records were deleted"
        return why, f"use {log.start} for the earliest record"
    if position > log.end:
        return (
            f"offset {position:,} is beyond the end ({log.end:,}) by {position - log.end:,}",
            f"use at most {log.end}",
        )
    return None


def _notes(what: str, partitions: list[KafkaPartition]) -> tuple[str, ...]:
    if not partitions:
        return ()
    named = ", ".join(f"{one.topic}/{one.partition}" for one in partitions[:_SHOWN])
    more = f" and {len(partitions) - _SHOWN:,} more" if len(partitions) > _SHOWN else ""
    return (f"{what}: {named}{more}",)


def words(targets: OffsetTargets, committed: datetime, *, is_committed: bool) -> Iterator[str]:
    """What each target means, for people."""
    base = "the commit" if is_committed else "now: the document is not committed"
    for one in targets.targets:
        numbers = f"/{','.join(map(str, sorted(one.partitions)))}" if one.partitions else ""
        scope = f" ({one.topics}{numbers})" if one.topics else ""
        yield _words(one, committed, base) + scope


def _words(target: OffsetTarget, committed: datetime, base: str) -> str:
    match target.kind:
        case PositionKind.EARLIEST:
            return "the first record"
        case PositionKind.LATEST:
            return "the end"
        case PositionKind.TIME | PositionKind.AGO:
            time = datetime.fromtimestamp(_time(target, committed) / 1000, UTC)
            before = f" ({duration(target.number)} before {base})" if target.kind is PositionKind.AGO else ""
            return f"the first record at or after {time:%Y-%m-%d %H:%M:%S} UTC{before}"
        case PositionKind.SHIFT:
            return f"{target.number:+,} from the current offset"
        case PositionKind.OFFSET:
            return f"offset {target.number:,}"


_LOSING = (Direction.REWIND, Direction.FORWARD)


def exceeded(planned: Difference, now: Difference) -> str:
    """How targets resolved `now` do more than the plan has shown; empty if they do not."""
    for direction in _LOSING:
        far, shown = now.distances.get(direction, 0), planned.distances.get(direction, 0)
        is_new = now.counts.get(direction, 0) and not planned.counts.get(direction, 0)
        if is_new or far > shown + tolerated(shown):
            before = f"a {direction.value} of {now.scale.amount(shown)}" if not is_new else f"no {direction.value}"
            return f"the plan showed {before}, and now it is a {direction.value} of {now.scale.amount(far)}"
    return ""
