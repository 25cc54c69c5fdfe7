"""The result of `offsets check --report` as a page for a browser: rules with their first violations, and moves.

The page is `templates/manifest_page.html`; this module has the values that it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import dropwhile, groupby
from math import log10

from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.report import offset_lines
from gitops_connect.report.manifest_check import NO_BASIS, CheckedManifest, effort, ranked_rules
from gitops_connect.report.page import own_templates
from gitops_connect.report.problems import totals

_REST = re.compile(r"[\d,]+ more of this rule, [\d,]+ in total")
"""The diagnostic for violations that are not listed (`checks.small.rest`); the page counts them itself."""
_CHARTS = {
    Direction.REWIND: ("Distances of rewinds", "bar-rewind"),
    Direction.FORWARD: ("Distances of skips", "bar-forward"),
}
_MEANINGS = {
    Direction.REWIND: "reprocessed",
    Direction.FORWARD: "skipped",
    Direction.CHANGED: "direction unknown",
    Direction.NEW: "had no offset",
    Direction.REMOVED: "start without an offset",
    Direction.SAME: "unchanged",
}
_OPEN = 3
"""Rules whose violations are shown without a click."""
Values = dict[str, object]
"""What the template knows by a name."""


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """The program that has written the page, and the time."""

    program: str
    when: datetime


def render(checked: CheckedManifest, origin: PageOrigin) -> str:
    """The page; the list of all violations, `violations.parquet`, is in the same directory."""
    verdict = totals(checked.errors, checked.warnings)
    needed = ", ".join(one.value for one in checked.acknowledge)
    return (
        own_templates()
        .get_template("manifest_page.html")
        .render(
            checked=checked,
            origin=origin,
            title=f"{checked.file} for {checked.connector}: {verdict}",
            basis=checked.basis or NO_BASIS,
            verdict=verdict,
            look="error" if checked.errors else "warning" if checked.warnings else "good",
            acknowledge=f"acknowledge: [{needed}]",
            facts=_facts(checked),
            effort=effort(checked),
            when=origin.when.isoformat(timespec="seconds"),
            rules=list(_rules(checked)),
            difference=checked.difference,
            why_not=checked.why_not or "fix the errors first",
            **(_moves(checked.difference, checked.distribution) if checked.difference is not None else {}),
        )
    )


def _facts(checked: CheckedManifest) -> list[tuple[str, str]]:
    counts = checked.difference.counts if checked.difference is not None else {}
    changing = f"{sum(count for way, count in counts.items() if way is not Direction.SAME):,}"
    return [
        ("Entries", f"{checked.entries:,}"),
        ("Partitions", f"{checked.partitions:,}"),
        ("Errors", f"{checked.errors:,}"),
        ("Warnings", f"{checked.warnings:,}"),
        ("Offsets that change", changing if checked.difference is not None else "unknown"),
    ]


def _rules(checked: CheckedManifest) -> Iterator[Values]:
    for index, (rule, count) in enumerate(ranked_rules(checked)):
        found = [one for one in checked.diagnostics if one.rule == rule and not _REST.fullmatch(one.summary)]
        hints, severities = {one.hint for one in found}, {one.severity for one in found}
        yield {
            "name": rule,
            "count": count,
            "caption": f"{rule}: {_some('first', len(found), count)}",
            "severities": [one.value for one in Severity if one in severities],
            "hint": hints.pop() if len(hints) == 1 else "",
            "is_open": index < _OPEN,
            "violations": found,
        }


def _some(which: str, listed: int, count: int) -> str:
    return f"the {which} {listed:,} of {count:,}" if listed < count else f"{count:,} in total"


def _moves(difference: Difference, distribution: Mapping[Direction, Sequence[int]]) -> Values:
    grouped = groupby(difference.moves, key=lambda move: move.direction)
    return {
        "directions": list(_directions(difference)),
        "resume": [line.text for line in offset_lines.resume_lines(difference)],
        "charts": [_chart(way, distribution[way], difference) for way in _CHARTS if any(distribution.get(way, ()))],
        "largest": [_largest(way, list(moves), difference) for way, moves in grouped],
    }


def _directions(difference: Difference) -> Iterator[Values]:
    for way, meaning in _MEANINGS.items():
        if count := difference.counts.get(way, 0):
            far = difference.distances.get(way, 0)
            amount = offset_lines.quantity(far, difference.scale) if far else ""
            is_distance_only = bool(far) and not difference.scale.counts_what_is_read
            what = offset_lines.WHEN[way] if is_distance_only else meaning
            yield {"name": way.value, "count": count, "total": f"{amount} {what}".strip()}


def _chart(way: Direction, counts: Sequence[int], difference: Difference) -> Values:
    title, style = _CHARTS[way]
    unit = difference.scale.unit.many if difference.scale.unit is not None else "distance"
    missing = max(0, difference.counts.get(way, 0) - sum(counts))
    return {"title": title, "style": style, "unit": unit, "missing": missing, "bars": bars(counts)}


def _largest(way: Direction, moves: Sequence[Move], difference: Difference) -> Values:
    some = _some("largest", len(moves), difference.counts.get(way, 0))
    rows = [
        {
            "partition": offset_lines.partition_words(move.partition),
            "current": offset_lines.offset_words(move.current),
            "declared": offset_lines.offset_words(move.declared),
            "distance": _distance(move, difference),
        }
        for move in moves
    ]
    return {"direction": way.value, "caption": f"{way.value}: {some}", "is_open": way in _CHARTS, "moves": rows}


def _distance(move: Move, difference: Difference) -> str:
    far = offset_lines.quantity(move.distance, difference.scale) if move.distance else ""
    also = offset_lines.also_written(move, difference.scale)
    return f"{far} ({also})".lstrip() if also else far


# The charts: a bar for each power of ten, with its label on the left and its count behind it.

_ROW = 26
_LEFT = 118
_LENGTH = 330
_THICK = 16
_SPREAD = 100
"""If the largest count is at least so many times the smallest count, the axis is logarithmic."""
_ZERO = 0.4
"""Where the logarithmic axis begins, so that the bar of a single move is still visible."""
_SUFFIXES = ("", " k", " M", " G", " T", " P", " E")


def bars(counts: Sequence[int]) -> Values:
    """The chart of counts of [1, 10), [10, 100) and so on, not all 0. Lengths and places are numbers of SVG."""
    rows = list(dropwhile(lambda row: not row[1], enumerate(counts)))
    most, least = max(counts), min(count for count in counts if count)
    by_factors = most >= _SPREAD * least
    drawn: list[Values] = []
    for index, (decade, count) in enumerate(rows):
        length, middle = _length(count, most, by_factors=by_factors), index * _ROW + _ROW / 2
        drawn.append(
            {
                "label": _decade(decade),
                "count": count,
                "length": f"{length:.1f}" if length else "",
                "end": f"{_LEFT + length + 7:.1f}",
                "top": f"{middle - _THICK / 2:g}",
                "base": f"{middle + 4.5:g}",
            }
        )
    return {
        "rows": drawn,
        "grid": list(_grid(most, len(rows) * _ROW)) if by_factors else [],
        "by_factors": by_factors,
        "height": len(rows) * _ROW + (_ROW if by_factors else 4),
        "description": "; ".join(f"{one['label']}: {one['count']:,}" for one in drawn),
    }


def _length(count: int, most: int, *, by_factors: bool) -> float:
    if not count:
        return 0
    share = log10(count / _ZERO) / log10(most / _ZERO) if by_factors else count / most
    return max(1.5, _LENGTH * share)


def _grid(most: int, bottom: int) -> Iterator[Values]:
    for power in range(len(str(most))):
        x = f"{_LEFT + _length(10**power, most, by_factors=True):.1f}"
        yield {"label": _rounded(power), "x": x, "end": bottom + 4, "base": bottom + 17}


def _decade(power: int) -> str:
    """`10 to 99`; from a thousand on `1 k to 10 k`, where the end is not part of the interval."""
    if power < 3:
        return f"{10**power} to {10 ** (power + 1) - 1}"
    return f"{_rounded(power)} to {_rounded(power + 1)}"


def _rounded(power: int) -> str:
    thousands, rest = divmod(power, 3)
    return f"{10**rest}{_SUFFIXES[thousands]}"
