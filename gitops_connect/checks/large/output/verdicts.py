"""Converts findings of tasks to verdicts: lines of rows, messages, partitions of the largest moves."""

from __future__ import annotations

import json
import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from gitops_connect.checks.large.input_splits.splits import pieces
from gitops_connect.checks.large.job import BlockResult, Job
from gitops_connect.checks.large.job_files import JobDirectories
from gitops_connect.checks.large.join.compare import BucketResult
from gitops_connect.checks.large.join.moves import Moves
from gitops_connect.checks.large.violations.counts import Kind, Violation, ViolationCounts
from gitops_connect.checks.large.violations.file import join_violations
from gitops_connect.checks.large.violations.line_numbers import LineNumbers, RowPosition
from gitops_connect.checks.rules import Finding, diagnose
from gitops_connect.checks.small import SHOWN, rest
from gitops_connect.errors import SparkFailed
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location
from gitops_connect.model.differences import Difference, Move
from gitops_connect.model.field_places import is_json, locate_in
from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict
from gitops_connect.model.offsets import PartitionText, partition_text
from gitops_connect.model.units import Scale


class Results:
    """The results of all manifests. `line_numbers` has the lines of the rows of each split."""

    def __init__(self, manifests: Sequence[LargeManifest], job: Job, found: Iterable[bytes]) -> None:
        """Collect the results of all tasks. Raises SparkFailed if the current offsets cannot be read."""
        self.each = [ManifestResult(number, manifest, job) for number, manifest in enumerate(manifests)]
        lines: Counter[int] = Counter()
        for result in map(pickle.loads, found):  # our own tasks wrote them
            if isinstance(result, BlockResult):
                lines[result.split] = max(lines[result.split], result.lines)
                split = job.splits[result.split]
                self.each[split.manifest].add_block(result.counts, is_live=split.is_live)
            else:
                self.each[result.manifest].add_bucket(result)
        self.are_unsure = any(result.is_unsure for result in self.each)
        self.line_numbers = LineNumbers(job.splits, lines)

    def verdicts(self) -> list[LargeVerdict]:
        """The verdict on each manifest."""
        return [result.verdict(self.line_numbers) for result in self.each]

    def write_violations(self, folders: JobDirectories) -> None:
        """Write all violations to one file. Raises OSError."""
        others = [one for result in self.each for one in result.other_diagnostics(self.line_numbers)]
        broken = [number for number, result in enumerate(self.each) if result.counts.broken]
        join_violations(folders, others, self.line_numbers, broken)


