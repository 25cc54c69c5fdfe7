from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.connect.worker_heap import (
    GIB,
    LARGEST_BODY,
    LARGEST_CHUNK,
    MIB,
    count_copies,
    estimate,
    heap_refusal,
    largest_chunk,
    size_text,
)
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.plans import HeapEstimate

MILLION = 1_000_000
LINE = 89
CHANGED = ConnectorName("changed")


def of_a_million(chunk: int, copies: int = 1) -> HeapEstimate:
    return estimate(MILLION, MILLION * LINE, chunk * LINE, copies)


@pytest.mark.parametrize(("line", "copies", "chunk", "measured"), rows(__file__, "measured"))
def test_the_estimate_is_near_to_what_was_measured_and_rather_above(
    line: int, copies: int, chunk: int, measured: int
) -> None:
    estimated = estimate(400_000, 400_000 * line, chunk * line, copies).size
    assert 0.95 * measured <= estimated <= 1.4 * measured


def test_a_million_is_refused_on_one_gibibyte_and_with_exactly_once_on_two() -> None:
    # On 1 GiB it could be sent, but not read back: that took 101s and the whole heap. On 2 GiB reading took 28s.
    assert heap_refusal(of_a_million(50_000), GIB) is not None
    assert heap_refusal(of_a_million(250_000), 2 * GIB) is None
    # On 2 GiB it could be sent, more slowly with each chunk; reading it back took more than 90s and the whole heap.
    assert heap_refusal(of_a_million(100_000, copies=3), 2 * GIB) is not None
    assert heap_refusal(of_a_million(100_000, copies=3), 4 * GIB) is None
    assert heap_refusal(of_a_million(MILLION, copies=9), 0) is None, "without a limit, nothing is refused"


def test_a_refusal_has_the_arithmetic_and_says_what_to_do() -> None:
    assert heap_refusal(of_a_million(50_000), GIB) == (
        "each worker would need 1.23 GiB of heap, but worker_heap is 1 GiB "
        "(1,000,000 partitions of 89 bytes: 1,000,000 x (480 + 2 x 89) = 628 MiB, 467 MiB for reading them back, "
        "96 MiB for the worker itself, and 5 % more for its garbage collector). "
        'Start the workers with a larger heap (-Xmx1536m) and set worker_heap = "1.5GiB", '
        "or move some of the partitions to a connector of another Connect cluster: "
        "every worker holds the offsets of its whole cluster"
    )


def test_the_arithmetic_names_the_chunk_where_that_takes_more_than_reading_back_and_the_copies() -> None:
    assert "1.64 GiB for a chunk of 84.9 MiB, " in of_a_million(MILLION).arithmetic
    assert "= 628 MiB, in 3 copies 1.84 GiB, " in of_a_million(50_000, copies=3).arithmetic


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("limit", [GIB, 2 * GIB, 4 * GIB, 64 * GIB])
def test_the_heap_that_a_refusal_asks_for_is_enough(limit: int, copies: int) -> None:
    estimated = estimate(30 * MILLION, 30 * MILLION * LINE, MIB, copies)
    words = heap_refusal(estimated, limit)
    asked = float(words.partition('worker_heap = "')[2].partition("GiB")[0]) if words else 0
    assert words is None or heap_refusal(estimated, int(asked * GIB)) is None


def test_few_partitions_need_little_more_than_the_worker() -> None:
    assert estimate(0, 0, 0).size < 128 * MIB
    assert estimate(1, 60, 60).size < 128 * MIB


def connector(name: str, worker: str, *tasks: str, kind: ConnectorType = ConnectorType.SOURCE) -> ObservedConnector:
    running = tuple(TaskStatus(number, WorkerState.RUNNING, at) for number, at in enumerate(tasks))
    return ObservedConnector(ConnectorName(name), kind, WorkerState.RUNNING, worker, {}, running)


def test_copies_are_those_of_the_worker_that_runs_most_sources() -> None:
    cluster = [
        connector("changed", "a", "a", "a"),
        connector("one", "a", "b", "b"),
        connector("two", "b", "a"),
        connector("sink", "b", "b", "b", kind=ConnectorType.SINK),
    ]
    # Copies of the worker, the request and the changed connector; then, on b, of one connector and two tasks.
    assert count_copies(CHANGED, cluster, exactly_once=True) == 3 + 3
    assert count_copies(CHANGED, cluster[:1], exactly_once=True) == 3
    assert count_copies(CHANGED, [], exactly_once=True) == 3
    assert count_copies(CHANGED, cluster, exactly_once=False) == 1


@pytest.mark.parametrize(("size", "words"), rows(__file__, "sizes"))
def test_sizes_are_rounded_up_so_that_what_is_too_much_never_looks_equal(size: int, words: str) -> None:
    assert size_text(size) == words


@given(
    partitions=st.integers(1, 5 * MILLION),
    line=st.integers(60, 400),
    copies=st.integers(3, 9),
    limit=st.integers(GIB // 2, 16 * GIB),
)
def test_the_largest_chunk_fits_whenever_the_smallest_does(partitions: int, line: int, copies: int, limit: int) -> None:
    size = partitions * line
    if heap_refusal(estimate(partitions, size, LARGEST_CHUNK, copies), limit) is None:
        chunk = largest_chunk(partitions, size, copies, limit)
        assert LARGEST_CHUNK <= chunk <= LARGEST_BODY
        assert heap_refusal(estimate(partitions, size, chunk, copies), limit) is None


def test_the_largest_chunk_follows_the_heap() -> None:
    million = MILLION, MILLION * LINE, 3
    assert largest_chunk(*million, 3 * GIB) == LARGEST_BODY
    assert 24 * MIB < largest_chunk(*million, int(2.6 * GIB)) < 30 * MIB
    assert largest_chunk(*million, GIB) == largest_chunk(*million, 0)


def test_a_chunk_may_need_the_heap_that_reading_back_needs_if_the_heap_is_not_known() -> None:
    chunk = largest_chunk(MILLION, MILLION * LINE, 3, 0)
    assert estimate(MILLION, MILLION * LINE, chunk, 3) == estimate(MILLION, MILLION * LINE, 0, 3)
    assert largest_chunk(100_000, 100_000 * LINE, 3, 0) == LARGEST_CHUNK
