"""Runs one job over all large manifests of a reconciliation, and a second one that writes the patches to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gitops_connect.checks.large.input_splits.splits import is_packed
from gitops_connect.checks.large.job import FOUND, ROWS, Job
from gitops_connect.checks.large.join.compare import compare_buckets
from gitops_connect.checks.large.output.patch_files import WRITTEN, PatchJob, patch_of
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.checks.large.prepare import prepare_with_all_types
from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict
from gitops_connect.spark.session import Session, map_in_arrow

_BUCKET = 192 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 2 million rows, which take 180 MB during the join."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""

_TASK = "large manifests could not be checked because Spark failed"


def carry_out(manifests: Sequence[LargeManifest], job: Job, engine: SparkEngine) -> list[LargeVerdict]:
    """Check every entry of all manifests with every rule, and compare it with the current offsets.

    `job` is from `prepare`; it gets as many buckets as it needs. Every executor can write to its directories: one for
    the patches of manifests that nothing blocks and whose current offsets are known, and one for `violations.parquet`,
    with all violations. Raises SparkFailed if Spark fails, OSError if a file cannot be read or written here.
    """
    files = [file for one in manifests for file in (*one.files, *((one.current,) if one.current else ()))]
    size = sum(Path(one.path).stat().st_size * (_PACKED if is_packed(one) else 1) for one in files)
    job = replace(job, buckets=max(job.buckets, engine.parallelism, -(-size // _BUCKET)))
    try:
        results = Results(manifests, job, engine.compare(job))
        if results.are_unsure:
            job.directories.clear()
            job = prepare_with_all_types(manifests, job)
            results = Results(manifests, job, engine.compare(job))
        found = results.verdicts()
        if job.directories.violations:
            results.write_violations(job.directories)
        return _with_patches(found, results, job, engine) if job.directories.ready else found
    finally:
        job.directories.clear()


def _with_patches(found: list[LargeVerdict], results: Results, job: Job, engine: SparkEngine) -> list[LargeVerdict]:
    deletions = {
        number: results.each[number].deletions for number, one in enumerate(found) if one.difference is not None
    }
    patch_job = PatchJob(job, deletions)
    written = sorted(engine.write(patch_job)) if patch_job.splits else []
    return [
        replace(one, patch=patch_of(number, one.difference, written, job)) if one.difference is not None else one
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

    def compare(self, job: Job) -> Iterable[bytes]:
        """Run the first job; returns the findings for `Results`."""
        return self.session.run(_compared, job, self.parallelism, task=_TASK)

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        """Run the second job; returns the written parts as rows of `WRITTEN`."""
        return self.session.run(_written, patch_job, self.parallelism, task=_TASK)


def _compared(spark: Any, job: Job, parallelism: int) -> list[bytes]:
    rows = map_in_arrow(_splits(spark, len(job.splits), parallelism), job.read, ROWS)
    joined = map_in_arrow(rows.repartitionById(job.buckets, "bucket"), partial(compare_buckets, job), FOUND)
    return [bytes(row.found) for row in joined.collect()]


def _written(spark: Any, patch_job: PatchJob, parallelism: int) -> list[tuple[int, ...]]:
    rows = map_in_arrow(_splits(spark, len(patch_job.splits), parallelism), patch_job.write, WRITTEN)
    return [tuple(row) for row in rows.collect()]


def _splits(spark: Any, count: int, parallelism: int) -> Any:
    return spark.range(0, count, 1, min(count, parallelism * _TASKS))
