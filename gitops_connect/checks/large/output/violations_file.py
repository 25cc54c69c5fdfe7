"""Joins the violations of all tasks in one file, with line numbers of the manifests' files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.large.job import Job
from gitops_connect.checks.large.job_files import write_atomically
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.model.diagnostics import Diagnostic

VIOLATIONS = pa.schema(
    [
        ("rule", pa.string()),
        ("severity", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("column", pa.int64()),
        ("message", pa.string()),
    ]
)
_NAME = "violations.parquet"


def write_violations(results: Results, job: Job) -> None:
    """Write the file in parts, of which few are in memory at a time. Raises OSError."""
    from pyarrow import parquet  # noqa: PLC0415 - few jobs use it, and its import takes time

    folder = Path(job.folders.violations)
    with write_atomically(folder / _NAME) as stream, parquet.ParquetWriter(stream, VIOLATIONS) as writer:
        for result in results.each:
            writer.write_table(_table(result.beside(results.places)))
        for path in sorted(folder.glob(job.folders.in_violations("*.parquet").name)):
            with parquet.ParquetFile(path) as part:
                for batch in part.iter_batches():
                    writer.write_table(_told(batch, results, job))


def _table(said: Sequence[Diagnostic]) -> Any:
    rows = [
        (one.rule, one.severity.value, one.location.file, one.location.line, one.location.column, one.summary)
        for one in said
    ]
    return pa.Table.from_pylist([dict(zip(VIOLATIONS.names, row, strict=True)) for row in rows], VIOLATIONS)


def _told(batch: Any, results: Results, job: Job) -> Any:
    """The rows of the file. For a manifest that is broken, its other violations are left out."""
    broken = np.array([results.each[unit.manifest].is_broken for unit in job.units])
    names = pa.array([unit.file.name for unit in job.units], pa.string())
    batch = batch.filter(pa.array(~broken[_numbers(batch, "unit")]))
    units = _numbers(batch, "unit")
    lines, columns = results.places.of(units, _numbers(batch, "line"), _numbers(batch, "column"))
    files = names.take(pa.array(units))
    message = batch.column("head")
    if batch.column("first_unit").null_count < batch.num_rows:
        message = pc.if_else(batch.column("first_unit").is_null(), message, _of_repeats(batch, results, names, lines))
    arrays = [batch.column("rule"), batch.column("severity"), files, pa.array(lines), pa.array(columns), message]
    return pa.Table.from_arrays(arrays, schema=VIOLATIONS)


def _of_repeats(batch: Any, results: Results, names: Any, lines: Any) -> Any:
    """The messages of repeats, with both lines in them, and the name of an earlier file."""
    first = _numbers(batch, "first_unit")
    nowhere = np.ones(len(first), np.int64)
    first_lines = pa.array(results.places.of(first, _numbers(batch, "first_line"), nowhere)[0]).cast(pa.string())
    first_files, files = names.take(pa.array(first)), names.take(pa.array(_numbers(batch, "unit")))
    named = pc.binary_join_element_wise(first_lines, first_files, " of ")
    named = pc.if_else(pc.equal(first_files, files), first_lines, named)
    parts = (
        batch.column("head"),
        named,
        batch.column("middle"),
        pa.array(lines).cast(pa.string()),
        batch.column("tail"),
    )
    return pc.binary_join_element_wise(*parts, "")


def _numbers(batch: Any, name: str) -> Any:
    return batch.column(name).fill_null(0).to_numpy(zero_copy_only=False)
