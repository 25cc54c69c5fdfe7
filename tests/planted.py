"""Manifests with planted faults: what has to be said of which line is known by how they are made."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from large_engine import PACK, Said
from manifests import ORDERS, UNREAD
from planted_families import ODD_ENTRIES, ODD_LINES, Entry, Family, Plant, Says
from pyarrow import parquet

from gitops_connect.checks import small
from gitops_connect.checks.small import SHOWN
from gitops_connect.desired import manifests as reading
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.differences import Direction
from gitops_connect.model.documents import Blob
from gitops_connect.model.large_manifests import LargeFile, LargeManifest
from gitops_connect.model.manifests import Manifest, ManifestContext
from gitops_connect.model.names import Digest, OperationName, Revision
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
from gitops_connect.model.shapes import shape_of
from gitops_connect.plan.offsets import effect_of, find_difference

UNKEPT_LINES = frozenset({*ODD_LINES, *(f"entry: {name}" for name in ODD_ENTRIES)})
"""What is planted in place of an entry, and not into one."""
NOT_PLANTED = {
    "compression": "it ends the whole file: test_oddities.py",
    "format": "likewise, of the whole file: test_oddities.py",
    "empty": "no line has it: test_oddities.py",
    "too-large": "it takes 16 MiB: test_oddities.py",
    "value": "JSON Lines cannot say one, the reader refuses its line as encoding or number: tests/checks/test_rules.py",
    "schema-broken": "it is said of a file in offset-schemas/: tests/checks/test_own_schemas.py",
}
"""Rules that no line of a manifest can break, and why."""
REPEATS = ("duplicate", "conflict")
_WARNINGS = frozenset({"unknown-field", "nothing-to-remove"})
_OF_FORM = frozenset({"shape", "type", "range", "negative", "unknown-field"})
_NULLS_SAY_NOTHING = (OperationKind.REPLACE, OperationKind.SEED)
WHOLE = Location("offsets")
"""Where it is said what concerns all files."""
_UNDECLARED = 900_000
"""Numbers from here on are of partitions that stand and are not declared."""


Place = tuple[str, int, str, Severity]
"""File, line, rule without its prefix, and how grave it is."""


class Expected(NamedTuple):
    """What has to be said of a line."""

    file: int
    line: int
    rule: str
    severity: Severity


@dataclass
class Line:
    """`text` is what stands in it, where that is no entry. `key` is the partition as it is kept, None: it is not."""

    number: int
    value: Any = None
    plants: tuple[Plant, ...] = ()
    text: bytes = b""
    said: tuple[str, ...] = ()
    key: str | None = None

    @property
    def says(self) -> Iterator[tuple[Plant, Says]]:
        return ((plant, say) for plant in self.plants for say in plant.says)

    @property
    def is_null(self) -> bool:
        return isinstance(self.value, dict) and "offset" in self.value and self.value["offset"] is None

    @property
    def is_eased(self) -> bool:
        """Nothing but what may be acknowledged, and of such that it may be put among the offsets that stand."""
        spoiling = [plant for plant in self.plants if plant.says]
        return bool(spoiling) and all(one.standable and all(say.eased for say in one.says) for one in spoiling)

    @property
    def may_stand_so(self) -> bool:
        """Only its offset is wrong, and it tells nothing about others."""
        return bool(self.plants) and all(one.standable and one.touches[0] == "offset" for one in self.plants)


@dataclass(frozen=True)
class Planted:
    """One manifest in files, and what has to be said of it."""

    files: tuple[tuple[str, bytes], ...] = field(repr=False)
    context: ManifestContext = field(repr=False)
    kind: OperationKind
    expected: tuple[Expected, ...]
    unread: int
    moves: Counter[Direction] = field(default_factory=Counter)
    """How many partitions move which way; those that do, and of which it cannot be told how far, are CHANGED."""
    distances: Counter[Direction] = field(default_factory=Counter)
    location: Location = WHOLE

    @property
    def counts(self) -> Counter[str]:
        return Counter(f"manifest/{one.rule}" for one in self.expected)

    @property
    def unreadable(self) -> int:
        """Of these the small engine names twenty in all."""
        return sum(one.rule in ODD_LINES for one in self.expected)

    @property
    def errors(self) -> int:
        return sum(one.severity is Severity.ERROR for one in self.expected)

    def all_named(self) -> Counter[Place]:
        """Every place, and not the first ones only."""
        return Counter((self.files[one.file][0], *one[1:]) for one in self.expected)

    def named(self) -> list[Place]:
        """The first of each rule, and the place where it is said how many more there are."""
        listed: dict[tuple[str, Severity], list[Expected]] = {}
        for one in sorted(self.expected, key=lambda one: one[:2]):
            listed.setdefault((one.rule, one.severity), []).append(one)
        found = [(self.files[one.file][0], *one[1:]) for some in listed.values() for one in some[:SHOWN]]
        found += [(self.location.file, 1, *kind) for kind, some in listed.items() if len(some) > SHOWN]
        return sorted(found, key=str)

    def filed(self, folder: Path) -> LargeManifest:
        """For the large engine."""
        folder.mkdir(parents=True)
        files = []
        for name, content in self.files:
            path = folder / Path(name).name
            path.write_bytes(content)
            files.append(LargeFile(name, str(path)))
        live = None
        if self.context.live is not None:
            live = LargeFile("live.jsonl", str(folder / "live.jsonl"))
            lines = (f'{{"partition":{one},"offset":{other}}}\n' for one, other in self.context.live.items())
            (folder / "live.jsonl").write_text("".join(lines))
        return LargeManifest(self.location, tuple(files), replace(self.context, live=None), self.kind, live)

    def by_small(self) -> Said:
        """What the small engine says of it."""
        parsed = [reading.parse(Blob(name, "", content)) for name, content in self.files]
        entries = tuple(entry for one in parsed for entry in one.entries)
        faults = tuple(fault for one in parsed for fault in one.faults)
        found = small.check(Manifest(self.location, entries, faults), self.context, self.kind)
        said = Said(found.diagnostics.items, found.counts, found.errors, found.unread)
        live = self.context.live
        if found.offsets is None or live is None:
            return said
        operation = Operation(OperationName("-"), ORDERS, self.kind, Digest(""), Revision(""), found.offsets)
        shape = shape_of(self.context.config or {}, self.context.schema)
        difference = find_difference(live, effect_of(operation, live), shape)
        moves = {direction: count for direction, count in difference.counts.items() if count}
        return replace(said, moves=moves, distances=dict(difference.distances), largest=difference.moves)


def is_fine(plant: Plant) -> bool:
    """No error, where what is not read is acknowledged and what stands is of the same types."""
    return all((say.eased and not say.live) or say.rule in _WARNINGS for say in plant.says)


def told_in(folder: Path) -> Counter[tuple[str, int, str, Severity, str]]:
    """The places of all offenders, and what is said of them, as the large engine has left it in that folder."""
    rows = parquet.read_table(folder / "offenders.parquet").to_pylist()
    return Counter(
        (row["file"], row["line"], row["rule"].removeprefix("manifest/"), Severity(row["severity"]), row["message"])
        for row in rows
    )


def place(one: Diagnostic) -> Place:
    """As `Planted.named` has it."""
    return one.location.file, one.location.line, one.rule.removeprefix("manifest/"), one.severity


def places(diagnostics: Iterable[Diagnostic]) -> list[Place]:
    """Of all of them, in an order."""
    return sorted(map(place, diagnostics), key=str)


def held_to_plants(planted: Planted, found: Said) -> None:
    """Nothing missed, nothing invented, each on its line."""
    named, expected = Counter(places(found.diagnostics)), Counter(planted.named())
    assert ([*(named - expected)], [*(expected - named)]) == ([], []), "invented, and missed"
    assert dict(found.counts) == dict(planted.counts)
    assert (found.errors, found.unread) == (planted.errors, planted.unread)
    moves = Counter(found.moves)
    if any(direction in planted.moves for direction in (Direction.FORWARD, Direction.REWIND)):
        assert dict(found.distances) == dict(planted.distances)
    else:
        moves[Direction.CHANGED] += moves.pop(Direction.FORWARD, 0) + moves.pop(Direction.REWIND, 0)
    assert +moves == planted.moves


@dataclass(frozen=True)
class Plan:
    """How a manifest is to be made. `live`: None (not known), or the share of well partitions that stand."""

    family: Family
    kind: OperationKind = OperationKind.ALTER
    acknowledged: frozenset[Acknowledgement] = frozenset()
    live: float | None = None
    names: tuple[str, ...] = ("offsets/a.jsonl",)
    styles: tuple[str, ...] = ("", "", "blanks", "turned", "escaped", "indented", "carriage return")


def make(plan: Plan, chosen: Sequence[Sequence[str]], rnd: random.Random) -> Planted:
    """A line for each of `chosen`: the names of what is planted there, none for a well one."""
    lines: list[Line] = []
    taken: set[str] = set()
    for number, names in enumerate(chosen, 1):
        lines.append(_line(plan, number, names, (lines, taken, rnd)))
        if lines[-1].key is not None:
            taken.add(lines[-1].key)
    live = _standing(plan, lines, rnd)
    ends = [*sorted(rnd.sample(range(1, len(lines)), min(len(plan.names), len(lines)) - 1)), len(lines)]
    files, expected, unread, start = [], [], 0, 0
    for at, end in enumerate(ends):
        texts: list[bytes] = []
        for line in lines[start:end]:
            texts += [b""] * (rnd.random() < 0.05)
            texts.append(_text(line, rnd.choice(plan.styles)))
            said, needs = _expected(plan, line, live)
            unread += needs
            expected += [Expected(at, len(texts), rule, severity) for rule, severity in said]
        content = b"\n".join(texts) + b"\n" * rnd.randrange(2)
        name = plan.names[at]
        files.append((name, _packed(name, content)))
        start = end
    family = plan.family
    context = ManifestContext(ORDERS, family.config, live, family.schema, plan.acknowledged)
    made = Planted(tuple(files), context, plan.kind, tuple(expected), unread)
    return made if live is None or made.errors else replace(made, **_moves(plan, lines, live))


def _packed(name: str, content: bytes) -> bytes:
    return PACK.get(Path(name).suffix, bytes)(content)


def _line(plan: Plan, number: int, names: Sequence[str], so_far: tuple[list[Line], set[str], random.Random]) -> Line:
    """The line with the plants of these names that do not touch the same; a well one where the partition is taken."""
    lines, taken, rnd = so_far
    family = plan.family
    for name in names:
        if name in ODD_LINES:
            return Line(number, text=rnd.choice(ODD_LINES[name]) % number, said=(name,))
        if name in UNKEPT_LINES:
            return Line(number, ODD_ENTRIES[name.removeprefix("entry: ")], said=("entry",))
        if name in REPEATS and (again := _repeat(family, number, name, (lines, rnd))) is not None:
            return again
    wanted = [family.plants[name] for name in names if name in family.plants]
    for tried in (wanted, [*wanted, *_spare(family)], _spare(family)):
        line = Line(number, family.well(number), _apart(tried))
        for plant in line.plants:
            plant.change(line.value, number)
        line.key = _key(family, line)
        if line.key not in taken:
            return line
    raise AssertionError(f"{family.name}: line {number} has no partition of its own")


def _spare(family: Family) -> list[Plant]:
    return [family.plants[family.spare]] if family.spare else []


def _apart(wanted: Iterable[Plant]) -> tuple[Plant, ...]:
    found: list[Plant] = []
    for one in wanted:
        if not any(one.touches[: len(other.touches)] == other.touches[: len(one.touches)] for other in found):
            found.append(one)
    return tuple(found)


def _repeat(family: Family, number: int, name: str, so_far: tuple[list[Line], random.Random]) -> Line | None:
    """An earlier partition once more."""
    lines, rnd = so_far
    earlier = [one for one in lines if one.key is not None and not one.said and (name == "duplicate" or not one.plants)]
    if not earlier:
        return None
    first = rnd.choice(earlier)
    again = Line(number, copy.deepcopy(first.value), first.plants, said=(name,), key=first.key)
    if name == "conflict":
        again.value["offset"] = other = family.well(first.number + 2)["offset"]
        if other == first.value["offset"]:
            again.value["offset"] = None
    return again


def _key(family: Family, line: Line) -> str | None:
    if any(say.unkept for _, say in line.says):
        return None
    partition = line.value["partition"]
    kept = {name: one for name, one in partition.items() if not family.lenient or name in family.lenient}
    return json.dumps(kept, sort_keys=True)


def _standing(plan: Plan, lines: Sequence[Line], rnd: random.Random) -> Offsets | None:
    """Some of the partitions that are declared, and a few others."""
    family = plan.family
    share = 1.0 if family.all_stand else plan.live
    if share is None:
        return None
    live = {}
    for line in lines:
        wanted = family.all_stand or rnd.random() < share
        spoiled = [
            plant for plant in line.plants if plant.touches[0] == "partition" and (plant.says or family.all_stand)
        ]
        if line.key is None or line.said or not wanted:
            continue
        if family.keeps_all and not family.all_stand and line.may_stand_so and not line.is_null:
            live[_partition(family, line)] = offset_text(line.value["offset"])
        elif not spoiled or line.is_eased:
            number = line.number if family.all_stand else line.number + rnd.choice([-2, 0, 2])
            live[_partition(family, line)] = offset_text(family.well(abs(number))["offset"])
    if share:
        for number in range(_UNDECLARED, _UNDECLARED + 4):
            other = family.well(number)
            live.setdefault(partition_text(other["partition"]), offset_text(other["offset"]))
    return live


def _partition(family: Family, line: Line) -> Any:
    partition: Entry = line.value["partition"]
    return partition_text(
        {name: one for name, one in partition.items() if not family.lenient or name in family.lenient}
    )


def _expected(plan: Plan, line: Line, live: Offsets | None) -> tuple[list[tuple[str, Severity]], bool]:
    """What has to be said of a line, and whether that needs to be acknowledged."""
    repeats = [(name, Severity.ERROR) for name in line.said]
    is_well = not line.plants and not line.is_null
    if is_well or not isinstance(line.value, dict):
        return repeats, False
    found = [*_said(plan, line, live)]
    refused = any(
        plant.touches[0] == "partition" and not say.eased and say.rule not in _WARNINGS for plant, say in found
    )
    eased = [] if refused else [say for _, say in found if say.eased]
    listed = [
        (
            say.rule,
            Severity.WARNING
            if say.rule in _WARNINGS or (say in eased and plan.acknowledged == UNREAD)
            else Severity.ERROR,
        )
        for _, say in found
    ]
    return [*listed, *repeats], bool(eased)


def _said(plan: Plan, line: Line, live: Offsets | None) -> Iterator[tuple[Plant, Says]]:
    family = plan.family
    said = [(plant, say) for plant, say in line.says if live or not say.live]
    beside = [(plant, say) for plant, say in said if plant.touches[0] not in ("partition", "offset")]
    unkept = [(plant, say) for plant, say in said if say.unkept]
    halves = [(plant, say) for plant, say in said if plant.touches[0] in ("partition", "offset")]
    yield from beside
    if unkept:
        yield from unkept
        return
    key = _partition(family, line)
    own = None if live is None else live.get(key)
    if line.is_null:
        yield from _said_of_null(plan, halves, is_known=live is not None, stands=own is not None)
        return
    refused = any(
        plant.touches[0] == "partition" and not say.eased and say.rule not in _WARNINGS for plant, say in halves
    )
    same = own == offset_text(line.value["offset"]) and family.keeps_all
    for plant, say in halves:
        harmless = own is not None and not refused and (say.eased or (same and say.rule not in _WARNINGS))
        if not harmless and not (say.rule == "unknown-field" and _stands(plant, live)):
            yield plant, say


def _said_of_null(
    plan: Plan, halves: Iterable[tuple[Plant, Says]], *, is_known: bool, stands: bool
) -> Iterator[tuple[Plant, Says]]:
    null = Plant("null", ("offset",), (), lambda *_: None)
    if plan.kind in _NULLS_SAY_NOTHING:
        yield null, Says("tombstone")
        return
    if plan.family.lenient:
        yield from ((plant, say) for plant, say in halves if not say.tie and say.rule in _OF_FORM)
    if is_known and not stands:
        yield null, Says("nothing-to-remove")


def _stands(plant: Plant, live: Offsets | None) -> bool:
    """True where an unknown field of an offset is among those that stand."""
    return plant.touches[0] == "offset" and any(plant.touches[1] in json.loads(one) for one in (live or {}).values())


def _moves(plan: Plan, lines: Sequence[Line], live: Offsets) -> dict[str, Counter[Direction]]:
    """What a manifest without errors changes."""
    moves: Counter[Direction] = Counter()
    distances: Counter[Direction] = Counter()
    declared = {_partition(plan.family, line): line for line in lines}
    for key, line in declared.items():
        own = live.get(key)
        direction, distance = _moved(plan.family, own, line)
        if direction is not None:
            moves[direction] += 1
            distances[direction] += distance
    if plan.kind is OperationKind.REPLACE:
        moves[Direction.REMOVED] += len(live.keys() - declared.keys())
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


def _text(line: Line, style: str) -> bytes:
    if line.text:
        return line.text
    return _STYLES[style](line.value).encode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: dict(sorted(one.items())) if isinstance(one, dict) else one for key, one in value.items()}
    return value


def _dumped(value: Any, **options: Any) -> str:
    return json.dumps(_sorted(value), **{"ensure_ascii": False, "separators": (",", ":"), **options})


def _turned(value: Any) -> str:
    if isinstance(value, dict):
        value = {
            key: dict(reversed(one.items())) if isinstance(one, dict) else one for key, one in reversed(value.items())
        }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_STYLES: Mapping[str, Callable[[Any], str]] = {
    "": _dumped,
    "blanks": lambda value: _dumped(value, separators=(", ", ": ")),
    "turned": _turned,
    "escaped": lambda value: _dumped(value, ensure_ascii=True),
    "indented": lambda value: f" \t{_dumped(value)} ",
    "carriage return": lambda value: f"{_dumped(value)}\r",
}
