"""The sizes of chunks, for simulated workers with known response times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.apply.chunks import FIRST, SMALLEST, TARGET, ChunkSize
from gitops_connect.connect.worker_heap import LARGEST_BODY, LARGEST_CHUNK

LINE = 90
MILLION = 1_000_000 * LINE
FIXED = (50_000, 100_000, 250_000, 500_000, 1_000_000)
"""Entries in a request."""
GIVEN_UP = 90
"""Seconds after which Connect gives up a request."""
EXACTLY_ONCE = ChunkSize.if_all_is_read_again(LARGEST_BODY)
"""For workers with exactly-once support that have enough heap."""


@dataclass(frozen=True)
class Worker:
    """Seconds for each request, for each byte that it writes, and for each stored byte that it reads again.

    From `collecting` bytes on, a request takes longer the more bytes it has: the worker collects garbage.
    """

    request: float
    write: float
    read: float = 0.0
    collecting: float = math.inf

    def seconds(self, size: int, stored: int) -> float:
        return self.request + size * self.write + stored * self.read + (size / self.collecting) ** 3

    @property
    def get(self) -> float:
        """Seconds to read a million entries back; answering takes half as long as writing."""
        return self.request + MILLION * (self.read + self.write / 2)


def busy(factor: float) -> Worker:
    """A worker with exactly-once support as measured (docs/contributing/performance.md), slower by this factor."""
    return Worker(factor * 0.4, factor * 31e-6 / LINE, read=factor * 24e-6 / LINE)


def adaptive(worker: Worker, size: ChunkSize) -> list[float]:
    """The seconds of each request for a million entries. A request that takes too long is repeated."""
    done, took = 0, []
    while done < MILLION:
        sent = min(size.of(MILLION - done), MILLION - done)
        took.append(worker.seconds(sent, done))
        if took[-1] > GIVEN_UP:
            size = size.failed(sent)
        else:
            size, done = size.accepted(sent, took[-1]), done + sent
    return took


def best_fixed(worker: Worker) -> float:
    """The seconds for a million entries with the best of the fixed sizes with which no request takes too long."""
    all_sizes = (
        [worker.seconds(entries * LINE, done * LINE) for done in range(0, 1_000_000, entries)] for entries in FIXED
    )
    return min(sum(took) for took in all_sizes if max(took) < GIVEN_UP)


@given(request=st.floats(0.01, 0.4), bytes_a_second=st.floats(0.5e6, 5e6))
def test_it_is_near_the_best_fixed_size_on_a_worker_with_a_constant_rate(request: float, bytes_a_second: float) -> None:
    worker = Worker(request, 1 / bytes_a_second)
    assert sum(adaptive(worker, ChunkSize())) <= 1.3 * best_fixed(worker)


def test_it_is_near_the_best_fixed_size_on_a_worker_as_measured() -> None:
    """As in connect-facts.md: 1,000 entries in 0.3 s, 100,000 in 2.8 s, and slower the larger a request is."""
    worker = Worker(0.3, 1 / 3.6e6, collecting=30e6)
    assert sum(adaptive(worker, ChunkSize())) <= 1.3 * best_fixed(worker)


@given(request=st.floats(0.1, 0.5), bytes_a_second=st.floats(1.5e6, 5e6), reading=st.floats(0.2, 0.8))
def test_with_exactly_once_it_is_near_the_best_fixed_size_including_the_reading_back(
    request: float, bytes_a_second: float, reading: float
) -> None:
    worker = Worker(request, 1 / bytes_a_second, read=reading / bytes_a_second)
    assert sum(adaptive(worker, EXACTLY_ONCE)) + worker.get <= 1.3 * (best_fixed(worker) + worker.get)


@pytest.mark.parametrize(("factor", "requests"), [(1, 3), (2, 3), (3, 4)])
def test_with_exactly_once_a_million_takes_few_requests_that_are_in_time(factor: float, requests: int) -> None:
    took = adaptive(busy(factor), EXACTLY_ONCE)
    assert len(took) == requests
    assert max(took) < 0.9 * GIVEN_UP


def test_the_largest_chunks_of_other_workers_would_take_twice_as_long_with_exactly_once() -> None:
    assert sum(adaptive(busy(1), ChunkSize())) > 2 * sum(adaptive(busy(1), EXACTLY_ONCE))


def test_a_quick_answer_lets_it_grow_to_the_largest_at_once() -> None:
    size = ChunkSize().accepted(FIRST, 0.5)
    assert (size.size, size.accepted(size.size, 3).size) == (LARGEST_CHUNK, LARGEST_CHUNK)
    assert EXACTLY_ONCE.accepted(FIRST, 0.5).size == LARGEST_BODY


def test_it_takes_as_long_as_the_target() -> None:
    assert ChunkSize().accepted(FIRST, TARGET / 3).size == 3 * FIRST
    assert ChunkSize(4 * FIRST).accepted(4 * FIRST, TARGET * 4 / 3).size == 3 * FIRST


def test_a_small_rest_is_sent_with_the_last_chunk_if_the_heap_has_room() -> None:
    size = ChunkSize(9 << 20)
    assert [size.of(mebibytes * 2**20) >> 20 for mebibytes in (0, 8, 10, 11, 12, 30)] == [9, 9, 10, 11, 9, 9]
    assert ChunkSize(LARGEST_CHUNK).of(LARGEST_CHUNK + 1) == LARGEST_CHUNK


def test_a_small_chunk_at_the_end_of_a_file_proves_nothing() -> None:
    assert ChunkSize().accepted(1000, 0.1).size == FIRST


def test_after_a_failure_it_is_half_as_large_and_grows_slowly() -> None:
    size = ChunkSize(4 * FIRST).failed(2 * FIRST)
    assert size.size == FIRST
    size = size.failed(FIRST)
    seen = []
    for _ in range(7):
        size = size.accepted(size.size, 0.1)
        seen.append(size.size)
    half = FIRST // 2
    assert seen == [half, half, FIRST, FIRST, FIRST, 2 * FIRST, 2 * FIRST]


def test_after_many_failures_a_chunk_still_has_64_kib() -> None:
    size = ChunkSize()
    for _ in range(20):
        size = size.failed(size.size)
    assert size.size == 64 * 1024


@given(
    st.sampled_from([ChunkSize(), EXACTLY_ONCE]),
    st.lists(st.tuples(st.booleans(), st.floats(0, 100), st.floats(0.01, 1))),
)
def test_it_is_always_within_its_bounds(size: ChunkSize, answers: list[tuple[bool, float, float]]) -> None:
    for accepted, seconds, share in answers:
        sent = max(1, int(size.size * share))
        size = size.accepted(sent, seconds) if accepted else size.failed(sent)
        assert SMALLEST <= size.size <= size.largest


@pytest.mark.parametrize("first", [ChunkSize(), EXACTLY_ONCE], ids=["without exactly-once", "with exactly-once"])
@pytest.mark.parametrize("seconds_a_megabyte", [5, 20, 80])
def test_on_a_slow_worker_no_answer_comes_near_the_limit_of_connect(seconds_a_megabyte: int, first: ChunkSize) -> None:
    took = adaptive(Worker(0.3, seconds_a_megabyte / 1e6), first)
    assert max(took[2:]) < GIVEN_UP
    assert first is EXACTLY_ONCE or took[-2] < TARGET + 1


def test_if_reading_takes_nearly_all_the_time_chunks_do_not_get_ever_smaller() -> None:
    """Each smaller chunk would take as long, and more chunks would be necessary."""
    size, seconds = EXACTLY_ONCE.accepted(FIRST, 0.5), 0.9 * GIVEN_UP
    for _ in range(30):
        size = size.accepted(size.size, seconds)
    assert size.size == LARGEST_CHUNK
    assert size.failed(size.size).accepted(LARGEST_CHUNK // 2, seconds).size == LARGEST_CHUNK // 2


def test_on_a_busy_machine_it_stays_large_while_answers_are_in_time() -> None:
    size = ChunkSize()
    for _ in range(30):
        size = size.accepted(size.size, 0.9 * TARGET)
    assert size.size >= FIRST
