"""One offset change compared with the current offsets: what it sends, how each partition moves, and whether it may.

Computed twice: for the plan, and again once the connector is STOPPED, because its offsets move until then.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gitops_connect.families.debezium.slot_positions import slot_lines
from gitops_connect.families.log_fields import LogFacts, LogFields
from gitops_connect.families.resume import UNKNOWN_CLASS, ResumeRules
from gitops_connect.families.shapes import Shape, compare
from gitops_connect.families.sinks import partition_label
from gitops_connect.model.differences import Difference, Direction, Move, Refusal, Review
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind, resolve_commands
from gitops_connect.model.offsets import OffsetPatch, Offsets, OffsetText, merged, patch_between
from gitops_connect.model.units import SkipLimits
from gitops_connect.plan.target_resolution import out_of_range


def review(offset_change: OffsetChange, current: Offsets, shape: Shape | None, max_skip: SkipLimits) -> Review:
    """The review of an offset change that was not begun yet. `max_skip`: the unacknowledged distance forward."""
    effect = effect_of(offset_change, current)
    difference = find_difference(current, effect, shape)
    patch = (
        patch_between(current, merged(current, effect)) if offset_change.kind is OffsetChangeKind.REPLACE else effect
    )
    refused = (*refusals(offset_change, difference, max_skip), *_out_of_range(difference, shape))
    return Review(patch, difference, refused, current, unchecked=unchecked(shape))


def review_unfinished(
    cluster: ClusterName, offset_change: OffsetChange, before: Offsets, current: Offsets, shape: Shape | None
) -> Review:
    """The review of an offset change that was begun at the offsets `before` and never finished: it may be half done.

    If each partition is as before or as declared, no connector has run from there, and sending the offset change again
    is harmless. Otherwise the connector ran in between, and would be rewound a second time.
    """
    patch = effect_of(offset_change, before)
    after = merged(before, patch)
    moved = [one for one in {*before, *after, *current} if current.get(one) not in (before.get(one), after.get(one))]
    left = {one: offset for one, offset in patch.items() if current.get(one) != offset}
    difference = find_difference(current, left, shape)
    partial = current != before
    refused = (moved_since(cluster, offset_change, len(moved)),) if moved else ()
    return Review(left, difference, refused, before, partial, unchecked(shape))


def moved_since(cluster: ClusterName, offset_change: OffsetChange, count: int) -> Refusal:
    """Why an offset change that was begun is not finished: `count` partitions are neither as before nor as declared."""
    what = f"the change was started but did not finish, and {count:,} of its offsets changed since then"
    return Refusal(f"{what}: {ask_outcome(cluster, offset_change.name)}")


def ask_outcome(cluster: ClusterName, name: OffsetChangeName) -> str:
    """What an administrator must decide about a change of unknown outcome."""
    return f"it is unknown whether the change was applied; run {resolve_commands(cluster, name)}"


def effect_of(offset_change: OffsetChange, current: Offsets) -> OffsetPatch:
    """Every partition that the offset change lists, with its declared offset; None for those that are removed.

    An ALTER sends every listed offset, even an offset that is already current, as a connector may also keep its
    position elsewhere. If all listed offsets are current and the class is known, nothing is sent (`Action.RECORD`). A
    REPLACE sends only the differences: it lists the whole set, which may be large and may contain offsets that Connect
    would reject.
    """
    match offset_change.kind:
        case OffsetChangeKind.ALTER | OffsetChangeKind.SEED:
            return {
                one: offset for one, offset in offset_change.offsets.items() if offset is not None or one in current
            }
        case OffsetChangeKind.REPLACE:
            declared = {one: offset for one, offset in offset_change.offsets.items() if offset is not None}
            return {**declared, **dict.fromkeys(current.keys() - declared.keys())}
        case OffsetChangeKind.RESET | OffsetChangeKind.CLEAR:
            return dict.fromkeys(current)
        case OffsetChangeKind.LIST:
            return {}


def find_difference(current: Offsets, patch: OffsetPatch, shape: Shape | None, *, exact: bool = True) -> Difference:
    """Every partition of the patch as a move, the largest first: removals and rewinds before all others."""
    moves = []
    counts, distances = Counter[Direction](), Counter[Direction]()
    for partition, offset in patch.items():
        before = current.get(partition)
        direction, distance = _direction(before, offset, shape)
        counts[direction] += 1
        distances[direction] += distance or 0
        if direction is not Direction.SAME:
            moves.append(Move(partition, before, offset, direction, distance))
    return described(Difference(counts, +distances, tuple(sorted(moves, key=Move.sort_key)), exact=exact), shape)


def described(difference: Difference, shape: Shape | None) -> Difference:
    """A difference with the facts of its connector's class: the scale of distances, and how it resumes."""
    if shape is None:
        return difference
    directions = [one for one, count in difference.counts.items() if count]
    offsets = (text for move in difference.moves for text in (move.current, move.declared) if text is not None)
    of_snapshot = shape.in_snapshot is not None and any(shape.in_snapshot(json.loads(text)) for text in offsets)
    known = sum(move.partition in shape.logs.ranges for move in difference.moves)
    has_log = known == sum(count for way, count in difference.counts.items() if way is not Direction.SAME)
    rules = ResumeRules("", ()) if shape.resume is None else shape.resume
    resume = rules.lines(directions, of_snapshot=of_snapshot, has_log=has_log)
    slot = slot_lines(shape.slot, difference.moves) if shape.slot is not None else ()
    moves = difference.moves
    if shape.log is not None and shape.logs.times:
        moves = tuple(_with_time(move, shape.log, shape.logs) for move in moves)
    return replace(difference, moves=moves, scale=shape.scale, resume=(*slot, *resume))


