"""The job of one or more manifests as a value for the executors, and its first half: files to rows and findings."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.families.field_kinds import LONG
from gitops_connect.model.findings import Finding
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.formats.content import fault_at_start
from gitops_connect.offsets.formats.manifest_parser import LinesRead, read_lines
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.rules.part_shapes import CurrentTypes
from gitops_connect.offsets.spark.input_splits import Block, InputSplit, blocks_of
from gitops_connect.offsets.spark.job_files import JobDirectories
from gitops_connect.offsets.spark.keys import Numbers, Secret, hash_fields, hash_partitions
from gitops_connect.offsets.spark.layouts import LineForm, LineFormat
from gitops_connect.offsets.spark.line_formats import counted_field, match_lines
from gitops_connect.offsets.spark.parquet_rows import Matched
from gitops_connect.offsets.spark.violations import (
    RowPosition,
    TaskViolations,
    Violation,
    ViolationCounts,
    result_or_bug,
    task_violations,
)

ROWS = pa.schema(
    [("bucket", pa.int32()), ("split", pa.int32()), ("base", pa.int64()), ("rows", pa.binary()), ("found", pa.binary())]
)
"""A row for each block and bucket: its entries as an Arrow IPC stream; the block's `BlockResult` is in the first."""
FOUND = pa.schema([("found", pa.binary())])
"""The results of both halves, pickled: `BlockResult` and `BucketResult`."""
ReadLines = Callable[[str], LinesRead]
"""The strict reader of lines. Bytes that are not UTF-8 are lone surrogates in the text (PEP 383)."""
_SCHEMA: Final = pa.schema(
    [
        ("h1", pa.uint64()),
        ("h2", pa.uint64()),
        ("value", pa.int64()),
        ("line", pa.uint32()),
        ("form", pa.uint8()),
        ("text", pa.string()),
    ]
)
MARK_SHIFT: Final = 2
"""Bits of an `OffsetForm`. The bits above mark a row whose partition the connector does not read and that has no
current offset: the number of the form of its line, from 1, whose findings then are its own."""
FORM_MASK: Final = (1 << MARK_SHIFT) - 1


@dataclass(frozen=True, slots=True)
class ManifestTask:
    """One manifest for the executors. `examples` are offsets that represent all current offsets; None: unknown.

    `is_checked`: the manifest is checked with the rules, and not only compared. `bug` prevents that.
    """

    context: ManifestContext
    kind: OffsetChangeKind
    line_format: LineFormat | None
    current_line_format: LineFormat | None
    examples: TypeExamples | None
    is_checked: bool = True
    bug: Exception | None = None

    def checker(self) -> EntryChecker:
        current = None if self.examples is None else self.examples.offsets
        return EntryChecker(replace(self.context, current=current), self.kind)


@dataclass(frozen=True, slots=True)
class BlockResult:
    """The violations of a block. `lines`: lines of the split until the end of the block."""

    split: int
    lines: int
    counts: ViolationCounts


@dataclass(frozen=True, slots=True)
class Job:
    """All inputs of an executor; Spark runs the methods."""

    splits: tuple[InputSplit, ...]
    manifests: tuple[ManifestTask, ...]
    seed: bytes
    buckets: int
    directories: JobDirectories = field(default_factory=JobDirectories)
    read_lines: ReadLines = read_lines

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Read splits by their numbers; yields rows, each for the bucket of its hash."""
        pa.set_cpu_count(1)
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        if not numbers:
            return
        with task_violations(self.directories, f"read-{numbers[0]:07d}") as violations:
            parser_of = cache(partial(self._parser, Secret(self.seed), violations))
            for number in numbers:
                split = self.splits[number]
                parser = parser_of(split.manifest, is_current=split.is_current)
                for block in blocks_of(split):
                    rows, counts, lines = _parsed(parser, block, number)
                    found = pickle.dumps(BlockResult(number, block.base + lines, counts.without_file()))
                    place = {"split": number, "base": block.base}
                    cells = [
                        {"bucket": bucket, **place, "rows": own, "found": b"" if bucket else found}
                        for bucket, own in enumerate(in_buckets(rows, self.buckets))
                    ]
                    yield pa.RecordBatch.from_pylist(cells, ROWS)

    def _parser(self, secret: Secret, violations: TaskViolations | None, number: int, *, is_current: bool) -> Parser:
        manifest = self.manifests[number]
        examples, counted = manifest.examples, counted_field(manifest.context.shape)
        if is_current:
            return Parser(self.read_lines, secret, manifest.current_line_format, counted, None, known=examples)
        if not manifest.is_checked:
            return Parser(self.read_lines, secret, manifest.line_format, counted, None)
        counts = ViolationCounts(manifest.context.acknowledged, violations)
        # If a field of the current offsets has several types, each entry is checked with its own current offset.
        line_format = None if examples is not None and examples.are_mixed else manifest.line_format
        if line_format is not None and violations is not None:
            line_format = line_format.in_words()
        return Parser(self.read_lines, secret, line_format, counted, manifest.checker(), counts, examples is not None)


def _parsed(parser: Parser, block: Block, split: int) -> tuple[list[Any], ViolationCounts, int]:
    """What `parser.parse` returns; no rows if a bug prevents that."""
    found = result_or_bug(lambda: parser.parse(block, split))
    return ([], ViolationCounts(bug=found), block.lines) if isinstance(found, Exception) else found


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser for the files of one manifest, or for the current offsets (`checker` is None).

    `counted` is the numeric field that alone decides the move of an offset, or empty. `defers`: a current offset may
    change the findings. `known` are the types of the current offsets, as far as they were read.
    """

    read_lines: ReadLines
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
        refused = fault_at_start(block.text) if block.is_first else None
        for fault in (refused, block.fault):
            if fault is not None:
                finding = Finding(fault.rule, "", {"found": fault.found})
                counts.broken.append(Violation(RowPosition(split, block.base + fault.line - 1, fault.column), finding))
                counts.add(counts.broken[-1])
        if refused is not None or not block.data:
            return [], counts, block.lines
        counts.size += block.size
        lines = block.buffer
        certain, slow = match_lines(lines, self.line_format)
        parts = [self._rows(one) for one in certain]
        counts.entries += sum(rows.num_rows for rows in parts)
        for one in certain:
            if one.form.findings and not (self.defers and one.form.waits):
                counts.add_alike(one.form.findings, (np.full(len(one.rows), split), block.base + one.rows))
        if len(slow):
            parts.append(self._one_by_one(slow, lines.text_of(slow), RowPosition(split, block.base), counts))
        return parts, counts, len(lines)

    def _rows(self, certain: Matched) -> Any:
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
        read = self.read_lines(lines.decode(errors="surrogateescape"))
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
                stored = stored_offset(offset, self.counted) if deferred is None else (OffsetForm.DEFERRED, 0, deferred)
                rows.append((line, *stored))
        lines_of_rows, form, value = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
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


