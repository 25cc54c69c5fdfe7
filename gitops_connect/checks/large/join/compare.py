"""The second half of the job: finds duplicates in one bucket, and moves compared with the current offsets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.checks.field_types import shorten
from gitops_connect.checks.large.job import FOUND, Job, ManifestTask
from gitops_connect.checks.large.job_files import save_lines
from gitops_connect.checks.large.join.moves import TIES, LargestMove, Moves
from gitops_connect.checks.large.join.outer_join import Indexes, JoinResult, furthest, outer_join, smallest
from gitops_connect.checks.large.line_formats.known_fields import counted_field
from gitops_connect.checks.large.parse.parser import number_in
from gitops_connect.checks.large.parse.shuffle_block import LINE, OffsetForm, ShuffleBlock, joined, without_marks
from gitops_connect.checks.large.violations.counts import Places, RowPosition, Violation, ViolationCounts, dumped
from gitops_connect.checks.large.violations.task_file import TaskViolations, task_violations
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.differences import Direction
from gitops_connect.model.offsets import OffsetText
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shapes import Shape, compare

_LOW: Final = np.int64(2**32 - 1)


def compare_buckets(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Compare the rows of whole buckets; yields the findings, and passes on those of the first half."""
    pa.set_cpu_count(1)
    parts: list[tuple[int, int, ShuffleBlock]] = []
    found: list[bytes] = []
    number = 0
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        found += [one for one in columns["tally"].to_pylist() if one]
        for row in range(batch.num_rows):
            number = columns["bucket"][row].as_py()
            unit, base = columns["unit"][row].as_py(), columns["base"][row].as_py()
            parts.append((unit, base, _rows({name: columns[name][row] for name in _NAMES})))
    if parts:
        parts.sort(key=lambda part: part[:2])
        with task_violations(job.folders, f"told-{number:05d}") as violations:
            bucket = _Bucket(job, parts, number, violations)
            found += [dumped([manifest, *result]) for manifest, result in bucket.results()]
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FOUND)


_NAMES = ("h1", "h2", "value", "line", "form", "texts")


def _rows(cells: dict[str, Any]) -> ShuffleBlock:
    h1, h2, value, line, form = (
        np.frombuffer(cells[name].as_buffer(), kind)
        for name, kind in zip(_NAMES, (np.uint64, np.uint64, np.int64, LINE, np.uint8), strict=False)
    )
    return ShuffleBlock(h1, h2, value, line, form, json.loads(cells["texts"].as_py()))


class _Bucket:
    """All rows of a bucket; a row's split identifies its manifest."""

    def __init__(
        self,
        job: Job,
        parts: list[tuple[int, int, ShuffleBlock]],
        number: int,
        violations: TaskViolations | None = None,
    ) -> None:
        self.violations = violations
        self._job = job
        self._number = number
        self._units = np.array([unit for unit, _, _ in parts], np.int64)
        self._bases = np.array([base for _, base, _ in parts], np.int64)
        self._ends = np.cumsum([len(rows.h1) for _, _, rows in parts])
        self._manifests = np.array([job.units[unit].manifest for unit, _, _ in parts])
        live = sum(len(rows.h1) for unit, _, rows in parts if job.units[unit].is_live)
        self._rows, self.marks = without_marks(joined([rows for _, _, rows in parts]))
        self._met = outer_join(self._rows.h1, self._rows.h2, live)

    def results(self) -> Iterator[tuple[int, list[Any]]]:
        """For each manifest: the findings, and the moves."""
        present = np.unique(self._manifests)
        for manifest in present.tolist():
            met = self._met if len(present) == 1 else self._only(manifest)
            compared = _Compared(self._job.subjects[manifest], self, self._rows, met)
            yield manifest, [*compared.result(), *self._saved(manifest, compared)]

    def _saved(self, manifest: int, compared: _Compared) -> list[str]:
        """The file with the lines that a patch of that manifest depends on, if patches are requested."""
        folders, subject = self._job.folders, compared.subject
        if not folders.ready or subject.examples is None:
            return []
        if not len(rows := compared.chosen()):
            return []
        path = folders.in_ready(f"{manifest:05d}-{self._number:05d}.npy")
        save_lines(path, *self.places(rows))
        return [str(path)]

    def _only(self, manifest: int) -> JoinResult:
        met = self._met
        new, moved, left, repeated = (
            self._of(rows) == manifest for rows in (met.new, met.moved, met.left, met.repeated)
        )
        return JoinResult(
            new=met.new[new],
            moved=met.moved[moved],
            current=met.current[moved],
            left=met.left[left],
            repeated=met.repeated[repeated],
            first=met.first[repeated],
            below=met.below[repeated],
        )

    def _of(self, rows: Indexes) -> NDArray[Any]:
        return self._manifests[np.searchsorted(self._ends, rows, side="right")]

    def position(self, row: int) -> RowPosition:
        """The split and line of a row."""
        units, lines = self.places(np.array([row]))
        return RowPosition(int(units[0]), int(lines[0]))

    def places(self, rows: Indexes) -> Places:
        """The splits and lines of the rows."""
        parts = np.searchsorted(self._ends, rows, side="right")
        return self._units[parts], self._bases[parts] + self._rows.line[rows]


