"""The ledger with real processes: they race, they are killed, and the disk is full."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect

import pytest
from support.cluster.manual_clock import ManualClock
from support.planner.offset_change_values import EARLIER, LOCAL, NOON, SKIP

from gitops_connect.errors import LedgerBusy
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import offsets_digest

pytestmark = pytest.mark.slow

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def ledger(sqlite_ledger: Ledger) -> Ledger:
    """The processes of these tests open `state.db`."""
    return sqlite_ledger


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> str:
    """Kill a process, and return the rest of its output. `communicate` would skip what `line` has read in advance."""
    assert process.stdout
    process.kill()
    return process.stdout.read()


def together(*processes: subprocess.Popen[str]) -> tuple[subprocess.Popen[str], ...]:
    """Let processes continue at the same moment, once all of them are ready."""
    for process in processes:
        assert line(process) == "ready"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    return processes


def killed_when_ready(process: subprocess.Popen[str]) -> None:
    assert line(process) == "ready"
    process.kill()
    process.wait()


def require_sound(directory: Path) -> None:
    with closing(connect(directory / "state.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_processes_that_start_at_once_make_one_ledger_and_one_key(start: Start, tmp_path: Path) -> None:
    keys = {line(process) for process in together(*(start("race_open") for _ in range(4)))}
    assert keys == {Ledger.open("sqlite:///state.db", tmp_path, None).key.hex()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.db", "state.db.key"]


def test_exactly_one_process_wins_a_lease(start: Start, tmp_path: Path) -> None:
    answers = [line(process) for process in together(*(start("race_lease") for _ in range(4)))]
    assert answers.count("won") == 1
    assert sum(answer.startswith("lost: cluster local is in use by process") for answer in answers) == 3


def test_the_lease_of_a_killed_process_is_free_at_once(start: Start, ledger: Ledger, clock: ManualClock) -> None:
    clock.seconds = (datetime.now(UTC) - clock.now()).total_seconds()  # the same time as in the other process
    (holder,) = together(start("race_lease"))
    assert line(holder) == "won"
    with pytest.raises(LedgerBusy, match=f"process {holder.pid} "), ledger.lease("local", clock, 60):
        pass
    holder.kill()
    holder.wait()
    with ledger.lease("local", clock, 60) as lease:
        lease.check()


def test_processes_that_write_concurrently_lose_nothing(start: Start, ledger: Ledger) -> None:
    for writer in together(*(start("record", prefix, "40") for prefix in "abc")):
        assert writer.wait() == 0
    assert len(ledger.ownership("local")) == 120


@pytest.mark.parametrize("written", [7, *(pytest.param(count, marks=pytest.mark.thorough) for count in (1, 30))])
def test_a_writer_that_is_killed_leaves_all_that_it_reported(
    start: Start, ledger: Ledger, tmp_path: Path, written: int
) -> None:
    (writer,) = together(start("record", "n", "100000"))
    reported = [line(writer) for _ in range(written)]
    rest = kill(writer).split()
    # A record may be durable without its report, but no report is without a durable record. A truncated one is ignored.
    names = {*reported, *(name for name in rest[:-1])}
    owned = Ledger.open("sqlite:///state.db", tmp_path, None).ownership("local")
    assert names <= set(owned)
    assert len(owned) <= len(reported) + len(rest) + 1
    require_sound(tmp_path)


def test_a_first_start_that_is_killed_does_not_prevent_the_next(start: Start, tmp_path: Path) -> None:
    for _ in range(3):
        (killed,) = together(start("race_open"))
        killed.kill()
        killed.wait()
    ledger = Ledger.open("sqlite:///state.db", tmp_path, None)
    assert ledger.ownership("local") == {}


@pytest.mark.parametrize("written", [2, 9, *(pytest.param(count, marks=pytest.mark.thorough) for count in (1, 40))])
def test_operations_of_a_killed_process_are_as_far_as_it_reported(
    start: Start, ledger: Ledger, tmp_path: Path, written: int
) -> None:
    (writer,) = together(start("operate"))
    reported = [line(writer) for _ in range(written)]
    reported += kill(writer).splitlines()[:-1]  # the last may be cut short
    records = ledger.offset_changes.records(LOCAL)
    settled = {name for name, record in records.items() if record.state is OffsetChangeState.SETTLED}
    assert {report.split()[1] for report in reported if report.startswith("begun")} <= set(records)
    assert {report.split()[1] for report in reported if report.startswith("settled")} <= settled
    assert {record.state for record in records.values()} <= {OffsetChangeState.OPEN, OffsetChangeState.SETTLED}
    for name, record in records.items():
        before = ledger.offset_changes.snapshot(LOCAL, name)
        assert before is not None
        assert offsets_digest(before) == record.before
        assert ledger.offset_changes.saved(LOCAL, name).offsets == before
    require_sound(tmp_path)


@pytest.mark.parametrize("count", [1, 60_000])
def test_a_write_that_is_killed_before_it_is_durable_has_no_effect(
    start: Start, ledger: Ledger, tmp_path: Path, count: int
) -> None:
    """With 60,000 offsets, new pages are in the file already, and SQLite's journal has to roll them back."""
    size = (tmp_path / "state.db").stat().st_size
    killed = start("hang", "begin", str(count))
    killed_when_ready(killed)
    assert ((tmp_path / "state.db").stat().st_size > size) == (count > 1)
    assert ledger.offset_changes.records(LOCAL) == {}
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    ledger.offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("n0")), EARLIER, NOON)
    before = ledger.export()
    killed_when_ready(start("hang", "settle", str(count)))
    assert ledger.export() == before


def test_exactly_one_of_different_operations_of_one_name_is_begun(start: Start, ledger: Ledger) -> None:
    processes = together(*(start("race_begin", digest) for digest in "abcd"))
    assert sorted(line(process) for process in processes) == ["begun", "refused", "refused", "refused"]
    assert ledger.offset_changes.saved(LOCAL, OffsetChangeName("n0")).digest in "abcd"


def test_a_full_disk_is_a_named_error_and_damages_nothing(start: Start, ledger: Ledger, tmp_path: Path) -> None:
    output, _ = start("fill_offset_changes").communicate()
    *written, error = output.splitlines()
    assert written
    assert error.startswith(f"LedgerUnusable: the ledger {tmp_path}/state.db cannot ")
    assert set(ledger.offset_changes.records(LOCAL)) == set(written)
    for name in written:
        saved = ledger.offset_changes.saved(LOCAL, OffsetChangeName(name))
        assert ledger.offset_changes.snapshot(LOCAL, OffsetChangeName(name)) == saved.offsets
