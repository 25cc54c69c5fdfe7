"""Converts a block of a file to rows and findings of its lines: the half of the work that needs the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.entries import EntryChecker
from gitops_connect.checks.field_types import LONG
from gitops_connect.checks.large.input_splits.splits import Block, ManifestReader
from gitops_connect.checks.large.keys.partition_keys import hash_fields, hash_partitions
from gitops_connect.checks.large.keys.text_hashes import Secret
from gitops_connect.checks.large.line_formats.fast_path import match_lines
from gitops_connect.checks.large.line_formats.layouts import LineBuffer, LineForm, LineFormat, MatchedLines
from gitops_connect.checks.large.parse.shuffle_block import MARK_SHIFT, OffsetForm, shuffle_block
from gitops_connect.checks.large.parse.type_examples import TypeExamples
from gitops_connect.checks.large.violations.counts import ViolationCounts
from gitops_connect.checks.large.violations.file import Violation
from gitops_connect.checks.large.violations.line_numbers import RowPosition
from gitops_connect.checks.rules import Finding
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser for the files of one manifest, or for the current offsets (`checker` is None).

    `counted` is the numeric field that alone decides the move of an offset, or empty. `defers`: a current offset may
    change the findings. `known` are the types of the current offsets, as far as they were read.
    """

    reader: ManifestReader
    secret: Secret
    line_format: LineFormat | None
    counted: str
    checker: EntryChecker | None
    counts: ViolationCounts = field(default_factory=ViolationCounts)
    defers: bool = False
    known: TypeExamples | None = None

    def parse(self, block: Block, split: int) -> tuple[list[Any], ViolationCounts, int]:
        """The rows in some tables, the findings, and the number of lines."""
        counts = self.counts.fresh()
        refused = self.reader.refuse(block.text) if block.is_first else None
        for fault in (refused, block.fault):
            if fault is not None:
                finding = Finding(fault.rule, "", {"found": fault.found})
                counts.broken.append(Violation(RowPosition(split, block.base + fault.line - 1, fault.column), finding))
                counts.add(counts.broken[-1])
        if refused is not None or not block.text:
            return [], counts, block.lines
        counts.size += len(block.text)
        lines = LineBuffer(block.text.removeprefix(_BOM) if block.is_first else block.text)
        certain, slow = match_lines(lines, self.line_format)
        parts = [self._rows(one) for one in certain]
        counts.entries += sum(rows.num_rows for rows in parts)
        for one in certain:
            if one.form.findings and not (self.defers and one.form.waits):
                counts.add_alike(one.form.findings, (np.full(len(one.rows), split), block.base + one.rows))
        if len(slow):
            parts.append(self._one_by_one(slow, lines.text_of(slow), RowPosition(split, block.base), counts))
        return parts, counts, len(lines)

    def _rows(self, certain: MatchedLines) -> Any:
        count = len(certain.rows)
        texts: list[str] = []
        form, value = OffsetForm.NONE, np.zeros(count, np.int64)
        if certain.form.number is not None:
            form, value = OffsetForm.NUMBER, certain.numbers(certain.form.number)
        elif certain.form.offset:
            form, texts = OffsetForm.TEXT, certain.texts(certain.form.offset).to_pylist()
        forms = np.full(count, form | self._mark(certain.form) << MARK_SHIFT)
        return shuffle_block(hash_fields(certain.partition(), count, self.secret), value, certain.rows, forms, texts)

    def _mark(self, form: LineForm) -> int:
        """The mark of rows whose findings depend on the current offset, which the join knows."""
        return self.line_format.forms.index(form) + 1 if self.line_format and form.waits and self.defers else 0

    def _one_by_one(self, slow: NDArray[np.intp], lines: bytes, first: RowPosition, counts: ViolationCounts) -> Any:
        """The rows of lines that the strict reader and the rule function decide; `slow` are their numbers."""
        read = self.reader.lines(lines.decode(errors="surrogateescape"))
        for fault in read.faults:
            position = RowPosition(first.split, first.line + int(slow[fault.line - 1]), fault.column)
            counts.add(Violation(position, Finding(fault.rule, "", {"found": fault.found})))
        counts.entries += len(read.entries)
        partitions, rows = [], []
        for value, number, column in read.entries:
            line = int(slow[number - 1])
            position = RowPosition(first.split, first.line + line, column)
            partition, offset, deferred = self._checked(value, position, counts)
            if partition is not None:
                partitions.append(partition)
                rows.append(_stored(line, offset, deferred, self.counted))
        value, lines_of_rows, form = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
        texts = [row[3] for row in rows]
        return shuffle_block(hash_partitions(partitions, self.secret), value, lines_of_rows, form, texts)

    def _checked(
        self, value: Any, position: RowPosition, counts: ViolationCounts
    ) -> tuple[PartitionText | None, OffsetText | None, str | None]:
        """The partition, the offset, and the text of a deferred entry."""
        if self.checker is None:
            counts.new_types += self.known is not None and not self.known.knows(value)
            offset = value["offset"]
            return partition_text(value["partition"]), None if offset is None else offset_text(offset), None
        findings, partition, offset = self.checker.check_alone(value)
        if partition is not None and self.defers and self.checker.needs_current(value, findings):
            reduced = Finding.explained if counts.file is not None else Finding.without_lazy_words
            return partition, offset, json.dumps([position.column, offset, [*map(reduced, findings)]])
        if findings:
            counts.add_entry(position, findings)
        return partition, offset, None


def _stored(
    line: int, offset: OffsetText | None, deferred: str | None, counted: str
) -> tuple[int, int, OffsetForm, str | None]:
    """The value, line, form and text of a row with that offset, or with the text of a deferred entry."""
    if deferred is not None:
        return 0, line, OffsetForm.DEFERRED, deferred
    if offset is None:
        return 0, line, OffsetForm.NONE, None
    number = number_in(offset, counted)
    return (0, line, OffsetForm.TEXT, offset) if number is None else (number, line, OffsetForm.NUMBER, None)


def number_in(offset: OffsetText, counted: str) -> int | None:
    """The number that alone decides the move, if the offset has no other field."""
    if not counted or not offset.startswith(f'{{"{counted}":'):
        return None
    value: Mapping[str, Any] = json.loads(offset)
    number = value[counted]
    return number if len(value) == 1 and type(number) is int and 0 <= number <= LONG else None