def stored_offset(offset: OffsetText | None, counted: str) -> tuple[OffsetForm, int, OffsetText | None]:
    """The form in which a row stores the offset, with the row's number and text.

    `counted` is the numeric field that alone decides the move of an offset without other fields, or empty.
    """
    if offset is None:
        return OffsetForm.NONE, 0, None
    if counted and offset.startswith(f'{{"{counted}":'):
        value: Mapping[str, Any] = json.loads(offset)
        number = value[counted]
        if len(value) == 1 and type(number) is int and 0 <= number <= LONG:
            return OffsetForm.NUMBER, number, None
    return OffsetForm.TEXT, 0, offset


class TypeExamples:
    """Collects entries until each type of each field is among them."""

    def __init__(self) -> None:
        self.offsets: dict[PartitionText, OffsetText] = {}
        self._known: set[tuple[str, str, type]] = set()

    def add_all(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Keep the entries that have a new type."""
        for entry in entries:
            if not self.knows(entry):
                self._known |= _types(entry)
                self.offsets[partition_text(entry["partition"])] = offset_text(entry["offset"])

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether the entry has no new type."""
        return _types(entry) <= self._known

    @property
    def are_mixed(self) -> bool:
        """True if a field of the offsets has several types: then only an entry's own current offset counts."""
        return CurrentTypes(self.offsets).are_mixed


def _types(entry: Mapping[str, Any]) -> set[tuple[str, str, type]]:
    return {(half, name, type(value)) for half in ("partition", "offset") for name, value in entry[half].items()}


class OffsetForm(IntEnum):
    """The form in which a row stores its offset."""

    NUMBER = 0
    """`value` is the only number of the offset."""
    NONE = 1
    """A tombstone."""
    TEXT = 2
    """`text` is the canonical text of the offset."""
    DEFERRED = 3
    """`text` is JSON: the column, the offset, and the findings, which hold if the partition has no current offset."""


def shuffle_block(
    hashes: Sequence[Numbers],
    value: NDArray[np.int64],
    line: NDArray[Any],
    form: NDArray[Any],
    texts: Sequence[str | None],
) -> Any:
    """Rows as an Arrow table: two halves of a hash of the partition, the offset, the line within the block, from 0.

    `form` is an `OffsetForm`, with a mark in the higher bits. `texts` is empty if no row has a text.
    """
    text = pa.array(texts, pa.string()) if texts else pa.nulls(len(value), pa.string())
    return pa.table([*hashes, value, line.astype(np.uint32), form.astype(np.uint8), text], _SCHEMA)


def in_buckets(blocks: Sequence[Any], count: int) -> Iterator[bytes]:
    """The rows of each bucket, in the order of their lines, as an Arrow IPC stream."""
    rows = pa.concat_tables([_SCHEMA.empty_table(), *blocks]).combine_chunks()
    h2 = rows.column("h2").to_numpy()
    bucket = (((h2 >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.uint16)
    line = rows.column("line").to_numpy()
    # Rows of one form are in the order of their lines.
    order = np.argsort(bucket, kind="stable") if len(blocks) == 1 else np.lexsort((line, bucket))
    ordered = rows.take(pa.array(order))
    start = 0
    for size in np.bincount(bucket, minlength=count).tolist():
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, _SCHEMA) as writer:
            writer.write_table(ordered.slice(start, size))
        yield stream.getvalue().to_pybytes()
        start += size
