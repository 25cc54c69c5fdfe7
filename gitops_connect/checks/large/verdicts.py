"""What the tasks have found -> the verdicts: places become lines, findings become words, the largest moves get their
partitions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.checks.large.job import Job
from gitops_connect.checks.large.moves import Moves
from gitops_connect.checks.large.reading import pieces
from gitops_connect.checks.large.tally import Kind, Shown, Spot, Tally
from gitops_connect.checks.rules import Finding, diagnose
from gitops_connect.checks.small import SHOWN, rest
from gitops_connect.errors import SparkFailed
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Move
from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict
from gitops_connect.model.offsets import PartitionText, partition_text


def verdicts(manifests: Sequence[LargeManifest], job: Job, found: Iterable[bytes]) -> list[LargeVerdict]:
    """Of each manifest. Raises SparkFailed where the offsets that stand cannot be read."""
    results = [_Result(number, manifest, job) for number, manifest in enumerate(manifests)]
    lines: Counter[int] = Counter()
    for text in found:
        first, second, third = json.loads(text)
        if isinstance(second, int):
            lines[first] = max(lines[first], second)
            unit = job.units[first]
            results[unit.manifest].add_piece(Tally.from_json(third), is_live=unit.is_live)
        else:
            results[first].add_bucket(Tally.from_json(second), Moves.from_json(third))
    starts = _starts(job, lines)
    return [result.verdict(starts) for result in results]


def _starts(job: Job, lines: Counter[int]) -> list[int]:
    """Of each unit, the lines of its file that come before it."""
    before: Counter[tuple[int, bool, str]] = Counter()
    starts = []
    for number, unit in enumerate(job.units):
        key = unit.manifest, unit.is_live, unit.file.path
        starts.append(before[key])
        before[key] += lines[number]
    return starts


@dataclass(slots=True)
class _Result:
    number: int
    manifest: LargeManifest
    job: Job
    tally: Tally = field(init=False)
    moves: Moves = field(default_factory=Moves)

    def __post_init__(self) -> None:
        self.tally = Tally(self.manifest.context.acknowledged)

    def add_piece(self, tally: Tally, *, is_live: bool) -> None:
        """What was found of the lines of a piece."""
        if not is_live:
            self.tally.add_all(tally)
        elif tally.counts and self.manifest.live is not None:
            finding = next(iter(tally.shown.values()))[0].finding
            raise SparkFailed(f"the offsets that stand, in {self.manifest.live.name}, cannot be read: {finding}")

    def add_bucket(self, tally: Tally, moves: Moves) -> None:
        """What was found where partitions met."""
        self.tally.add_all(tally)
        self.moves.add_all(moves)

    def verdict(self, starts: Sequence[int]) -> LargeVerdict:
        """Once all is there."""
        tally = self._broken(starts) if self.tally.broken else self.tally
        if not tally.entries and not tally.counts:
            tally.counts["manifest/empty", Severity.ERROR.value] = 1
            nothing = Finding("manifest/empty", "", {"found": "no entries"})
            shown = [diagnose(nothing, self.manifest.location, self.manifest.context.connector)]
        else:
            shown = [self._diagnostic(one, starts) for listed in tally.shown.values() for one in listed]
        counts: Counter[str] = Counter()
        for (rule, _), count in tally.counts.items():
            counts[rule] += count
        known = self.manifest.live is not None and not tally.errors
        return LargeVerdict(
            entries=tally.entries,
            partitions=self.moves.partitions,
            diagnostics=Diagnostics.of([*shown, *self._rest(tally.counts)]),
            counts=dict(counts),
            errors=tally.errors,
            unread=tally.unread,
            difference=self._difference() if known else None,
        )

    def _broken(self, starts: Sequence[int]) -> Tally:
        """What cannot be read at all is all that is said: of each file where that begins."""
        first: dict[str, Shown] = {}
        for shown in sorted(self.tally.broken, key=lambda one: one.spot):
            first.setdefault(self.job.units[shown.spot.unit].file.name, shown)
        tally = Tally(self.manifest.context.acknowledged, entries=self.tally.entries)
        for shown in first.values():
            tally.add(shown)
        return tally

    def _diagnostic(self, shown: Shown, starts: Sequence[int]) -> Diagnostic:
        place, finding = self._location(shown.spot, starts), shown.finding
        if shown.other is not None:
            first = self._location(shown.other, starts)
            named = str(first.line) if first.file == place.file else f"{first.line} of {first.file}"
            finding = finding._replace(words={**finding.words, "first": named, "second": str(place.line)})
        context = self.manifest.context
        return diagnose(finding, place, context.connector, context.acknowledged)

    def _location(self, spot: Spot, starts: Sequence[int]) -> Location:
        return Location(self.job.units[spot.unit].file.name, starts[spot.unit] + spot.line + 1, spot.column)

    def _rest(self, counts: Counter[Kind]) -> Iterator[Diagnostic]:
        for (rule, severity), count in counts.items():
            if count > SHOWN:
                yield rest(rule, Severity(severity), count, (self.manifest.location, self.manifest.context.connector))

    def _difference(self) -> Difference:
        shape = self.job.subjects[self.number].shape
        fars = [(direction, far) for direction, listed in self.moves.largest.items() for far in listed]
        partitions = self._partitions({far.spot for _, far in fars})
        moves = [
            Move(partitions[far.spot], far.current, far.declared, direction, far.distance) for direction, far in fars
        ]
        moves.sort(key=Move.sort_key)
        return Difference(self.moves.counts, +self.moves.distances, tuple(moves), shape.unit if shape else "")

    def _partitions(self, spots: set[Spot]) -> dict[Spot, PartitionText]:
        """Read once more what stands in these lines: of millions only these are shown."""
        found = {}
        judge, _ = self.job.subjects[self.number].judge()
        for unit in {spot.unit for spot in spots}:
            for piece in pieces(self.job.units[unit], self.job.reader):
                lines = piece.content.split(b"\n")
                for spot in spots:
                    if spot.unit == unit and 0 <= spot.line - piece.base < len(lines) - 1:
                        value: Any = json.loads(lines[spot.line - piece.base].decode("utf-8-sig"))
                        is_live = self.job.units[unit].is_live
                        kept = None if is_live else judge.judge(value).partition
                        found[spot] = kept if kept is not None else partition_text(value["partition"])
        return found
