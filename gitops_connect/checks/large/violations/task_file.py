"""All violations, not only the first of each rule: written by tasks in parts, before their lines are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gitops_connect.checks.large.job_files import JobDirectories, write_atomically
from gitops_connect.checks.large.violations.counts import Places, Violation
from gitops_connect.checks.rules import Finding, severity_of, summary_of
from gitops_connect.model.operations import Acknowledgement

_HELD = 10_000
"""Findings that are added one by one, before they are written."""
_PLACE = "\0"
"""Marks a line number that is not known yet in a message: a canonical text does not contain it."""
Acknowledged = frozenset[Acknowledgement]
PART = pa.schema(
    [
        ("rule", pa.string()),
        ("severity", pa.string()),
        ("unit", pa.int64()),
        ("line", pa.int64()),
        ("column", pa.int64()),
        ("head", pa.string()),
        ("first_unit", pa.int64()),
        ("first_line", pa.int64()),
        ("middle", pa.string()),
        ("tail", pa.string()),
    ]
)
"""Lines count from 0 within their split. The message is `head`; for a repeat, it is `head`, the first line, `middle`,
the line itself, and `tail`."""


class TaskViolations:
    """The violations of one task."""

    def __init__(self, path: Path, files: ExitStack) -> None:
        """Create no file before the first finding; `files` closes the file."""
        self._path = path
        self._files = files
        self._writer: Any = None
        self._held: list[tuple[Any, ...]] = []

    def add(self, shown: Violation, acknowledged: Acknowledged) -> None:
        """Add one finding."""
        rule, severity, (head, middle, tail) = _said(shown.finding, acknowledged)
        first = (None, None) if shown.other is None else (shown.other.unit, shown.other.line)
        self._held.append((rule, severity, *shown.position, head, *first, middle, tail))
        if len(self._held) == _HELD:
            self.flush()

    def add_alike(self, finding: Finding, acknowledged: Acknowledged, places: Places, firsts: Places | None) -> None:
        """Add one finding at many places, each at the first column; `firsts` are the second places in its message."""
        count = len(places[0])
        rule, severity, (head, middle, tail) = _said(finding, acknowledged)
        nowhere = pa.nulls(count, pa.int64())
        columns = [
            pa.repeat(rule, count),
            pa.repeat(severity, count),
            *(pa.array(one, pa.int64()) for one in places),
            pa.array(np.ones(count, np.int64)),
            pa.repeat(head, count),
            *((nowhere, nowhere) if firsts is None else (pa.array(one, pa.int64()) for one in firsts)),
            pa.repeat(middle, count),
            pa.repeat(tail, count),
        ]
        if count:
            self._write(pa.Table.from_arrays(columns, schema=PART))

    def flush(self) -> None:
        """Write the findings that were added one by one."""
        if self._held:
            columns = zip(*self._held, strict=True)
            self._held = []
            arrays = [pa.array(one, field.type) for one, field in zip(columns, PART, strict=True)]
            self._write(pa.Table.from_arrays(arrays, schema=PART))

    def _write(self, table: Any) -> None:
        from pyarrow import parquet  # noqa: PLC0415 - few jobs use it, and its import takes time

        if self._writer is None:
            stream = self._files.enter_context(write_atomically(self._path))
            self._writer = self._files.enter_context(parquet.ParquetWriter(stream, PART))
        self._writer.write_table(table)


def _said(finding: Finding, acknowledged: Acknowledged) -> tuple[str, str, Sequence[str | None]]:
    words = {"first": _PLACE, "second": _PLACE, **finding.words}
    severity = severity_of(finding, acknowledged).value
    summary = summary_of(finding._replace(words=words))
    parts = summary.split(_PLACE)
    return finding.rule, severity, parts if len(parts) == 3 else (summary, None, None)


@contextmanager
def task_violations(folders: JobDirectories, name: str) -> Iterator[TaskViolations | None]:
    """A part with that name; None if violations are not requested."""
    if not folders.violations:
        yield None
        return
    with ExitStack() as files:
        violations = TaskViolations(folders.in_violations(f"{name}.parquet"), files)
        yield violations
        violations.flush()
