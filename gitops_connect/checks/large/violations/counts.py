"""The findings to keep: the numbers of all, and the first of each rule in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from gitops_connect.checks.large.keys.text_hashes import Positions
from gitops_connect.checks.rules import Finding, severity_of
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import Acknowledgement

Kind = tuple[str, str]
"""A rule and a severity, which are counted separately."""


class RowPosition(NamedTuple):
    """A place before its line is known: split, line from 0 within the split, column from 1."""

    unit: int
    line: int
    column: int = 1


Places = tuple[Positions, Positions]
"""Splits and lines, as in a `RowPosition`."""


class Violation(NamedTuple):
    """A finding that is put into words; `other` is the second place in its message."""

    position: RowPosition
    finding: Finding
    other: RowPosition | None = None


class ViolationSink(Protocol):
    """The receiver of each finding."""

    def add(self, shown: Violation, acknowledged: frozenset[Acknowledgement]) -> None:
        """Add one finding of a manifest with the acknowledgements of its document."""

    def add_alike(
        self, finding: Finding, acknowledged: frozenset[Acknowledgement], places: Places, firsts: Places | None
    ) -> None:
        """Add one finding at many places, each at the first column; `firsts` are the second places in its message."""


@dataclass(slots=True)
class ViolationCounts:
    """The counts of a block, of several blocks, or of a whole manifest. `size` is in bytes.

    `odd` current offsets have a type that was not known.

    `violations` receives each finding, if all findings are requested. `broken` are places after which nothing could be
    read: other findings of such a manifest would be incomplete.
    """

    acknowledged: frozenset[Acknowledgement] = frozenset()
    violations: ViolationSink | None = None
    entries: int = 0
    size: int = 0
    odd: int = 0
    unread: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    shown: dict[Kind, list[Violation]] = field(default_factory=dict)
    broken: list[Violation] = field(default_factory=list)

    def fresh(self) -> ViolationCounts:
        """Empty counts for the same manifest."""
        return ViolationCounts(self.acknowledged, self.violations)

    def add(self, shown: Violation) -> None:
        """Add one finding. Findings are added in the order of their places, or sorted by `add_all`."""
        self.tell(shown)
        kind = self._kind(shown.finding)
        self.counts[kind] += 1
        listed = self.shown.setdefault(kind, [])
        if len(listed) < SHOWN:
            listed.append(shown)

    def tell(self, shown: Violation) -> None:
        """Write the finding, if all findings are requested, without counting it."""
        if self.violations is not None:
            self.violations.add(shown, self.acknowledged)

    def add_entry(self, position: RowPosition, findings: Iterable[Finding]) -> None:
        """Add all findings of one entry."""
        unread = False
        for finding in findings:
            self.add(Violation(position, finding))
            unread = unread or finding.unread
        self.unread += unread

    def add_alike(self, findings: Iterable[Finding], places: Places) -> None:
        """Add equal findings for each entry at these places, which ascend."""
        first = [RowPosition(*one) for one in zip(*(part[:SHOWN].tolist() for part in places), strict=True)]
        unread = False
        for finding in findings:
            self.add_many(len(places[0]), (Violation(position, finding) for position in first))
            if self.violations is not None:
                self.violations.add_alike(finding, self.acknowledged, places, None)
            unread = unread or finding.unread
        self.unread += len(places[0]) if unread else 0

    def add_many(self, number: int, first: Iterable[Violation]) -> None:
        """Add `number` findings of one rule, of which `first` are the first. The caller writes all to `violations`."""
        listed = list(first)
        if listed:
            kind = self._kind(listed[0].finding)
            self.counts[kind] += number
            self.shown[kind] = sorted((*self.shown.get(kind, ()), *listed), key=lambda one: one.position)[:SHOWN]

    def add_all(self, other: ViolationCounts) -> None:
        """Add the counts of another part."""
        self.entries += other.entries
        self.size += other.size
        self.odd += other.odd
        self.unread += other.unread
        self.counts += other.counts
        self.broken += other.broken
        for kind, listed in other.shown.items():
            self.shown[kind] = sorted((*self.shown.get(kind, ()), *listed), key=lambda one: one.position)[:SHOWN]

    def to_json(self) -> Any:
        """A value for `from_json`, in another process."""
        return [
            self.entries,
            self.size,
            self.odd,
            self.unread,
            [[*kind, count] for kind, count in self.counts.items()],
            [[*kind, _explained(listed)] for kind, listed in self.shown.items()],
            _explained(self.broken),
        ]

    @staticmethod
    def from_json(value: Any) -> ViolationCounts:
        """Read a value of `to_json`."""
        entries, size, odd, unread, counts, shown, broken = value
        return ViolationCounts(
            entries=entries,
            size=size,
            odd=odd,
            unread=unread,
            counts=Counter({(rule, severity): count for rule, severity, count in counts}),
            shown={(rule, severity): [_shown(one) for one in listed] for rule, severity, listed in shown},
            broken=[_shown(one) for one in broken],
        )

    def _kind(self, finding: Finding) -> Kind:
        return finding.rule, severity_of(finding, self.acknowledged).value

    @property
    def errors(self) -> int:
        """The number of findings that block the manifest."""
        return sum(count for (_, severity), count in self.counts.items() if severity == Severity.ERROR.value)


def dumped(value: Any) -> bytes:
    """A value as bytes, for a column that only this package reads."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _explained(listed: Iterable[Violation]) -> list[Violation]:
    return [one._replace(finding=one.finding.explained()) for one in listed]


def _shown(value: Any) -> Violation:
    position, finding, other = value
    return Violation(RowPosition(*position), Finding(*finding), None if other is None else RowPosition(*other))
