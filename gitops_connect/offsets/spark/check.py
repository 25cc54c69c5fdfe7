"""Runs one job over all large manifests of a reconciliation, and a second one that writes the patches to send.

It converts what tasks find to verdicts: lines of rows, messages, partitions of the largest moves.
"""

from __future__ import annotations

import json
import os
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Protocol, TypeVar, TypeVarTuple

import numpy as np
import pyarrow as pa

from gitops_connect.errors import SparkFailed
from gitops_connect.model.clock import endless
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity, internal_error
from gitops_connect.model.differences import Difference, Move
from gitops_connect.model.findings import Finding
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import PartitionText, partition_text
from gitops_connect.model.units import Scale
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats.field_places import is_json, locate_in
from gitops_connect.offsets.rules.rules import diagnose
from gitops_connect.offsets.rules.small import SHOWN, rest
from gitops_connect.offsets.spark.check_job import FOUND, ROWS, BlockResult, Job, ManifestTask, TypeExamples
from gitops_connect.offsets.spark.input_splits import (
    BUCKET,
    SPLIT_SIZE,
    InputSplit,
    blocks_of,
    content_size,
    input_splits,
)
from gitops_connect.offsets.spark.job_files import JobDirectories
from gitops_connect.offsets.spark.join import BucketResult, Moves, compare_buckets
from gitops_connect.offsets.spark.layouts import LineBuffer, LineFormat
from gitops_connect.offsets.spark.line_formats import learn, learn_current, match_lines
from gitops_connect.offsets.spark.patch_files import WRITTEN, PatchJob, patch_of
from gitops_connect.offsets.spark.violations import (
    Kind,
    LineNumbers,
    RowPosition,
    Violation,
    ViolationCounts,
    join_violations,
    result_or_bug,
)
from gitops_connect.spark.session import Say, Session, map_in_arrow, stages_done

_TASKS = 4
"""Tasks for each processor: with several, the last tasks do not delay the job for long."""
_SHARES = 16
"""Parts of the work for each process without Spark: smaller ones, because rows of Parquet are large splits."""
_SPLITS = 32
"""Splits of a task at most, 256 MiB: the progress is counted in tasks, and a lost task is repeated."""
_WEIGHTS = (0.8, 0.2)
"""The shares of reading and of comparing in the time of a job."""

_TASK_HERE = "large manifests could not be checked"
_TASK = f"{_TASK_HERE} because Spark failed"
_Job = TypeVar("_Job")
_Part = TypeVar("_Part")
_Result = TypeVar("_Result")
_More = TypeVarTuple("_More")
_FIRST_LINES = 1000
"""The number of lines from which the forms are learnt."""


