"""The maximum size of chunks, depending on what the plan knows about the workers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.planner.situations import seen, situation, wanted

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.connect.worker_heap import GIB, LARGEST_BODY
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.offset_changes.large_change import chunk_size_of
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation

NAME = ConnectorName("a")
MANY = SavedOffsets("live.jsonl", 1_000_000, 89_000_000, Digest("s"))


def about(copies: int, heap: int, kind: ConnectorType = ConnectorType.SOURCE) -> Situation:
    offsets = OffsetSituation(large_current={NAME: MANY}, copies={NAME: copies})
    observed = replace(seen("a", "STOPPED"), type=kind)
    return situation([wanted("a")], [observed], offsets=offsets, policy=Policy(worker_heap=heap))


@pytest.mark.parametrize(
    ("copies", "heap", "largest"),
    [(3, 3 * GIB, LARGEST_BODY), (6, 3 * GIB, 24_784_097)],
)
def test_with_exactly_once_support_chunks_are_as_large_as_the_heap_allows(copies: int, heap: int, largest: int) -> None:
    assert chunk_size_of(about(copies, heap), NAME) == ChunkSize.if_all_is_read_again(largest)


def test_a_sink_has_no_offsets_topic() -> None:
    assert chunk_size_of(about(3, 64 * GIB, ConnectorType.SINK), NAME) == ChunkSize()


def test_other_workers_get_no_larger_chunks_whatever_their_heap_is() -> None:
    assert chunk_size_of(about(1, 64 * GIB), NAME) == ChunkSize()


def test_without_copies_nothing_is_known_of_the_workers() -> None:
    known = about(3, 64 * GIB)
    assert chunk_size_of(replace(known, offsets=replace(known.offsets, copies={})), NAME) == ChunkSize()
