"""What has to be reported for the lines of a planted manifest, and what they change: known from how they were made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.differences import Direction
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import Offsets, offset_text
from support.files.manifests import UNREAD
from support.planted.planted_families import Family, Plant, Says
from support.planted.planted_lines import WARNINGS, Line, Plan, key_of

_OF_FORM = frozenset({"shape", "type", "range", "negative", "unknown-field"})
_NULLS_SAY_NOTHING = (OffsetChangeKind.REPLACE, OffsetChangeKind.SEED)


def answers_to(plan: Plan, line: Line, current: Offsets | None) -> tuple[list[tuple[str, Severity]], bool]:
    """The problems that have to be reported for a line, and whether the line needs an acknowledgement."""
    repeats = [(name, Severity.ERROR) for name in line.said]
    is_well = not line.plants and not line.is_null
    if is_well or not isinstance(line.value, dict):
        return repeats, False
    found = [*_said(plan, line, current)]
    refused = any(
        plant.touches[0] == "partition" and not say.eased and say.rule not in WARNINGS for plant, say in found
    )
    eased = [] if refused else [say for _, say in found if say.eased]
    listed = [
        (
            say.rule,
            Severity.WARNING
            if say.rule in WARNINGS or (say in eased and plan.acknowledged == UNREAD)
            else Severity.ERROR,
        )
        for _, say in found
    ]
    return [*listed, *repeats], bool(eased)


def _said(plan: Plan, line: Line, current: Offsets | None) -> Iterator[tuple[Plant, Says]]:
    family = plan.family
    said = [(plant, say) for plant, say in line.says if current or not say.current]
    beside = [(plant, say) for plant, say in said if plant.touches[0] not in ("partition", "offset")]
    unkept = [(plant, say) for plant, say in said if say.unkept]
    halves = [(plant, say) for plant, say in said if plant.touches[0] in ("partition", "offset")]
    yield from beside
    if unkept:
        yield from unkept
        return
    key = key_of(family, line)
    own = None if current is None else current.get(key)
    if line.is_null:
        yield from _said_of_null(plan, halves, is_known=current is not None, current_offsets=own is not None)
        return
    refused = any(
        plant.touches[0] == "partition" and not say.eased and say.rule not in WARNINGS for plant, say in halves
    )
    same = own == offset_text(line.value["offset"]) and family.keeps_all
    for plant, say in halves:
        harmless = own is not None and not refused and (say.eased or (same and say.rule not in WARNINGS))
        harmless |= own is None and family.all_exist and say.rule == "current-type" and _is_mixed(plant, line, current)
        if not harmless and not (say.rule == "unknown-field" and _exists(plant, current)):
            yield plant, say


def _said_of_null(
    plan: Plan, halves: Iterable[tuple[Plant, Says]], *, is_known: bool, current_offsets: bool
) -> Iterator[tuple[Plant, Says]]:
    null = Plant("null", ("offset",), (), lambda *_: None)
    if plan.kind in _NULLS_SAY_NOTHING:
        yield null, Says("tombstone")
        return
    if plan.family.lenient:
        yield from ((plant, say) for plant, say in halves if not say.tie and say.rule in _OF_FORM)
    if is_known and not current_offsets:
        yield null, Says("nothing-to-remove")


def _is_mixed(plant: Plant, line: Line, current: Offsets | None) -> bool:
    """Whether a field of the offset has several types in the current offsets, its own among them."""
    half, *field = plant.touches
    types = {type(json.loads(one)[field[0]]) for one in (current or {}).values()} if half == "offset" else set()
    return type(line.value["offset"].get(field[0])) in types if types else False


def _exists(plant: Plant, current: Offsets | None) -> bool:
    return plant.touches[0] == "offset" and any(plant.touches[1] in json.loads(one) for one in (current or {}).values())


def changed_by(plan: Plan, lines: Sequence[Line], current: Offsets) -> dict[str, Counter[Direction]]:
    """The moves and distances of a manifest without errors."""
    moves: Counter[Direction] = Counter()
    distances: Counter[Direction] = Counter()
    declared = {key_of(plan.family, line): line for line in lines}
    for key, line in declared.items():
        own = current.get(key)
        direction, distance = _moved(plan.family, own, line)
        if direction is not None:
            moves[direction] += 1
            distances[direction] += distance
    if plan.kind is OffsetChangeKind.REPLACE:
        moves[Direction.REMOVED] += len(current.keys() - declared.keys())
    return {"moves": +moves, "distances": +distances}


def _moved(family: Family, own: str | None, line: Line) -> tuple[Direction | None, int]:
    if line.is_null:
        return (None if own is None else Direction.REMOVED), 0
    if own is None:
        return Direction.NEW, 0
    known, offset = json.loads(own), line.value["offset"]
    if family.lenient:
        offset = {name: one for name, one in offset.items() if name == family.counted}
    if json.dumps(known, sort_keys=True) == json.dumps(offset, sort_keys=True):
        return Direction.SAME, 0
    if not family.counted or offset[family.counted] == known[family.counted]:
        return Direction.CHANGED, 0
    far = offset[family.counted] - known[family.counted]
    return (Direction.FORWARD if far > 0 else Direction.REWIND), abs(far)
