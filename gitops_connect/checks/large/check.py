"""Runs one job over all large manifests of a reconciliation, and a second one that writes the patches to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitops_connect.checks.large.input_splits.splits import is_packed
from gitops_connect.checks.large.job import FOUND, ROWS, Job
from gitops_connect.checks.large.join.compare import compare_buckets
from gitops_connect.checks.large.output.patch_files import WRITTEN, Writing, patch_of, writing_of
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.checks.large.output.violations_file import write_violations
from gitops_connect.checks.large.prepare import prepare_with_all_types
from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict

if TYPE_CHECKING:
    from gitops_connect.spark.session import Session

_BUCKET = 768 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 8 million rows, which take 700 MB during the join."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""


def carry_out(manifests: Sequence[LargeManifest], job: Job, engine: SparkEngine) -> list[LargeVerdict]:
    """Check every entry of all manifests with every rule, and compare it with the current offsets.

    `job` is from `prepare`; it gets as many buckets as it needs. Every executor can write to its directories: one for
    the patches of manifests that nothing blocks and whose current offsets are known, and one for `violations.parquet`,
    with all violations. Raises SparkFailed if Spark fails, OSError if a file cannot be read or written here.
    """
    files = [file for one in manifests for file in (*one.files, *((one.live,) if one.live else ()))]
    size = sum(Path(one.path).stat().st_size * (_PACKED if is_packed(one) else 1) for one in files)
    job = replace(job, buckets=max(job.buckets, engine.parallelism, -(-size // _BUCKET)))
    try:
        results = Results(manifests, job, engine.compare(job))
        if results.are_unsure:
            job.folders.clear()
            job = prepare_with_all_types(manifests, job)
            results = Results(manifests, job, engine.compare(job))
        found = results.verdicts()
        if job.folders.violations:
            write_violations(results, job)
        return _with_patches(found, results, job, engine) if job.folders.ready else found
    finally:
        job.folders.clear()


def _with_patches(found: list[LargeVerdict], results: Results, job: Job, engine: SparkEngine) -> list[LargeVerdict]:
    chosen = {
        number: tuple(results.each[number].chosen) for number, one in enumerate(found) if one.difference is not None
    }
    writing = writing_of(job, chosen)
    left = sorted(engine.write(writing)) if writing.units else []
    return [
        replace(one, patch=patch_of(number, one.difference, left, job)) if one.difference is not None else one
        for number, one in enumerate(found)
    ]


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs the jobs on Spark."""

    session: Session

    @property
    def parallelism(self) -> int:
        """The number of tasks that Spark runs at once."""
        return self.session.parallelism

    def compare(self, job: Job) -> Iterator[bytes]:
        """Run the first job; returns the findings for `Results`."""
        rows_type, found_type = self.session.type_of(ROWS), self.session.type_of(FOUND)
        with self.session.working():
            rows = self._units(len(job.units)).mapInArrow(job.read, rows_type)
            met = rows.repartitionById(job.buckets, "bucket").mapInArrow(partial(compare_buckets, job), found_type)
            return (bytes(row.found) for row in met.collect())

    def write(self, writing: Writing) -> Iterable[tuple[int, ...]]:
        """Run the second job; returns the written parts as rows of `WRITTEN`."""
        with self.session.working():
            units = self._units(len(writing.units))
            rows = units.mapInArrow(writing.write, self.session.type_of(WRITTEN)).collect()
            return [tuple(row) for row in rows]

    def _units(self, count: int) -> Any:
        return self.session.spark.range(0, count, 1, min(count, self.session.parallelism * _TASKS))
