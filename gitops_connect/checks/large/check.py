"""One Spark job over all large manifests of a cycle, and their verdicts; a second one leaves what is to be sent."""

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
from gitops_connect.checks.large.output.patch_files import WRITTEN, Writing, patch_of, writing_of
from gitops_connect.checks.large.output.verdicts import Results
from gitops_connect.checks.large.output.violations_file import write_violations
from gitops_connect.checks.large.prepare import prepare, prepare_surely
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LargeVerdict

if TYPE_CHECKING:
    from gitops_connect.spark.session import Session

_BUCKET = 768 * 1024 * 1024
"""Bytes of manifests whose rows fall into one bucket: some 8 million, which take 700 MB where they are compared."""
_PACKED = 10
"""Times that a compressed manifest grows, or a little more."""
_TASKS = 4
"""For each processor: the last ones to end do not keep the others waiting for long."""


class Engine(Protocol):
    """What carries out the two jobs."""

    def compare(self, job: Job) -> Iterable[bytes]:
        """What was found, for `Results`."""

    def write(self, writing: Writing) -> Iterable[tuple[int, ...]]:
        """What is left of each unit, as rows of `WRITTEN`."""


def check(
    session: Session,
    manifests: Sequence[LargeManifest],
    reader: ManifestReader,
    ready: Path | None = None,
    violations: Path | None = None,
) -> list[LargeVerdict]:
    """Every entry of all manifests held against every rule, and against the offsets that stand.

    `ready` is a folder for the patches of those that nothing holds up and whose live offsets are known; `violations`
    one for `violations.parquet`, with everything that is wrong. Every executor can write to both.

    Raises SparkFailed where Spark cannot do it, OSError where a file cannot be read or written here.
    """
    return check_prepared(session, manifests, prepare(manifests, reader, 1), ready, violations)


def check_prepared(
    session: Session,
    manifests: Sequence[LargeManifest],
    job: Job,
    ready: Path | None = None,
    violations: Path | None = None,
) -> list[LargeVerdict]:
    """The same with what `preparing.prepare` has made of the manifests, for which no session was needed."""
    buckets = _buckets(manifests, session.parallelism)
    job = replace(job, buckets=buckets, folders=job_directories(ready, violations))
    return carry_out(manifests, job, _SparkEngine(session))


def carry_out(manifests: Sequence[LargeManifest], job: Job, engine: Engine) -> list[LargeVerdict]:
    """Both jobs, and what is left to be done with what they have found. Raises as `check` does."""
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

    def compare(self, job: Job) -> Iterator[bytes]:
        rows_type, found_type = self.session.type_of(ROWS), self.session.type_of(FOUND)
        with self.session.working():
            rows = self._units(len(job.units)).mapInArrow(job.read, rows_type)
            met = rows.repartitionById(job.buckets, "bucket").mapInArrow(partial(compare_buckets, job), found_type)
            return (bytes(row.found) for row in met.collect())

    def write(self, writing: Writing) -> Iterable[tuple[int, ...]]:
        with self.session.working():
            units = self._units(len(writing.units))
            rows = units.mapInArrow(writing.write, self.session.type_of(WRITTEN)).collect()
            return [tuple(row) for row in rows]

    def _units(self, count: int) -> Any:
        return self.session.spark.range(0, count, 1, min(count, self.session.parallelism * _TASKS))


def _buckets(manifests: Sequence[LargeManifest], parallelism: int) -> int:
    files = [file for one in manifests for file in (*one.files, *((one.live,) if one.live else ()))]
    return max(parallelism, -(-sum(map(_size, files)) // _BUCKET))


def _size(file: LargeFile) -> int:
    size = Path(file.path).stat().st_size
    return size * _PACKED if is_packed(file) else size
