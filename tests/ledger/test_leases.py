from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Barrier
from typing import Any

import psutil
import pytest
from sqlalchemy import delete, select
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace, writes

from gitops_connect.errors import LedgerBusy
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import LEASE_SECONDS, Process
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import LEASES
from gitops_connect.runtime import SystemClock

pytestmark = pytest.mark.slow

TTL = 60.0
GONE = 2**22 + 1


def expiry(place: LedgerPlace) -> datetime:
    with closing(place.database()) as database, database.read() as connection:
        return connection.execute(select(LEASES.c.expires)).scalar_one()


def test_one_holder_at_a_time_and_the_next_after_it_also_after_an_error(ledger: Ledger, clock: ManualClock) -> None:
    def fail() -> None:
        with (
            ledger.lease("local", clock, TTL),
            pytest.raises(LedgerBusy, match=r"cluster local is in use by process \d+ on .* since \d{4}-"),
            ledger.lease("local", clock, TTL),
        ):
            pass
        with ledger.lease("local", clock, TTL):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with ledger.lease("local", clock, TTL) as one, ledger.lease("other", clock, TTL) as two:
        one.check()
        two.check()


def test_a_ledger_that_is_gone_does_not_hide_the_error(
    sqlite_ledger: Ledger, clock: ManualClock, tmp_path: Path
) -> None:
    def lose_it() -> None:
        with sqlite_ledger.lease("local", clock, TTL):
            (tmp_path / "state.db").unlink()
            (tmp_path / "state.db").mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lose_it()


