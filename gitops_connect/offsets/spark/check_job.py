"""The job of one or more manifests as a value for the executors, and its first half, which reads the files."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import pyarrow as pa

from gitops_connect.families.shapes import Shape
from gitops_connect.model.operations import OperationKind
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.formats.manifest_parser import read_lines
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.spark.input_splits import Block, InputSplit, blocks_of
from gitops_connect.offsets.spark.job_files import JobDirectories
from gitops_connect.offsets.spark.keys import Secret
from gitops_connect.offsets.spark.layouts import LineFormat
from gitops_connect.offsets.spark.line_formats import counted_field
from gitops_connect.offsets.spark.parse import Parser, ReadLines, TypeExamples, in_buckets
from gitops_connect.offsets.spark.violations import TaskViolations, ViolationCounts, result_or_bug, task_violations

ROWS = pa.schema(
    [
        ("bucket", pa.int32()),
        ("split", pa.int32()),
        ("base", pa.int64()),
        ("rows", pa.binary()),
        ("found", pa.binary()),
    ]
)
"""A row for each block and bucket: its entries as an Arrow IPC stream; the block's `BlockResult` is in the first."""
FOUND = pa.schema([("found", pa.binary())])
"""The results of both halves, pickled: `BlockResult` and `BucketResult`."""


@dataclass(frozen=True, slots=True)
class ManifestTask:
    """One manifest for the executors. `examples` are offsets that represent all current offsets; None: unknown.

    `is_checked`: the manifest is checked with the rules, and not only compared. `bug` prevents that.
    """

    context: ManifestContext
    kind: OperationKind
    line_format: LineFormat | None
    current_line_format: LineFormat | None
    examples: TypeExamples | None
    is_checked: bool = True
    bug: Exception | None = None

    @property
    def shape(self) -> Shape | None:
        """The shape of the connector."""
        return self.context.shape

    def checker(self) -> EntryChecker:
        """The rule function, which knows only the types of the current offsets."""
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
        examples, counted = manifest.examples, counted_field(manifest.shape)
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
