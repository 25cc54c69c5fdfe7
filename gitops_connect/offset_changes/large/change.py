"""One large change while its connector is STOPPED: connects `apply` with files, Spark and the ledger."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.apply.journal import Chunk
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.operations import Operations
from gitops_connect.ledger.pieces import OffsetsPart
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction, Move, Refusal, Review
from gitops_connect.model.large_manifests import LargeFile, LargePatch, LargeVerdict, SavedOffsets
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import ClusterName, Digest
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.shapes import Shape
from gitops_connect.model.units import SkipLimits
from gitops_connect.offset_changes.large.check_request import CheckRequest
from gitops_connect.offset_changes.large.patch_reader import PatchReader
from gitops_connect.offset_changes.large.spark_checks import SparkChecks
from gitops_connect.plan.offsets import described, moved_since, refusals, unchecked

_BLOCK = 1024 * 1024
_NOTHING = LargePatch((), 0, 0)
_GONE_ALREADY = "manifest/nothing-to-remove"


@dataclass(frozen=True, slots=True)
class Means:
    """The dependencies of a change. `operations` are the ledger's, under the lease; its files are in the directory.

    `shape` is that of the connector's class and config; None if they are not known. `chunk_size` is that of
    `LargeChange`.
    """

    cluster: ClusterName
    client: ConnectClient
    operations: Operations
    spark: SparkChecks
    clock: Clock
    folder: Path
    shape: Shape | None = None
    chunk_size: ChunkSize = field(default_factory=ChunkSize)


class _Change(ABC):
    """A `LargeChange`: the common part of a change begun now, and of a change begun by an earlier reconciliation."""

    def __init__(self, operation: Operation, means: Means, context: ManifestContext) -> None:
        self._operation = operation
        self._means = means
        self._context = context
        self._looks = 0
        self._patch = _NOTHING
        self._reader = PatchReader(())
        self._live: SavedOffsets | None = None
        self._kept: SavedOffsets | None = None

    is_begun: ClassVar[bool]

    @abstractmethod
    def review(self) -> Review: ...

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def _before(self) -> SavedOffsets:
        """The offsets before the change was begun."""

    @property
    def entries(self) -> int:
        if self._takes_all and self._live is not None:
            return self._live.entries
        return self._patch.entries

    @property
    def sent(self) -> int:
        return 0

    @property
    def chunk_size(self) -> ChunkSize:
        return self._means.chunk_size

    def chunk(self, start: int, size: int) -> Chunk:
        return self._reader.read(start, size)

    def mark(self, sent: int) -> None:
        self._means.operations.sent(self._means.cluster, self._operation.name, sent)

    def is_untouched(self) -> bool:
        live, before = self._look(), self._before()
        return live.digest == before.digest or not _changes(self._ask(self._since(before, live))[0])

    def difference(self) -> str:
        live = self._look()
        if self._takes_all:
            return f"{live.entries:,} offsets still exist" if live.entries else ""
        (verdict,) = self._ask(self._given(self._patch.files, live))
        if verdict.difference is None:
            return verdict.diagnostics.errors[0].summary
        wrong = {way: count for way, count in verdict.difference.counts.items() if count and way is not Direction.SAME}
        if not wrong:
            return ""
        return f"{sum(wrong.values()):,} of {self._patch.entries:,} differ, {_first(verdict.difference)}"

    def settle(self, warning: str) -> None:
        if self._live is None:
            raise AssertionError("the current offsets were not read")
        means, operation = self._means, self._operation
        means.operations.settle(means.cluster, operation.name, self._live.digest, warning, means.clock.now())

    @property
    def _takes_all(self) -> bool:
        return self._operation.kind in (OperationKind.RESET, OperationKind.CLEAR)

    def _look(self) -> SavedOffsets:
        """The current offsets. Removes the file of the previous read, unless it has the offsets before the change."""
        self._looks += 1
        self._means.spark.say(f"reading the offsets of {self._operation.connector}")
        file = self._means.folder / f"live-{self._looks}.jsonl"
        found = self._means.client.save_offsets(self._operation.connector, file, 0)
        if not isinstance(found, SavedOffsets):
            raise AssertionError("an answer without a byte")
        if self._live is not None and self._live is not self._kept:
            Path(self._live.path).unlink()
        self._live = found
        return found

    def _take(self, patch: LargePatch) -> None:
        self._patch, self._reader = patch, PatchReader(patch.files)

    def _ask(self, *questions: CheckRequest) -> list[LargeVerdict]:
        return self._means.spark.ask(questions, self._means.folder / "compared")

    def _since(self, before: SavedOffsets, live: SavedOffsets) -> CheckRequest:
        """The request for every difference between the current offsets and the offsets before the change."""
        return replace(self._given([live.path], before), kind=OperationKind.REPLACE)

    def _given(self, files: Iterable[str], live: SavedOffsets) -> CheckRequest:
        """The request for offsets that were checked before, and are only compared."""
        large = tuple(LargeFile(Path(file).name, file) for file in files)
        return CheckRequest(Location(""), large, self._context, OperationKind.ALTER, live, is_judged=False)


class NewChange(_Change):
    """A change that is begun now. `question` is None for a change that removes all offsets."""

    is_begun = False

    def __init__(self, operation: Operation, means: Means, question: CheckRequest | None, max_skip: SkipLimits) -> None:
        super().__init__(operation, means, question.context if question else ManifestContext(operation.connector))
        self._question = question
        self._max_skip = max_skip

    def review(self) -> Review:
        live = self._kept = self._look()
        if self._question is None:
            return self._reviewed(Difference({Direction.REMOVED: live.entries} if live.entries else {}))
        question, folder = replace(self._question, live=live), self._means.folder / "patch"
        (verdict,) = self._means.spark.ask([question], folder, ready=True)
        if verdict.difference is None or verdict.patch is None:
            told = verdict.diagnostics.errors[0].summary
            return Review({}, Difference(), (Refusal(f"its offsets now have errors: {told}"),))
        self._take(verdict.patch)
        return self._reviewed(verdict.difference)

    def begin(self) -> None:
        means = self._means
        before, declared = _blocks([self._before().path]), _blocks(self._patch.files)
        means.operations.begin_large(means.cluster, self._operation, before, declared, means.clock.now())

    def _before(self) -> SavedOffsets:
        if self._kept is None:
            raise AssertionError("the current offsets were not read")
        return self._kept

    def _reviewed(self, difference: Difference) -> Review:
        difference = described(difference, self._means.shape)
        refused = tuple(refusals(self._operation, difference, self._max_skip))
        return Review({}, difference, refused, unchecked=unchecked(self._means.shape))


class BegunChange(_Change):
    """A change that an earlier reconciliation has begun: finished from the ledger. `sent`: entries accepted so far.

    `seen` are the current offsets if they were just read: a worker takes long to list very many.
    """

    is_begun = True

    def __init__(
        self, operation: Operation, means: Means, context: ManifestContext, sent: int, seen: SavedOffsets | None = None
    ) -> None:
        super().__init__(operation, means, context)
        self._sent = sent
        self._seen = seen

    @property
    def sent(self) -> int:
        return self._sent

    def review(self) -> Review:
        """Review the change as `plan.offsets.review_unfinished` does, by counts.

        Everything that changed since the begin must be part of the change. The part of the change that is done consists
        of the offsets that equal the declared ones now and did not equal them before.
        """
        live, before = self._seen or self._look(), self._before()
        changed = self._since(before, live)
        if self._takes_all:
            (since,) = self._ask(changed)
            difference = Difference({Direction.REMOVED: live.entries} if live.entries else {})
            moved = _changes(since) - _count(since, Direction.REMOVED)
            return self._reviewed(difference, moved, partial=bool(_changes(since)))
        declared = self._saved(OffsetsPart.DECLARED)
        self._take(LargePatch((declared.path,), declared.entries, declared.size))
        left, since, earlier = self._ask(
            self._given([declared.path], live), changed, self._given([declared.path], before)
        )
        moved = _changes(since) - (_done(left) - _done(earlier))
        return self._reviewed(left.difference or Difference(), moved, partial=bool(_changes(since)))

    def begin(self) -> None:
        """Do nothing: the change is begun."""

    def _before(self) -> SavedOffsets:
        return self._saved(OffsetsPart.BEFORE)

    def _saved(self, part: OffsetsPart) -> SavedOffsets:
        means = self._means
        path = means.folder / f"{part.value}.jsonl"
        pieces = means.operations.pieces(means.cluster, self._operation.name, part)
        return _written(pieces, path)

    def _reviewed(self, difference: Difference, moved: int, *, partial: bool) -> Review:
        refused = (moved_since(self._operation, moved),) if moved else ()
        difference = described(difference, self._means.shape)
        return Review({}, difference, refused, partial=partial, unchecked=unchecked(self._means.shape))


def _done(verdict: LargeVerdict) -> int:
    """The number of offsets that are as declared, including those that are removed as declared."""
    return _count(verdict, Direction.SAME) + verdict.counts.get(_GONE_ALREADY, 0)


def _changes(verdict: LargeVerdict) -> int:
    counts = verdict.difference.counts if verdict.difference is not None else {}
    return sum(count for way, count in counts.items() if way is not Direction.SAME)


def _count(verdict: LargeVerdict, way: Direction) -> int:
    return verdict.difference.counts.get(way, 0) if verdict.difference is not None else 0


def _first(difference: Difference) -> str:
    move: Move = difference.moves[0]
    return (
        f"the first is {move.partition}: found {move.current or 'no offset'}, expected {move.declared or 'no offset'}"
    )


def _written(blocks: Iterable[bytes], path: Path) -> SavedOffsets:
    """Write whole lines to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries, size, digest = 0, 0, hashlib.sha256()
    with path.open("wb") as stream:
        for block in blocks:
            stream.write(block)
            digest.update(block)
            entries, size = entries + block.count(b"\n"), size + len(block)
    return SavedOffsets(str(path), entries, size, Digest(digest.hexdigest()))


def _blocks(files: Iterable[str]) -> Iterator[bytes]:
    for file in files:
        with Path(file).open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
