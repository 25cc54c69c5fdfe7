"""Writes of several threads at the same time: one transaction, and an error only for the thread that caused it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event

import pytest
from support.waiting import await_that

from gitops_connect.ledger.group_commit import GroupCommit


class Transactions:
    """The committed writes of each transaction."""

    def __init__(self) -> None:
        self.committed: list[list[int]] = []
        self.writes: list[int] = []

    @contextmanager
    def together(self) -> Iterator[None]:
        self.writes = []
        yield
        self.committed.append(self.writes)


def written_at_once(count: int, bad: int | None = None) -> tuple[list[list[int]], list[BaseException | None]]:
    """The transactions, and the error of each write. All others come while the first is written."""
    found, begun = Transactions(), Event()
    group = GroupCommit(found.together)

    def write(number: int) -> None:
        if number == 0:
            begun.set()
            await_that(lambda: group.waiting == count - 1)
        if number == bad:
            raise LookupError(number)
        found.writes.append(number)

    with ThreadPoolExecutor(count) as threads:
        ended = [threads.submit(group.run, partial(write, 0))]
        assert begun.wait(30)
        ended += [threads.submit(group.run, partial(write, number)) for number in range(1, count)]
        errors = [one.exception() for one in ended]
    return [sorted(one) for one in found.committed], errors


def test_writes_that_come_while_another_one_is_written_are_one_transaction() -> None:
    assert written_at_once(8) == ([[0], [1, 2, 3, 4, 5, 6, 7]], [None] * 8)


def test_an_error_is_only_for_the_thread_that_caused_it() -> None:
    committed, errors = written_at_once(4, bad=2)
    assert sorted(committed) == [[0], [1], [3]]
    assert [type(one) for one in errors] == [type(None), type(None), LookupError, type(None)]


def test_a_process_that_ends_leaves_no_thread_waiting() -> None:
    group = GroupCommit(Transactions().together)

    def end() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        group.run(end)
    group.run(lambda: None)
