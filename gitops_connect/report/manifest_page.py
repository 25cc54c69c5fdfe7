"""The result of `offsets check --report` as a page for a browser: rules with their first violations, and moves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.units import Unit
from gitops_connect.report import offset_lines
from gitops_connect.report.bars import bars, is_by_factors
from gitops_connect.report.manifest_check import CheckedManifest, effort, ranked_rules
from gitops_connect.report.page import code, facts, frame, shown, table
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
_UNITS: Mapping[Unit | None, str] = {
    Unit.FILE_BYTES: "bytes of the file",
    Unit.WAL_BYTES: "bytes of WAL",
    Unit.BINLOG_BYTES: "bytes of binlog",
    Unit.TIME: "milliseconds",
}
_OPEN = 3
"""Rules whose violations are shown without a click."""


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """The program that has written the page, and the time."""

    program: str
    when: datetime


def render(checked: CheckedManifest, origin: PageOrigin) -> str:
    """The page; the list of all violations, `violations.parquet`, is in the same directory."""
    moves, problems = _moves(checked), _problems(checked)
    main = [*_head(checked), *((*problems, *moves) if checked.errors else (*moves, *problems))]
    return frame(
        f"{checked.file} for {checked.connector}: {_verdict(checked)}",
        ["<main>", *main, "</main>", _foot(checked, origin)],
    )


def _verdict(checked: CheckedManifest) -> str:
    return totals(checked.errors, checked.warnings)


def _head(checked: CheckedManifest) -> Iterator[str]:
    yield f"<header><h1>{code(checked.file)} for {shown(checked.connector)}</h1>"
    where = f" on the cluster {shown(checked.cluster)}" if checked.cluster is not None else ""
    basis = checked.basis or "its config is not known, so only the rules for every connector are checked"
    yield f'<p class="soft">The connector{where}: {shown(basis)}. Operation: {code(checked.kind.value)}.</p>'
    if len(checked.files) > 1:
        yield _files(checked.files)
    word = "error" if checked.errors else "warning" if checked.warnings else "good"
    yield f'<p class="verdict {word}">{shown(_verdict(checked)).capitalize()}</p>'
    if checked.errors:
        yield "<p>A document with this offset manifest is blocked until these errors are fixed.</p>"
    if checked.acknowledge:
        needed = ", ".join(one.value for one in checked.acknowledge)
        yield f"<p>A document that makes this change must contain {code(f'acknowledge: [{needed}]')}.</p>"
    yield "</header>"
    yield facts(
        [
            ("Entries", f"{checked.entries:,}"),
            ("Partitions", f"{checked.partitions:,}"),
            ("Errors", f"{checked.errors:,}"),
            ("Warnings", f"{checked.warnings:,}"),
            ("Offsets that change", _changing(checked.difference)),
        ]
    )


def _files(names: Sequence[str]) -> str:
    listed = "".join(f"<li>{code(name)}</li>" for name in names)
    return f"<details><summary>{len(names):,} files</summary><ul>{listed}</ul></details>"


def _changing(difference: Difference | None) -> str:
    if difference is None:
        return "unknown"
    return f"{sum(count for way, count in difference.counts.items() if way is not Direction.SAME):,}"


def _moves(checked: CheckedManifest) -> Iterator[str]:
    yield "<h2>What would change</h2>"
    difference = checked.difference
    if difference is None:
        why = checked.why_not or "fix the errors first"
        yield f"<p>Not compared with the current offsets: {shown(why)}.</p>"
        return
    yield _counts(difference)
    yield from _resume(difference)
    charts = [
        _chart(way, checked.distribution, difference) for way in _CHARTS if any(checked.distribution.get(way, ()))
    ]
    if charts:
        yield f'<div class="charts" style="margin-top:1rem">{"".join(charts)}</div>'
    for way, moves in groupby(difference.moves, key=lambda move: move.direction):
        yield _largest(way, list(moves), difference)


def _counts(difference: Difference) -> str:
    rows = []
    for way, meaning in _MEANINGS.items():
        if count := difference.counts.get(way, 0):
            far = difference.distances.get(way, 0)
            amount = offset_lines.quantity(far, difference.scale) if far else ""
            is_distance_only = bool(far) and not difference.scale.counts_what_is_read
            what = offset_lines.WHEN[way] if is_distance_only else meaning
            rows.append((shown(way.value), f"{count:,}", shown(f"{amount} {what}".strip())))
    return table("Partitions by direction", ("Direction", "Partitions", "Total"), rows, (1,))


def _chart(way: Direction, distribution: Mapping[Direction, Sequence[int]], difference: Difference) -> str:
    counts, (title, style) = distribution[way], _CHARTS[way]
    unit = _UNITS.get(difference.scale.unit, difference.scale.name) or "distance"
    scale = " The scale is logarithmic." if is_by_factors(counts) else ""
    missing = difference.counts.get(way, 0) - sum(counts)
    untold = f" The distance is unknown for {missing:,}." if missing > 0 else ""
    caption = f"Partitions by distance, in {shown(unit)}.{scale}{untold}"
    return (
        f'<figure><figcaption><h3>{title}</h3><span class="soft">{caption}</span></figcaption>'
        f"{bars(counts, style, f'{title}: partitions by distance in {unit}')}</figure>"
    )


def _largest(way: Direction, moves: Sequence[Move], difference: Difference) -> str:
    count = difference.counts.get(way, 0)
    some = f"the largest {len(moves):,} of {count:,}" if len(moves) < count else f"{count:,} in total"
    rows = [
        (
            code(offset_lines.partition_words(move.partition)),
            code(offset_lines.offset_words(move.current)),
            code(offset_lines.offset_words(move.declared)),
            shown(_distance(move, difference)),
        )
        for move in moves
    ]
    lines = table(f"{way.value}: {some}", ("Partition", "Current offset", "Declared offset", "Distance"), rows, (3,))
    return f"<details{' open' if way in _CHARTS else ''}><summary>Largest moves: {way.value}</summary>{lines}</details>"


def _distance(move: Move, difference: Difference) -> str:
    far = offset_lines.quantity(move.distance, difference.scale) if move.distance else ""
    also = offset_lines.also_written(move, difference.scale)
    return f"{far} ({also})".lstrip() if also else far


def _resume(difference: Difference) -> Iterator[str]:
    if difference.resume:
        items = "".join(f"<li>{shown(line.text)}</li>" for line in offset_lines.resume_lines(difference))
        yield f"<ul>{items}</ul>"


def _problems(checked: CheckedManifest) -> Iterator[str]:
    yield "<h2>What is wrong</h2>"
    ranked = ranked_rules(checked)
    if not ranked:
        yield "<p>No entry violates a rule.</p>"
        return
    named = {
        rule: [one for one in checked.diagnostics if one.rule == rule and not _REST.fullmatch(one.summary)]
        for rule, _ in ranked
    }
    rows = [(code(rule), _severity(named[rule]), f"{count:,}") for rule, count in ranked]
    yield table("Violated rules, by number of violations", ("Rule", "Severity", "Violations"), rows, (2,))
    link = '<a href="violations.parquet">violations.parquet</a>'
    yield f"<p>The first violations of each rule are listed below. All of them, with file and line, are in {link}.</p>"
    for index, (rule, count) in enumerate(ranked):
        yield _violations(rule, count, named[rule], is_open=index < _OPEN)


def _severity(violations: Sequence[Diagnostic]) -> str:
    found = {one.severity for one in violations}
    return ", ".join(f'<span class="{one.value}">{one.value}</span>' for one in Severity if one in found)


def _violations(rule: str, count: int, violations: Sequence[Diagnostic], *, is_open: bool) -> str:
    hints = {one.hint for one in violations}
    hint = f'<p class="soft">{shown(next(iter(hints)))}</p>' if len(hints) == 1 and hints != {""} else ""
    rows = [
        (f'<code class="place">{shown(str(one.location))}</code>', _message(one, has_hint=not hint))
        for one in violations
    ]
    some = f"the first {len(rows):,} of {count:,}" if len(rows) < count else f"{count:,} in total"
    lines = table(f"{rule}: {some}", ("Place", "What is wrong"), rows)
    return f"<details{' open' if is_open else ''}><summary>{code(rule)}: {count:,}</summary>{hint}{lines}</details>"


def _message(one: Diagnostic, *, has_hint: bool) -> str:
    hint = f'<br><span class="soft">{shown(one.hint)}</span>' if has_hint and one.hint else ""
    return f"{shown(one.summary)}{hint}"


def _foot(checked: CheckedManifest, origin: PageOrigin) -> str:
    when = f'<time datetime="{origin.when.isoformat(timespec="seconds")}">{origin.when:%Y-%m-%d %H:%M:%S} UTC</time>'
    return f"<footer><p>Checked {shown(effort(checked))}. Written by {shown(origin.program)}, {when}.</p></footer>"
