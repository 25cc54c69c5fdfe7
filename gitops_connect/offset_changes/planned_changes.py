"""What `apply` needs to know about the offset changes of a plan, once their connectors are STOPPED."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shutil import rmtree

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.apply.ports import Chunk, LargeChange
from gitops_connect.connect.client import save_lines
from gitops_connect.connect.worker_heap import largest_chunk
from gitops_connect.errors import GitopsConnectError, KafkaUnavailable, SourceRefused
from gitops_connect.families.shapes import Shape
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.observe import MAX_HELD
from gitops_connect.offset_changes.kafka_positions import KafkaReads, NoLog
from gitops_connect.offset_changes.manifest_source import (
    ManifestSource,
    SparkChecks,
    context_of,
    read_own_schemas,
    workspace,
)
from gitops_connect.offset_changes.staged_files import large_manifest
from gitops_connect.offset_changes.strimzi_requests import write_to_branch, write_to_directory
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.plan.connector_changes import declared_partitions
from gitops_connect.plan.offset_review import (
    described,
    find_difference,
    moved_since,
    refusals,
    review,
    review_unfinished,
    unchecked,
)
from gitops_connect.plan.offset_stores import with_store
from gitops_connect.plan.situation import ResolvedTargets, Situation
from gitops_connect.plan.target_resolution import exceeded
from gitops_connect.report.offset_lines import largest_moves
from gitops_connect.runtime import Runtime, open_output_branch
from gitops_connect.settings.own import own_files
from gitops_connect.source.checkout import Checkout

_BLOCK = 1024 * 1024
_NONE = SavedOffsets("", 0, 0, Digest(""))
_REMOVED_BEFORE = "manifest/nothing-to-remove"


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """The `OffsetChanges` of one plan. `offset_changes` are the ledger's, under the lease of the cluster."""

    runtime: Runtime
    checkout: Checkout
    situation: Situation
    offset_changes: OffsetChangeStore

    def is_begun(self, offset_change: OffsetChange) -> bool:
        return offset_change.name in self.situation.offsets.unfinished

    def is_resumed(self, offset_change: OffsetChange) -> bool:
        """Whether it is finished from the ledger. An interrupted deletion is repeated instead, with any offsets."""
        return self.is_begun(offset_change) and offset_change.kind is not OffsetChangeKind.CLEAR

    def review(self, offset_change: OffsetChange, current: Offsets) -> Review:
        shape = self.situation.offsets.shapes.get(offset_change.connector)
        if self.is_resumed(offset_change):
            before = self.situation.offsets.unfinished[offset_change.name].before
            seen = review_unfinished(self.situation.observed.cluster, offset_change, before, current, shape)
        else:
            known = self.situation.offsets.resolved.get(offset_change.name)
            if known is not None:
                return self._review_resolved(offset_change, known, current, shape)
            seen = review(offset_change, current, shape, self.situation.policy.max_skip)
            seen = self._with_times(offset_change.connector, seen, shape)
        return with_store(self.situation, offset_change, seen)

    def _with_times(self, name: ConnectorName, seen: Review, shape: Shape | None) -> Review:
        """The review with the times of records that the plan did not read, because the connector has moved.

        If the brokers had not answered for the plan, they are not asked now: the connector is stopped.
        """
        moves = seen.difference.moves
        if shape is None or not shape.logs.times or seen.refusals or all(one.time is not None for one in moves):
            return seen
        try:
            reads = KafkaReads(self.runtime.cluster(self.situation.desired.cluster), self.runtime.open_kafka)
            log = reads.log(shape, self.situation.desired.by_name[name].config, seen.before)
        except NoLog:
            return seen
        return replace(seen, difference=described(seen.difference, log.shape_for(moves)))

    def _review_resolved(
        self, offset_change: OffsetChange, known: ResolvedTargets, current: Offsets, shape: Shape | None
    ) -> Review:
        """The review of a change whose targets are resolved once more. Raises what the brokers raise."""
        offsets, connector = self.situation.offsets, self.situation.desired.by_name[offset_change.connector]
        declared = self.situation.desired.offset_changes_of(connector.name)
        targets = next(one.manifest for one in declared if one.name == offset_change.name)
        if not isinstance(targets, OffsetTargets):
            raise AssertionError("resolved without targets")
        try:
            reads = KafkaReads(self.runtime.cluster(self.situation.desired.cluster), self.runtime.open_kafka)
            log = reads.log(shape, connector.config, current)
        except NoLog as error:
            raise KafkaUnavailable(f"its targets could not be resolved: {error}") from error
        resolution = log.resolve(targets, current, known.committed)
        if resolution.problems:
            return Review({}, Difference(), tuple(Refusal(one.summary) for one in resolution.problems[:1]))
        before = find_difference(
            offsets.current.get(connector.name, {}), offsets.manifests.get(offset_change.name) or {}, shape
        )
        shape = None if shape is None else replace(shape, logs=replace(shape.logs, ranges=log.facts.ranges))
        offset_change = replace(offset_change, offsets=log.offsets(resolution, current))
        seen = review(offset_change, current, shape, self.situation.policy.max_skip)
        refused = (Refusal(why),) if (why := exceeded(before, seen.difference)) else ()
        timed = described(seen.difference, log.shape_for(seen.difference.moves))
        return replace(seen, difference=timed, refusals=(*seen.refusals, *refused), resolved=offset_change.offsets)

    def has_too_many_offsets(self, offset_change: OffsetChange) -> bool:
        client = self.runtime.clients[self.situation.desired.cluster]
        with workspace(self.runtime.spark.directory) as directory, suppress(GitopsConnectError):
            current = client.save_offsets(offset_change.connector, directory / "current.jsonl", MAX_HELD)
            return isinstance(current, SavedOffsets)
        return False

    def write_listing(self, listing: RequestedListing, offsets: Offsets) -> str:
        settings = self.runtime.settings.strimzi
        if settings.output is not None:
            return write_to_directory(settings.output, listing, offsets)
        return write_to_branch(open_output_branch(self.runtime.settings), listing, offsets)

    @contextmanager
    def large(self, offset_change: OffsetChange) -> Iterator[LargeChange]:
        with workspace(self.runtime.spark.directory) as directory:
            manifest = None if self.is_resumed(offset_change) else self._manifest(offset_change, directory / "manifest")
            yield LargeOffsetChange(self, offset_change, directory, manifest)

    def _manifest(self, offset_change: OffsetChange, path: Path) -> LargeManifest | None:
        """The declared manifest, to be checked again; None if all offsets are removed."""
        if offset_change.kind is OffsetChangeKind.CLEAR:
            return None
        declared = self.situation.desired.offset_changes_of(offset_change.connector)
        desired = next(one for one in declared if one.name == offset_change.name)
        own = own_files(self.runtime.settings)
        manifest = ManifestSource(self.checkout, self.runtime.spark, self.runtime.say, own).manifest(desired)
        if isinstance(manifest, Diagnostic):
            raise SourceRefused(manifest.summary)
        if manifest is None:
            return None
        connector = self.situation.desired.by_name[offset_change.connector]
        families = self.runtime.families.with_schemas(read_own_schemas(self.checkout).schemas)
        return large_manifest(desired, manifest, context_of(connector, families, offset_change.acknowledged), path)


