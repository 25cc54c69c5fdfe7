"""The second half of the job: joins declared and current offsets, and finds duplicates and moves."""

from __future__ import annotations

import json
import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.families.shapes import compare
from gitops_connect.model.differences import Direction
from gitops_connect.model.findings import Finding, shorten
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import OffsetText
from gitops_connect.offsets.rules.entries import CheckedEntry
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.offsets.spark.check_job import FORM_MASK, FOUND, MARK_SHIFT, Job, OffsetForm, stored_offset
from gitops_connect.offsets.spark.job_files import save_deletions
from gitops_connect.offsets.spark.keys import Numbers
from gitops_connect.offsets.spark.line_formats import counted_field
from gitops_connect.offsets.spark.violations import (
    RowPosition,
    RowPositions,
    TaskViolations,
    Violation,
    ViolationCounts,
    result_or_bug,
    task_violations,
)

TIES: Final = 200
"""Moves at most that tie for the last place among the largest; their partitions decide which of them are shown."""
_DECADES: Final = 10 ** np.arange(19, dtype=np.int64)
Indexes = NDArray[np.int64]


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
                result = result_or_bug(partial(_compared, job, manifest, [*own], violations, bucket))
                if isinstance(result, Exception):
                    result = BucketResult(manifest, ViolationCounts(bug=result), Moves(), None)
                found.append(pickle.dumps(result))
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FOUND)