@dataclass(slots=True)
class ManifestResult:
    """The results of one manifest. `deletions` are the files with the rows that its patch depends on.

    `is_unsure`: some current offsets have types that were not known before.
    """

    number: int
    manifest: LargeManifest
    job: Job
    counts: ViolationCounts = field(init=False)
    moves: Moves = field(default_factory=Moves)
    deletions: list[Path] = field(default_factory=list)
    is_unsure: bool = False

    def __post_init__(self) -> None:
        self.counts = ViolationCounts(self.manifest.context.acknowledged)

    def add_block(self, counts: ViolationCounts, *, is_live: bool) -> None:
        """Add the violations of the lines of a block."""
        if not is_live:
            self.counts.add_all(counts)
            return
        self.is_unsure = self.is_unsure or (self.manifest.is_judged and counts.new_types > 0)
        if counts.counts and self.manifest.live is not None:
            finding = next(iter(counts.shown.values()))[0].finding
            raise SparkFailed(f"the current offsets in {self.manifest.live.name} cannot be read: {finding}")

    def add_bucket(self, result: BucketResult) -> None:
        """Add the result of the join."""
        self.counts.add_all(result.counts)
        self.moves.add_all(result.moves)
        self.deletions += [result.deletions] if result.deletions else []

    def verdict(self, line_numbers: LineNumbers) -> LargeVerdict:
        """The verdict, once all results are added."""
        counts, diagnostics = self._diagnostics(line_numbers)
        by_rule: Counter[str] = Counter()
        for (rule, _), count in counts.counts.items():
            by_rule[rule] += count
        known = self.manifest.live is not None and not counts.errors
        return LargeVerdict(
            entries=counts.entries,
            size=counts.size,
            partitions=self.moves.partitions,
            diagnostics=Diagnostics.of([*diagnostics, *self._rest(counts.counts)]),
            counts=dict(by_rule),
            errors=counts.errors,
            unread=counts.unread,
            difference=self._difference() if known else None,
            distribution=self.moves.distribution() if known else {},
        )

    def other_diagnostics(self, line_numbers: LineNumbers) -> list[Diagnostic]:
        """The diagnostics in addition to those of lines: files that cannot be read or rewritten, or no entries."""
        context = self.manifest.context
        found = [self._diagnostic(one, line_numbers) for one in self._first_broken()]
        for file in self.manifest.files:
            for rule, text, line, column in file.faults:
                finding = Finding(rule, "", {"found": text})
                found.append(diagnose(finding, Location(file.name, line, column), context.connector))
        if not found and not self.counts.entries and not self.counts.counts:
            nothing = Finding("manifest/empty", "", {"found": "it has no entries"})
            found.append(diagnose(nothing, self.manifest.location, context.connector))
        return found

    def _diagnostics(self, line_numbers: LineNumbers) -> tuple[ViolationCounts, list[Diagnostic]]:
        """The numbers of all diagnostics, and the first of each kind."""
        counts = ViolationCounts(entries=self.counts.entries)
        by_kind: dict[Kind, list[Diagnostic]] = defaultdict(list)
        if not self.counts.broken:  # else other violations would be incomplete
            counts.add_all(replace(self.counts, entries=0))
            shown = [(kind, one) for kind, listed in self.counts.shown.items() for one in listed]
            texts = self._texts({one.position for _, one in shown if self._has_fields(one)})
            for kind, one in shown:
                by_kind[kind].append(self._diagnostic(one, line_numbers, texts.get(one.position, "")))
        for other in self.other_diagnostics(line_numbers):
            kind = other.rule, other.severity
            counts.counts[kind] += 1
            by_kind[kind].append(other)
        return counts, [one for listed in by_kind.values() for one in sorted(listed, key=Diagnostic.sort_key)[:SHOWN]]

    def _first_broken(self) -> Iterable[Violation]:
        """The first position from which each unreadable file cannot be read."""
        first: dict[str, Violation] = {}
        for violation in sorted(self.counts.broken, key=lambda one: one.position):
            first.setdefault(self.job.splits[violation.position.split].file.name, violation)
        return first.values()

    def _has_fields(self, violation: Violation) -> bool:
        """Whether the place of the field is known: the file is JSON, with each entry unchanged."""
        file = self.job.splits[violation.position.split].file
        return bool(violation.finding.field) and file.places is not None and is_json(file.name)

    def _diagnostic(self, violation: Violation, line_numbers: LineNumbers, text: str = "") -> Diagnostic:
        """The diagnostic of a violation. `text` is the entry, if the place of its field is searched in it."""
        location, finding = line_numbers.location(violation.position), violation.finding
        if violation.first is not None:
            first = line_numbers.location(violation.first)
            named = str(first.line) if first.file == location.file else f"{first.line} of {first.file}"
            finding = finding._replace(words={**finding.words, "first": named, "second": str(location.line)})
        if text:
            line, column = locate_in(text, (location.line, location.column), finding.field)
            location = replace(location, line=line, column=column)
        context = self.manifest.context
        return diagnose(finding, location, context.connector, context.acknowledged)

    def _rest(self, counts: Counter[Kind]) -> Iterator[Diagnostic]:
        for (rule, severity), count in counts.items():
            if count > SHOWN:
                yield rest(rule, severity, count, (self.manifest.location, self.manifest.context.connector))

    def _difference(self) -> Difference:
        shape = self.job.manifests[self.number].shape
        candidates = {direction: self.moves.candidates(direction) for direction in self.moves.largest}
        partitions = self._partitions({move.position for listed in candidates.values() for move in listed})
        moves: list[Move] = []
        for direction, listed in candidates.items():
            named = [Move(partitions[at], current, declared, direction, far) for at, current, declared, far in listed]
            moves += sorted(named, key=Move.sort_key)[:SHOWN]
        moves.sort(key=Move.sort_key)
        scale = shape.scale if shape is not None else Scale()
        return Difference(self.moves.counts, +self.moves.distances, tuple(moves), scale)

    def _partitions(self, positions: set[RowPosition]) -> dict[RowPosition, PartitionText]:
        """The partitions in these lines."""
        found = {}
        judge, _ = self.job.manifests[self.number].judge()
        for position, text in self._texts(positions).items():
            value: Any = json.loads(text)
            kept = None if self.job.splits[position.split].is_live else judge.judge(value).partition
            found[position] = kept if kept is not None else partition_text(value["partition"])
        return found

    def _texts(self, positions: set[RowPosition]) -> dict[RowPosition, str]:
        """Read these lines again: of millions of lines, only these are shown."""
        found = {}
        for split, group in groupby(sorted(positions), key=lambda position: position.split):
            missing = [*group]
            for block in pieces(self.job.splits[split], self.job.reader):
                here = [position for position in missing if position.line < block.base + block.lines]
                lines = block.content.split(b"\n") if here else []
                for position in here:
                    found[position] = lines[position.line - block.base].decode("utf-8-sig")
                missing = missing[len(here) :]
                if not missing:
                    break
        return found
