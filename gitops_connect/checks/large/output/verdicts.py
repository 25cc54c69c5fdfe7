"""Converts findings of tasks to verdicts: lines for places, words for findings, partitions for the largest moves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from gitops_connect.checks.large.input_splits.splits import pieces
from gitops_connect.checks.large.job import Job
from gitops_connect.checks.large.join.moves import Moves
from gitops_connect.checks.large.line_formats.layouts import OWN_WORDS
from gitops_connect.checks.large.output.line_numbers import LineNumbers
from gitops_connect.checks.large.violations.counts import Kind, RowPosition, Violation, ViolationCounts
from gitops_connect.checks.rules import Finding, diagnose
from gitops_connect.checks.small import SHOWN, rest
from gitops_connect.errors import SparkFailed
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Move
from gitops_connect.model.field_places import is_json, locate_in
from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict
from gitops_connect.model.offsets import PartitionText, partition_text
from gitops_connect.model.units import Scale


class Results:
    """The results of all manifests. `places` has the places of the lines of each split."""

    def __init__(self, manifests: Sequence[LargeManifest], job: Job, found: Iterable[bytes]) -> None:
        """Collect the findings. Raises SparkFailed if the current offsets cannot be read."""
        self.each = [TaskResult(number, manifest, job) for number, manifest in enumerate(manifests)]
        lines: Counter[int] = Counter()
        for text in found:
            first, second, third, *chosen = json.loads(text)
            if isinstance(second, int):
                lines[first] = max(lines[first], second)
                unit = job.units[first]
                self.each[unit.manifest].add_piece(ViolationCounts.from_json(third), is_live=unit.is_live)
            else:
                self.each[first].add_bucket(ViolationCounts.from_json(second), Moves.from_json(third), chosen)
        self.are_unsure = any(result.is_unsure for result in self.each)
        self.places = LineNumbers(job.units, _starts(job, lines))

    def verdicts(self) -> list[LargeVerdict]:
        """The verdict on each manifest."""
        return [result.verdict(self.places) for result in self.each]


def _starts(job: Job, lines: Counter[int]) -> list[int]:
    """The numbers of lines of its file before each split."""
    before: Counter[tuple[int, bool, str]] = Counter()
    starts = []
    for number, unit in enumerate(job.units):
        key = unit.manifest, unit.is_live, unit.file.path
        starts.append(before[key])
        before[key] += lines[number]
    return starts


@dataclass(slots=True)
class TaskResult:
    """The results of one manifest. `chosen` are the files with the lines that its patch depends on.

    `is_unsure`: some current offsets have types that were not known before.
    """

    number: int
    manifest: LargeManifest
    job: Job
    counts: ViolationCounts = field(init=False)
    moves: Moves = field(default_factory=Moves)
    chosen: list[str] = field(default_factory=list)
    is_unsure: bool = False

    def __post_init__(self) -> None:
        self.counts = ViolationCounts(self.manifest.context.acknowledged)

    def add_piece(self, counts: ViolationCounts, *, is_live: bool) -> None:
        """Add the findings of the lines of a block."""
        if not is_live:
            self.counts.add_all(counts)
            return
        self.is_unsure = self.is_unsure or (self.manifest.is_judged and counts.odd > 0)
        if counts.counts and self.manifest.live is not None:
            finding = next(iter(counts.shown.values()))[0].finding
            raise SparkFailed(f"the current offsets in {self.manifest.live.name} cannot be read: {finding}")

    def add_bucket(self, counts: ViolationCounts, moves: Moves, chosen: Iterable[str]) -> None:
        """Add the findings of the join."""
        self.counts.add_all(counts)
        self.moves.add_all(moves)
        self.chosen += chosen

    def verdict(self, places: LineNumbers) -> LargeVerdict:
        """The verdict, once all results are added."""
        counts, said = self._said(places)
        by_rule: Counter[str] = Counter()
        for (rule, _), count in counts.counts.items():
            by_rule[rule] += count
        known = self.manifest.live is not None and not counts.errors
        return LargeVerdict(
            entries=counts.entries,
            size=counts.size,
            partitions=self.moves.partitions,
            diagnostics=Diagnostics.of([*said, *self._rest(counts.counts)]),
            counts=dict(by_rule),
            errors=counts.errors,
            unread=counts.unread,
            difference=self._difference() if known else None,
            distribution={one: tuple(numbers) for one, numbers in self.moves.distribution.items()} if known else {},
        )

    @property
    def is_broken(self) -> bool:
        """True if a part of the manifest cannot be read at all: other findings of its lines are not reported then."""
        return bool(self.counts.broken)

    def beside(self, places: LineNumbers) -> list[Diagnostic]:
        """The diagnostics in addition to findings of lines: files that cannot be read or rewritten, or no entries."""
        context = self.manifest.context
        said = [self._diagnostic(one, places) for one in self._breaks()]
        for file in self.manifest.files:
            for rule, found, line, column in file.faults:
                finding = Finding(rule, "", {"found": found})
                said.append(diagnose(finding, Location(file.name, line, column), context.connector))
        if not said and not self.counts.entries and not self.counts.counts:
            nothing = Finding("manifest/empty", "", {"found": "it has no entries"})
            said.append(diagnose(nothing, self.manifest.location, context.connector))
        return said

    def _said(self, places: LineNumbers) -> tuple[ViolationCounts, list[Diagnostic]]:
        """The numbers of all diagnostics, and the first of each kind in words."""
        counts = ViolationCounts(entries=self.counts.entries)
        by_kind: dict[Kind, list[Diagnostic]] = {}
        if not self.is_broken:
            counts.add_all(replace(self.counts, entries=0))
            every = (one for listed in self.counts.shown.values() for one in listed)
            texts = self._texts({one.position for one in every if self._has_fields(one) or _lacks_words(one)})
            for kind, listed in self.counts.shown.items():
                by_kind[kind] = [self._diagnostic(one, places, texts.get(one.position, "")) for one in listed]
        for one in self.beside(places):
            kind = one.rule, one.severity.value
            counts.counts[kind] += 1
            by_kind.setdefault(kind, []).append(one)
        return counts, [one for listed in by_kind.values() for one in sorted(listed, key=Diagnostic.sort_key)[:SHOWN]]

    def _breaks(self) -> Iterable[Violation]:
        """The first place from which each unreadable file cannot be read."""
        first: dict[str, Violation] = {}
        for shown in sorted(self.counts.broken, key=lambda one: one.position):
            first.setdefault(self.job.units[shown.position.unit].file.name, shown)
        return first.values()

    def _has_fields(self, shown: Violation) -> bool:
        """Whether the place of the field is known: the file is JSON, with each entry unchanged."""
        file = self.job.units[shown.position.unit].file
        return bool(shown.finding.field) and file.places is not None and is_json(file.name)

    def _diagnostic(self, shown: Violation, places: LineNumbers, text: str = "") -> Diagnostic:
        """The diagnostic of a violation. `text` is the entry, if the place of its field is searched in it."""
        place, finding = places.at(shown.position), shown.finding
        if shown.other is not None:
            first = places.at(shown.other)
            named = str(first.line) if first.file == place.file else f"{first.line} of {first.file}"
            finding = finding._replace(words={**finding.words, "first": named, "second": str(place.line)})
        if _lacks_words(shown):
            found = self.job.subjects[self.number].judge()[0].judge(json.loads(text)).findings
            finding = next(one for one in found if one[:2] == finding[:2])
        if text and self._has_fields(shown):
            line, column = locate_in(text, (place.line, place.column), finding.field)
            place = replace(place, line=line, column=column)
        context = self.manifest.context
        return diagnose(finding, place, context.connector, context.acknowledged)

    def _rest(self, counts: Counter[Kind]) -> Iterator[Diagnostic]:
        for (rule, severity), count in counts.items():
            if count > SHOWN:
                yield rest(rule, Severity(severity), count, (self.manifest.location, self.manifest.context.connector))

    def _difference(self) -> Difference:
        shape = self.job.subjects[self.number].shape
        fars = {direction: self.moves.furthest(direction) for direction in self.moves.largest}
        partitions = self._partitions({far.position for listed in fars.values() for far in listed})
        moves: list[Move] = []
        for direction, listed in fars.items():
            named = [
                Move(partitions[far.position], far.current, far.declared, direction, far.distance) for far in listed
            ]
            moves += sorted(named, key=Move.sort_key)[:SHOWN]
        moves.sort(key=Move.sort_key)
        scale = shape.scale if shape is not None else Scale()
        return Difference(self.moves.counts, +self.moves.distances, tuple(moves), scale)

    def _partitions(self, positions: set[RowPosition]) -> dict[RowPosition, PartitionText]:
        """The partitions in these lines."""
        found = {}
        judge, _ = self.job.subjects[self.number].judge()
        for position, text in self._texts(positions).items():
            value: Any = json.loads(text)
            kept = None if self.job.units[position.unit].is_live else judge.judge(value).partition
            found[position] = kept if kept is not None else partition_text(value["partition"])
        return found

    def _texts(self, positions: set[RowPosition]) -> dict[RowPosition, str]:
        """Read these lines again: of millions of lines, only these are shown."""
        found = {}
        for unit, sought in groupby(sorted(positions), key=lambda position: position.unit):
            left = [*sought]
            for piece in pieces(self.job.units[unit], self.job.reader):
                here = [position for position in left if position.line < piece.base + piece.lines]
                lines = piece.text.split(b"\n") if here else []
                for position in here:
                    found[position] = lines[position.line - piece.base].decode("utf-8-sig")
                left = left[len(here) :]
                if not left:
                    break
        return found


def _lacks_words(shown: Violation) -> bool:
    """Whether the task has left the words to the driver: each line of its form has words of its own."""
    return not shown.finding.words and shown.finding.rule in OWN_WORDS
