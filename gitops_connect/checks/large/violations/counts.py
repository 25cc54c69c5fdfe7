"""The violations of a block, of a bucket, or of a whole manifest: the numbers of all, and the first of each rule."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gitops_connect.checks.large.violations.file import TaskViolations, Violation
from gitops_connect.checks.large.violations.line_numbers import RowPosition, RowPositions
from gitops_connect.checks.rules import Finding, severity_of
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import Acknowledgement

Kind = tuple[str, Severity]
"""A rule and a severity, which are counted separately."""


@dataclass(slots=True)
class ViolationCounts:
    """The counts of a block, of several blocks, or of a whole manifest. `size` is in bytes.

    `new_types` counts current offsets of a type that was not known. `unread` counts entries that the connector does not
    read. `broken` are positions after which nothing could be read: other violations of such a manifest would be
    incomplete. `file` receives each violation, if all violations are requested.
    """

    acknowledged: frozenset[Acknowledgement] = frozenset()
    file: TaskViolations | None = None
    entries: int = 0
    size: int = 0
    new_types: int = 0
    unread: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    shown: dict[Kind, list[Violation]] = field(default_factory=dict)
    broken: list[Violation] = field(default_factory=list)

    def fresh(self) -> ViolationCounts:
        """Empty counts for the same manifest."""
        return ViolationCounts(self.acknowledged, self.file)

    def without_file(self) -> ViolationCounts:
        """The counts for another process."""
        return replace(self, file=None)

    def add(self, violation: Violation) -> None:
        """Add one violation."""
        if self.file is not None:
            self.file.add(violation, self.acknowledged)
        kind = self._kind(violation.finding)
        self.counts[kind] += 1
        self._show(kind, violation)

    def add_number(self, finding: Finding, number: int) -> None:
        """Add violations of the same rule that are neither shown nor written to the file."""
        self.counts[self._kind(finding)] += number

    def add_entry(self, position: RowPosition, findings: Sequence[Finding]) -> None:
        """Add all findings of one entry."""
        for finding in findings:
            self.add(Violation(position, finding))
        self.unread += any(finding.unread for finding in findings)

    def add_alike(self, findings: Sequence[Finding], rows: RowPositions, first: RowPositions | None = None) -> None:
        """Add equal findings for each of these rows, which ascend; `first` are the rows that they repeat."""
        if not len(rows[0]):
            return
        positions = _first_of(rows)
        repeated = [None] * len(positions) if first is None else _first_of(first)
        for finding in findings:
            if self.file is not None:
                self.file.add_alike(finding, self.acknowledged, rows, first)
            self.add_number(finding, len(rows[0]))
            for position, other in zip(positions, repeated, strict=True):
                self._show(self._kind(finding), Violation(position, finding, other))
        self.unread += len(rows[0]) * any(finding.unread for finding in findings)

    def add_all(self, other: ViolationCounts) -> None:
        """Add the counts of another part."""
        self.entries += other.entries
        self.size += other.size
        self.new_types += other.new_types
        self.unread += other.unread
        self.counts.update(other.counts)
        self.broken += other.broken
        for kind, violations in other.shown.items():
            for violation in violations:
                self._show(kind, violation)

    def _show(self, kind: Kind, violation: Violation) -> None:
        """Keep the violation if it is among the first of its rule."""
        shown = self.shown.setdefault(kind, [])
        if len(shown) < SHOWN or violation.position < shown[-1].position:
            insort(shown, violation, key=lambda one: one.position)
            del shown[SHOWN:]

    def _kind(self, finding: Finding) -> Kind:
        return finding.rule, severity_of(finding, self.acknowledged)


def _first_of(rows: RowPositions) -> list[RowPosition]:
    return [RowPosition(*row) for row in zip(*(part[:SHOWN].tolist() for part in rows), strict=True)]
