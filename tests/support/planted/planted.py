"""Manifests with planted faults (planting.py makes them), and the check that an engine reports these faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from pyarrow import parquet

from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.differences import Direction
from gitops_connect.model.documents import Blob
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats import manifest_parser as reading
from gitops_connect.offsets.rules.small import SHOWN
from support.planted.planted_families import FAULTS, ODD_LINES
from support.spark.large_engine import Said, manifest_of_files, small_verdict

NOT_PLANTED: Mapping[str, str] = FAULTS["not planted"]
"""Rules that no line of a manifest can break, and why."""
WHOLE = Location("offsets")
"""The location of messages that concern all files."""
Place = tuple[str, int, str, Severity]
"""File, line, rule without its prefix, and severity."""


class Expected(NamedTuple):
    file: int
    line: int
    rule: str
    severity: Severity


@dataclass(frozen=True)
class Planted:
    """One manifest in files, and the problems that have to be reported."""

    files: tuple[tuple[str, bytes], ...] = field(repr=False)
    context: ManifestContext = field(repr=False)
    kind: OffsetChangeKind
    expected: tuple[Expected, ...]
    unread: int
    moves: Counter[Direction] = field(default_factory=Counter)
    """How many partitions move in which direction; a move of unknown distance is CHANGED."""
    distances: Counter[Direction] = field(default_factory=Counter)

    @property
    def counts(self) -> Counter[str]:
        return Counter(f"manifest/{one.rule}" for one in self.expected)

    @property
    def unreadable(self) -> int:
        """The number of unreadable lines; the small engine lists twenty of them in all."""
        return sum(one.rule in ODD_LINES for one in self.expected)

    @property
    def errors(self) -> int:
        return sum(one.severity is Severity.ERROR for one in self.expected)

    def all_named(self) -> Counter[Place]:
        """All places, and not only the first of each rule."""
        return Counter((self.files[one.file][0], *one[1:]) for one in self.expected)

    def named(self) -> list[Place]:
        """The first places of each rule, and the place of the message that says how many more there are."""
        listed: dict[tuple[str, Severity], list[Expected]] = {}
        for one in sorted(self.expected, key=lambda one: one[:2]):
            listed.setdefault((one.rule, one.severity), []).append(one)
        found = [(self.files[one.file][0], *one[1:]) for some in listed.values() for one in some[:SHOWN]]
        found += [(WHOLE.file, 1, *kind) for kind, some in listed.items() if len(some) > SHOWN]
        return sorted(found, key=str)

    def filed(self, directory: Path) -> LargeManifest:
        return manifest_of_files(directory, WHOLE, self.files, self.context, self.kind)

    def by_small(self) -> Said:
        manifest = reading.parse_all(Blob(name, "", content) for name, content in self.files)
        return small_verdict(replace(manifest, location=WHOLE), self.context, self.kind)


def violations_in(directory: Path) -> Counter[tuple[str, int, str, Severity, int, str]]:
    """The places, columns and messages of all violations, as the large engine wrote them to that directory."""
    rows = parquet.read_table(directory / "violations.parquet").to_pylist()
    found: Counter[tuple[str, int, str, Severity, int, str]] = Counter()
    for row in rows:
        rule, severity = row["rule"].removeprefix("manifest/"), Severity(row["severity"])
        found[row["file"], row["line"], rule, severity, row["column"], row["message"]] += 1
    return found


def place(one: Diagnostic) -> Place:
    """The place of a problem, in the form of `Planted.named`."""
    return one.location.file, one.location.line, one.rule.removeprefix("manifest/"), one.severity


def places(diagnostics: Iterable[Diagnostic]) -> list[Place]:
    return sorted(map(place, diagnostics), key=str)


def held_to_plants(planted: Planted, found: Said) -> None:
    """Assert that the engine reports exactly the planted faults, each on its line."""
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