class PatchReader:
    """Reads entries by their number. Chunks of any size that follow each other, or are read again, are found at once.

    `_starts` are the numbers and positions of entries at which a chunk began or ended.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._starts = [(0, 0)]

    def read(self, start: int, size: int) -> Chunk:
        """The entries from number `start` (from 0) on: `size` bytes at most, or one longer entry; none after the end.

        Raises OSError.
        """
        number, position = self._starts[bisect_right(self._starts, start, key=lambda one: one[0]) - 1]
        with self._path.open("rb") as stream:
            stream.seek(position)
            position += sum(map(len, islice(stream, start - number)))
            stream.seek(position)
            content = stream.read(size)
            lines = content[: content.rfind(b"\n") + 1] or content + stream.readline()
        entries = lines.count(b"\n")
        if entries and start + entries > self._starts[-1][0]:
            self._starts.append((start + entries, position + len(lines)))
        return Chunk(entries, b'{"offsets":[' + lines[:-1].replace(b"\n", b",") + b"]}")


class LargeOffsetChange:
    """The `LargeChange` of an offset change. Its files are in the directory.

    A change that is begun now sends its `manifest`; without one, it removes all offsets. A change that an earlier
    reconciliation has begun is finished from the ledger. `current` are the current offsets if they were just read: a
    worker takes long to list very many.
    """

    def __init__(
        self,
        planned: PlannedChanges,
        offset_change: OffsetChange,
        directory: Path,
        manifest: LargeManifest | None = None,
        current: SavedOffsets | None = None,
    ) -> None:
        situation, runtime, name = planned.situation, planned.runtime, offset_change.connector
        self._offset_change = offset_change
        self._situation = situation
        self._cluster = situation.desired.cluster
        self._client = runtime.clients[self._cluster]
        self._ledger = planned.offset_changes
        self._runtime = runtime
        self._clock = runtime.clock
        self._checks = SparkChecks(runtime.spark, runtime.say)
        self._directory = directory
        self._shape = situation.offsets.shapes.get(name)
        declared = situation.desired.by_name.get(name)
        shape = runtime.families.shape(declared.config) if declared else None
        self._compared_with = ManifestContext(name, declared.config if declared else None, shape=shape)
        self._removes_all = offset_change.kind in (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR)
        self._reads = 0
        self._before = self._current = self._declared = _NONE
        self._reader = PatchReader("")
        self._manifest = manifest
        self._just_read = current
        self._max_skip = situation.policy.max_skip
        self.is_begun = planned.is_resumed(offset_change)
        self.chunk_size = chunk_size_of(situation, name)
        self.sent = situation.offsets.records[offset_change.name].sent or 0 if self.is_begun else 0

    def review(self) -> Review:
        seen = self._review_begun() if self.is_begun else self._review_new()
        return with_store(self._situation, self._offset_change, seen)

    def _review_new(self) -> Review:
        self._before = current = self._read_current()
        difference = _removal(current)
        if self._manifest is not None:
            manifest, ready = replace(self._manifest, current=current.file), self._directory / "ready"
            (verdict,) = self._checks.check([manifest], ready=ready)
            if verdict.difference is None or verdict.patch is None:
                error = verdict.diagnostics.errors[0].summary
                return Review({}, Difference(), (Refusal(f"its offsets now have errors: {error}"),))
            self._send(save_lines(_blocks(*verdict.patch.files), self._directory / "declared.jsonl"))
            rmtree(ready)
            difference = verdict.difference
        difference = described(difference, self._shape)
        refused = tuple(refusals(self._offset_change, difference, self._max_skip))
        return Review({}, difference, refused, unchecked=unchecked(self._shape))

    def _review_begun(self) -> Review:
        """Review the change as `plan.offset_review.review_unfinished` does, by counts.

        Everything that changed since the begin must be part of the change. The part of the change that is done consists
        of the offsets that equal the declared ones now and did not equal them before.
        """
        current = self._just_read or self._read_current()
        self._before = self._saved(OffsetsPart.BEFORE)
        since = self._since(self._before, current)
        if self._removes_all:
            (changed,) = self._checks.check([since])
            difference, done = _removal(current), _count(changed, Direction.REMOVED)
        else:
            self._send(self._saved(OffsetsPart.DECLARED))
            earlier, left = self._request(self._declared, self._before), self._request(self._declared, current)
            at_begin, now, changed = self._checks.check([earlier, left, since])
            difference, done = now.difference or Difference(), _as_declared(now) - _as_declared(at_begin)
        moved, partial = _changes(changed) - done, bool(_changes(changed))
        refused = (moved_since(self._cluster, self._offset_change, moved),) if moved else ()
        difference = described(difference, self._shape)
        return Review({}, difference, refused, partial=partial, unchecked=unchecked(self._shape))

    def _saved(self, part: OffsetsPart) -> SavedOffsets:
        pieces = self._ledger.pieces(self._cluster, self._offset_change.name, part)
        return save_lines(pieces, self._directory / f"{part.value}.jsonl")

    @property
    def entries(self) -> int:
        return self._current.entries if self._removes_all else self._declared.entries

    def begin(self, difference: Difference) -> None:
        before, declared = _blocks(self._before.path), _blocks(self._declared.path)
        reviews = self._runtime.ledger.reviews
        approvals = reviews.effect_approvals(self._situation.reviews, self._cluster, self._offset_change)
        effect = AppliedEffect(self._clock.now(), largest_moves(difference), approvals)
        self._ledger.begin_large(self._cluster, self._offset_change, before, declared, effect)

    def chunk(self, start: int, size: int) -> Chunk:
        return self._reader.read(start, size)

    def mark(self, sent: int) -> None:
        self._ledger.sent(self._cluster, self._offset_change.name, sent)

    def is_settled(self) -> bool:
        reviewed, self._current = self._current, _NONE  # so that its file is kept
        current = self._read_current()
        if current.digest == reviewed.digest:
            return True
        (verdict,) = self._checks.check([self._since(reviewed, current)])
        return not _changes(verdict)

    def is_untouched(self) -> bool:
        current = self._read_current()
        if current.digest == self._before.digest:
            return True
        (verdict,) = self._checks.check([self._since(self._before, current)])
        return not _changes(verdict)

    def difference(self) -> str:
        current = self._read_current()
        if self._removes_all:
            return f"{current.entries:,} offsets still exist" if current.entries else ""
        (verdict,) = self._checks.check([self._request(self._declared, current)])
        if verdict.difference is None:
            return verdict.diagnostics.errors[0].summary
        if not (wrong := _changes(verdict)):
            return ""
        move = verdict.difference.moves[0]
        found, expected = move.current or "no offset", move.declared or "no offset"
        first = f"the first is {move.partition}: found {found}, expected {expected}"
        return f"{wrong:,} of {self._declared.entries:,} differ, {first}"

    def settle(self, warning: str) -> None:
        self._ledger.settle(self._cluster, self._offset_change.name, self._current.digest, warning, self._clock.now())

    def _read_current(self) -> SavedOffsets:
        """The current offsets. Removes the file of the previous read, unless it has the offsets before the change."""
        self._reads += 1
        self._checks.say(f"reading the offsets of {self._offset_change.connector}")
        file = self._directory / f"current-{self._reads}.jsonl"
        current = self._client.save_offsets(self._offset_change.connector, file, 0)
        if not isinstance(current, SavedOffsets):
            raise AssertionError("an answer without a byte")
        if self._current not in (_NONE, self._before):
            Path(self._current.path).unlink()
        self._current = current
        return current

    def _send(self, declared: SavedOffsets) -> None:
        self._declared, self._reader = declared, PatchReader(declared.path)

    def _request(self, offsets: SavedOffsets, current: SavedOffsets) -> LargeManifest:
        """The request to compare offsets that were checked before."""
        files, kind = (replace(offsets.file, name=Path(offsets.path).name),), OffsetChangeKind.ALTER
        return LargeManifest(Location(""), files, self._compared_with, kind, current.file, is_checked=False)

    def _since(self, earlier: SavedOffsets, current: SavedOffsets) -> LargeManifest:
        """The request for every difference between earlier offsets and the current offsets."""
        return replace(self._request(current, earlier), kind=OffsetChangeKind.REPLACE)


def _removal(current: SavedOffsets) -> Difference:
    return Difference({Direction.REMOVED: current.entries} if current.entries else {})


def _as_declared(verdict: LargeVerdict) -> int:
    """The number of offsets that are as declared, including those that are removed as declared."""
    return _count(verdict, Direction.SAME) + verdict.counts.get(_REMOVED_BEFORE, 0)


def _changes(verdict: LargeVerdict) -> int:
    return sum(_count(verdict, way) for way in Direction if way is not Direction.SAME)


def _count(verdict: LargeVerdict, way: Direction) -> int:
    return verdict.difference.counts.get(way, 0) if verdict.difference is not None else 0


def _blocks(*paths: str) -> Iterator[bytes]:
    for path in filter(None, paths):
        with Path(path).open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block


def chunk_size_of(situation: Situation, connector: ConnectorName) -> ChunkSize:
    """The size of chunks for this connector.

    Workers hold several copies of the offsets if they support exactly-once sources. They read one of the copies again
    for each request, so chunks are as large as the heap allows.
    """
    copies = situation.offsets.copies.get(connector, 1)
    observed = situation.observed.connectors.get(connector)
    if copies == 1 or (observed is not None and observed.type is ConnectorType.SINK):
        return ChunkSize()
    largest = largest_chunk(*declared_partitions(situation), copies, situation.policy.worker_heap)
    return ChunkSize.if_all_is_read_again(largest)
