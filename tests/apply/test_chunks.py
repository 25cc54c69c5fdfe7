"""The sizes of chunks, against workers of which only figures are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.apply.chunks import DANGER, FIRST, LARGEST, SMALLEST, TARGET, ChunkSize

MILLION = 90_000_000
Worker = Callable[[int], float]


def seconds_with(worker: Worker) -> float:
    """Seconds that a million entries of 90 bytes take."""
    size, left, seconds = ChunkSize(), MILLION, 0.0
    while left > 0:
        sent = min(size.size, left)
        took = worker(sent)
        size, left, seconds = size.accepted(sent, took), left - sent, seconds + took
    return seconds


def fixed(worker: Worker, entries: int) -> float:
    sizes = [entries * 90] * (1_000_000 // entries)
    return sum(map(worker, sizes))


@given(request=st.floats(0.01, 0.4), bytes_a_second=st.floats(0.5e6, 5e6))
def test_it_comes_near_the_best_fixed_size_on_a_worker_that_keeps_its_pace(
    request: float, bytes_a_second: float
) -> None:
    def worker(size: int) -> float:
        return request + size / bytes_a_second

    best = min(fixed(worker, entries) for entries in (50_000, 100_000, 250_000, 1_000_000))
    assert seconds_with(worker) <= 1.3 * best


def test_on_a_worker_as_measured_it_is_as_good_as_the_best() -> None:
    """Of connect-facts.md: 1,000 entries in 0.3 s, 100,000 in 2.8 s, and ever slower the more there are at once."""

    def worker(size: int) -> float:
        return 0.3 + size / 3.6e6 + (size / 30e6) ** 3

    best = min(fixed(worker, entries) for entries in (50_000, 100_000, 250_000, 1_000_000))
    assert seconds_with(worker) <= 1.3 * best


def test_it_grows_while_answers_are_quick_and_never_beyond_the_largest() -> None:
    size, seen = ChunkSize(), []
    for _ in range(6):
        seen.append(size.size)
        size = size.accepted(size.size, 0.5)
    assert seen == [FIRST, 2 * FIRST, 4 * FIRST, LARGEST, LARGEST, LARGEST]


def test_it_stays_where_twice_as_much_would_take_too_long() -> None:
    assert ChunkSize().accepted(FIRST, 0.6 * TARGET).size == FIRST


def test_a_slow_answer_halves_it() -> None:
    assert ChunkSize().accepted(FIRST, 1.1 * TARGET).size == FIRST // 2


def test_a_small_chunk_at_the_end_of_a_file_says_nothing() -> None:
    assert ChunkSize().accepted(1000, 0.1).size == FIRST


def test_a_failure_halves_what_was_sent_and_makes_it_wary() -> None:
    size = ChunkSize().accepted(FIRST, 0.1).failed(2 * FIRST)
    assert size.size == FIRST
    size = size.failed(FIRST)
    seen = []
    for _ in range(7):
        size = size.accepted(size.size, 0.1)
        seen.append(size.size)
    half = FIRST // 2
    assert seen == [half, half, FIRST, FIRST, FIRST, 2 * FIRST, 2 * FIRST]


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 100), st.floats(0.01, 1.0))))
def test_it_is_always_within_its_bounds(answers: list[tuple[bool, float, float]]) -> None:
    size = ChunkSize()
    for accepted, seconds, share in answers:
        sent = max(1, int(size.size * share))
        size = size.accepted(sent, seconds) if accepted else size.failed(sent)
        assert SMALLEST <= size.size <= LARGEST


@pytest.mark.parametrize("seconds_a_megabyte", [5, 20, 80])
def test_on_a_slow_worker_no_answer_comes_near_the_limit_of_connect(seconds_a_megabyte: int) -> None:
    size, slowest = ChunkSize(), 0.0
    for number in range(20):
        took = 0.3 + size.size / 1e6 * seconds_a_megabyte
        if number:
            slowest = max(slowest, took)
        size = size.accepted(size.size, took) if took < 90 else size.failed(size.size)
    assert slowest < 90
    assert 0.3 + size.size / 1e6 * seconds_a_megabyte <= max(TARGET, 0.3 + SMALLEST / 1e6 * seconds_a_megabyte)


def test_where_smaller_chunks_are_no_quicker_they_do_not_get_ever_smaller() -> None:
    """On a machine that is far too busy, a request takes its time whatever is in it."""
    size = ChunkSize().accepted(FIRST, 0.1).accepted(2 * FIRST, 0.1)
    for _ in range(30):
        size = size.accepted(size.size, 1.2 * TARGET)
    assert size.size >= FIRST


def test_near_the_limit_it_gets_smaller_whatever_was_before() -> None:
    size = ChunkSize()
    for seconds in (1.2 * TARGET, 1.2 * TARGET):
        size = size.accepted(size.size, seconds)
    assert size.size == size.least == FIRST
    assert size.accepted(FIRST, 1.1 * DANGER).size == FIRST // 2
    assert size.failed(FIRST).size == FIRST // 2
