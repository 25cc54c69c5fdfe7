"""The second half of the job: of one bucket, what is declared twice, and what moves against what stands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.checks.field_types import shorten
from gitops_connect.checks.large.job import FOUND, Job, Subject
from gitops_connect.checks.large.meeting import Indexes, Meeting, furthest, meet, smallest
from gitops_connect.checks.large.moves import Far, Moves
from gitops_connect.checks.large.parsing import number_in
from gitops_connect.checks.large.rows import LINE, Form, Rows, joined
from gitops_connect.checks.large.tally import Shown, Spot, Tally, dumped
from gitops_connect.checks.large.templates import counted_field
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.differences import Direction
from gitops_connect.model.offsets import OffsetText
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shapes import compare

_LOW: Final = np.int64(2**32 - 1)


def compare_buckets(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Rows of whole buckets -> what was found in them; and what the first half has found, as it came."""
    pa.set_cpu_count(1)
    parts: list[tuple[int, int, Rows]] = []
    passed: list[bytes] = []
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        passed += [found for found in columns["tally"].to_pylist() if found]
        for row in range(batch.num_rows):
            unit, base = columns["unit"][row].as_py(), columns["base"][row].as_py()
            parts.append((unit, base, _rows({name: columns[name][row] for name in _NAMES})))
    found = [*passed]
    if parts:
        parts.sort(key=lambda part: part[:2])
        found += [dumped([manifest, *result]) for manifest, result in _Bucket(job, parts).results()]
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], schema=FOUND)


_NAMES = ("h1", "h2", "value", "line", "form", "texts")


def _rows(cells: dict[str, Any]) -> Rows:
    h1, h2, value, line, form = (
        np.frombuffer(cells[name].as_buffer(), kind)
        for name, kind in zip(_NAMES, (np.uint64, np.uint64, np.int64, LINE, np.uint8), strict=False)
    )
    return Rows(h1, h2, value, line, form, json.loads(cells["texts"].as_py()))


class _Bucket:
    """All rows of a bucket; what is of one manifest is told by the unit that it comes from."""

    def __init__(self, job: Job, parts: list[tuple[int, int, Rows]]) -> None:
        self._job = job
        self._places = [(unit, base) for unit, base, _ in parts]
        lengths = [len(rows.h1) for _, _, rows in parts]
        self._ends = np.cumsum(lengths)
        self._manifests = np.array([job.units[unit].manifest for unit, _, _ in parts])
        live = sum(length for length, (unit, _) in zip(lengths, self._places, strict=True) if job.units[unit].is_live)
        self._rows = joined([rows for _, _, rows in parts])
        self._met = meet(self._rows.h1, self._rows.h2, live)

    def results(self) -> Iterator[tuple[int, list[Any]]]:
        """Of each manifest: what was found, and what moves."""
        present = np.unique(self._manifests)
        for manifest in present.tolist():
            met = self._met if len(present) == 1 else self._only(manifest)
            compared = _Compared(self._job.subjects[manifest], self, self._rows, met)
            yield manifest, compared.result()

    def _only(self, manifest: int) -> Meeting:
        new, moved, left, repeated = (
            self._of(rows) == manifest for rows in (self._met.new, self._met.moved, self._met.left, self._met.repeated)
        )
        met = self._met
        return Meeting(
            new=met.new[new],
            moved=met.moved[moved],
            standing=met.standing[moved],
            left=met.left[left],
            repeated=met.repeated[repeated],
            first=met.first[repeated],
            below=met.below[repeated],
        )

    def _of(self, rows: Indexes) -> NDArray[Any]:
        return self._manifests[np.searchsorted(self._ends, rows, side="right")]

    def spot(self, row: int) -> Spot:
        """Where a row comes from."""
        unit, base = self._places[int(np.searchsorted(self._ends, row, side="right"))]
        return Spot(unit, base + int(self._rows.line[row]))


