"""The second half of the job: finds duplicates in one bucket, and moves compared with the current offsets."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gitops_connect.checks.entries import CheckedEntry
from gitops_connect.checks.field_types import shorten
from gitops_connect.checks.large.job import FOUND, Job
from gitops_connect.checks.large.job_files import save_deletions
from gitops_connect.checks.large.join.moves import LargestMove, Moves, largest_of
from gitops_connect.checks.large.join.outer_join import Indexes, outer_join
from gitops_connect.checks.large.line_formats.known_fields import counted_field
from gitops_connect.checks.large.parse.parser import number_in
from gitops_connect.checks.large.parse.shuffle_block import FORM_MASK, MARK_SHIFT, OffsetForm
from gitops_connect.checks.large.violations.counts import ViolationCounts
from gitops_connect.checks.large.violations.file import TaskViolations, Violation, task_violations
from gitops_connect.checks.large.violations.line_numbers import RowPosition, RowPositions
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.differences import Direction
from gitops_connect.model.offsets import OffsetText
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shapes import compare


@dataclass(frozen=True, slots=True)
class BucketResult:
    """The result of one manifest in one bucket. `deletions` is a file for `DeletionVector`."""

    manifest: int
    counts: ViolationCounts
    moves: Moves
    deletions: Path | None


class _Block(NamedTuple):
    """The rows of one block in one bucket. `base`: lines of the split before the block."""

    manifest: int
    split: int
    base: int
    rows: Any


def compare_buckets(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Compare the rows of one bucket; yields the results, and passes on those of the first half."""
    pa.set_cpu_count(1)
    blocks: list[_Block] = []
    found: list[bytes] = []
    bucket = 0
    for row in (row for batch in batches for row in zip(*batch.columns, strict=True)):
        bucket, split, base = (number.as_py() for number in row[:3])
        table = pa.ipc.open_stream(row[3].as_buffer()).read_all()
        blocks.append(_Block(job.splits[split].manifest, split, base, table))
        if result := row[4].as_py():
            found.append(result)
    if blocks:
        blocks.sort(key=lambda block: block[:3])
        with task_violations(job.directories, f"join-{bucket:05d}") as violations:
            for manifest, own in groupby(blocks, key=lambda block: block.manifest):
                comparison = _Comparison(job, manifest, [*own], violations)
                comparison.run()
                found.append(pickle.dumps(comparison.result(bucket)))
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FOUND)


class _Rows:
    """The rows as columns, in the order of their positions: current offsets come before declared ones.

    `form` is the `OffsetForm` of each row, `mark` the number of the form of its line; see `MARK_SHIFT`. `texts` has the
    texts of the rows that have one.
    """

    def __init__(self, blocks: Sequence[_Block], numeric_field: str) -> None:
        """Concatenate the blocks. `numeric_field` is the only field of offsets that are numbers; see `Parser`."""
        rows = pa.concat_tables([block.rows for block in blocks])
        self.h1, self.h2, line, form = (rows.column(name).to_numpy() for name in ("h1", "h2", "line", "form"))
        self._line = line
        self._ends = np.cumsum([block.rows.num_rows for block in blocks])
        self._splits, self._bases = np.array([(block.split, block.base) for block in blocks]).T
        self.value = np.concatenate([block.rows.column("value").to_numpy() for block in blocks])
        self.form, self.mark = form & np.uint8(FORM_MASK), form >> np.uint8(MARK_SHIFT)
        with_text = np.flatnonzero(self.form >= OffsetForm.TEXT)
        texts = rows.column("text").take(pa.array(with_text)).to_pylist()
        self.texts: dict[int, str] = dict(zip(with_text.tolist(), texts, strict=True))
        self._numeric_field = numeric_field

    def positions(self, rows: Indexes) -> RowPositions:
        """The splits and lines of the rows."""
        block = np.searchsorted(self._ends, rows, side="right")
        return self._splits[block], self._bases[block] + self._line[rows]

    def position(self, row: int) -> RowPosition:
        """The split and line of a row."""
        split, line = self.positions(np.array([row]))
        return RowPosition(int(split[0]), int(line[0]))

    def offset(self, row: int) -> OffsetText | None:
        """The offset of a row; None for a tombstone."""
        match int(self.form[row]):  # a comparison of NumPy with an enum takes 20 times as long
            case OffsetForm.NUMBER:
                return OffsetText(f'{{"{self._numeric_field}":{self.value[row]}}}')
            case OffsetForm.NONE:
                return None
            case _:
                return OffsetText(self.texts[row])

    def set_offset(self, row: int, offset: OffsetText | None) -> None:
        """Replace a deferred entry by its offset."""
        number = None if offset is None else number_in(offset, self._numeric_field)
        if offset is None:
            self.form[row] = OffsetForm.NONE
        elif number is not None:
            self.form[row], self.value[row] = OffsetForm.NUMBER, number
        else:
            self.form[row], self.texts[row] = OffsetForm.TEXT, offset

    def equal_offsets(self, rows: Indexes, others: Indexes) -> Any:
        """Whether the offsets of each pair of rows are equal."""
        forms = self.form[rows]
        is_equal = forms == self.form[others]
        is_equal &= (forms != OffsetForm.NUMBER) | (self.value[rows] == self.value[others])
        for index in np.flatnonzero(is_equal & (forms >= OffsetForm.TEXT)).tolist():
            is_equal[index] = self.texts[int(rows[index])] == self.texts[int(others[index])]
        return is_equal