def _compared(
    job: Job, manifest: int, blocks: list[_Block], violations: TaskViolations | None, bucket: int
) -> BucketResult:
    return _Comparison(job, manifest, blocks, violations).result(bucket)


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
        self.form[row], self.value[row], text = stored_offset(offset, self._numeric_field)
        if text is not None:
            self.texts[row] = text

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
        self._shape = self._manifest.context.shape
        self._rows = _Rows(blocks, counted_field(self._shape))
        current = sum(block.rows.num_rows for block in blocks if job.splits[block.split].is_current)
        self._joined = outer_join(self._rows.h1, self._rows.h2, current)
        self._equal: list[Indexes] = []
        self._counts = ViolationCounts(self._manifest.context.acknowledged, file)
        self._moves = Moves(len(self._joined.new) + len(self._joined.matched))

    def result(self, bucket: int) -> BucketResult:
        """Find violations and moves, and write a file with the deletions if a patch is requested."""
        if self._manifest.examples is not None:
            self._check_new()
            self._check_deferred()
            self._find_moves()
        self._check_repeated()
        path = None
        if self._job.directories.ready and self._manifest.examples is not None and len(deletions := self._deletions()):
            path = self._job.directories.in_ready(f"{self._number:05d}-{bucket:05d}.arrow")
            save_deletions(path, *self._rows.positions(deletions))
        return BucketResult(self._number, self._counts.without_file(), self._moves, path)

    def _deletions(self) -> Indexes:
        """Declared rows that are not sent, and current rows to be removed; ascending."""
        joined = self._joined
        rows = [joined.repeated, joined.new[self._rows.form[joined.new] == OffsetForm.NONE]]
        if self._manifest.kind is OffsetChangeKind.REPLACE:
            rows += [*self._equal, joined.undeclared]
        return np.sort(np.concatenate(rows))

    def _check_new(self) -> None:
        """Find violations of declared partitions without a current offset: nulls, and partitions that nothing reads.

        Entries that were checked singly and may be wrong are deferred instead (`_check_deferred`).
        """
        joined, rows = self._joined, self._rows
        new = np.concatenate((joined.new, joined.repeated[joined.current_of_repeated < 0]))
        nulls = np.sort(new[(rows.form[new] == OffsetForm.NONE) & (self._manifest.kind is OffsetChangeKind.ALTER)])
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
        if self._manifest.kind is OffsetChangeKind.REPLACE:
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
        chosen = np.array([] if direction is Direction.SAME else largest_of(ranks, rows), np.int64)
        largest = [
            LargestMove(
                RowPosition(split, line),
                None if direction is Direction.NEW else self._rows.offset(int(current[index])),
                None if direction is Direction.REMOVED else self._rows.offset(int(rows[index])),
                None if distances is None else int(distances[index]),
            )
            for index, split, line in zip(
                *(numbers.tolist() for numbers in (chosen, *self._rows.positions(rows[chosen]))), strict=True
            )
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


class LargestMove(NamedTuple):
    """One of the largest moves. `position`: where its partition is, in the manifest or in the current offsets."""

    position: RowPosition
    current: OffsetText | None
    declared: OffsetText | None
    distance: int | None = None


@dataclass(slots=True)
class Moves:
    """The moves of some or all partitions. `distances` sums up the known distances.

    `decades` counts distances in [1, 10) as 0, those in [10, 100) as 1, and so on. `largest` are candidates for the
    largest moves: those of many parts together still contain all that `candidates` returns for the whole.
    """

    partitions: int = 0
    counts: Counter[Direction] = field(default_factory=Counter)
    distances: Counter[Direction] = field(default_factory=Counter)
    decades: Counter[tuple[Direction, int]] = field(default_factory=Counter)
    largest: dict[Direction, list[LargestMove]] = field(default_factory=dict)

    def add(self, direction: Direction, distances: NDArray[Any], largest: Sequence[LargestMove]) -> None:
        """Add moves of one direction, with the distance of each (0 if it is unknown), and the largest of them."""
        self.counts[direction] += len(distances)
        self.distances[direction] += sum(distances.tolist())
        decades = np.bincount(_decades(distances[distances > 0]))
        self.decades.update({(direction, decade): count for decade, count in enumerate(decades.tolist()) if count})
        self._keep(direction, largest)

    def add_all(self, other: Moves) -> None:
        self.partitions += other.partitions
        self.counts.update(other.counts)
        self.distances.update(other.distances)
        self.decades.update(other.decades)
        for direction, moves in other.largest.items():
            self._keep(direction, moves)

    def candidates(self, direction: Direction) -> list[LargestMove]:
        """The largest moves, and at most `TIES` of those that tie with the last, the first by position."""
        moves = self.largest[direction]
        least = moves[:SHOWN][-1].distance or 0
        larger = sum((move.distance or 0) > least for move in moves)
        return [move for move in moves[: larger + TIES] if (move.distance or 0) >= least]

    def distribution(self) -> dict[Direction, tuple[int, ...]]:
        """The numbers of distances in [1, 10), in [10, 100), and so on."""
        directions = {direction for direction, _ in self.decades}
        last = {one: max(decade for direction, decade in self.decades if direction is one) for one in directions}
        return {one: tuple(self.decades[one, decade] for decade in range(end + 1)) for one, end in last.items()}

    def _keep(self, direction: Direction, moves: Sequence[LargestMove]) -> None:
        both = sorted((*self.largest.get(direction, ()), *moves), key=lambda one: (-(one.distance or 0), one.position))
        if both:
            self.largest[direction] = both[: SHOWN + TIES]


def largest_of(distances: NDArray[Any], rows: NDArray[np.int64]) -> list[int]:
    """The indexes of the largest distances that `Moves` needs; of those that tie, the first by row."""
    count = SHOWN + TIES
    if len(rows) <= count:
        return list(range(len(rows)))
    least = np.partition(distances, -count)[-count]
    larger, ties = np.flatnonzero(distances > least), np.flatnonzero(distances == least)
    left = count - len(larger)
    return [*larger.tolist(), *ties[np.argpartition(rows[ties], left - 1)[:left]].tolist()]


def _decades(distances: NDArray[Any]) -> NDArray[np.int64]:
    if distances.dtype == object:  # a distance may have more than 64 bits
        return np.array([len(str(distance)) - 1 for distance in distances], np.int64)
    return np.searchsorted(_DECADES, distances, side="right") - 1


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Rows by their index.

    `new` are the first declared rows of partitions without a current offset, `matched` those of partitions with one,
    which is in `current`. `undeclared` are current rows of partitions that are not declared. `repeated` are repeated
    declarations, ascending; `first` are their first declarations, and `current_of_repeated` their current rows, or -1.
    """

    new: Indexes
    matched: Indexes
    current: Indexes
    undeclared: Indexes
    repeated: Indexes
    first: Indexes
    current_of_repeated: Indexes


def outer_join(h1: Numbers, h2: Numbers, current: int) -> JoinResult:
    """Join the rows. The first `current` rows are current offsets; the others are declared."""
    rows, alone = _grouped(h1, h2)
    starts = _starts(h1[rows], h2[rows])
    numbers = np.arange(len(rows))
    is_current = rows < current
    follows_current = np.concatenate(([False], is_current[:-1]))
    is_first = ~is_current & (starts | follows_current)
    start = np.maximum.accumulate(np.where(starts, numbers, 0))
    has_current = is_current[start]
    first = np.maximum.accumulate(np.where(is_first, numbers, 0))
    is_declared = np.concatenate((~is_current[1:] & ~starts[1:], [False]))[: len(rows)]
    matched, repeated = np.flatnonzero(is_first & has_current), np.flatnonzero(~is_current & ~is_first)
    repeated = repeated[np.argsort(rows[repeated])]
    return JoinResult(
        new=np.concatenate((alone[alone >= current], rows[is_first & ~has_current])),
        matched=rows[matched],
        current=rows[start[matched]],
        undeclared=np.concatenate((alone[alone < current], rows[is_current & starts & ~is_declared])),
        repeated=rows[repeated],
        first=rows[first[repeated]],
        current_of_repeated=np.where(has_current[repeated], rows[start[repeated]], -1),
    )


def _grouped(h1: Numbers, h2: Numbers) -> tuple[Indexes, Indexes]:
    """The rows that may share a partition, grouped by it and in their order; and the rows that do not.

    Sorting numbers is several times faster than sorting their indexes, so the index replaces the low bits.
    """
    bits = np.uint64(len(h1).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    keys = (h1 & ~mask) | np.arange(len(h1), dtype=np.uint64)
    keys.sort()
    order = (keys & mask).astype(np.int64)
    keys >>= bits
    follows = np.concatenate(([False], keys[1:] == keys[:-1]))[: len(keys)]
    may_share = follows | np.concatenate((follows[1:], [False]))[: len(keys)]
    rows = order[may_share]
    if (_starts(h1[rows], h2[rows]) & follows[may_share]).any():  # only the high bits are equal: may be interleaved
        rows = rows[np.lexsort((rows, h2[rows], h1[rows]))]
    return rows, order[~may_share]


def _starts(h1: Numbers, h2: Numbers) -> NDArray[np.bool_]:
    """Where the next partition begins."""
    starts = np.ones(len(h1), bool)
    starts[1:] = (h1[1:] != h1[:-1]) | (h2[1:] != h2[:-1])
    return starts