def _with_time(move: Move, fields: LogFields, logs: LogFacts) -> Move:
    positions = fields.position(move.current), fields.position(move.declared)
    times = [logs.times.get((move.partition, one)) for one in positions if one is not None]
    known = [one for one in times if one is not None]
    return replace(move, time=abs(known[0] - known[1])) if len(known) == len(positions) else move


def unchecked(shape: Shape | None) -> str:
    """The warning for a change that a class accepted without checking it; empty if that means nothing for the class."""
    return UNKNOWN_CLASS if shape is None or shape.resume is None else shape.resume.unchecked


def _direction(
    current: OffsetText | None, declared: OffsetText | None, shape: Shape | None
) -> tuple[Direction, int | None]:
    if current == declared:
        return Direction.SAME, None
    if declared is None:
        return Direction.REMOVED, None
    if current is None:
        return Direction.NEW, None
    return compare(shape, json.loads(current), json.loads(declared))


def refusals(offset_change: OffsetChange, difference: Difference, max_skip: SkipLimits) -> Iterator[Refusal]:
    """Effects of the offset change that its document does not acknowledge."""
    if offset_change.kind is OffsetChangeKind.CLEAR:
        return
    for acknowledgement, message in _needed(offset_change, difference, max_skip):
        if acknowledgement not in offset_change.acknowledged:
            yield Refusal(message, acknowledgement)


def _needed(
    offset_change: OffsetChange, difference: Difference, max_skip: SkipLimits
) -> Iterator[tuple[Acknowledgement, str]]:
    if external := [line.message for line in difference.resume if line.external]:
        yield Acknowledgement.EXTERNAL, "; ".join(external)
    counts, scale = difference.counts, difference.scale
    if offset_change.kind is OffsetChangeKind.RESET:
        total = f"{sum(counts.values()):,}"
        yield Acknowledgement.RESET, f"all offsets ({total}) are removed, so that all records are reprocessed"
        return
    if rewound := counts.get(Direction.REWIND, 0):
        again = difference.distances.get(Direction.REWIND, 0)
        amount = scale.amount(again)
        how_far = f", so that {amount} are reprocessed" if scale.counts_what_is_read else f" by {amount}"
        by = how_far if again else ""
        yield Acknowledgement.REWIND, f"{_partitions(rewound)} rewound{by}"
    if changed := counts.get(Direction.CHANGED, 0):
        which = "and it is unknown whether this is a rewind or a skip"
        yield Acknowledgement.REWIND, f"{_partitions(changed)} changed, {which}"
    if skips := _skips(difference, max_skip):
        yield Acknowledgement.SKIP, skips
    if removed := counts.get(Direction.REMOVED, 0):
        yield Acknowledgement.TOMBSTONE, f"{_partitions(removed, 'loses its offset', 'lose their offsets')}"


def _out_of_range(difference: Difference, shape: Shape | None) -> Iterator[Refusal]:
    """Offsets at which Kafka has no record, as far as the brokers were asked. Connect accepts most of them."""
    if shape is None or shape.log is None or not shape.logs.ranges:
        return
    found = []
    for move in difference.moves:
        position, log = shape.log.position(move.declared), shape.logs.ranges.get(move.partition)
        if position is not None and log is not None and (wrong := out_of_range(position, log)):
            found.append((partition_label(move.partition), *wrong))
    if found:
        name, why, hint = found[0]
        more = f"; {len(found) - 1:,} more partitions are out of range" if len(found) > 1 else ""
        yield Refusal(f"{name}: {why}{more}", rule="offsets/out-of-range", hint=hint)


def _skips(difference: Difference, max_skip: SkipLimits) -> str:
    """Why the skipped amount must be acknowledged; empty if it is within the limit of its unit."""
    scale, unit = difference.scale, difference.scale.unit
    forward = [move for move in difference.moves if move.direction is Direction.FORWARD]
    skipped = difference.distances.get(Direction.FORWARD, 0)
    if any(move.distance is None for move in forward):
        return f"{_partitions(len(forward))} moved forward by an unknown distance"
    if unit is None or skipped <= max_skip[unit.limit]:
        return ""
    limit = f"{scale.amount(max_skip[unit.limit])} (`{unit.limit}` of the setting `max_skip`)"
    return f"{scale.amount(skipped)} are skipped, but the limit is {limit}"


def _partitions(count: int, one: str = "is", many: str = "are") -> str:
    return f"1 partition {one}" if count == 1 else f"{count:,} partitions {many}"
