from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from manual_clock import ManualClock
from sqlalchemy import Engine, event, select, update

from gitops_connect.errors import LedgerBusy
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import LEASES
from gitops_connect.runtime import SystemClock

TTL = 60.0


def move_elsewhere(directory: Path, **values: object) -> None:
    """Change every lease to one of a process on another machine."""
    with Database("sqlite:///state.db", directory).write() as connection:
        connection.execute(update(LEASES).values(**{"host": "far-away", "place": "elsewhere", **values}))


def test_one_holder_at_a_time_and_the_next_after_it(ledger: Ledger, clock: ManualClock) -> None:
    with (
        ledger.lease("local", clock, TTL) as lease,
        pytest.raises(LedgerBusy, match=r"cluster local is in use by process \d+ on .* since 2026-11-21 10:00"),
        ledger.lease("local", clock, TTL),
    ):
        pass
    lease_after = ledger.lease("local", clock, TTL)
    with lease_after as lease:
        lease.check()


def test_clusters_do_not_hold_one_another_up(ledger: Ledger, clock: ManualClock) -> None:
    with ledger.lease("local", clock, TTL) as one, ledger.lease("other", clock, TTL) as two:
        one.check()
        two.check()


def test_it_is_given_back_after_an_error_too(ledger: Ledger, clock: ManualClock) -> None:
    with pytest.raises(KeyboardInterrupt), ledger.lease("local", clock, TTL):
        raise KeyboardInterrupt
    with ledger.lease("local", clock, TTL) as lease:
        lease.check()


