"""When a session is started, kept and released; these tests do not need Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitops_connect.errors import SparkFailed, UsageError
from gitops_connect.model.clock import Duration
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.session import SharedSession


@dataclass
class Started:
    alive: bool = True
    closed: int = 0

    def answers(self) -> bool:
        return self.alive

    def close(self) -> None:
        self.closed += 1


@dataclass
class Starts:
    """Lists the sessions that were started, and has a clock that only tests move."""

    all: list[Started] = field(default_factory=list)
    now: float = 1000.0

    def start(self, settings: Any, environment: Any, say: Any, cache: Any) -> Any:
        say(f"starting {settings.master}")
        self.all.append(Started())
        return self.all[-1]

    def sessions(self) -> SharedSession:
        settings = SparkSettings("local[2]", idle=Duration(300))
        return SharedSession(settings, {}, Path("cache"), lambda: self.now, self.start)


@pytest.fixture
def starts() -> Starts:
    return Starts()


def nothing(_: str) -> None:
    pass


def test_it_starts_at_the_first_use_and_says_so_and_is_kept(starts: Starts) -> None:
    sessions, said = starts.sessions(), list[str]()
    assert not starts.all
    for _ in range(2):
        with sessions.using(said.append) as session:
            assert session is starts.all[0]
    assert said == ["starting local[2]"]
    sessions.close()
    sessions.close()
    assert [one.closed for one in starts.all] == [1]


def test_it_is_given_back_when_it_is_idle_for_long_enough_and_starts_again(starts: Starts) -> None:
    sessions = starts.sessions()
    sessions.give_back_if_idle(starts.now + 9999)
    with sessions.using(nothing):
        sessions.give_back_if_idle(starts.now + 9999)
        starts.now += 500
    sessions.give_back_if_idle(starts.now + 299)
    assert not starts.all[0].closed
    sessions.give_back_if_idle(starts.now + 300)
    assert starts.all[0].closed == 1
    with sessions.using(nothing) as session:
        assert session is starts.all[1]


@pytest.mark.parametrize(("error", "count"), [(SparkFailed("lost"), 2), (ValueError("of a file"), 1)])
def test_after_a_failure_of_spark_the_next_use_starts_another(starts: Starts, error: Exception, count: int) -> None:
    sessions = starts.sessions()
    with pytest.raises(type(error)), sessions.using(nothing):
        raise error
    with sessions.using(nothing):
        pass
    assert len(starts.all) == count


def test_one_that_died_while_it_was_idle_is_replaced(starts: Starts) -> None:
    sessions = starts.sessions()
    with sessions.using(nothing):
        pass
    starts.all[0].alive = False
    with sessions.using(nothing) as session:
        assert session is starts.all[1]
    assert starts.all[0].closed == 1


def test_two_use_it_at_the_same_time_and_whoever_comes_after_a_failure_waits_for_both(starts: Starts) -> None:
    sessions = starts.sessions()
    order: list[str] = []
    entered = threading.Event()

    def third() -> None:
        entered.set()
        with sessions.using(nothing) as session:
            order.append("third" if session is starts.all[1] else "the same")

    with sessions.using(nothing) as first:
        with pytest.raises(SparkFailed), sessions.using(nothing):
            raise SparkFailed("lost")
        assert first is starts.all[-1]
        assert not starts.all[0].closed, "the first is still at it"
        thread = threading.Thread(target=third)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "third"]


def test_a_master_elsewhere_needs_a_directory_that_it_shares(starts: Starts) -> None:
    def sessions(settings: SparkSettings) -> SharedSession:
        return SharedSession(settings, {}, Path("/cache"), start=starts.start)

    assert sessions(SparkSettings()).directory == Path("/cache/spark")
    shared = sessions(SparkSettings("yarn", Path("/shared")))
    assert shared.directory == Path("/shared")
    with shared.using(nothing):
        pass
    with (
        pytest.raises(UsageError, match=r"Spark runs on other machines \(yarn\).*\[spark\] directory = "),
        sessions(SparkSettings("yarn")).using(nothing),
    ):
        pass


@pytest.mark.slow
def test_importing_it_imports_nothing_of_spark() -> None:
    code = "import sys, gitops_connect.spark.session; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j", "numpy", "pandas", "pyarrow", "grpc"} & set(done.stdout.split())
