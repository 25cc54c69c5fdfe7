"""All violations, not only the first of each rule: written by tasks in parts, and joined once their lines are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.large.job_files import JobDirectories, write_atomically
from gitops_connect.checks.large.violations.line_numbers import LineNumbers, RowPosition, RowPositions
from gitops_connect.checks.rules import RULES, Finding, severity_of, summary_of
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.operations import Acknowledgement

_BUFFERED = 10_000
"""Violations that are added one by one, before they are written."""
_LINE_NUMBER: Final = "\0"
"""Marks a line number that is not known yet in a message: a canonical text does not contain it."""
_TEXTS = [("rule", pa.string()), ("severity", pa.string()), ("message", pa.string())]
_NUMBERS = [(name, pa.int64()) for name in ("split", "line", "column", "first_split", "first_line")]
_PART = pa.schema([*_TEXTS, *_NUMBERS])
"""Lines count from 0 within their split. The message of a repeat has two marks: for the first line, and for its own."""
_FILE = pa.schema([*_TEXTS[:2], ("file", pa.string()), ("line", pa.int64()), ("column", pa.int64()), _TEXTS[2]])
_NAME = "violations.parquet"


class Violation(NamedTuple):
    """A finding with its row; `first` is the row that it repeats, if it is a repeat."""

    position: RowPosition
    finding: Finding
    first: RowPosition | None = None

    @property
    def lacks_words(self) -> bool:
        """Whether the task has left the words to the driver, which checks the few lines that are shown again."""
        return not self.finding.words and self.first is None and "{" in RULES[self.finding.rule].message


class TaskViolations:
    """The violations of one task."""

    def __init__(self, writer: Any) -> None:
        """Write to a `ParquetWriter`."""
        self._writer = writer
        self._buffered: list[tuple[Any, ...]] = []

    def add(self, violation: Violation, acknowledged: frozenset[Acknowledgement]) -> None:
        """Add one violation of a manifest with the acknowledgements of its document."""
        first = (None, None) if violation.first is None else violation.first[:2]
        self._buffered.append((*_texts(violation.finding, acknowledged), *violation.position, *first))
        if len(self._buffered) == _BUFFERED:
            self.flush()

    def add_alike(
        self,
        finding: Finding,
        acknowledged: frozenset[Acknowledgement],
        rows: RowPositions,
        first: RowPositions | None,
    ) -> None:
        """Add one finding for many rows, each at the first column; `first` are the rows that they repeat."""
        count = len(rows[0])
        texts = [pa.repeat(text, count) for text in _texts(finding, acknowledged)]
        repeated = [pa.nulls(count, pa.int64())] * 2 if first is None else first
        self._write([*texts, *rows, np.ones(count, np.int64), *repeated])

    def flush(self) -> None:
        """Write the violations that were added one by one."""
        if self._buffered:
            self._write([*zip(*self._buffered, strict=True)])
            self._buffered = []

    def _write(self, columns: list[Any]) -> None:
        self._writer.write_table(_table(columns, _PART))


def _texts(finding: Finding, acknowledged: frozenset[Acknowledgement]) -> tuple[str, str, str]:
    """The rule, the severity and the message."""
    words = {"first": _LINE_NUMBER, "second": _LINE_NUMBER, **finding.words}
    return finding.rule, severity_of(finding, acknowledged).value, summary_of(finding._replace(words=words))


@contextmanager
def task_violations(directories: JobDirectories, name: str) -> Iterator[TaskViolations | None]:
    """A part with that name; None if violations are not requested."""
    if directories.violations is None:
        yield None
        return
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - few jobs use it, and its import takes time

    with (
        write_atomically(directories.in_violations(f"{name}.parquet")) as stream,
        ParquetWriter(stream, _PART) as writer,
    ):
        violations = TaskViolations(writer)
        yield violations
        violations.flush()


def join_violations(
    directories: JobDirectories, others: Iterable[Diagnostic], line_numbers: LineNumbers, broken: Collection[int]
) -> None:
    """Join the violations of all tasks and `others` in one file. Of `broken` manifests, only `others` are included.

    Few parts are in memory at a time. Raises OSError.
    """
    from pyarrow import parquet  # noqa: PLC0415 - few jobs use it, and its import takes time

    parts = directories.in_violations("*.parquet")
    rows = [
        (one.rule, one.severity.value, one.location.file, one.location.line, one.location.column, one.summary)
        for one in others
    ]
    with write_atomically(parts.with_name(_NAME)) as stream, parquet.ParquetWriter(stream, _FILE) as writer:
        writer.write_table(_table([*zip(*rows, strict=True)] or [()] * len(_FILE), _FILE))
        for part in sorted(parts.parent.glob(parts.name)):
            with parquet.ParquetFile(part) as file:
                for batch in file.iter_batches():
                    writer.write_table(_with_lines(batch, line_numbers, broken))


def _with_lines(part: Any, line_numbers: LineNumbers, broken: Collection[int]) -> Any:
    """The rows of a part with their lines and files."""
    kept = np.array([split.manifest not in broken for split in line_numbers.splits])
    part = part.filter(pa.array(kept[part.column("split").to_numpy()]))
    splits, lines, columns = (part.column(name).to_numpy() for name in ("split", "line", "column"))
    lines, columns = line_numbers.of(splits, lines, columns)
    names = pa.array([split.file.name for split in line_numbers.splits], pa.string())
    files, message = names.take(pa.array(splits)), part.column("message")
    is_repeat = part.column("first_split").is_valid()
    own = [pa.array(column).filter(is_repeat) for column in (lines, files)]
    first, first_lines = (part.column(name).drop_null().to_numpy() for name in ("first_split", "first_line"))
    first_lines, _ = line_numbers.of(first, first_lines, first_lines)
    repeated = _with_line_numbers(message.filter(is_repeat), own, (first_lines, names.take(pa.array(first))))
    message = pc.replace_with_mask(message, is_repeat, repeated)
    return _table([part.column("rule"), part.column("severity"), files, lines, columns, message], _FILE)


def _with_line_numbers(messages: Any, own: Any, first: Any) -> Any:
    """The messages of repeats with both lines, and with the name of the file of the first if it is another."""
    (lines, files), (first_lines, first_files) = own, first
    head, middle, tail = (pc.list_element(pc.split_pattern(messages, _LINE_NUMBER), index) for index in range(3))
    named = pa.array(first_lines).cast(pa.string())
    named = pc.if_else(pc.equal(first_files, files), named, pc.binary_join_element_wise(named, first_files, " of "))
    return pc.binary_join_element_wise(head, named, middle, lines.cast(pa.string()), tail, "")


def _table(columns: Iterable[Any], schema: Any) -> Any:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