@dataclass(slots=True)
class _Compared:
    """One manifest, in one bucket."""

    subject: Subject
    bucket: _Bucket
    rows: Rows
    met: Meeting
    tally: Tally = field(init=False)
    moves: Moves = field(default_factory=Moves)
    counted: str = field(init=False)

    def result(self) -> list[Any]:
        """In a form for `dumped`."""
        self.tally = Tally(self.subject.context.acknowledged)
        self.counted = counted_field(self.subject.shape)
        self.moves.partitions = len(self.met.new) + len(self.met.moved)
        if self.subject.examples is not None:
            self._find_tombstones()
            self._judge_deferred()
            self._find_moves()
        self._find_repeats()
        return [self.tally.to_json(), self.moves.to_json()]

    def _find_tombstones(self) -> None:
        """A null for a partition that does not stand; those that were looked at one by one are judged, as all is."""
        unmet = np.concatenate((self.met.new, self.met.repeated[self.met.below < 0]))
        unmet = unmet[self.rows.form[unmet] == Form.NONE]
        finding = Finding("manifest/nothing-to-remove", "partition", {})
        first = [Shown(self.bucket.spot(row), finding) for row in smallest(unmet, SHOWN).tolist()]
        self.tally.add_many(len(unmet), first)

    def _judge_deferred(self) -> None:
        """Now it is known what stands for them."""
        judge, standing = self.subject.judge()
        below = np.full(len(self.met.new), -1)
        rows = np.concatenate((self.met.new, self.met.moved, self.met.repeated))
        below = np.concatenate((below, self.met.standing, self.met.below))
        deferred = self.rows.form[rows] == Form.DEFERRED
        order = np.argsort(rows[deferred])
        for row, live in zip(rows[deferred][order].tolist(), below[deferred][order].tolist(), strict=True):
            partition, column, value = self.rows.texts[self.rows.value[row]]
            own = self._text(live) if live >= 0 else None
            if standing is not None:
                standing.own = None if own is None else (partition, own)
            findings, _, offset = judge.judge(value)
            self.tally.add_entry(self.bucket.spot(row)._replace(column=column), findings)
            self._keep(row, offset)

    def _keep(self, row: int, offset: OffsetText | None) -> None:
        number = None if offset is None else number_in(offset, self.counted)
        if offset is None:
            self.rows.form[row] = Form.NONE
        elif number is not None:
            self.rows.form[row], self.rows.value[row] = Form.NUMBER, number
        else:
            self.rows.form[row], self.rows.value[row] = Form.TEXT, len(self.rows.texts)
            self.rows.texts.append(offset)

    def _find_moves(self) -> None:
        new = self.met.new[self.rows.form[self.met.new] != Form.NONE]
        self._add_far(Direction.NEW, new, new, np.zeros(len(new), np.int64))
        if self.subject.kind is OperationKind.REPLACE:
            left = self.met.left
            self._add_far(Direction.REMOVED, left, left, np.zeros(len(left), np.int64))
        moved, standing = self.met.moved, self.met.standing
        forms, before = self.rows.form[moved], self.rows.form[standing]
        removed = forms == Form.NONE
        self._add_far(Direction.REMOVED, moved[removed], standing[removed], np.zeros(int(removed.sum()), np.int64))
        numeric = (forms == Form.NUMBER) & (before == Form.NUMBER)
        distances = self.rows.value[moved] - self.rows.value[standing]
        self.moves.add_many(Direction.SAME, int((numeric & (distances == 0)).sum()), 0, [])
        for direction, which in ((Direction.FORWARD, distances > 0), (Direction.REWIND, distances < 0)):
            far = which & numeric
            self._add_far(direction, moved[far], standing[far], np.abs(distances[far]))
        for row, live in zip(*(rows[~numeric & ~removed].tolist() for rows in (moved, standing)), strict=True):
            self._add_one(row, self._text(live), self._text(row))

    def _add_one(self, row: int, current: OffsetText | None, declared: OffsetText | None) -> None:
        direction, distance = Direction.SAME, None
        if current != declared and current is not None and declared is not None:
            direction, distance = compare(self.subject.shape, json.loads(current), json.loads(declared))
        self.moves.add(direction, Far(self.bucket.spot(row), current, declared, distance))

    def _add_far(self, direction: Direction, rows: Indexes, standing: Indexes, distances: Indexes) -> None:
        total = (int((distances >> 32).sum()) << 32) + int((distances & _LOW).sum())
        largest = [
            Far(
                self.bucket.spot(int(rows[at])),
                None if direction is Direction.NEW else self._text(int(standing[at])),
                None if direction is Direction.REMOVED else self._text(int(rows[at])),
                int(distances[at]) if direction in (Direction.FORWARD, Direction.REWIND) else None,
            )
            for at in furthest(distances, rows, SHOWN).tolist()
        ]
        self.moves.add_many(direction, len(rows), total, largest)

    def _find_repeats(self) -> None:
        again, first = self.met.repeated, self.met.first
        forms, others = self.rows.form[again], self.rows.form[first]
        alike = (forms == others) & ((forms == Form.NONE) | (self.rows.value[again] == self.rows.value[first]))
        for at in np.flatnonzero((forms >= Form.TEXT) & (others >= Form.TEXT)).tolist():
            alike[at] = self._text(int(again[at])) == self._text(int(first[at]))
        for which, rule in ((alike, "manifest/duplicate"), (~alike, "manifest/conflict")):
            rows = again[which]
            chosen = np.flatnonzero(which & np.isin(again, smallest(rows, SHOWN)))
            shown = [self._repeat(rule, int(again[at]), int(first[at])) for at in chosen.tolist()]
            self.tally.add_many(len(rows), shown)

    def _repeat(self, rule: str, row: int, first: int) -> Shown:
        words = {}
        if rule == "manifest/conflict":
            words = {name: shorten(self._text(at) or "null") for name, at in (("found", first), ("other", row))}
        return Shown(self.bucket.spot(row), Finding(rule, "partition", words), self.bucket.spot(first))

    def _text(self, row: int) -> OffsetText | None:
        value = int(self.rows.value[row])
        match self.rows.form[row]:
            case Form.NUMBER:
                return OffsetText(f'{{"{self.counted}":{value}}}')
            case Form.NONE:
                return None
            case _:
                return OffsetText(self.rows.texts[value])