def carry_out(manifests: Sequence[LargeManifest], job: Job, engine: Engine) -> list[LargeVerdict]:
    """Check every entry of all manifests with every rule, and compare it with the current offsets.

    `job` is from `prepare`; it gets as many buckets as it needs. Every executor can write to its directories: one for
    the patches of manifests that nothing blocks and whose current offsets are known, and one for `violations.parquet`,
    with all violations. Raises SparkFailed if Spark fails, OSError if a file cannot be read or written here.
    """
    job = replace(job, buckets=max(job.buckets, engine.parallelism, -(-content_size(manifests) // BUCKET)))
    try:
        results = Results(manifests, job, engine.compare(job))
        if results.are_unsure:
            job.directories.clear()
            job = replace(job, manifests=tuple(_tasks(manifests, job.splits, reads_all=True)))
            results = Results(manifests, job, engine.compare(job))
        found = [result.verdict() for result in results.each]
        if job.directories.violations:
            results.write_violations(job.directories)
        return _with_patches(found, results, job, engine) if job.directories.ready else found
    finally:
        job.directories.clear()


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


class Engine(Protocol):
    @property
    def parallelism(self) -> int: ...

    def compare(self, job: Job) -> Iterable[bytes]:
        """Run the first job; returns the findings for `Results`."""

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        """Run the second job; returns the written parts as rows of `WRITTEN`."""


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs the jobs on Spark. `say` gets the progress each `interval` seconds, except with Spark Connect.

    `left` returns the seconds in which the jobs must end.
    """

    session: Session
    say: Say
    interval: float = 10.0
    left: Callable[[], float] = endless

    @property
    def parallelism(self) -> int:
        return self.session.parallelism

    def compare(self, job: Job) -> Iterable[bytes]:
        with self._progress():
            return self.session.run(_compared, job, self.parallelism, task=_TASK, timeout=self.left())

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        return self.session.run(_written, patch_job, self.parallelism, task=_TASK, timeout=self.left())

    @contextmanager
    def _progress(self) -> Iterator[None]:
        """Say again and again which share of the job is done, and how long the rest will take."""
        began, ended = time.monotonic(), Event()

        def tell() -> None:
            while not ended.wait(self.interval):
                with suppress(SparkFailed):  # the job fails with it, too
                    stages = self.session.run(stages_done, task="progress")
                    done = sum(share * weight for share, weight in zip(stages, _WEIGHTS, strict=False))
                    left = (time.monotonic() - began) * (1 - done) / done if done else 0.0
                    if left:
                        self.say(f"checking on Spark: {done:.0%} done, about {left:.0f} s left")

        Thread(target=tell, daemon=True).start()
        try:
            yield
        finally:
            ended.set()


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs the tasks of the jobs in processes that have started no Spark. Between both halves of the first job, rows
    are in files of the directory. `left` returns the seconds in which the jobs must end."""

    processes: Sequence[Session]
    directory: Path
    left: Callable[[], float] = endless

    @property
    def parallelism(self) -> int:
        return len(self.processes)

    def compare(self, job: Job) -> Iterable[bytes]:
        self.directory.mkdir(parents=True, exist_ok=True)
        files = self._run(_read_here, job, self._shares(len(job.splits)), self.directory)
        return chain.from_iterable(self._run(_compared_here, job, range(job.buckets), files))

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        return chain.from_iterable(self._run(_written_here, patch_job, self._shares(len(patch_job.splits))))

    def _shares(self, splits: int) -> list[list[int]]:
        count = min(splits, self.parallelism * _SHARES)
        return [share.tolist() for share in np.array_split(np.arange(splits), count)]

    def _run(
        self, function: Callable[[Any, _Job, _Part, *_More], _Result], job: _Job, parts: Iterable[_Part], *more: *_More
    ) -> list[_Result]:
        """The results for all parts, in their order; each process carries out one part at a time."""
        free = SimpleQueue[Session]()
        for process in self.processes:
            free.put(process)

        def carry_out_one(part: _Part) -> _Result:
            process = free.get()
            try:
                return process.run(function, job, part, *more, task=_TASK_HERE, timeout=self.left())
            finally:
                free.put(process)

        with ThreadPoolExecutor(self.parallelism) as pool:
            return list(pool.map(carry_out_one, parts))


def _compared(spark: Any, job: Job, parallelism: int) -> list[bytes]:
    rows = map_in_arrow(_splits(spark, len(job.splits), parallelism), job.read, ROWS)
    joined = map_in_arrow(rows.repartitionById(job.buckets, "bucket"), partial(compare_buckets, job), FOUND)
    return [bytes(row.found) for row in joined.collect()]


def _written(spark: Any, patch_job: PatchJob, parallelism: int) -> list[tuple[int, ...]]:
    rows = map_in_arrow(_splits(spark, len(patch_job.splits), parallelism), patch_job.write, WRITTEN)
    return [tuple(row) for row in rows.collect()]


def _read_here(_: Any, job: Job, splits: list[int], directory: Path) -> Path:
    file = directory / f"{splits[0]}.arrow"
    with pa.OSFile(str(file), "wb") as stream, pa.ipc.new_file(stream, ROWS) as writer:
        for batch in job.read([_numbers(splits)]):
            writer.write(batch)
    return file


def _compared_here(_: Any, job: Job, bucket: int, files: Sequence[Path]) -> list[bytes]:
    with ExitStack() as stack:
        mapped = [stack.enter_context(pa.memory_map(str(file))) for file in files]
        rows = pa.concat_tables(pa.ipc.open_file(file).read_all() for file in mapped)
        own = [batch.slice(bucket, 1) for batch in rows.to_batches()]  # each block has a row for each bucket
    return [one for batch in compare_buckets(job, own) for one in batch.column(0).to_pylist()]


def _written_here(_: Any, patch_job: PatchJob, splits: list[int]) -> list[tuple[int, ...]]:
    written = patch_job.write([_numbers(splits)])
    return [row for batch in written for row in zip(*(one.to_pylist() for one in batch.columns), strict=True)]


def _numbers(splits: Sequence[int]) -> Any:
    return pa.RecordBatch.from_arrays([pa.array(splits, pa.int64())], names=["id"])


def _splits(spark: Any, count: int, parallelism: int) -> Any:
    return spark.range(0, count, 1, _tasks_of(count, parallelism))


def _tasks_of(splits: int, parallelism: int) -> int:
    return min(splits, max(parallelism * _TASKS, splits // _SPLITS))


def prepare(manifests: Sequence[LargeManifest], buckets: int = 1, split_size: int = SPLIT_SIZE) -> Job:
    """The job over all manifests, in splits of `split_size` bytes and in `buckets`, at least.

    Only the first current offsets are read: nearly always all others have the same types. Raises OSError if a file
    cannot be read.
    """
    splits = input_splits(manifests, split_size)
    return Job(tuple(splits), tuple(_tasks(manifests, splits)), os.urandom(16), buckets)


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


class Results:
    """The results of all tasks, for each manifest.

    `are_unsure`: some current offsets have types that were not known before.
    """

    def __init__(self, manifests: Sequence[LargeManifest], job: Job, found: Iterable[bytes]) -> None:
        """Collect the results. Raises SparkFailed if the current offsets cannot be read."""
        results = [pickle.loads(result) for result in found]  # noqa: S301 - our own tasks wrote them
        blocks = sorted((one for one in results if isinstance(one, BlockResult)), key=lambda one: one.lines)
        self._line_numbers = LineNumbers(job.splits, {one.split: one.lines for one in blocks})
        self.each = [ManifestResult(number, one, job, self._line_numbers) for number, one in enumerate(manifests)]
        self.are_unsure = False
        for block in blocks:
            split = job.splits[block.split]
            self.each[split.manifest].counts.bug = block.counts.bug or self.each[split.manifest].counts.bug
            if split.is_current:
                manifest = manifests[split.manifest]
                if block.counts.shown and manifest.current is not None:
                    finding = next(iter(block.counts.shown.values()))[0].finding
                    raise SparkFailed(f"the current offsets in {manifest.current.name} cannot be read: {finding}")
                self.are_unsure |= manifest.is_checked and block.counts.new_types > 0
            else:
                self.each[split.manifest].counts.add_all(block.counts)
        for result in results:
            if isinstance(result, BucketResult):
                self.each[result.manifest].add(result)

    def write_violations(self, directories: JobDirectories) -> None:
        """Raises OSError."""
        others = [diagnostic for result in self.each for diagnostic in result.other_diagnostics()]
        broken = [number for number, result in enumerate(self.each) if result.counts.broken]
        join_violations(directories, others, self._line_numbers, broken)


class ManifestResult:
    """The results of one manifest. `deletions` are the files with the rows that its patch depends on."""

    def __init__(self, number: int, manifest: LargeManifest, job: Job, line_numbers: LineNumbers) -> None:
        self._task = job.manifests[number]
        self._checker = self._task.checker()
        self._manifest = manifest
        self._job = job
        self._line_numbers = line_numbers
        self._moves = Moves()
        self.counts = ViolationCounts(manifest.context.acknowledged)
        self.deletions: list[Path] = []

    def add(self, result: BucketResult) -> None:
        self.counts.add_all(result.counts)
        self._moves.add_all(result.moves)
        self.deletions += [result.deletions] if result.deletions else []

    def verdict(self) -> LargeVerdict:
        """The verdict, once all results are added. A bug is an error of this manifest alone."""
        found = self._task.bug or self.counts.bug
        made = result_or_bug(self._verdict) if found is None else found
        if not isinstance(made, Exception):
            return made
        bug = internal_error(made, self._manifest.location, self._connector)
        return LargeVerdict(self.counts.entries, 0, diagnostics=Diagnostics.of([bug]), counts={bug.rule: 1}, errors=1)

    def _verdict(self) -> LargeVerdict:
        # If a part of the manifest could not be read, its other violations would be incomplete.
        found = ViolationCounts(entries=self.counts.entries) if self.counts.broken else self.counts
        others = self.other_diagnostics()
        counts = found.counts + Counter((one.rule, one.severity) for one in others)
        errors = sum(count for (_, severity), count in counts.items() if severity is Severity.ERROR)
        by_rule = {rule: sum(counts[rule, severity] for severity in Severity) for rule, _ in counts}
        known = self._manifest.current is not None and not errors
        return LargeVerdict(
            entries=found.entries,
            size=found.size,
            partitions=self._moves.partitions,
            diagnostics=self._diagnostics(counts, [*self._explained(found), *others]),
            counts=by_rule,
            errors=errors,
            unread=found.unread,
            difference=self._difference() if known else None,
            distribution=self._moves.distribution() if known else {},
        )

    def other_diagnostics(self) -> list[Diagnostic]:
        """The diagnostics in addition to those of lines: files that cannot be read or rewritten, or no entries."""
        found = [self._diagnostic(one) for one in self._first_broken()]
        for file in self._manifest.files:
            for rule, text, line, column in file.faults:
                finding = Finding(rule, "", {"found": text})
                found.append(diagnose(finding, Location(file.name, line, column), self._connector))
        if not found and not self.counts.entries and not self.counts.counts:
            nothing = Finding("manifest/empty", "", {"found": "it has no entries"})
            found.append(diagnose(nothing, self._manifest.location, self._connector))
        return found

    @property
    def _connector(self) -> ConnectorName:
        return self._manifest.context.connector

    def _diagnostics(self, counts: Counter[Kind], found: Sequence[Diagnostic]) -> Diagnostics:
        """The first diagnostics of each kind, and the number of the others."""
        by_kind: dict[Kind, list[Diagnostic]] = defaultdict(list)
        for one in sorted(found, key=Diagnostic.sort_key):
            by_kind[one.rule, one.severity].append(one)
        place = self._manifest.location, self._connector
        more = [rest(*kind, count, place) for kind, count in counts.items() if count > SHOWN]
        return Diagnostics.of([*(one for listed in by_kind.values() for one in listed[:SHOWN]), *more])

    def _explained(self, found: ViolationCounts) -> list[Diagnostic]:
        shown = [violation for listed in found.shown.values() for violation in listed]
        texts = self._texts({one.position for one in shown if self._has_fields(one) or one.lacks_words})
        return [self._diagnostic(one, texts.get(one.position, "")) for one in shown]

    def _first_broken(self) -> Iterable[Violation]:
        """The first position from which each unreadable file cannot be read."""
        first: dict[str, Violation] = {}
        for violation in sorted(self.counts.broken, key=lambda one: one.position):
            first.setdefault(self._job.splits[violation.position.split].file.name, violation)
        return first.values()

    def _has_fields(self, violation: Violation) -> bool:
        """Whether the place of the field is known: the file is JSON, with each entry unchanged."""
        file = self._job.splits[violation.position.split].file
        return bool(violation.finding.field) and file.places is not None and is_json(file.name)

    def _diagnostic(self, violation: Violation, text: str = "") -> Diagnostic:
        """The diagnostic of a violation. `text` is the entry, if the place of its field is searched in it."""
        location, finding = self._line_numbers.location(violation.position), violation.finding
        if violation.first is not None:
            first = self._line_numbers.location(violation.first)
            named = str(first.line) if first.file == location.file else f"{first.line} of {first.file}"
            finding = finding._replace(words={**finding.words, "first": named, "second": str(location.line)})
        if violation.lacks_words:
            findings = self._checker.check_alone(json.loads(text)).findings
            finding = next(one for one in findings if one[:2] == finding[:2])
        if text and self._has_fields(violation):
            line, column = locate_in(text, (location.line, location.column), finding.field)
            location = replace(location, line=line, column=column)
        return diagnose(finding, location, self._connector, self.counts.acknowledged)

    def _difference(self) -> Difference:
        shape = self._task.context.shape
        candidates = {direction: self._moves.candidates(direction) for direction in self._moves.largest}
        partitions = self._partitions({move.position for listed in candidates.values() for move in listed})
        moves: list[Move] = []
        for direction, listed in candidates.items():
            named = [Move(partitions[at], current, declared, direction, far) for at, current, declared, far in listed]
            moves += sorted(named, key=Move.sort_key)[:SHOWN]
        moves.sort(key=Move.sort_key)
        scale = shape.scale if shape is not None else Scale()
        return Difference(self._moves.counts, +self._moves.distances, tuple(moves), scale)

    def _partitions(self, positions: set[RowPosition]) -> dict[RowPosition, PartitionText]:
        found = {}
        for position, text in self._texts(positions).items():
            value: Any = json.loads(text)
            kept = None if self._job.splits[position.split].is_current else self._checker.check_alone(value).partition
            found[position] = kept if kept is not None else partition_text(value["partition"])
        return found

    def _texts(self, positions: set[RowPosition]) -> dict[RowPosition, str]:
        """Read these lines again: of millions of lines, only these are shown."""
        found = {}
        for split, group in groupby(sorted(positions), key=lambda position: position.split):
            missing = [*group]
            for block in blocks_of(self._job.splits[split]):
                end = block.base + block.lines
                here = [position for position in missing if position.line < end]
                lines = block.text.split(b"\n") if here else []
                for position in here:
                    found[position] = lines[position.line - block.base].decode("utf-8-sig")
                missing = missing[len(here) :]
                if not missing:
                    break
        return found
