"""Offset changes in words and lines that all reports share: counts, moves, and the status of each change."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from itertools import groupby
from typing import Any

from gitops_connect.families.sinks import partition_label
from gitops_connect.model.applied_effects import MOST_RECORDED
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.lag import PartitionLag
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange
from gitops_connect.model.units import Scale, duration
from gitops_connect.report.offset_change_view import NOT_NOW, PlannedView, view_of
from gitops_connect.report.printable import Sentence, escaped, one_line, shortened

MOST_MOVES = 10
_MOST_SLOWEST = 10
"""The number of partitions whose time is shown."""

SYMBOLS = {
    Direction.REWIND: "<",
    Direction.FORWARD: ">",
    Direction.CHANGED: "?",
    Direction.NEW: "+",
    Direction.REMOVED: "-",
    Direction.SAME: "=",
}
"""The directions in the order in which they are counted."""
BLOCKED = "="
"""The symbol of an offset change that this plan does not carry out."""
_WHAT = {Direction.REWIND: "reprocessed", Direction.FORWARD: "skipped"}
WHEN = {Direction.REWIND: "earlier", Direction.FORWARD: "later"}
"""For distances that do not count records: those in a log that also has other changes, and times."""
_IN_TOPIC = re.compile(r"([A-Za-z0-9._-]+)/([0-9]+)")
_MOST_RANGES = 10
_NONE = "(none)"
_WIDEST = 72
"""Characters up to which moves are aligned."""
_INEXACT = (
    "incomplete: the connector does not exist yet, and it is unknown whether an earlier connector of this name left"
    " offsets behind"
)

Reasons = Mapping[str, Diagnostic]
"""Diagnostics by the change that they concern, as in `offset change X`."""


class LineKind(Enum):
    CONNECTOR = "connector"
    STEP = "step"
    NEW_KEY = "new key"
    """A config key of a connector that is created."""
    KEY = "key"
    EFFECT = "effect"
    """What a step means for offsets that it does not change."""
    REMARK = "remark"
    """About a connector, or an offset change with the details below."""
    DETAIL = "detail"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a report. `mark` is a symbol in front of it, or empty.

    `name` is a connector, an action or a config key; `note` is what is special about it. `number` counts the steps of
    a connector.
    """

    text: str
    mark: str = ""
    kind: LineKind = LineKind.DETAIL
    name: str = ""
    note: str = ""
    number: int = 0


def label(offset_change: PlannedOffsetChange) -> str:
    """The name of a change in a sentence."""
    match offset_change.kind:
        case OffsetChangeKind.SEED:
            return f"initialOffsets of {offset_change.connector}"
        case OffsetChangeKind.CLEAR:
            return f"onDelete of {offset_change.connector}"
        case _:
            return f"offset change {offset_change.name} ({offset_change.kind.value})"


def planned_lines(offset_change: PlannedOffsetChange, limit: int | None) -> Iterator[Line]:
    """The lines below the step of a change that is carried out. `limit`: so many moves are shown; None: all."""
    if offset_change.kind is not OffsetChangeKind.SEED:
        yield Line(f"operation: {offset_change.kind.value}")
    if offset_change.message:
        yield Line(f"note: {one_line(offset_change.message)}")
    yield from _details(offset_change, limit)


def waiting_lines(
    offset_change: PlannedOffsetChange, limit: int | None, printed: Reasons | None = None
) -> Iterator[Line]:
    """The lines of a change that is blocked in this plan, and the reason. `printed` are reasons printed before."""
    found = (printed or {}).get(f"offset change {offset_change.name}")
    see = f"see the {found.severity.value} above [{found.rule}]" if found else ""  # the reason is printed once only
    yield Line(f"{_subject(offset_change)}: {see}" if see else waits(offset_change), BLOCKED, LineKind.REMARK)
    yield from _details(offset_change, limit)


def reasons(printed: Diagnostics) -> Reasons:
    """The diagnostics about offset changes, which begin with the change that they concern."""
    return {one.summary.partition(": ")[0]: one for one in reversed(printed.items)}


def waits(offset_change: PlannedOffsetChange) -> str:
    """The state of a change that a plan does not carry out, and its cause, on one line."""
    cause = view_of(ClusterName(""), PlannedView(offset_change), None).cause or NOT_NOW
    return f"{_subject(offset_change)}: {cause}"


def _subject(offset_change: PlannedOffsetChange) -> str:
    state = offset_change.status
    verb = {OffsetChangeStatus.FAILED: "has failed", OffsetChangeStatus.UNKNOWN: "is unknown"}.get(state, "is blocked")
    return f"{label(offset_change)} {verb}"


def _details(offset_change: PlannedOffsetChange, limit: int | None) -> Iterator[Line]:
    if offset_change.reason:
        yield Line(f"reason: {one_line(offset_change.reason)}")
    for target in offset_change.targets:
        yield Line(f"to: {one_line(target)}")
    for note in offset_change.notes:
        yield Line(f"note: {one_line(note)}")
    if offset_change.difference is not None:
        yield from difference_lines(offset_change.difference, limit)
    if offset_change.heap is not None:
        yield Line(f"worker heap: {offset_change.heap.arithmetic}")