def test_from_another_machine_it_is_taken_over_only_when_expired(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    with ledger.lease("local", clock, TTL) as lost:
        place.move_leases()
        place.age_leases(TTL - 5)
        with pytest.raises(LedgerBusy, match="on far-away"), ledger.lease("local", clock, TTL):
            pass
        place.age_leases(5)
        with ledger.lease("local", clock, TTL) as taken:
            taken.check()
            with pytest.raises(LedgerBusy, match=r"the lease of cluster local was lost.*taken over by process"):
                lost.check()
            with pytest.raises(LedgerBusy, match="was lost"):
                lost.renew()
            taken.check()


def test_a_lease_that_was_removed_is_lost(ledger: Ledger, clock: ManualClock, place: LedgerPlace) -> None:
    with ledger.lease("local", clock, TTL) as lost:
        with closing(place.database()) as database, database.write() as connection:
            connection.execute(delete(LEASES))
        with pytest.raises(LedgerBusy, match="the lease of cluster local was lost: it was removed from the ledger"):
            lost.check()


def test_who_lost_it_does_not_give_back_the_others(ledger: Ledger, clock: ManualClock, place: LedgerPlace) -> None:
    first = ledger.lease("local", clock, TTL)
    first.__enter__()
    place.age_leases(TTL)
    with ledger.lease("local", clock, TTL) as second:
        first.__exit__(None, None, None)
        second.check()


def test_a_lease_with_its_number_in_a_restored_backup_is_another_one(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    with ledger.lease("local", clock, TTL) as lost:
        place.change_leases(token="of another process")
        for use in (lost.check, lost.renew):
            with pytest.raises(LedgerBusy, match="was lost"):
                use()


def test_a_check_renews_it_when_that_is_due_and_keeps_it_through_any_time(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    with ledger.lease("local", clock, TTL) as lease:
        place.move_leases()
        for seconds, is_due in ((TTL / 3, False), (TTL / 3, True), (TTL * 2 / 3, True), (10 * TTL, True)):
            place.age_leases(seconds)
            before = expiry(place)
            lease.check()
            assert (expiry(place) > before) is is_due
            with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
                pass


@pytest.mark.parametrize(
    ("difference", "has_ended"),
    [
        ({"pid": GONE}, True),
        ({"process_started": 1.0}, True),
        ({"pid": GONE, "place": "another container"}, False),
        ({"pid": GONE, "host": "far-away"}, False),
    ],
)
def test_a_process_of_this_machine_that_ended_does_not_hold_it(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace, difference: dict[str, Any], has_ended: bool
) -> None:
    """The process id does not exist, or another process has it now; a process id of another place says nothing."""
    with ledger.lease("local", clock, TTL):
        place.change_leases(**difference)
        with nullcontext() if has_ended else pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL) as taken:
            taken.check()


def test_threads_that_find_it_due_at_once_renew_it_once(ledger: Ledger, clock: ManualClock, place: LedgerPlace) -> None:
    with ledger.lease("local", clock, TTL) as lease, ThreadPoolExecutor(8) as pool:
        place.age_leases(TTL * 2 / 3)
        together = Barrier(8)

        def check() -> None:
            together.wait()
            lease.check()

        with writes() as renewals:
            for done in [pool.submit(check) for _ in range(8)]:
                done.result()
    assert renewals == ["UPDATE leases"]


def test_who_writes_does_not_wait_for_who_renews(sqlite_ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    """One thread has the database's lock, the other the lease's: if each waited for the other, both would hang."""
    with sqlite_ledger.lease("local", clock, TTL) as lease, ThreadPoolExecutor(1) as pool:
        clock.seconds += TTL * 2 / 3
        with Database("sqlite:///state.db", tmp_path).write() as connection:
            renewing = pool.submit(lease.check)
            while not lease._renewing.locked():
                assert not renewing.done()
            lease.require(connection)
        renewing.result()


def test_the_number_rises_with_each_acquisition(ledger: Ledger, clock: ManualClock) -> None:
    """Also after the lease was given back, so that an earlier holder never has the number of a later one."""
    numbers = []
    for _ in range(3):
        with ledger.lease("local", clock, TTL) as lease:
            numbers.append(lease.number)
    with ledger.lease("other", clock, TTL) as lease:
        assert (numbers, lease.number) == ([1, 2, 3], 1)


def test_a_cluster_is_held_only_as_long_as_the_leader_is(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    leader, next_leader = ledger.leadership(clock), ledger.leadership(clock)
    leader.acquire()
    with pytest.raises(LedgerBusy, match=r"^the leader is process \d+ on .* since \d{4}-"):
        next_leader.acquire()
    with ledger.lease("local", clock, TTL, leader) as lease:
        lease.check()
        place.age_leases(leader.ttl)
        next_leader.acquire()
        with pytest.raises(LedgerBusy, match=r"the lease of the leader was lost.*taken over by process"):
            lease.check()
        with (
            pytest.raises(LedgerBusy, match="the lease of the leader was lost"),
            closing(place.database()) as database,
            database.write() as connection,
        ):
            lease.require(connection)
    with pytest.raises(LedgerBusy, match="the lease of the leader was lost"), ledger.lease("local", clock, TTL, leader):
        pass
    assert next_leader.number == leader.number + 1


def test_checking_a_cluster_keeps_the_leader_alive(ledger: Ledger, clock: ManualClock, place: LedgerPlace) -> None:
    """If the thread that renews was late, for example because the process was suspended."""
    leader = ledger.leadership(clock)
    leader.acquire()
    with ledger.lease("local", clock, TTL, leader) as lease:
        place.age_leases(leader.ttl * 2)
        lease.check()
        with pytest.raises(LedgerBusy, match="the leader is process"):
            ledger.leadership(clock).acquire()


def test_a_lease_is_renewed_while_its_holder_waits(ledger: Ledger, place: LedgerPlace) -> None:
    """As during a request to Connect: without any check. If it is not renewed, this test ends by its timeout."""
    with ledger.lease("local", SystemClock(), 0.3):
        first = expiry(place)
        while expiry(place) == first:
            continue


def test_of_replicas_that_campaign_at_once_one_is_elected(place: LedgerPlace, clock: ManualClock) -> None:
    together, ledgers = Barrier(4), [place.open() for _ in range(4)]

    def campaign(ledger: Ledger) -> int:
        lease = ledger.leadership(clock)
        together.wait()
        with suppress(LedgerBusy):
            lease.acquire()
        return lease.number

    for number in (1, 2):  # the row of the lease is inserted, and then it is updated
        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(campaign, ledgers)) == [0, 0, 0, number]
        place.age_leases(LEASE_SECONDS)


def test_postgresql_ends_the_transaction_of_a_suspended_process(postgres_ledger: LedgerPlace) -> None:
    """Otherwise its locks would keep others from the lease for as long as it is suspended."""
    ledger, clock = postgres_ledger.open(), ManualClock()
    with ledger.lease("suspended", clock) as lease, closing(postgres_ledger.database()) as database:
        with database.write() as connection:
            lease.require(connection)
            assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "5s"
        with database.write() as connection:
            assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "0"


def test_postgresql_keeps_others_from_the_lease_until_the_transaction_ends(postgres_ledger: LedgerPlace) -> None:
    ledger, free = postgres_ledger.open(), "SELECT 1 FROM leases WHERE name = 'held' FOR UPDATE SKIP LOCKED"
    with ledger.lease("held", ManualClock()) as lease, closing(postgres_ledger.database()) as database:
        with closing(postgres_ledger.database()) as elsewhere, elsewhere.write() as other:
            assert len(other.exec_driver_sql(free).all()) == 1
        with closing(postgres_ledger.database()) as elsewhere, database.write() as connection:
            lease.require(connection)
            with elsewhere.write() as other:
                assert other.exec_driver_sql(free).all() == []


@pytest.mark.parametrize(("earlier", "has_ended"), [(1.9, False), (2.1, True)])
def test_another_process_with_the_same_id_has_started_at_another_time(earlier: float, has_ended: bool) -> None:
    this = Process.current()
    assert replace(this, started=this.started - earlier).has_ended() is has_ended


def test_a_process_that_ended_and_was_not_waited_for_has_ended() -> None:
    """A zombie still has its process id."""
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as child:
        booted = psutil.boot_time()
        started = psutil.Process(child.pid).create_time() - booted
        theirs = replace(Process.current(), pid=child.pid, started=started)
        assert child.stdout
        child.stdout.read()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert theirs.has_ended()


HOUR = 3600.0


def set_clock_back(place: LedgerPlace) -> None:
    """As if the clock by which leases expire were set back by an hour."""
    place.age_leases(-HOUR)


def test_a_lease_that_was_given_back_is_free_although_the_clock_was_set_back(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    with ledger.lease("local", clock, TTL):
        pass
    set_clock_back(place)
    with ledger.lease("local", clock, TTL) as lease:
        lease.check()


def test_the_lease_of_a_process_that_was_lost_expires_in_its_time_although_the_clock_was_set_back(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    """After a restart of its machine, nobody can see that the process has ended."""
    with ledger.lease("local", clock, TTL):
        place.move_leases()
        set_clock_back(place)
        with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
            pass
        place.age_leases(TTL)
        with ledger.lease("local", clock, TTL) as taken:
            taken.check()


def test_who_holds_a_lease_keeps_it_when_the_clock_is_set_back(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace
) -> None:
    with ledger.lease("local", clock, TTL) as lease:
        place.move_leases()
        set_clock_back(place)
        assert lease.check() <= TTL, "another process may limit it to that"
        place.age_leases(TTL * 2 / 3)
        with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
            pass
        lease.check()


def test_a_process_runs_although_the_clock_was_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux derives the time at which a process began from the time of day."""
    this, place = Process.current(), Path(psutil.PROCFS_PATH)
    (tmp_path / str(this.pid)).symlink_to(place / str(this.pid))
    stat = (place / "stat").read_text()
    booted = int(psutil.boot_time())
    (tmp_path / "stat").write_text(stat.replace(f"btime {booted}", f"btime {booted - int(HOUR)}"))
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert psutil.boot_time() == booted - int(HOUR)
    assert not this.has_ended()
