"""Which daemon leads: the decisions, on a manual clock and with two ledgers of the same file."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace

from gitops_connect.daemon.leadership import RETRY, Leadership
from gitops_connect.errors import LedgerBusy, LedgerUnusable
from gitops_connect.ledger.leases import LEASE_SECONDS, Lease
from gitops_connect.ledger.ledger import Ledger

pytestmark = pytest.mark.slow

URL = "sqlite:///state.db"


class Replica:
    """A daemon's part in the election, on its own connection to the ledger."""

    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.ledger = Ledger.open(URL, directory, None)
        self.elected = self.lost = 0
        self.tried: list[Exception | None] = []
        self.leadership = Leadership(self.ledger, clock, self._count, self._count_loss, self.tried.append)
        self.step = self.leadership.step

    def _count(self) -> None:
        self.elected += 1

    def _count_loss(self) -> None:
        self.lost += 1


Pair = tuple[Replica, Replica]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def pair(tmp_path: Path, clock: ManualClock) -> Pair:
    return Replica(tmp_path, clock), Replica(tmp_path, clock)


def test_the_first_is_elected_and_renews_and_the_second_follows(pair: Pair, clock: ManualClock) -> None:
    first, second = pair
    assert first.step() == LEASE_SECONDS / 3
    for _ in range(10):
        clock.seconds += LEASE_SECONDS / 3
        assert (first.step(), second.step()) == (LEASE_SECONDS / 3, RETRY)
    assert (first.leadership.is_leader, first.elected, first.leadership.leader) == (True, 1, "")
    assert (second.leadership.is_leader, second.elected) == (False, 0)
    assert second.leadership.leader.startswith("the leader is process ")
    assert {*first.tried, *second.tried} == {None}


def test_a_follower_takes_over_when_the_leader_is_silent_and_the_leader_steps_down(
    pair: Pair, clock: ManualClock, tmp_path: Path
) -> None:
    first, second = pair
    first.step()
    LedgerPlace(URL, tmp_path).move_leases()
    waited = 0.0
    while not second.leadership.is_leader:
        waited += (wait := second.step())
        clock.seconds += wait
    assert waited <= LEASE_SECONDS + RETRY + LEASE_SECONDS / 3
    lost, won = first.leadership.lease, second.leadership.lease
    assert lost is not None
    assert won is not None
    assert won.number == lost.number + 1
    with pytest.raises(LedgerBusy, match="the lease of the leader was lost"):
        lost.check()
    assert first.step() == RETRY
    assert (first.leadership.is_leader, first.lost, second.lost) == (False, 1, 0)


def test_a_leader_that_cannot_renew_is_no_leader_when_its_lease_is_over(
    pair: Pair, clock: ManualClock, tmp_path: Path
) -> None:
    first, _ = pair
    first.step()
    aside = (tmp_path / "state.db").rename(tmp_path / "aside")
    (tmp_path / "state.db").write_bytes(b"no database" * 100)
    assert first.tried == [None]
    for seconds in (3, 3, 3):
        clock.seconds += seconds
        assert first.step() == RETRY
        assert first.leadership.is_leader
    clock.seconds += 1
    first.step()
    assert not first.leadership.is_leader
    assert first.step() == RETRY, "it cannot be elected either"
    assert [type(one) for one in first.tried[1:]] == [LedgerUnusable] * 5
    aside.rename(tmp_path / "state.db")
    first.step()
    assert (first.leadership.is_leader, first.elected, first.tried[-1]) == (True, 2, None)


def test_a_leader_that_ends_is_followed_at_once(pair: Pair) -> None:
    first, second = pair
    first.step()
    first.leadership.end()
    second.step()
    assert (first.leadership.is_leader, second.leadership.is_leader) == (False, True)


def test_a_second_daemon_with_an_sqlite_ledger_is_rejected_by_the_name_of_the_first(
    pair: Pair, clock: ManualClock, tmp_path: Path
) -> None:
    """At once if the first one is here and runs; otherwise when its lease should be over, but was renewed."""
    first, second = pair
    first.step()
    text = (
        r"an SQLite ledger allows one daemon, and the leader is process \d+ on .*: stop that process, or .*PostgreSQL"
    )
    with pytest.raises(LedgerBusy, match=text.replace(":", ";")):
        second.leadership.begin()
    assert clock.slept == []
    LedgerPlace(URL, tmp_path).move_leases()
    clock.meanwhile = first.step  # type: ignore[assignment]
    with pytest.raises(LedgerBusy, match=r"process .* on far-away"):
        second.leadership.begin()
    assert sum(clock.slept) == LEASE_SECONDS + RETRY


def test_a_daemon_that_was_killed_in_another_container_is_replaced_when_its_lease_is_over(
    pair: Pair, clock: ManualClock, tmp_path: Path
) -> None:
    first, second = pair
    first.step()
    LedgerPlace(URL, tmp_path).move_leases()
    second.leadership.begin()
    assert second.leadership.is_leader
    assert sum(clock.slept) == LEASE_SECONDS
    second.leadership.end()


def test_a_daemon_that_was_suspended_in_its_first_attempt_waits_as_long_as_others(
    pair: Pair, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by seed 1066: the lease was written before the clock was set back, and the first attempt limits it."""
    first, second = pair
    clock.seconds = 3600
    first.step()
    LedgerPlace(URL, tmp_path).move_leases()
    clock.seconds = 0
    acquire, suspended = Lease.acquire, [LEASE_SECONDS + 2]

    def slowly(lease: Lease) -> None:
        clock.seconds += suspended.pop() if suspended else 0
        acquire(lease)

    monkeypatch.setattr(Lease, "acquire", slowly)
    second.leadership.begin()
    assert second.leadership.is_leader