def difference_lines(
    difference: Difference, limit: int | None, rest: str = "plan --all-offsets, or -o json"
) -> Iterator[Line]:
    """The counts, and the largest moves. `rest` says how to list the moves that are left out."""
    yield Line(counts(difference))
    if not difference.exact:
        yield Line(_INEXACT)
    shown = difference.moves if limit is None else difference.moves[:limit]
    yield from move_lines(shown, difference.scale)
    moving = sum(count for way, count in difference.counts.items() if way is not Direction.SAME)
    if moving > len(difference.moves):
        yield Line(f"… and {moving - len(shown):,} more (only the largest of each direction are kept)")
    elif left := moving - len(shown):
        yield Line(f"… and {left:,} more ({rest})")
        yield from _ranges(difference.moves[len(shown) :])
    yield from resume_lines(difference)


def _ranges(moves: Sequence[Move]) -> Iterator[Line]:
    """The partitions of topics that move in each direction, as in `rewind: orders/0-4999`."""
    for direction in SYMBOLS:
        numbers = defaultdict[str, list[int]](list)
        for move in moves:
            if move.direction is direction and (found := _IN_TOPIC.fullmatch(partition_label(move.partition))):
                numbers[found[1]].append(int(found[2]))
        ranges = [
            f"{topic}/{run[0]}-{run[-1]}" if len(run) > 1 else f"{topic}/{run[0]}"
            for topic in sorted(numbers)
            for run in _runs(sorted(numbers[topic]))
        ]
        if ranges:
            more = f", and {len(ranges) - _MOST_RANGES:,} more ranges" if len(ranges) > _MOST_RANGES else ""
            yield Line(f"  {direction.value}: {', '.join(ranges[:_MOST_RANGES])}{more}")


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """The numbers, split where one is missing."""
    for _, run in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        yield [number for _, number in run]


def largest_moves(difference: Difference) -> Difference:
    """What is recorded of a difference: the largest moves, each with its second notation, and the totals of all."""
    moves = [replace(one, also=also_written(one, difference.scale)) for one in difference.moves[:MOST_RECORDED]]
    times = {one: time for one in Direction if (time := difference.time(one))}
    unknown = frozenset(one for one in Direction if difference.is_unknown(one))
    return replace(difference, moves=tuple(moves), times=times, unknown=unknown)


def resume_lines(difference: Difference) -> Iterator[Line]:
    """What the connector's class does with offsets that move in this way, once for all partitions."""
    return (Line(f"{line.aspect.value}: {line.message}") for line in difference.resume)


def move_lines(moves: Sequence[Move], scale: Scale) -> Iterator[Line]:
    """A line for each move; `scale` is that of their distances."""
    texts = [move_words(move) for move in moves]
    width = min(max(map(len, texts), default=0), _WIDEST)
    for move, text in zip(moves, texts, strict=True):
        yield Line(f"{text:<{width}}  {distance_words(move, scale)}", SYMBOLS[move.direction])


def counts(difference: Difference) -> str:
    """The counts, as in `2 rewind (1,200 records reprocessed), 1 skip (1 record skipped), 3 new, 1 removed, 5 same`."""
    found = [
        f"{difference.counts[one]:,} {one.value}{_how_far(difference, one)}"
        for one in SYMBOLS
        if difference.counts.get(one)
    ]
    return ", ".join(found) or "no offsets are affected"


def _how_far(difference: Difference, direction: Direction) -> str:
    if direction not in _WHAT:
        return ""
    total = difference.distances.get(direction, 0)
    unknown = difference.is_unknown(direction)
    if not total:
        return " (distance unknown)" if unknown else ""
    what = _WHAT[direction] if difference.scale.counts_what_is_read else WHEN[direction]
    least = "at least " if unknown else ""
    time = f" of {duration(longest)}" if (longest := difference.time(direction)) else ""
    return f" ({least}{quantity(total, difference.scale)}{time} {what})"


def quantity(count: int, scale: Scale) -> str:
    """`1,200 records`, `1 byte of WAL`, `2 h 5 min`."""
    return one_line(scale.amount(count))


def move_words(move: Move) -> str:
    before, after = offset_words(move.current), offset_words(move.declared)
    return f"{partition_words(move.partition)}: {before} -> {after}"


def distance_words(move: Move, scale: Scale) -> str:
    """As in `rewind 1,200 records of 3 h 12 min`."""
    far = ""
    if move.distance:
        later = f" {WHEN[move.direction]}" if scale.is_time and move.direction in WHEN else ""
        time = f" of {duration(move.time)}" if move.time else ""
        far = f" {quantity(move.distance, scale)}{time}{later}"
    also = also_written(move, scale)
    return f"{move.direction.value}{far}{f' ({also})' if also else ''}"


