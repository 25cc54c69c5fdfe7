"""A large change after the stop: its review, the offsets that are compared, the size and the content of chunks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cluster.manual_clock import ManualClock
from support.planner.situations import CLUSTER, NOW, seen, situation, wanted

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.connect.worker_heap import GIB, LARGEST_BODY
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction, Review
from gitops_connect.model.manifests import LargePatch, LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
)
from gitops_connect.offset_changes.planned_changes import LargeOffsetChange, PatchReader, PlannedChanges, chunk_size_of
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

NAME = ConnectorName("a")
ALTER = OffsetChange(OffsetChangeName("c"), NAME, OffsetChangeKind.ALTER, Digest("d"), Revision("r"), is_large=True)
RECORD = OffsetChangeRecord(ALTER.name, NAME, ALTER.kind, OffsetChangeState.OPEN, ALTER.digest, Revision("r"), NOW)
MANIFEST = LargeManifest(Location("m"), (), ManifestContext(NAME), OffsetChangeKind.ALTER)
MANY = SavedOffsets("live.jsonl", 1_000_000, 89_000_000, Digest("s"))


class Spark:
    """Reports the same difference for each request, and keeps the requests."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        self.requests: list[LargeManifest] = []

    def say(self, text: str) -> None:
        """Ignore the message."""

    def check(self, manifests: Sequence[LargeManifest], *, ready: Path | None = None) -> list[LargeVerdict]:
        self.requests += manifests
        if ready is not None:
            ready.mkdir()
        return [LargeVerdict(1, 1, difference=self.difference, patch=LargePatch((), 0, 0)) for _ in manifests]


class Ledger:
    def pieces(self, _cluster: str, _name: str, part: OffsetsPart) -> list[bytes]:
        return [f'{{"partition":{{"is":"{part.value}"}},"offset":null}}\n'.encode()]


def reviewed(
    offset_change: OffsetChange,
    offsets: OffsetSituation,
    spark: Spark,
    directory: Path,
    seen_just_now: SavedOffsets | None = None,
) -> Review:
    """The review. A worker that is asked for the offsets returns many, unless they were just read."""
    read = SimpleNamespace(save_offsets=lambda *_: MANY) if seen_just_now is None else None
    runtime: Any = SimpleNamespace(clients={CLUSTER: read}, clock=ManualClock(), spark=None, say=None)
    planned = PlannedChanges(runtime, cast("Any", None), situation(offsets=offsets), cast("Any", Ledger()))
    manifest = MANIFEST if offset_change.kind is OffsetChangeKind.ALTER else None
    change = LargeOffsetChange(planned, offset_change, directory, manifest, seen_just_now)
    change._checks = cast("Any", spark)
    return change.review()


@pytest.mark.parametrize(
    ("offset_change", "config", "expected"),
    [
        (ALTER, {}, [Acknowledgement.EXTERNAL, Acknowledgement.REWIND]),
        (ALTER, {"flush.lsn.source": "false"}, [Acknowledgement.REWIND]),
        (replace(ALTER, acknowledged=frozenset({Acknowledgement.EXTERNAL, Acknowledgement.REWIND})), {}, []),
        (replace(ALTER, kind=OffsetChangeKind.RESET), {}, [Acknowledgement.RESET]),
        (
            replace(ALTER, kind=OffsetChangeKind.RESET),
            {"snapshot.mode": "no_data"},
            [Acknowledgement.EXTERNAL, Acknowledgement.RESET],
        ),
    ],
)
def test_its_effect_in_the_class_must_be_acknowledged_like_that_of_a_small_one(
    offset_change: OffsetChange, config: dict[str, str], expected: list[Acknowledgement], tmp_path: Path
) -> None:
    shape = BUILT_IN.shape({"connector.class": "PostgresConnector", **config})
    assert shape is not None
    offsets = OffsetSituation(shapes={NAME: shape})
    review = reviewed(offset_change, offsets, Spark(Difference({Direction.REWIND: 2})), tmp_path)
    assert "the replication slot also decides" in review.unchecked
    assert [refusal.missing for refusal in review.refusals] == expected


