"""Runs one Spark job over all large manifests of a reconciliation, and a second one that writes the patches to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from gitops_connect.checks.large.input_splits.splits import ManifestReader, is_packed
from gitops_connect.checks.large.job import FOUND, ROWS, Job
from gitops_connect.checks.large.job_files import job_directories
from gitops_connect.checks.large.join.compare import compare_buckets
from gitops_connect.checks.large.output.patch_files import WRITTEN, Writing, patch_of, writing_of
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.checks.large.output.violations_file import write_violations
from gitops_connect.checks.large.prepare import prepare, prepare_surely
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LargeVerdict
from gitops_connect.spark.session import Session, map_in_arrow

_BUCKET = 768 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 8 million rows, which take 700 MB during the join."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""

_TASK = "large manifests could not be checked because Spark failed"


class Engine(Protocol):
    """The engine that runs the two jobs."""

    def compare(self, job: Job) -> Iterable[bytes]:
        """Run the first job; returns the findings for `Results`."""

    def write(self, writing: Writing) -> Iterable[tuple[int, ...]]:
        """Run the second job; returns the written parts as rows of `WRITTEN`."""


def check(
    session: Session,
    manifests: Sequence[LargeManifest],
    reader: ManifestReader,
    ready: Path | None = None,
    violations: Path | None = None,
) -> list[LargeVerdict]:
    """Check every entry of all manifests with every rule, and compare it with the current offsets.

    `ready` is a directory for the patches of manifests that nothing blocks and whose current offsets are known;
    `violations` is a directory for `violations.parquet`, with all violations. Every executor can write to both.

    Raises SparkFailed if Spark fails, OSError if a file cannot be read or written here.
    """
    return check_prepared(session, manifests, prepare(manifests, reader, 1), ready, violations)


def check_prepared(
    session: Session,
    manifests: Sequence[LargeManifest],
    job: Job,
    ready: Path | None = None,
    violations: Path | None = None,
) -> list[LargeVerdict]:
    """Check manifests that `prepare.prepare` has already prepared without a session.

    Returns and raises as `check` does.
    """
    buckets = _buckets(manifests, session.parallelism)
    job = replace(job, buckets=buckets, folders=job_directories(ready, violations))
    return carry_out(manifests, job, _SparkEngine(session))


def carry_out(manifests: Sequence[LargeManifest], job: Job, engine: Engine) -> list[LargeVerdict]:
    """Run both jobs, and write their results. Raises as `check` does."""
    try:
        results = Results(manifests, job, engine.compare(job))
        if results.are_unsure:
            job.folders.clear()
            job = prepare_surely(manifests, job)
            results = Results(manifests, job, engine.compare(job))
        found = results.verdicts()
        if job.folders.violations:
            write_violations(results, job)
        return _with_patches(found, results, job, engine) if job.folders.ready else found
    finally:
        job.folders.clear()


def _with_patches(found: list[LargeVerdict], results: Results, job: Job, engine: Engine) -> list[LargeVerdict]:
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
class _SparkEngine:
    session: Session

    def compare(self, job: Job) -> Iterable[bytes]:
        return self.session.run(_compared, job, self.session.parallelism, task=_TASK)

    def write(self, writing: Writing) -> Iterable[tuple[int, ...]]:
        return self.session.run(_written, writing, self.session.parallelism, task=_TASK)


def _compared(spark: Any, job: Job, parallelism: int) -> list[bytes]:
    rows = map_in_arrow(_units(spark, len(job.units), parallelism), job.read, ROWS)
    met = map_in_arrow(rows.repartitionById(job.buckets, "bucket"), partial(compare_buckets, job), FOUND)
    return [bytes(row.found) for row in met.collect()]


def _written(spark: Any, writing: Writing, parallelism: int) -> list[tuple[int, ...]]:
    rows = map_in_arrow(_units(spark, len(writing.units), parallelism), writing.write, WRITTEN)
    return [tuple(row) for row in rows.collect()]


def _units(spark: Any, count: int, parallelism: int) -> Any:
    return spark.range(0, count, 1, min(count, parallelism * _TASKS))


def _buckets(manifests: Sequence[LargeManifest], parallelism: int) -> int:
    files = [file for one in manifests for file in (*one.files, *((one.live,) if one.live else ()))]
    return max(parallelism, -(-sum(map(_size, files)) // _BUCKET))


def _size(file: LargeFile) -> int:
    size = Path(file.path).stat().st_size
    return size * _PACKED if is_packed(file) else size