class _Comparison:
    """The comparison of one manifest with its current offsets, in one bucket."""

    def __init__(self, job: Job, manifest: int, blocks: list[_Block], file: TaskViolations | None) -> None:
        self._job, self._number = job, manifest
        self._manifest = job.manifests[manifest]
        self._shape = self._manifest.shape
        self._rows = _Rows(blocks, counted_field(self._shape))
        current = sum(block.rows.num_rows for block in blocks if job.splits[block.split].is_current)
        self._joined = outer_join(self._rows.h1, self._rows.h2, current)
        self._equal: list[Indexes] = []
        self._counts = ViolationCounts(self._manifest.context.acknowledged, file)
        self._moves = Moves(len(self._joined.new) + len(self._joined.matched))

    def run(self) -> None:
        """Find violations and moves."""
        if self._manifest.examples is not None:
            self._check_new()
            self._check_deferred()
            self._find_moves()
        self._check_repeated()

    def result(self, bucket: int) -> BucketResult:
        """The result, and a file with the deletions if a patch is requested: known after `run`."""
        path = None
        if self._job.directories.ready and self._manifest.examples is not None and len(deletions := self._deletions()):
            path = self._job.directories.in_ready(f"{self._number:05d}-{bucket:05d}.arrow")
            save_deletions(path, *self._rows.positions(deletions))
        return BucketResult(self._number, self._counts.without_file(), self._moves, path)

    def _deletions(self) -> Indexes:
        """Declared rows that are not sent, and current rows to be removed; ascending."""
        joined = self._joined
        rows = [joined.repeated, joined.new[self._rows.form[joined.new] == OffsetForm.NONE]]
        if self._manifest.kind is OperationKind.REPLACE:
            rows += [*self._equal, joined.undeclared]
        return np.sort(np.concatenate(rows))

    def _check_new(self) -> None:
        """Find violations of declared partitions without a current offset: nulls, and partitions that nothing reads.

        Entries that were checked singly and may be wrong are deferred instead (`_check_deferred`).
        """
        joined, rows = self._joined, self._rows
        new = np.concatenate((joined.new, joined.repeated[joined.current_of_repeated < 0]))
        nulls = np.sort(new[(rows.form[new] == OffsetForm.NONE) & (self._manifest.kind is OperationKind.ALTER)])
        self._counts.add_alike([Finding("manifest/nothing-to-remove", "partition", {})], rows.positions(nulls))
        marked = np.sort(new[rows.mark[new] > 0])
        for mark in np.unique(rows.mark[marked]).tolist():
            findings = self._manifest.line_format.forms[mark - 1].findings if self._manifest.line_format else ()
            self._counts.add_alike(findings, rows.positions(marked[rows.mark[marked] == mark]))

    def _check_deferred(self) -> None:
        """Find the violations of the deferred entries, now with their current offsets."""
        joined = self._joined
        checker = self._manifest.checker()
        rows = np.concatenate((joined.new, joined.matched, joined.repeated))
        current = np.concatenate((np.full(len(joined.new), -1), joined.current, joined.current_of_repeated))
        is_deferred = self._rows.form[rows] == OffsetForm.DEFERRED
        rows, current = rows[is_deferred], current[is_deferred]
        columns = (numbers.tolist() for numbers in (rows, current, *self._rows.positions(rows)))
        for row, current_row, split, line in zip(*columns, strict=True):
            column, offset, found = json.loads(self._rows.texts[row])
            checked = CheckedEntry(tuple(Finding(*one) for one in found), offset=offset)
            if current_row >= 0 and (own := self._rows.offset(current_row)) is not None:
                checked = checker.with_current(checked, own)
            self._counts.add_entry(RowPosition(split, line, column), checked.findings)
            self._rows.set_offset(row, offset)

    def _find_moves(self) -> None:
        declared, current, form, value = self._joined.matched, self._joined.current, self._rows.form, self._rows.value
        new = self._joined.new[form[self._joined.new] != OffsetForm.NONE]
        self._add_moves(Direction.NEW, new, new)
        if self._manifest.kind is OperationKind.REPLACE:
            self._add_moves(Direction.REMOVED, self._joined.undeclared, self._joined.undeclared)
        is_removed = form[declared] == OffsetForm.NONE
        self._add_moves(Direction.REMOVED, declared[is_removed], current[is_removed])
        is_number = (form[declared] == OffsetForm.NUMBER) & (form[current] == OffsetForm.NUMBER)
        distances = np.where(is_number, value[declared] - value[current], 0)
        for direction, chosen in (
            (Direction.SAME, is_number & (distances == 0)),
            (Direction.FORWARD, distances > 0),
            (Direction.REWIND, distances < 0),
        ):
            self._add_moves(direction, declared[chosen], current[chosen], np.abs(distances[chosen]))
        others = ~is_number & ~is_removed
        self._find_moves_of_texts(declared[others], current[others])

    def _find_moves_of_texts(self, declared: Indexes, current: Indexes) -> None:
        found: dict[tuple[Direction, bool], list[tuple[int, int, int]]] = defaultdict(list)
        for row, current_row in zip(declared.tolist(), current.tolist(), strict=True):
            direction, distance = Direction.SAME, None
            before, after = self._rows.offset(current_row), self._rows.offset(row)
            if before != after and before is not None and after is not None:
                direction, distance = compare(self._shape, json.loads(before), json.loads(after))
            found[direction, distance is None].append((row, current_row, distance or 0))
        for (direction, is_unknown), moves in found.items():
            rows, current_rows, distances = (list(column) for column in zip(*moves, strict=True))
            known = None if is_unknown else np.array(distances, object)
            self._add_moves(direction, np.array(rows), np.array(current_rows), known)

    def _add_moves(self, direction: Direction, rows: Indexes, current: Indexes, distances: Any = None) -> None:
        """Add moves of one direction. `distances` is None if they are unknown."""
        if not len(rows):
            return
        if direction is Direction.SAME:
            self._equal.append(rows)
        ranks = np.zeros(len(rows), np.int64) if distances is None else distances
        largest = [
            LargestMove(
                self._rows.position(int(rows[index])),
                None if direction is Direction.NEW else self._rows.offset(int(current[index])),
                None if direction is Direction.REMOVED else self._rows.offset(int(rows[index])),
                None if distances is None else int(distances[index]),
            )
            for index in (largest_of(ranks, rows) if direction is not Direction.SAME else ())
        ]
        self._moves.add(direction, ranks, largest)

    def _check_repeated(self) -> None:
        rows, first = self._joined.repeated, self._joined.first
        is_equal = self._rows.equal_offsets(rows, first)
        duplicates = self._rows.positions(rows[is_equal]), self._rows.positions(first[is_equal])
        self._counts.add_alike([Finding("manifest/duplicate", "partition", {})], *duplicates)
        self._add_conflicts(rows[~is_equal], first[~is_equal])

    def _add_conflicts(self, rows: Indexes, first: Indexes) -> None:
        """Add repeats with other offsets, each in its own words: all of them only if they are written to a file."""
        explained = rows[: SHOWN if self._counts.file is None else None].tolist()
        for row, other in zip(explained, first.tolist(), strict=False):
            texts = (shorten(self._rows.offset(one) or "null") for one in (other, row))
            words = dict(zip(("found", "other"), texts, strict=True))
            finding = Finding("manifest/conflict", "partition", words)
            self._counts.add(Violation(self._rows.position(row), finding, self._rows.position(other)))
        if len(rows) > len(explained):
            self._counts.add_number(Finding("manifest/conflict", "partition", {}), len(rows) - len(explained))
