"""The violations that tasks find, with their lines: counted, and all of them written to a file on request."""

from __future__ import annotations

import pickle
import traceback
from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.findings import Finding
from gitops_connect.model.offset_changes import Acknowledgement
from gitops_connect.offsets.rules.rules import RULES, severity_of, summary_of
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.offsets.spark.input_splits import InputSplit
from gitops_connect.offsets.spark.job_files import JobDirectories, write_atomically
from gitops_connect.offsets.spark.keys import Positions

RowPositions = tuple[Positions, Positions]
"""Splits and lines of many rows, as in a `RowPosition`."""
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
T = TypeVar("T")
Kind = tuple[str, Severity]
"""A rule and a severity, which are counted separately."""


class RowPosition(NamedTuple):
    """The position of a row before its line is known: split, line from 0 within the split, column from 1."""

    split: int
    line: int
    column: int = 1


class LineNumbers:
    """The lines of rows in their files. `lines` is the number of lines of each split."""

    def __init__(self, splits: Sequence[InputSplit], lines: Mapping[int, int]) -> None:
        before: Counter[tuple[int, bool, str]] = Counter()
        starts = []
        for number, split in enumerate(splits):
            file = split.manifest, split.is_current, split.file.path
            starts.append(before[file])
            before[file] += lines.get(number, 0)
        self.splits = splits
        self._starts = np.array(starts, np.int64)
        self._places = cache(lambda path: np.memmap(path, "<u4", "r").reshape(-1, 2))

    def location(self, position: RowPosition) -> Location:
        """The location of a row. Raises OSError if the file with the places cannot be read."""
        lines, columns = self.of(*(np.array([number]) for number in position))
        return Location(self.splits[position.split].file.name, int(lines[0]), int(columns[0]))

    def of(self, splits: Positions, lines: Positions, columns: Positions) -> tuple[Positions, Positions]:
        """Lines and columns, from 1, of many rows. For a rewritten file, the places in the original file."""
        rows, columns = self._starts[splits] + lines, columns.copy()
        numbers = rows + 1
        for split in np.unique(splits).tolist():
            path = self.splits[split].file.places
            if path is not None:
                own = splits == split
                numbers[own], columns[own] = self._places(path)[rows[own]].T
        return numbers, columns


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
    """The violations of one task, which are written to a `ParquetWriter`."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._buffered: list[tuple[Any, ...]] = []

    def add(self, violation: Violation, acknowledged: frozenset[Acknowledgement]) -> None:
        """Add one violation of a manifest with the acknowledgements of its document."""
        first = (None, None) if violation.first is None else violation.first[:2]
        self._buffered.append((*_texts(violation.finding, acknowledged), *violation.position, *first))
        if len(self._buffered) == _BUFFERED:
            self.flush()

    def add_alike(
        self, finding: Finding, acknowledged: frozenset[Acknowledgement], rows: RowPositions, first: RowPositions | None
    ) -> None:
        """Add one finding for many rows, each at the first column; `first` are the rows that they repeat."""
        count = len(rows[0])
        texts = [pa.repeat(text, count) for text in _texts(finding, acknowledged)]
        repeated = [pa.nulls(count, pa.int64())] * 2 if first is None else first
        self._write([*texts, *rows, np.ones(count, np.int64), *repeated])

    def flush(self) -> None:
        if self._buffered:
            self._write([*zip(*self._buffered, strict=True)])
            self._buffered = []

    def _write(self, columns: list[Any]) -> None:
        self._writer.write_table(_table(columns, _PART))


def _texts(finding: Finding, acknowledged: frozenset[Acknowledgement]) -> tuple[str, str, str]:
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


@dataclass(slots=True)
class ViolationCounts:
    """The counts of a block, of several blocks, or of a whole manifest. `size` is in bytes.

    `new_types` counts current offsets of a type that was not known. `unread` counts entries that the connector does not
    read. `broken` are positions after which nothing could be read: other violations of such a manifest would be
    incomplete. `bug` prevented the check. `file` receives each violation, if all violations are requested.
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
    bug: Exception | None = None

    def fresh(self) -> ViolationCounts:
        """Empty counts for the same manifest."""
        return ViolationCounts(self.acknowledged, self.file)

    def without_file(self) -> ViolationCounts:
        """The counts for another process."""
        return replace(self, file=None)

    def add(self, violation: Violation) -> None:
        if self.file is not None:
            self.file.add(violation, self.acknowledged)
        kind = self._kind(violation.finding)
        self.counts[kind] += 1
        self._show(kind, violation)

    def add_number(self, finding: Finding, number: int) -> None:
        """Add violations of the same rule that are neither shown nor written to the file."""
        self.counts[self._kind(finding)] += number

    def add_entry(self, position: RowPosition, findings: Sequence[Finding]) -> None:
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
        self.entries += other.entries
        self.size += other.size
        self.new_types += other.new_types
        self.unread += other.unread
        self.counts.update(other.counts)
        self.broken += other.broken
        self.bug = self.bug or other.bug
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


def result_or_bug(work: Callable[[], T]) -> T | Exception:
    """The result of `work`, which concerns only one manifest; or its bug, which must not block the others.

    The bug may be in the family of the connector. Errors that are not bugs are passed on.
    """
    try:
        return work()
    except (GitopsConnectError, MemoryError, OSError):
        raise
    except Exception as error:
        text = traceback.format_exc()
        try:
            bug = pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled in this process
        except Exception:  # whatever the class of the bug does
            bug = RuntimeError(type(error).__name__)
        bug.add_note(text)
        return cast("Exception", bug)


def _first_of(rows: RowPositions) -> list[RowPosition]:
    return [RowPosition(*row) for row in zip(*(part[:SHOWN].tolist() for part in rows), strict=True)]