def also_written(move: Move, scale: Scale) -> str:
    """The most significant field that the move changes, in its second notation: `lsn 0/1985390 -> 0/1985050`.

    If the two offsets have no such field in common, each is shown with its own most significant field.
    """
    if move.also:
        return move.also
    before, after = (scale.written(json.loads(text)) if text else {} for text in (move.current, move.declared))
    changed = [name for name in scale.notations if before.get(name) != after.get(name)]
    both = [name for name in changed if name in before and name in after]
    was = next((name for name in both or changed if name in before), "")
    becomes = next((name for name in both or changed if name in after), "")
    if not (was or becomes):
        return ""
    other = f"{becomes} " if was and becomes and becomes != was else ""
    return f"{was or becomes} {before.get(was, _NONE)} -> {other}{after.get(becomes, _NONE)}"


def partition_words(partition: PartitionText) -> str:
    """`orders/3` for a partition of a Kafka topic, as sinks have; else its canonical JSON, without secrets.

    A secret that is cut is not recognized any more.
    """
    return shortened(escaped(mask(partition_label(partition))))


def offset_words(offset: OffsetText | None) -> str:
    """Only the number for an offset in a Kafka topic; else its canonical JSON, without secrets."""
    if offset is None:
        return _NONE
    match json.loads(offset):
        case {"kafka_offset": int(number), **more} if not more and not isinstance(number, bool):
            return str(number)
        case _:
            return shortened(escaped(mask(offset)))


def partition_lag_words(lag: PartitionLag | None, now: datetime) -> tuple[str, str, str]:
    """The end of a partition, its unread records, and how long the first of them waits."""
    if lag is None:
        return "-", "-", "-"
    age = max(0, round((now - lag.since).total_seconds())) if lag.since is not None else None
    return str(lag.end), f"{lag.records:,}", "-" if age is None else duration(age * 1000)


def progress_outline(position: OffsetPosition) -> dict[str, Any]:
    """When the daemon saw the offsets move, and those partitions that have moved and then not for the longest time."""
    moving = sorted((one.since, name) for name, one in position.partitions.items() if one.has_moved)
    slowest = [f"{partition_words(name)} since {since:%Y-%m-%d %H:%M:%S} UTC" for since, name in moving[:_MOST_SLOWEST]]
    return {"Unchanged since": f"{position.since:%Y-%m-%d %H:%M:%S} UTC", "Slowest partitions": slowest}


def carried_out(connector: ConnectorPlan) -> frozenset[str]:
    """The names of the changes that steps of that connector carry out."""
    return frozenset(step.offset_change.name for step in connector.steps if step.offset_change is not None)


def waiting_of(connector: ConnectorPlan) -> tuple[PlannedOffsetChange, ...]:
    """The connector's changes that no step carries out, in their order."""
    done = carried_out(connector)
    return tuple(one for one in connector.offset_changes if one.name not in done)


def strays_of(plan: Plan) -> tuple[PlannedOffsetChange, ...]:
    """The changes without a declared connector that are nowhere else in the plan."""
    shown = {one.name for connector in plan.connectors for one in connector.offset_changes}
    return tuple(one for one in plan.strays if one.name not in shown)


def waiting(plan: Plan) -> tuple[PlannedOffsetChange, ...]:
    """Every change that was never applied, and that this plan does not carry out."""
    of_connectors = (one for connector in plan.connectors for one in waiting_of(connector))
    return (*of_connectors, *strays_of(plan))


def to_apply(plan: Plan) -> tuple[PlannedOffsetChange, ...]:
    """Every change that this plan carries out."""
    return tuple(
        one
        for connector in plan.connectors
        if connector.applicable
        for one in connector.offset_changes
        if one.name in carried_out(connector)
    )


def stray_lines(plan: Plan, limit: int | None, printed: Reasons | None = None) -> Iterator[Line]:
    """The block of changes whose connector is not declared. `printed` are reasons that were printed before."""
    strays = strays_of(plan)
    if strays:
        yield Line("offset changes without a declared connector:", kind=LineKind.REMARK)
    for one in strays:
        for line in waiting_lines(one, limit, printed):
            yield Line(line.text, line.mark)


def applied_sentence(applied: Sequence[PlannedOffsetChange]) -> Iterator[Sentence]:
    """A sentence with the number of changes that were applied before, and are not planned again; nothing for 0."""
    if applied:
        many = "1 offset change was" if len(applied) == 1 else f"{len(applied):,} offset changes were"
        lists = "lists it" if len(applied) == 1 else "lists them"
        yield Sentence.of(f"{many} applied before; {{}} {lists}", "gitops-connect ledger show")


def applied_lines(applied: Sequence[PlannedOffsetChange]) -> Iterator[Line]:
    """All changes that were applied before, the last one first."""
    if applied:
        yield Line("offset changes applied before:", kind=LineKind.REMARK)
    for one in applied:
        name = label(one) if one.kind is OffsetChangeKind.SEED else f"{one.name} ({one.kind.value}) of {one.connector}"
        yield Line(f"{name}: {one_line(one.message) or OffsetChangeStatus.APPLIED.value}")
