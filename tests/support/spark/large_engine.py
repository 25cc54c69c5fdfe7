"""Checks manifests in files with both engines: the small one, and the large one in this process or on Spark."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import LargeFile, LargeVerdict, Manifest
from gitops_connect.model.names import Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import Offsets, merged, patch_between
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats import manifest_parser as reading
from gitops_connect.offsets.formats.manifest_parser import read_lines
from gitops_connect.offsets.rules import small
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.offsets.spark.check import Engine, SparkEngine, carry_out, prepare
from gitops_connect.offsets.spark.check_job import ROWS, Job, ReadLines
from gitops_connect.offsets.spark.input_splits import SPLIT_SIZE
from gitops_connect.offsets.spark.job_files import job_directories
from gitops_connect.offsets.spark.join import compare_buckets
from gitops_connect.offsets.spark.patch_files import PatchJob
from gitops_connect.plan.offset_review import effect_of, find_difference
from support.files.manifests import MIRROR, ORDERS, OTHER, SINK, context_of, mirrored, offsets

PACK: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
}


@dataclass(frozen=True)
class Case:
    """One manifest: its file's content in bytes, and what it is checked with."""

    content: bytes
    config: Mapping[str, str] | None = None
    current: Offsets | None = None
    kind: OffsetChangeKind = OffsetChangeKind.ALTER
    acknowledged: frozenset[Acknowledgement] = frozenset()
    name: str = "offsets/orders.jsonl"
    families: Registry = BUILT_IN
    packed: bool = False
    """True if the file contains `content` as it is, even if the file's name implies a compression."""

    @property
    def context(self) -> ManifestContext:
        return context_of(self.config, self.current, None, self.acknowledged, self.families)

    @property
    def stored(self) -> bytes:
        suffix = next((one for one in (".gz", ".zst") if self.name.endswith(one)), "")
        return self.content if self.packed else PACK[suffix](self.content)


@dataclass(frozen=True)
class Said:
    """What an engine reports about a manifest, in the same form for both engines."""

    diagnostics: Sequence[Diagnostic]
    counts: Mapping[str, int]
    errors: int
    unread: int
    moves: Mapping[Direction, int] = field(default_factory=dict)
    distances: Mapping[Direction, int] = field(default_factory=dict)
    largest: Sequence[Move] = ()


def jsonl(values: Iterable[Any]) -> bytes:
    """One entry per line, in the form in which it is sent."""
    return "".join(line_of(value) + "\n" for value in values).encode("utf-8", "surrogatepass")


def line_of(value: Any, separators: tuple[str, str] = (",", ":"), *, ascii_only: bool = False) -> str:
    """An entry with the fields of partition and offset sorted: the form that the large engine's fast path accepts."""
    if isinstance(value, dict):
        value = {key: dict(sorted(one.items())) if isinstance(one, dict) else one for key, one in value.items()}
    return json.dumps(value, separators=separators, ensure_ascii=ascii_only)


def laid_out(value: Any, separators: tuple[str, str] = (", ", ": "), *, backwards: bool = False) -> str:
    """The entry with its keys in their own order, or reversed."""

    def turned(one: Any) -> Any:
        return {key: turned(one[key]) for key in reversed(one)} if isinstance(one, dict) else one

    return json.dumps(turned(value) if backwards else value, separators=separators, ensure_ascii=False)


def by_small(case: Case) -> Said:
    return small_verdict(reading.parse(Blob(case.name, "", case.stored)), case.context, case.kind)


def small_verdict(manifest: Manifest, context: ManifestContext, kind: OffsetChangeKind) -> Said:
    found = small.check(manifest, context, kind)
    difference = None
    if found.offsets is not None and context.current is not None:
        patch = effect_of(_offset_change(kind, found.offsets), context.current)
        difference = find_difference(context.current, patch, context.shape)
    return _said(found.diagnostics.items, found.counts, (found.errors, found.unread), difference)


def _offset_change(kind: OffsetChangeKind, declared: Offsets) -> OffsetChange:
    return OffsetChange(OffsetChangeName("-"), ORDERS, kind, Digest(""), Revision(""), declared)


def filed(case: Case, directory: Path) -> LargeManifest:
    return manifest_of_files(directory, Location(case.name), [(case.name, case.stored)], case.context, case.kind)


def manifest_of_files(
    directory: Path,
    location: Location,
    contents: Iterable[tuple[str, bytes]],
    context: ManifestContext,
    kind: OffsetChangeKind,
) -> LargeManifest:
    """A manifest with its contents and its current offsets in files of the new directory."""
    directory.mkdir(parents=True)
    files = []
    for name, content in contents:
        path = directory / Path(name).name
        path.write_bytes(content)
        files.append(LargeFile(name, str(path)))
    current = None
    if context.current is not None:
        current = LargeFile("live.jsonl", str(directory / "live.jsonl"))
        lines = (f'{{"partition":{one},"offset":{other}}}\n' for one, other in sorted(context.current.items()))
        Path(current.path).write_text("".join(lines), encoding="utf-8")
    return LargeManifest(location, tuple(files), replace(context, current=None), kind, current)


def in_process(
    manifests: Sequence[LargeManifest],
    buckets: int = 3,
    split_size: int = SPLIT_SIZE,
    *,
    ready: Path | None = None,
    violations: Path | None = None,
    reader: ReadLines = read_lines,
    engine: Engine | None = None,
) -> list[LargeVerdict]:
    """Run the jobs as executors do, without Spark between the two halves of a job."""
    job = prepare(manifests, buckets, split_size)
    job = replace(job, directories=job_directories(ready, violations), read_lines=reader)
    return carry_out(manifests, job, engine or InProcess())