def test_what_was_just_read_is_not_read_again(tmp_path: Path) -> None:
    """For a change that an earlier reconciliation began: it takes long to list very many offsets."""
    offsets = OffsetSituation(records={ALTER.name: RECORD}, unfinished={ALTER.name: Unfinished(ALTER, {})})
    just_read, spark = SavedOffsets("seen.jsonl", 1, 10, Digest("s")), Spark(Difference({Direction.NEW: 1}))
    assert reviewed(ALTER, offsets, spark, tmp_path, just_read).difference == Difference({Direction.NEW: 1})
    earlier, to_declared, since = spark.requests
    assert to_declared.current == just_read.file
    assert [one.path for one in since.files] == ["seen.jsonl"]
    assert since.current == earlier.current
    assert since.current is not None
    assert since.current.path == str(tmp_path / f"{OffsetsPart.BEFORE.value}.jsonl")


@pytest.mark.parametrize(
    ("digest", "found", "compared", "expected"),
    [
        ("s", {Direction.NEW: 1}, 0, True),
        ("other", {Direction.SAME: 1_000_000}, 1, True),  # the worker may list them in another order
        ("other", {Direction.FORWARD: 1}, 1, False),
    ],
)
def test_offsets_that_were_read_again(
    digest: str, found: dict[Direction, int], compared: int, expected: bool, tmp_path: Path
) -> None:
    reads = iter([MANY, replace(MANY, digest=Digest(digest), path="again.jsonl")])
    client = SimpleNamespace(save_offsets=lambda *_: next(reads))
    runtime: Any = SimpleNamespace(clients={CLUSTER: client}, clock=ManualClock(), spark=None, say=None)
    planned = PlannedChanges(runtime, cast("Any", None), situation(), cast("Any", Ledger()))
    change = LargeOffsetChange(planned, replace(ALTER, kind=OffsetChangeKind.RESET), tmp_path)
    spark = Spark(Difference(found))
    change._checks = cast("Any", spark)
    change.review()
    assert change.is_settled() is expected
    assert [[one.path for one in request.files] for request in spark.requests] == [["again.jsonl"]] * compared
    assert [request.kind for request in spark.requests] == [OffsetChangeKind.REPLACE] * compared


@pytest.mark.parametrize(
    ("copies", "heap", "kind", "expected"),
    [
        (3, 3, ConnectorType.SOURCE, ChunkSize.if_all_is_read_again(LARGEST_BODY)),
        (6, 3, ConnectorType.SOURCE, ChunkSize.if_all_is_read_again(24_784_097)),
        (3, 64, ConnectorType.SINK, ChunkSize()),  # a sink has no offsets topic
        (1, 64, ConnectorType.SOURCE, ChunkSize()),
        (None, 64, ConnectorType.SOURCE, ChunkSize()),  # nothing is known of the workers
    ],
)
def test_chunks_are_as_large_as_the_heap_allows_if_workers_support_exactly_once(
    copies: int | None, heap: int, kind: ConnectorType, expected: ChunkSize
) -> None:
    offsets = OffsetSituation(large_current={NAME: MANY}, copies={NAME: copies} if copies else {})
    observed = replace(seen("a", "STOPPED"), type=kind)
    policy = Policy(worker_heap=heap * GIB)
    assert chunk_size_of(situation([wanted("a")], [observed], offsets=offsets, policy=policy), NAME) == expected


def written(directory: Path, texts: list[str]) -> str:
    file = directory / "declared.jsonl"
    file.write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    return str(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    expected=st.lists(st.text(max_size=8), max_size=40),
    sizes=st.lists(st.integers(1, 60), min_size=1),
    again=st.lists(st.booleans(), min_size=1),
)
def test_every_entry_is_in_one_chunk(tmp_path: Path, expected: list[str], sizes: list[int], again: list[bool]):
    reader = PatchReader(written(tmp_path, expected))
    sent: list[str] = []
    for turn in range(3 * len(expected) + 3):
        size = sizes[turn % len(sizes)]
        chunk = reader.read(len(sent), size)
        entries = json.loads(chunk.body)["offsets"]
        assert len(entries) == chunk.entries
        assert chunk.entries > 0 or sent == expected
        assert len(chunk.body) <= size + len('{"offsets":[]}') or chunk.entries == 1
        if not again[turn % len(again)]:
            sent += entries
        if sent == expected and chunk.entries == 0:
            break
    assert sent == expected[: len(sent)]


def test_chunks_go_on_anywhere_and_back(tmp_path: Path):
    texts = [*(f"text {number}" for number in range(50_000)), "the last"]
    reader = PatchReader(written(tmp_path, texts))
    for number in (40_000, 3, 49_999, 0, 50_000):
        assert json.loads(reader.read(number, 1).body)["offsets"][0] == texts[number]
    assert reader.read(50_001, 10).entries == 0
