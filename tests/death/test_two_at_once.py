"""Two processes with one ledger: one applies the change, the other reports that the cluster is in use."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from acceptance.workplace import Workplace, change
from standin.connect import Call, Reply, StandIn

pytestmark = pytest.mark.slow
ENTRY = '{partition: {filename: "%s"}, offset: {position: 4}}'
BUSY = 5


class Slow(StandIn):
    """A worker that delays changes of offsets until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = Event(), Event()

    def carry_out(self, call: Call) -> Reply:
        if call.method == "PATCH":
            self.asked.set()
            assert self.go_on.wait(60)
        return super().carry_out(call)


@pytest.fixture
def worker() -> Iterator[Slow]:
    with Slow() as slow:
        yield slow
        slow.go_on.set()


@pytest.fixture
def at(worker: Slow, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, (worker.url,))
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    workplace.deploy("lines.yaml", workplace.source("lines"))
    workplace.states()
    spec = f"operation: alter\noffsets: [{ENTRY % (tmp_path / 'in.txt')}]\nacknowledge: [rewind]"
    workplace.commit("c.yaml", change("back", workplace.name("lines"), spec))
    yield workplace
    workplace.session.close()


def begin_apply(at: Workplace) -> subprocess.Popen[str]:
    return subprocess.Popen(at.command("apply", "--yes"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def require_once(at: Workplace, worker: Slow) -> None:
    """The second line and those after it were read exactly twice."""
    at.states()
    assert worker.cluster.stored.topics["lines"] == ["one", "two", "three", "two", "three"]
    assert worker.count("PATCH") == 1
    assert at.states() == {"lines": "RUNNING"}
    assert "No changes." in at.apply().out


def test_the_second_process_names_the_first_while_the_change_is_in_progress(at: Workplace, worker: Slow) -> None:
    with begin_apply(at) as first:
        assert worker.asked.wait(60)
        with begin_apply(at) as second:
            out, _ = second.communicate(timeout=60)
        assert second.returncode == BUSY, out
        assert f"cluster local is in use by process {first.pid}" in out
        worker.go_on.set()
        out, _ = first.communicate(timeout=60)
    assert first.returncode == 0, out
    require_once(at, worker)


def test_two_processes_that_start_at_the_same_moment(at: Workplace, worker: Slow) -> None:
    """The second process is refused, must plan again, or finds nothing left to do."""
    worker.go_on.set()
    with begin_apply(at) as one, begin_apply(at) as other:
        ended = [(process.communicate(timeout=60)[0], process.returncode) for process in (one, other)]
    codes = [code for _, code in ended]
    assert 0 in codes, ended
    for out, code in ended:
        is_refused = "is in use by" in out or "changed after the plan was shown" in out
        assert code == 0 or is_refused, (code, out)
    require_once(at, worker)
