"""What all offset changes of a plan do together, in words: `rewinds 148 records`, `removes 2 offsets`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.plans import PlannedOperation
from gitops_connect.model.units import Scale, Unit
from gitops_connect.report.offset_lines import quantity
from gitops_connect.report.sentence import Sentence
from gitops_connect.report.words import plural

_MOST_UNITS = 3
"""Sums in different units that are shown of one direction."""


def totals(operations: Sequence[PlannedOperation]) -> Iterator[Sentence]:
    """How far offsets move back and forward, and how many are removed; nothing of what reprocesses or skips nothing."""
    differences = [one.difference for one in operations if one.difference is not None]
    yield from _moved("rewinds", differences, Direction.REWIND)
    if changed := _count(differences, Direction.CHANGED):
        yield Sentence(f"moves {plural(changed, 'offset')} in an unknown direction")
    if removed := _count(differences, Direction.REMOVED):
        yield Sentence(f"removes {plural(removed, 'offset')}")
    yield from _moved("skips", differences, Direction.FORWARD)


def _moved(verb: str, differences: Sequence[Difference], direction: Direction) -> Iterator[Sentence]:
    """The sum of the distances in each unit; the number of partitions if no distance is known."""
    count = _count(differences, direction)
    if not count:
        return
    sums: Counter[tuple[Unit | None, str]] = Counter()
    for one in differences:
        if far := one.distances.get(direction):
            sums[one.scale.unit, one.scale.noun] += far
    amounts = [_amount(far, Scale(unit, noun)) for (unit, noun), far in sums.most_common(_MOST_UNITS)]
    if len(sums) > _MOST_UNITS:
        amounts.append(Sentence("more in other units"))
    if not amounts:
        yield Sentence(f"{verb} {plural(count, 'partition')}")
        return
    least = "at least " if any(one.is_unknown(direction) for one in differences) else ""
    yield Sentence.joined([Sentence(f"{verb} {least}"), Sentence.joined(amounts, " and ")], "")


def _amount(far: int, scale: Scale) -> Sentence:
    """The word of a unit that a schema of the repository names is a value from outside."""
    text = quantity(far, scale)
    return Sentence.of("{}", text) if scale.unit is Unit.OTHER else Sentence(text)


def _count(differences: Sequence[Difference], direction: Direction) -> int:
    return sum(one.counts.get(direction, 0) for one in differences)
