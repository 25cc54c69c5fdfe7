"""One Spark job over all large manifests of a cycle, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitops_connect.checks.large.comparing import compare_buckets
from gitops_connect.checks.large.job import FOUND, ROWS, Job
from gitops_connect.checks.large.preparing import prepare
from gitops_connect.checks.large.reading import Reader, compression_of
from gitops_connect.checks.large.verdicts import verdicts
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LargeVerdict

if TYPE_CHECKING:
    from gitops_connect.checks.large.session import Session

_BUCKET = 768 * 1024 * 1024
"""Bytes of manifests whose rows fall into one bucket: some 8 million, which take 700 MB where they are compared."""
_PACKED = 10
"""Times that a compressed manifest grows, or a little more."""
_TASKS = 4
"""For each processor: the last ones to end do not keep the others waiting for long."""
_TYPES = {"int32": "int", "int64": "long", "binary": "binary"}


def check(session: Session, manifests: Sequence[LargeManifest], reader: Reader) -> list[LargeVerdict]:
    """Every entry of all manifests held against every rule, and against the offsets that stand.

    Raises SparkFailed where Spark cannot do it, OSError where a file cannot be read here.
    """
    job = prepare(manifests, reader, _buckets(manifests, session.parallelism))
    return verdicts(manifests, job, _run(session, job))


def _run(session: Session, job: Job) -> Iterator[bytes]:
    tasks = min(len(job.units), session.parallelism * _TASKS)
    with session.working():
        units = session.spark.range(0, len(job.units), 1, tasks)
        rows = units.mapInArrow(job.read, _ddl(ROWS))
        met = rows.repartitionById(job.buckets, "bucket").mapInArrow(partial(compare_buckets, job), _ddl(FOUND))
        return (bytes(row.found) for row in met.collect())


def _ddl(schema: Any) -> str:
    return ", ".join(f"{field.name} {_TYPES[str(field.type)]}" for field in schema)


def _buckets(manifests: Sequence[LargeManifest], parallelism: int) -> int:
    files = [file for one in manifests for file in (*one.files, *((one.live,) if one.live else ()))]
    return max(parallelism, -(-sum(map(_size, files)) // _BUCKET))


def _size(file: LargeFile) -> int:
    size = Path(file.path).stat().st_size
    return size * _PACKED if compression_of(file.name) else size
