"""A plan in one line: what it changes, what it does not change and why, and what to do next.

It is the last line of a plan, and the first line of a comment on a pull request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.plans import Action, Plan, PlannedOffsetChange
from gitops_connect.model.units import OTHER, Scale, Unit
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import quantity
from gitops_connect.report.printable import Sentence
from gitops_connect.report.words import plural, unhealthy_sentence


def summarise(plans: Iterable[Plan]) -> dict[str, int]:
    """The counts of a summary.

    They are the connectors that are adopted, created, changed and deleted, and the number of steps; the offset changes
    that are carried out, and those that are blocked; and the unhealthy connectors. A connector that is adopted and then
    changed counts twice, as an import in Terraform's summary.
    """
    counts = {"adopt": 0, "create": 0, "change": 0, "delete": 0, "steps": 0}
    counts |= {"offset_changes": 0, "offset_changes_blocked": 0, "unhealthy": 0}
    for plan in plans:
        counts["adopt"] += len(plan.adopted)
        counts["unhealthy"] += len(plan.unhealthy)
        counts["offset_changes"] += len(offset_lines.to_apply(plan))
        counts["offset_changes_blocked"] += len(offset_lines.waiting(plan))
        for connector in plan.connectors:
            if connector.applicable and connector.steps:
                counts["steps"] += len(connector.steps)
                if (what := words.kind(connector)) in counts:
                    counts[what] += 1
    return counts


def summary_line(plans: Sequence[Plan], errors: int) -> str:
    """Terraform's last line. `errors` is the number of errors in the documents; other counts of 0 are left out.

    Only if nothing is left to do, the line says that the connectors match the configuration.
    """
    counts = summarise(plans)
    adopt = f"{counts['adopt']} to adopt, " if counts["adopt"] else ""
    due = f"Plan: {adopt}{counts['create']} to create, {counts['change']} to change, {counts['delete']} to delete"
    return _summary(plans, counts, errors, f"{', '.join([due, *_lists(plans)])}.")


def _lists(plans: Sequence[Plan]) -> Iterator[str]:
    if count := sum(plan.count()[Action.LIST] for plan in plans):
        yield f"{count} to list"


def headline(plans: Sequence[Plan], errors: int) -> Sentence:
    """As in `2 to change, 1 offset change: rewinds 148 records.`; all counts of 0 are left out."""
    counts = summarise(plans)
    parts = [f"{counts[what]} to {what}" for what in ("adopt", "create", "change", "delete") if counts[what]]
    if due := counts["offset_changes"]:
        parts.append(words.plural(due, "offset change"))
    parts.extend(_lists(plans))
    far = Sentence.joined(totals([one for plan in plans for one in offset_lines.to_apply(plan)]), ", ")
    steps = f"{', '.join(parts)}{': ' if far.words else ''}{far.words}."
    return Sentence(_summary(plans, {**counts, "offset_changes": 0}, errors, steps), far.values)


def _summary(plans: Sequence[Plan], counts: Mapping[str, int], errors: int, steps: str) -> str:
    if not plans:
        return "No plan could be made."
    return " ".join([*_changes(plans, counts, errors, steps), *unhealthy_sentence(counts["unhealthy"])])


def _changes(plans: Sequence[Plan], counts: Mapping[str, int], errors: int, steps: str) -> Iterator[str]:
    more = [*_offset_changes(counts, errors), *_left_out(plans, errors)]
    if any(not plan.is_empty for plan in plans):
        yield steps
    elif more := more or list(_warnings(plans)):
        yield "No changes can be applied now."
    else:
        yield "No changes. Your connectors match the configuration."
    yield from more


def _offset_changes(counts: Mapping[str, int], errors: int) -> Iterator[str]:
    due, blocked = counts["offset_changes"], counts["offset_changes_blocked"]
    parts = [f"{due} to apply"] if due else []
    parts += [f"{blocked} blocked"] if blocked else []
    if parts:
        reasons = " (the plan gives the reasons)" if blocked and not errors else ""
        yield f"Offset changes: {', '.join(parts)}{reasons}."


def _left_out(plans: Sequence[Plan], errors: int) -> Iterator[str]:
    connectors = [one for plan in plans for one in plan.connectors]
    if count := sum(len(plan.unread) for plan in plans):
        yield f"The state of {words.plural(count, 'connector')} could not be read."
    elif not errors and not all(plan.complete for plan in plans):
        yield "The plan is not complete."
    if count := sum(bool(one.steps) and not one.applicable for one in connectors):
        yield f"The steps of {words.plural(count, 'connector')} are shown but not applied."
    if count := sum(one.out_of_sync for one in connectors):
        yield f"{words.plural(count, 'connector')} out of sync: the notes in the plan give the reason."
    if errors:
        yield f"{words.plural(errors, 'error')}: fix {'it' if errors == 1 else 'them'}, then plan again."


def _warnings(plans: Sequence[Plan]) -> Iterator[str]:
    if count := sum(len(plan.warnings) for plan in plans):
        yield f"{words.plural(count, 'warning')} in the plan."


_MOST_UNITS = 3
"""Sums in different units that are shown of one direction."""


def totals(offset_changes: Sequence[PlannedOffsetChange]) -> Iterator[Sentence]:
    """What all offset changes do together: `rewinds 148 records`, `removes 2 offsets`.

    How far offsets move back and forward, and how many are removed; nothing of what reprocesses or skips nothing.
    """
    differences = [one.difference for one in offset_changes if one.difference is not None]
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
    sums: Counter[Unit | None] = Counter()
    for one in differences:
        if far := one.distances.get(direction):
            sums[one.scale.unit] += far
    amounts = [_amount(far, Scale(unit)) for unit, far in sums.most_common(_MOST_UNITS)]
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
    return Sentence.of("{}", text) if scale.unit is not None and scale.unit.limit == OTHER else Sentence(text)


def _count(differences: Sequence[Difference], direction: Direction) -> int:
    return sum(one.counts.get(direction, 0) for one in differences)
