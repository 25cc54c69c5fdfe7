"""Runs one job over all large manifests of a reconciliation, and a second one that writes the patches to send."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.spark.check_job import FOUND, ROWS, Job, ManifestTask
from gitops_connect.offsets.spark.input_splits import (
    SPLIT_SIZE,
    InputSplit,
    blocks_of,
    input_splits,
    is_packed,
)
from gitops_connect.offsets.spark.join import compare_buckets
from gitops_connect.offsets.spark.layouts import LineBuffer, LineFormat
from gitops_connect.offsets.spark.line_formats import learn, learn_current, match_lines
from gitops_connect.offsets.spark.parse import TypeExamples
from gitops_connect.offsets.spark.patch_files import WRITTEN, PatchJob, patch_of
from gitops_connect.offsets.spark.verdicts import Results
from gitops_connect.offsets.spark.violations import result_or_bug
from gitops_connect.spark.session import Session, map_in_arrow

_BUCKET = 192 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 2 million rows, which take 180 MB during the join."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""

_TASK = "large manifests could not be checked because Spark failed"
_FIRST_LINES = 1000
"""The number of lines from which the forms are learnt."""


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


def prepare(manifests: Sequence[LargeManifest], buckets: int = 1, split_size: int = SPLIT_SIZE) -> Job:
    """The job over all manifests, in splits of `split_size` bytes and in `buckets`, at least.

    Only the first current offsets are read: nearly always all others have the same types. Raises OSError if a file
    cannot be read.
    """
    splits = input_splits(manifests, split_size)
    return Job(tuple(splits), tuple(_tasks(manifests, splits)), os.urandom(16), buckets)


def prepare_with_all_types(manifests: Sequence[LargeManifest], job: Job) -> Job:
    """The job after some current offsets turned out to have other types: all of them are read."""
    return replace(job, manifests=tuple(_tasks(manifests, job.splits, reads_all=True)))


def _tasks(
    manifests: Sequence[LargeManifest], splits: Sequence[InputSplit], *, reads_all: bool = False
) -> Iterator[ManifestTask]:
    for number, manifest in enumerate(manifests):
        config = None if manifest.context.config is None else dict(manifest.context.config)
        context = replace(manifest.context, config=config, current=None)
        current_format, examples = None, None
        if manifest.current is not None:
            own = [split for split in splits if split.manifest == number and split.is_current]
            current_format = learn_current(_first_lines(own), context.shape)
            examples = TypeExamples()
            lines = _lines_of_each_form(own, current_format) if reads_all else _first_lines(own)
            examples.add_all(json.loads(line) for line in lines)
        declared = [split for split in splits if split.manifest == number and not split.is_current]
        first, bug = list(_first_lines(declared)), None
        current = replace(context, current=None if examples is None else examples.offsets)
        learnt = result_or_bug(partial(learn, first, current, manifest.kind)) if manifest.is_checked else None
        if isinstance(learnt, Exception):
            context, learnt, bug = replace(context, shape=None), None, learnt
        if not manifest.is_checked or bug is not None:
            learnt = learn_current(first, context.shape, tombstones=True)
        yield ManifestTask(
            context=context,
            kind=manifest.kind,
            line_format=learnt,
            current_line_format=current_format,
            examples=examples,
            is_checked=manifest.is_checked and bug is None,
            bug=bug,
        )


def _first_lines(splits: Sequence[InputSplit]) -> Iterator[bytes]:
    lines = (line for split in splits for block in blocks_of(split) for line in block.text.splitlines())
    return islice((line for line in lines if line.strip()), _FIRST_LINES)


def _lines_of_each_form(splits: Sequence[InputSplit], line_format: LineFormat | None) -> Iterator[bytes]:
    """The first line of each form in each block, because lines of one form have equal types; all lines of no form."""
    for block in (block for split in splits for block in blocks_of(split)):
        lines = LineBuffer(block.text)
        matched, slow = match_lines(lines, line_format)
        first = [np.array([one.rows[0] for one in matched], np.int64), slow]
        yield from filter(bytes.strip, lines.text_of(np.concatenate(first)).splitlines())
