"""Runs one Spark job over all large manifests of a reconciliation, and a second one that writes the patches to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gitops_connect.checks.large.input_splits.splits import ManifestReader, is_packed
from gitops_connect.checks.large.job import FOUND, ROWS, Job
from gitops_connect.checks.large.job_files import job_directories
from gitops_connect.checks.large.join.compare import compare_buckets
from gitops_connect.checks.large.output.patch_files import WRITTEN, PatchJob, patch_of
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.checks.large.prepare import prepare, prepare_surely
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LargeVerdict

if TYPE_CHECKING:
    from gitops_connect.spark.session import Session

_BUCKET = 768 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 8 million rows, which take 700 MB during the join."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""


class Engine(Protocol):
    """The engine that runs the two jobs."""

    def compare(self, job: Job) -> Iterable[bytes]:
        """Run the first job; returns the findings for `Results`."""

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
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
            results.write_violations(job.folders)
        return _with_patches(found, results, job, engine) if job.folders.ready else found
    finally:
        job.folders.clear()


def _with_patches(found: list[LargeVerdict], results: Results, job: Job, engine: Engine) -> list[LargeVerdict]:
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
class _SparkEngine:
    session: Session

    def compare(self, job: Job) -> Iterator[bytes]:
        rows_type, found_type = self.session.type_of(ROWS), self.session.type_of(FOUND)
        with self.session.working():
            rows = self._units(len(job.splits)).mapInArrow(job.read, rows_type)
            met = rows.repartitionById(job.buckets, "bucket").mapInArrow(partial(compare_buckets, job), found_type)
            return (bytes(row.found) for row in met.collect())

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        with self.session.working():
            units = self._units(len(patch_job.splits))
            rows = units.mapInArrow(patch_job.write, self.session.type_of(WRITTEN)).collect()
            return [tuple(row) for row in rows]

    def _units(self, count: int) -> Any:
        return self.session.spark.range(0, count, 1, min(count, self.session.parallelism * _TASKS))


def _buckets(manifests: Sequence[LargeManifest], parallelism: int) -> int:
    files = [file for one in manifests for file in (*one.files, *((one.live,) if one.live else ()))]
    return max(parallelism, -(-sum(map(_size, files)) // _BUCKET))


def _size(file: LargeFile) -> int:
    size = Path(file.path).stat().st_size
    return size * _PACKED if is_packed(file) else size
