"""The job of one or more manifests as a value for the executors, and its first half, which reads the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from gitops_connect.checks.entries import EntryJudge
from gitops_connect.checks.large.input_splits.splits import InputSplit, ManifestReader, pieces
from gitops_connect.checks.large.job_files import JobDirectories
from gitops_connect.checks.large.keys.text_hashes import Secret
from gitops_connect.checks.large.line_formats.known_fields import counted_field
from gitops_connect.checks.large.line_formats.layouts import LineFormat
from gitops_connect.checks.large.parse.current_sample import CurrentSample, TypeExamples
from gitops_connect.checks.large.parse.parser import Parser
from gitops_connect.checks.large.parse.shuffle_block import ShuffleBlock
from gitops_connect.checks.large.violations.counts import ViolationCounts, dumped
from gitops_connect.checks.large.violations.task_file import TaskViolations, task_violations
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shapes import Shape, shape_of

ROWS = pa.schema(
    [
        ("bucket", pa.int32()),
        ("unit", pa.int32()),
        ("base", pa.int64()),
        *((name, pa.binary()) for name in ("h1", "h2", "value", "line", "form", "texts", "tally")),
    ]
)
"""A row for each block and bucket, with the columns of all its entries as bytes."""
FOUND = pa.schema([("found", pa.binary())])
"""The findings of the second half: one JSON text each."""


@dataclass(frozen=True, slots=True)
class ManifestTask:
    """One manifest for the executors. `examples` are offsets that represent all current offsets; None: unknown.

    `is_mixed`: a field of them has several types, so that each entry is checked with its own current offset.
    `is_judged`: the manifest is checked with the rules, and not only compared.
    """

    context: ManifestContext
    kind: OperationKind
    line_format: LineFormat | None
    current_line_format: LineFormat | None
    examples: Offsets | None
    is_mixed: bool
    is_judged: bool = True

    @property
    def shape(self) -> Shape | None:
        """The shape of the connector."""
        return shape_of(self.context.config or {}, self.context.schema)

    def known_types(self) -> TypeExamples:
        """The types of the current offsets, by the examples."""
        known = TypeExamples()
        known.add_all(
            {"partition": json.loads(one), "offset": json.loads(offset)}
            for one, offset in (self.examples or {}).items()
        )
        return known

    def judge(self) -> tuple[EntryJudge, CurrentSample | None]:
        """The rule function, and the object that receives a partition's current offset."""
        current = None if self.examples is None else CurrentSample(self.examples)
        return EntryJudge(replace(self.context, live=current), self.kind), current


@dataclass(frozen=True, slots=True)
class Job:
    """All inputs of an executor; Spark runs the methods."""

    units: tuple[InputSplit, ...]
    subjects: tuple[ManifestTask, ...]
    reader: ManifestReader
    seed: bytes
    buckets: int
    folders: JobDirectories = field(default_factory=JobDirectories)

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Read splits by their numbers; yields rows, each for the bucket of its hash."""
        pa.set_cpu_count(1)
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        first = next(numbers, None)
        if first is None:
            return
        secret = Secret(self.seed)
        parsers: dict[tuple[int, bool], Parser] = {}
        with task_violations(self.folders, f"read-{first:07d}") as violations:
            for number in chain((first,), numbers):
                unit = self.units[number]
                key = unit.manifest, unit.is_live
                parser = parsers.get(key) or parsers.setdefault(key, self._parser(unit, secret, violations))
                for piece in pieces(unit, self.reader):
                    rows, counts, lines = parser.parse(piece, number)
                    found = dumped([number, piece.base + lines, counts.to_json()])
                    yield _batch(number, piece.base, list(rows.buckets(self.buckets)), found)

    def _parser(self, unit: InputSplit, secret: Secret, violations: TaskViolations | None) -> Parser:
        subject = self.subjects[unit.manifest]
        counted = counted_field(subject.shape)
        salt = secret.salt(unit.manifest)
        if unit.is_live or not subject.is_judged:
            line_format = subject.current_line_format if unit.is_live else subject.line_format
            known = subject.known_types() if unit.is_live else None
            return Parser(self.reader, secret, salt, line_format, counted, None, known=known)
        judge, current = subject.judge()
        counts = ViolationCounts(subject.context.acknowledged, violations)
        line_format, defers = subject.line_format, current is not None
        if line_format is not None and violations is not None:
            line_format = line_format.in_words()
        mixed = defers and subject.is_mixed
        return Parser(self.reader, secret, salt, None if mixed else line_format, counted, judge, counts, defers, mixed)


def _batch(unit: int, base: int, buckets: list[ShuffleBlock], found: bytes) -> Any:
    columns = {
        "bucket": range(len(buckets)),
        "unit": [unit] * len(buckets),
        "base": [base] * len(buckets),
        "h1": [one.h1 for one in buckets],
        "h2": [one.h2 for one in buckets],
        "value": [one.value for one in buckets],
        "line": [one.line for one in buckets],
        "form": [one.form for one in buckets],
        "texts": [dumped(one.texts) for one in buckets],
        "tally": [found, *[b""] * (len(buckets) - 1)],
    }
    arrays = [pa.array([_bytes(one) for one in columns[field.name]], field.type) for field in ROWS]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def _bytes(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value