def test_a_ledger_that_is_gone_does_not_hide_the_error(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    def lose_it() -> None:
        with ledger.lease("local", clock, TTL):
            (tmp_path / "state.db").unlink()
            (tmp_path / "state.db").mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lose_it()


def test_from_another_machine_it_is_taken_over_only_when_expired(
    ledger: Ledger, clock: ManualClock, tmp_path: Path
) -> None:
    with ledger.lease("local", clock, TTL) as lost:
        move_elsewhere(tmp_path)
        clock.seconds += TTL - 1
        with pytest.raises(LedgerBusy, match="on far-away"), ledger.lease("local", clock, TTL):
            pass
        clock.seconds += 1
        with ledger.lease("local", clock, TTL) as taken:
            taken.check()
            with pytest.raises(LedgerBusy, match=r"the lease of cluster local was lost.*taken over by process"):
                lost.check()
            with pytest.raises(LedgerBusy, match="was lost"):
                lost.renew()
            taken.check()


def test_who_lost_it_does_not_give_back_the_others(ledger: Ledger, clock: ManualClock) -> None:
    first = ledger.lease("local", clock, TTL)
    first.__enter__()
    clock.seconds += TTL
    with ledger.lease("local", clock, TTL) as second:
        first.__exit__(None, None, None)
        second.check()


def test_checking_keeps_it_alive_through_any_time(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    with ledger.lease("local", clock, TTL) as lease:
        move_elsewhere(tmp_path)
        for _ in range(20):
            clock.seconds += TTL / 2
            lease.check()
            with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
                pass


def test_checking_often_does_not_write_each_time(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    with ledger.lease("local", clock, TTL) as lease:
        before = (tmp_path / "state.db").read_bytes()
        lease.check()
        clock.seconds += TTL / 2
        lease.check()
        assert (tmp_path / "state.db").read_bytes() == before
        clock.seconds += 0.1
        lease.check()
        assert (tmp_path / "state.db").read_bytes() != before


def test_expired_and_taken_by_nobody_it_is_ours_again(ledger: Ledger, clock: ManualClock) -> None:
    with ledger.lease("local", clock, TTL) as lease:
        clock.seconds += 10 * TTL
        lease.check()
        with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
            pass


@pytest.mark.parametrize("difference", [{"pid": 2**22 + 1}, {"process_started": 1.0}])
def test_a_process_of_this_machine_that_ended_does_not_hold_it(
    ledger: Ledger, clock: ManualClock, tmp_path: Path, difference: dict[str, float]
) -> None:
    """The process id does not exist, or another process has it now."""
    with ledger.lease("local", clock, TTL):
        with Database("sqlite:///state.db", tmp_path).write() as connection:
            connection.execute(update(LEASES).values(**difference))
        with ledger.lease("local", clock, TTL) as taken:
            taken.check()


@pytest.mark.parametrize("difference", [{"place": "another container"}, {"host": "far-away"}])
def test_a_process_id_of_another_place_says_nothing(
    ledger: Ledger, clock: ManualClock, tmp_path: Path, difference: dict[str, str]
) -> None:
    with ledger.lease("local", clock, TTL):
        with Database("sqlite:///state.db", tmp_path).write() as connection:
            connection.execute(update(LEASES).values(pid=2**22 + 1, **difference))
        with pytest.raises(LedgerBusy), ledger.lease("local", clock, TTL):
            pass


def test_threads_that_find_it_due_at_once_renew_it_once(ledger: Ledger, clock: ManualClock) -> None:
    renewals: list[str] = []

    def note(*arguments: Any) -> None:
        if str(arguments[2]).startswith("UPDATE leases"):
            renewals.append(arguments[2])

    with ledger.lease("local", clock, TTL) as lease, ThreadPoolExecutor(8) as pool:
        clock.seconds += TTL * 2 / 3
        together = Barrier(8)

        def check() -> None:
            together.wait()
            lease.check()

        event.listen(Engine, "before_cursor_execute", note)
        try:
            for done in [pool.submit(check) for _ in range(8)]:
                done.result()
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert len(renewals) == 1


def test_who_writes_does_not_wait_for_who_renews(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    """One thread has the database's lock, the other the lease's: if each waited for the other, both would hang."""
    with ledger.lease("local", clock, TTL) as lease, ThreadPoolExecutor(1) as pool:
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


def test_a_cluster_is_held_only_as_long_as_the_leader_is(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    leader, next_leader = ledger.leadership(clock), ledger.leadership(clock)
    leader.acquire()
    with pytest.raises(LedgerBusy, match=r"^the leader is process \d+ on .* since 2026-11-21 10:00"):
        next_leader.acquire()
    with ledger.lease("local", clock, TTL, leader) as lease:
        lease.check()
        move_elsewhere(tmp_path)
        clock.seconds += leader.ttl
        next_leader.acquire()
        with pytest.raises(LedgerBusy, match=r"the lease of the leader was lost.*taken over by process"):
            lease.check()
        with (
            pytest.raises(LedgerBusy, match="the lease of the leader was lost"),
            Database("sqlite:///state.db", tmp_path).write() as connection,
        ):
            lease.require(connection)
    with pytest.raises(LedgerBusy, match="the lease of the leader was lost"), ledger.lease("local", clock, TTL, leader):
        pass
    assert next_leader.number == leader.number + 1


def test_checking_a_cluster_keeps_the_leader_alive(ledger: Ledger, clock: ManualClock, tmp_path: Path) -> None:
    """If the thread that renews was late, for example because the process was suspended."""
    leader = ledger.leadership(clock)
    leader.acquire()
    with ledger.lease("local", clock, TTL, leader) as lease:
        move_elsewhere(tmp_path)
        clock.seconds += leader.ttl * 2
        lease.check()
        with pytest.raises(LedgerBusy, match="the leader is process"):
            ledger.leadership(clock).acquire()


def test_a_lease_is_renewed_while_its_holder_waits(ledger: Ledger, tmp_path: Path) -> None:
    """As during a request to Connect: without any check. If it is not renewed, this test ends by its timeout."""

    def expiry() -> object:
        with Database("sqlite:///state.db", tmp_path).read() as connection:
            return connection.execute(select(LEASES.c.expires)).scalar_one()

    with ledger.lease("local", SystemClock(), 0.3):
        first = expiry()
        while expiry() == first:
            continue