def on_spark(
    session: Any,
    manifests: Sequence[LargeManifest],
    reader: ReadLines = read_lines,
    *,
    ready: Path | None = None,
    violations: Path | None = None,
) -> list[LargeVerdict]:
    job = replace(prepare(manifests), directories=job_directories(ready, violations), read_lines=reader)
    return carry_out(manifests, job, SparkEngine(session, lambda _: None))


class InProcess:
    """Does in this process what Spark does; the input splits are divided among `tasks` tasks."""

    parallelism = 1

    def __init__(self, tasks: int = 2) -> None:
        self._tasks = tasks

    def compare(self, job: Job) -> Iterable[bytes]:
        parts = [batch for ids in self._ids(len(job.splits)) for batch in job.read([ids])]
        rows = pa.Table.from_batches(parts, ROWS)
        for bucket in range(job.buckets):
            own = rows.filter(pc.equal(rows.column("bucket"), bucket))
            for batch in compare_buckets(job, reversed(own.to_batches())):
                yield from batch.column(0).to_pylist()

    def write(self, patch_job: PatchJob) -> Iterable[tuple[int, ...]]:
        for ids in reversed([*self._ids(len(patch_job.splits))]):
            for batch in patch_job.write([ids]):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _ids(self, count: int) -> Iterable[Any]:
        for task in range(self._tasks):
            own = range(count * task // self._tasks, count * (task + 1) // self._tasks)
            yield pa.RecordBatch.from_arrays([pa.array(own, pa.int64())], names=["id"])


def patch_by_small(case: Case) -> list[str] | None:
    """The lines to send, in the order of the manifest and then of the current offsets; None if an error blocks them."""
    declared = small.check(reading.parse(Blob(case.name, "", case.stored)), case.context, case.kind).offsets
    if declared is None or case.current is None:
        return None
    patch = effect_of(_offset_change(case.kind, declared), case.current)
    if case.kind is OffsetChangeKind.REPLACE:
        patch = patch_between(case.current, merged(case.current, patch))
    order = [*(one for one in declared if one in patch), *(one for one in sorted(case.current) if one not in declared)]
    sent = dict.fromkeys(one for one in order if one in patch)
    assert sent.keys() == patch.keys()
    return [f'{{"partition":{one},"offset":{patch[one] or "null"}}}\n' for one in sent]


def sent(verdict: LargeVerdict) -> list[str] | None:
    """The lines of the patch, whose number and size must be those of the verdict."""
    if verdict.patch is None:
        return None
    contents = [Path(file).read_bytes() for file in verdict.patch.files]
    assert all(contents)
    lines = b"".join(contents).decode().splitlines(keepends=True)
    assert (len(lines), sum(map(len, contents))) == (verdict.patch.entries, verdict.patch.size)
    return lines


def said_by_large(verdict: LargeVerdict) -> Said:
    numbers = verdict.errors, verdict.unread
    return _said(verdict.diagnostics.items, verdict.counts, numbers, verdict.difference)


PATTERN_SINK = {"connector.class": "com.example.MySink", "topics.regex": "ord.*|in+voices"}
DEBEZIUM = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "a"}


def assert_alike(case: Case, verdict: LargeVerdict) -> Said:
    """Assert that the large engine says of the case what the small one says, except which moves are the largest."""
    expected, found = by_small(case), said_by_large(verdict)
    assert list(found.diagnostics) == list(expected.diagnostics), case
    assert (found.counts, found.errors, found.unread) == (expected.counts, expected.errors, expected.unread), case
    assert (found.moves, found.distances) == (expected.moves, expected.distances), case
    return expected


def assert_first_of_each(case: Case, verdict: LargeVerdict) -> None:
    """Assert that of the small engine's moves, the first SHOWN of each direction are those of the large one."""
    expected = assert_alike(case, verdict)
    left = Counter(dict.fromkeys(Direction, SHOWN))
    first = []
    for move in expected.largest:
        if left[move.direction]:
            left[move.direction] -= 1
            first.append(move)
    assert list(said_by_large(verdict).largest) == first, case


def checked(*cases: Case, split_size: int = SPLIT_SIZE) -> None:
    """Check the cases in one job, and compare each verdict with that of the small engine."""
    with TemporaryDirectory() as directory:
        manifests = [filed(case, Path(directory) / str(number)) for number, case in enumerate(cases)]
        for case, verdict in zip(cases, in_process(manifests, split_size=split_size), strict=True):
            assert_first_of_each(case, verdict)


def checked_in_each_way(content: bytes, name: str) -> None:
    """Check the manifest for connectors of several classes, in blocks of one or many lines."""
    current = offsets(mirrored(1), mirrored(7))
    ways = [(MIRROR, None), (MIRROR, current), (OTHER, current), (SINK, current), (PATTERN_SINK, current), (None, None)]
    cases = [Case(content, config, existing, name=name) for config, existing in ways]
    checked(*cases)
    if len(content) < 10_000:
        checked(*cases, split_size=100)


def _said(
    diagnostics: Sequence[Diagnostic], counts: Mapping[str, int], numbers: tuple[int, int], found: Difference | None
) -> Said:
    if found is None:
        return Said(diagnostics, counts, *numbers)
    moves = {direction: count for direction, count in found.counts.items() if count}
    return Said(diagnostics, counts, *numbers, moves, dict(found.distances), found.moves)
