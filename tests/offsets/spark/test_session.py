"""Functions that run in the session's process: several at once, with large results, and with errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BOTH = Barrier(2)
"""Each process has its own barrier."""
LARGE = 60_000_000


def both(_: Any) -> int:
    return BOTH.wait(60)


def large(_: Any, content: bytes) -> bytes:
    return content


def fails(_: Any) -> None:
    raise LookupError("not there")


def test_two_threads_use_the_session_at_once(spark: Any) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(spark.run, both, task="no") for _ in range(2)]
        assert sorted(one.result() for one in found) == [0, 1]


def test_arguments_and_results_may_be_large(spark: Any) -> None:
    assert spark.run(large, bytes(LARGE), task="no") == bytes(LARGE)


def test_a_bug_keeps_its_type_and_its_traceback(spark: Any) -> None:
    with pytest.raises(LookupError, match="not there") as raised:
        spark.run(fails, task="no")
    assert any("in fails" in note for note in raised.value.__notes__)
    assert spark.answers()
