"""Makes manifests with planted faults, in the files and styles of a plan."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from support.files.manifests import context_of
from support.planted.planted import Expected, Planted
from support.planted.planted_answers import answers_to, changed_by
from support.planted.planted_families import ODD_ENTRIES, ODD_LINES, Family, Plant
from support.planted.planted_lines import REPEATS, UNKEPT_LINES, Line, Plan, kept_key, key_of, written
from support.spark.large_engine import PACK

_UNDECLARED = 900_000
"""Numbers from here on are those of partitions with current offsets that are not declared."""


def make(plan: Plan, chosen: Sequence[Sequence[str]], rnd: random.Random) -> Planted:
    """Make one line for each item of `chosen`: the names of the line's faults, none for a valid line."""
    lines: list[Line] = []
    taken: set[str] = set()
    for number, names in enumerate(chosen, 1):
        lines.append(_line(plan, number, names, (lines, taken, rnd)))
        if lines[-1].key is not None:
            taken.add(lines[-1].key)
    current = _existing(plan, lines, rnd)
    ends = [*sorted(rnd.sample(range(1, len(lines)), min(len(plan.names), len(lines)) - 1)), len(lines)]
    files, expected, unread, start = [], [], 0, 0
    for at, end in enumerate(ends):
        texts: list[bytes] = []
        for line in lines[start:end]:
            texts += [b""] * (rnd.random() < 0.05)
            texts.append(written(line, rnd.choice(plan.styles)))
            said, needs = answers_to(plan, line, current)
            unread += needs
            expected += [Expected(at, len(texts), rule, severity) for rule, severity in said]
        content = b"\n".join(texts) + b"\n" * rnd.randrange(2)
        name = plan.names[at]
        files.append((name, _packed(name, content)))
        start = end
    family = plan.family
    context = context_of(family.config, current, family.schema, plan.acknowledged)
    made = Planted(tuple(files), context, plan.kind, tuple(expected), unread)
    return made if current is None or made.errors else replace(made, **changed_by(plan, lines, current))


def _packed(name: str, content: bytes) -> bytes:
    return PACK.get(Path(name).suffix, bytes)(content)


def _line(plan: Plan, number: int, names: Sequence[str], so_far: tuple[list[Line], set[str], random.Random]) -> Line:
    """The line with those of these faults that touch different fields; a valid line if the partition is taken."""
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
        line.key = kept_key(family, line)
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


def _existing(plan: Plan, lines: Sequence[Line], rnd: random.Random) -> Offsets | None:
    """Current offsets for some of the declared partitions, and for a few others."""
    family = plan.family
    share = 1.0 if family.all_exist else plan.current
    if share is None:
        return None
    current = {}
    for line in lines:
        wanted = family.all_exist or rnd.random() < share
        spoiled = [
            plant for plant in line.plants if plant.touches[0] == "partition" and (plant.says or family.all_exist)
        ]
        if line.key is None or line.said or not wanted:
            continue
        if family.keeps_all and not family.all_exist and line.may_exist_as_it_is and not line.is_null:
            current[key_of(family, line)] = offset_text(line.value["offset"])
        elif not spoiled or line.is_eased:
            number = line.number if family.all_exist else line.number + rnd.choice([-2, 0, 2])
            current[key_of(family, line)] = offset_text(family.well(abs(number))["offset"])
    if share:
        for number in range(_UNDECLARED, _UNDECLARED + 4):
            other = family.well(number)
            current.setdefault(partition_text(other["partition"]), offset_text(other["offset"]))
    return current