@dataclass(slots=True)
class _Compared:
    """One manifest, in one bucket."""

    subject: ManifestTask
    bucket: _Bucket
    rows: ShuffleBlock
    met: JoinResult
    counts: ViolationCounts = field(init=False)
    moves: Moves = field(default_factory=Moves)
    counted: str = field(init=False)
    shape: Shape | None = field(init=False)
    same: list[Indexes] = field(default_factory=list)

    def result(self) -> list[Any]:
        """The findings and moves in a form for `dumped`."""
        self.counts = ViolationCounts(self.subject.context.acknowledged, self.bucket.violations)
        self.shape = self.subject.shape
        self.counted = counted_field(self.shape)
        self.moves.partitions = len(self.met.new) + len(self.met.moved)
        if self.subject.examples is not None:
            self._find_unmet()
            self._judge_deferred()
            self._find_moves()
        self._find_repeats()
        return [self.counts.to_json(), self.moves.to_json()]

    def chosen(self) -> Indexes:
        """Known after `result`: declared rows that are not sent, and current rows to be removed; ascending."""
        again, first = self.met.repeated, self.met.new
        rows = [again, first[self.rows.form[first] == OffsetForm.NONE]]
        if self.subject.kind is OperationKind.REPLACE:
            rows += [*self.same, self.met.left]
        return np.sort(np.concatenate(rows))

    def _find_unmet(self) -> None:
        """Find violations of declared partitions without a current offset: nulls, and partitions that nothing reads.

        Entries that were checked singly and may be wrong are deferred instead (`_judge_deferred`).
        """
        unmet = np.sort(np.concatenate((self.met.new, self.met.repeated[self.met.below < 0])))
        nulls = unmet[self.rows.form[unmet] == OffsetForm.NONE]
        self.counts.add_alike([Finding("manifest/nothing-to-remove", "partition", {})], self.bucket.places(nulls))
        marks = self.bucket.marks[unmet]
        for number in np.unique(marks[marks > 0]).tolist():
            findings = self.subject.line_format.forms[number - 1].findings if self.subject.line_format else ()
            self.counts.add_alike(findings, self.bucket.places(unmet[marks == number]))

    def _judge_deferred(self) -> None:
        """Check the deferred entries, now with their current offsets."""
        judge, current = self.subject.judge()
        below = np.full(len(self.met.new), -1)
        rows = np.concatenate((self.met.new, self.met.moved, self.met.repeated))
        below = np.concatenate((below, self.met.current, self.met.below))
        deferred = self.rows.form[rows] == OffsetForm.DEFERRED
        order = np.argsort(rows[deferred])
        rows, below = rows[deferred][order], below[deferred][order]
        places = (one.tolist() for one in self.bucket.places(rows))
        for row, live, unit, line in zip(rows.tolist(), below.tolist(), *places, strict=True):
            partition, column, value = self.rows.texts[self.rows.value[row]]
            own = self._text(live) if live >= 0 else None
            if current is not None:
                current.own = None if own is None else (partition, own)
            findings, _, offset = judge.judge(value)
            self.counts.add_entry(RowPosition(unit, line, column), findings)
            self._keep(row, offset)

    def _keep(self, row: int, offset: OffsetText | None) -> None:
        number = None if offset is None else number_in(offset, self.counted)
        if offset is None:
            self.rows.form[row] = OffsetForm.NONE
        elif number is not None:
            self.rows.form[row], self.rows.value[row] = OffsetForm.NUMBER, number
        else:
            self.rows.form[row], self.rows.value[row] = OffsetForm.TEXT, len(self.rows.texts)
            self.rows.texts.append(offset)

    def _find_moves(self) -> None:
        new = self.met.new[self.rows.form[self.met.new] != OffsetForm.NONE]
        self._add_far(Direction.NEW, new, new, np.zeros(len(new), np.int64))
        if self.subject.kind is OperationKind.REPLACE:
            left = self.met.left
            self._add_far(Direction.REMOVED, left, left, np.zeros(len(left), np.int64))
        moved, current = self.met.moved, self.met.current
        forms, before = self.rows.form[moved], self.rows.form[current]
        removed = forms == OffsetForm.NONE
        self._add_far(Direction.REMOVED, moved[removed], current[removed], np.zeros(int(removed.sum()), np.int64))
        numeric = (forms == OffsetForm.NUMBER) & (before == OffsetForm.NUMBER)
        distances = self.rows.value[moved] - self.rows.value[current]
        same = moved[numeric & (distances == 0)]
        self.same.append(same)
        self.moves.add_many(Direction.SAME, len(same), 0, [])
        for direction, which in ((Direction.FORWARD, distances > 0), (Direction.REWIND, distances < 0)):
            far = which & numeric
            self._add_far(direction, moved[far], current[far], np.abs(distances[far]))
            self.moves.add_distances(direction, np.abs(distances[far]))
        for row, live in zip(*(rows[~numeric & ~removed].tolist() for rows in (moved, current)), strict=True):
            self._add_one(row, self._text(live), self._text(row))

    def _add_one(self, row: int, current: OffsetText | None, declared: OffsetText | None) -> None:
        direction, distance = Direction.SAME, None
        if current != declared and current is not None and declared is not None:
            direction, distance = compare(self.shape, json.loads(current), json.loads(declared))
        if direction is Direction.SAME:
            self.same.append(np.array([row]))
        self.moves.add(direction, LargestMove(self.bucket.position(row), current, declared, distance))

    def _add_far(self, direction: Direction, rows: Indexes, current: Indexes, distances: Indexes) -> None:
        total = (int((distances >> 32).sum()) << 32) + int((distances & _LOW).sum())
        largest = [
            LargestMove(
                self.bucket.position(int(rows[at])),
                None if direction is Direction.NEW else self._text(int(current[at])),
                None if direction is Direction.REMOVED else self._text(int(rows[at])),
                int(distances[at]) if direction in (Direction.FORWARD, Direction.REWIND) else None,
            )
            for at in furthest(distances, rows, SHOWN, TIES).tolist()
        ]
        self.moves.add_many(direction, len(rows), total, largest)

    def _find_repeats(self) -> None:
        again, first = self.met.repeated, self.met.first
        forms, others = self.rows.form[again], self.rows.form[first]
        alike = (forms == others) & ((forms == OffsetForm.NONE) | (self.rows.value[again] == self.rows.value[first]))
        for at in np.flatnonzero((forms >= OffsetForm.TEXT) & (others >= OffsetForm.TEXT)).tolist():
            alike[at] = self._text(int(again[at])) == self._text(int(first[at]))
        for which, rule in ((alike, "manifest/duplicate"), (~alike, "manifest/conflict")):
            rows = again[which]
            chosen = np.flatnonzero(which & np.isin(again, smallest(rows, SHOWN)))
            shown = [
                Violation(self.bucket.position(row), self._repeat(rule, row, other), self.bucket.position(other))
                for row, other in zip(again[chosen].tolist(), first[chosen].tolist(), strict=True)
            ]
            self.counts.add_many(len(rows), shown)
            self._tell_repeats(rule, rows, first[which])

    def _repeat(self, rule: str, row: int, first: int) -> Finding:
        words = {}
        if rule == "manifest/conflict":
            words = {name: shorten(self._text(at) or "null") for name, at in (("found", first), ("other", row))}
        return Finding(rule, "partition", words)

    def _tell_repeats(self, rule: str, rows: Indexes, first: Indexes) -> None:
        if self.bucket.violations is None or rule == "manifest/duplicate":
            self._tell(Finding(rule, "partition", {}), rows, first)
            return
        pairs = ([one.tolist() for one in self.bucket.places(which)] for which in (rows, first))
        places, others = (zip(*pair, strict=True) for pair in pairs)
        for row, other, place, first_place in zip(rows.tolist(), first.tolist(), places, others, strict=True):
            self.counts.tell(Violation(RowPosition(*place), self._repeat(rule, row, other), RowPosition(*first_place)))

    def _tell(self, finding: Finding, rows: Indexes, first: Indexes | None) -> None:
        """Write the finding for each of these rows, if all violations are requested."""
        if self.bucket.violations is not None:
            others = None if first is None else self.bucket.places(first)
            self.bucket.violations.add_alike(finding, self.counts.acknowledged, self.bucket.places(rows), others)

    def _text(self, row: int) -> OffsetText | None:
        value = int(self.rows.value[row])
        match self.rows.form[row]:
            case OffsetForm.NUMBER:
                return OffsetText(f'{{"{self.counted}":{value}}}')
            case OffsetForm.NONE:
                return None
            case _:
                return OffsetText(self.rows.texts[value])
