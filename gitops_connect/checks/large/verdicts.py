"""What the tasks have found -> the verdicts: places become lines, findings become words, the largest moves get their
partitions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from gitops_connect.checks.large.job import Job
from gitops_connect.checks.large.moves import Moves
from gitops_connect.checks.large.places import Places
from gitops_connect.checks.large.reading import pieces
from gitops_connect.checks.large.tally import Kind, Shown, Spot, Tally
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
    """What was found of each manifest. `places` say of each unit where its lines stand."""

    def __init__(self, manifests: Sequence[LargeManifest], job: Job, found: Iterable[bytes]) -> None:
        """Raises SparkFailed where the offsets that stand cannot be read."""
        self.each = [Result(number, manifest, job) for number, manifest in enumerate(manifests)]
        lines: Counter[int] = Counter()
        for text in found:
            first, second, third, *chosen = json.loads(text)
            if isinstance(second, int):
                lines[first] = max(lines[first], second)
                unit = job.units[first]
                self.each[unit.manifest].add_piece(Tally.from_json(third), is_live=unit.is_live)
            else:
                self.each[first].add_bucket(Tally.from_json(second), Moves.from_json(third), chosen)
        self.are_unsure = any(result.is_unsure for result in self.each)
        self.places = Places(job.units, _starts(job, lines))

    def verdicts(self) -> list[LargeVerdict]:
        """Of each manifest."""
        return [result.verdict(self.places) for result in self.each]


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
class Result:
    """What was found of one manifest. `chosen` are the files with the lines that its patch has to know of.

    `is_unsure`: among the offsets that stand are some of types that were not known before.
    """

    number: int
    manifest: LargeManifest
    job: Job
    tally: Tally = field(init=False)
    moves: Moves = field(default_factory=Moves)
    chosen: list[str] = field(default_factory=list)
    is_unsure: bool = False

    def __post_init__(self) -> None:
        self.tally = Tally(self.manifest.context.acknowledged)

    def add_piece(self, tally: Tally, *, is_live: bool) -> None:
        """What was found of the lines of a piece."""
        if not is_live:
            self.tally.add_all(tally)
            return
        self.is_unsure = self.is_unsure or (self.manifest.is_judged and tally.odd > 0)
        if tally.counts and self.manifest.live is not None:
            finding = next(iter(tally.shown.values()))[0].finding
            raise SparkFailed(f"the current offsets in {self.manifest.live.name} cannot be read: {finding}")

    def add_bucket(self, tally: Tally, moves: Moves, chosen: Iterable[str]) -> None:
        """What was found where partitions met."""
        self.tally.add_all(tally)
        self.moves.add_all(moves)
        self.chosen += chosen

    def verdict(self, places: Places) -> LargeVerdict:
        """Once all is there."""
        tally, said = self._said(places)
        counts: Counter[str] = Counter()
        for (rule, _), count in tally.counts.items():
            counts[rule] += count
        known = self.manifest.live is not None and not tally.errors
        return LargeVerdict(
            entries=tally.entries,
            size=tally.size,
            partitions=self.moves.partitions,
            diagnostics=Diagnostics.of([*said, *self._rest(tally.counts)]),
            counts=dict(counts),
            errors=tally.errors,
            unread=tally.unread,
            difference=self._difference() if known else None,
            distribution={one: tuple(numbers) for one, numbers in self.moves.distribution.items()} if known else {},
        )

    @property
    def is_broken(self) -> bool:
        """True where a part of it cannot be read at all: then what else was found of its lines is not said."""
        return bool(self.tally.broken)

    def beside(self, places: Places) -> list[Diagnostic]:
        """What is said beside the findings of lines: where a file could not be read on, or not rewritten, or none."""
        context = self.manifest.context
        said = [self._diagnostic(one, places) for one in self._breaks()]
        for file in self.manifest.files:
            for rule, found, line, column in file.faults:
                finding = Finding(rule, "", {"found": found})
                said.append(diagnose(finding, Location(file.name, line, column), context.connector))
        if not said and not self.tally.entries and not self.tally.counts:
            nothing = Finding("manifest/empty", "", {"found": "it has no entries"})
            said.append(diagnose(nothing, self.manifest.location, context.connector))
        return said

    def _said(self, places: Places) -> tuple[Tally, list[Diagnostic]]:
        """The numbers of all that is said, and the first of each kind in words."""
        tally = Tally(entries=self.tally.entries)
        by_kind: dict[Kind, list[Diagnostic]] = {}
        if not self.is_broken:
            tally.add_all(replace(self.tally, entries=0))
            every = (one for listed in self.tally.shown.values() for one in listed)
            texts = self._texts({one.spot for one in every if self._has_fields(one)})
            for kind, listed in self.tally.shown.items():
                by_kind[kind] = [self._diagnostic(one, places, texts.get(one.spot, "")) for one in listed]
        for one in self.beside(places):
            kind = one.rule, one.severity.value
            tally.counts[kind] += 1
            by_kind.setdefault(kind, []).append(one)
        return tally, [one for listed in by_kind.values() for one in sorted(listed, key=Diagnostic.sort_key)[:SHOWN]]

    def _breaks(self) -> Iterable[Shown]:
        """Of each file that cannot be read on, where that begins."""
        first: dict[str, Shown] = {}
        for shown in sorted(self.tally.broken, key=lambda one: one.spot):
            first.setdefault(self.job.units[shown.spot.unit].file.name, shown)
        return first.values()

    def _has_fields(self, shown: Shown) -> bool:
        """Whether the place of the field is known: the file is JSON, with each entry as it is there."""
        file = self.job.units[shown.spot.unit].file
        return bool(shown.finding.field) and file.places is not None and is_json(file.name)

    def _diagnostic(self, shown: Shown, places: Places, text: str = "") -> Diagnostic:
        """`text` is the entry, if the places of its fields are to be found in it."""
        place, finding = places.at(shown.spot), shown.finding
        if shown.other is not None:
            first = places.at(shown.other)
            named = str(first.line) if first.file == place.file else f"{first.line} of {first.file}"
            finding = finding._replace(words={**finding.words, "first": named, "second": str(place.line)})
        if text:
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
        partitions = self._partitions({far.spot for listed in fars.values() for far in listed})
        moves: list[Move] = []
        for direction, listed in fars.items():
            named = [Move(partitions[far.spot], far.current, far.declared, direction, far.distance) for far in listed]
            moves += sorted(named, key=Move.sort_key)[:SHOWN]
        moves.sort(key=Move.sort_key)
        scale = shape.scale if shape is not None else Scale()
        return Difference(self.moves.counts, +self.moves.distances, tuple(moves), scale)

    def _partitions(self, spots: set[Spot]) -> dict[Spot, PartitionText]:
        """Of what stands in these lines."""
        found = {}
        judge, _ = self.job.subjects[self.number].judge()
        for spot, text in self._texts(spots).items():
            value: Any = json.loads(text)
            kept = None if self.job.units[spot.unit].is_live else judge.judge(value).partition
            found[spot] = kept if kept is not None else partition_text(value["partition"])
        return found

    def _texts(self, spots: set[Spot]) -> dict[Spot, str]:
        """Read these lines once more: of millions only these are shown."""
        found = {}
        for unit, sought in groupby(sorted(spots), key=lambda spot: spot.unit):
            left = [*sought]
            for piece in pieces(self.job.units[unit], self.job.reader):
                here = [spot for spot in left if spot.line < piece.base + piece.lines]
                lines = piece.content.split(b"\n") if here else []
                for spot in here:
                    found[spot] = lines[spot.line - piece.base].decode("utf-8-sig")
                left = left[len(here) :]
                if not left:
                    break
        return found
