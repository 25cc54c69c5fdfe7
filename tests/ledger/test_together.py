"""Several writes that are one transaction, on each kind of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace, transactions
from support.planner.offset_change_values import LOCAL, NOON, SKIP, offsets

from gitops_connect.errors import LedgerBusy
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName, Digest, Revision
from gitops_connect.model.observed_state import OffsetPosition

ORDERS = ConnectorName("orders")


def test_the_writes_of_a_block_are_one_transaction_that_it_reads_and_others_do_not(ledger: Ledger) -> None:
    with transactions() as found, ThreadPoolExecutor(1) as pool:
        with ledger.together():
            assert pool.submit(ledger.stopped.of, LOCAL).result() == {}, "a block without a write locks nothing"
            ledger.offset_changes.begin(LOCAL, SKIP, offsets(1), NOON)
            ledger.stopped.record(LOCAL, {ORDERS: TargetState.RUNNING})
            assert ledger.stopped.of(LOCAL) == {ORDERS: TargetState.RUNNING}
            assert pool.submit(ledger.stopped.of, LOCAL).result() == {}
            assert not found
        assert len(found) == 1
        ledger.stopped.record(LOCAL, {}, [ORDERS])
    assert len(found) == 2
    with transactions() as found, ledger.together():
        assert ledger.stopped.of(LOCAL) == {}
    assert not found


def test_a_block_that_raises_has_written_nothing(ledger: Ledger) -> None:
    with suppress(KeyboardInterrupt), ledger.together():
        ledger.offset_changes.begin(LOCAL, SKIP, offsets(1), NOON)
        ledger.record_attempt(LOCAL, Revision("r"), NOON)
        raise KeyboardInterrupt
    assert ledger.offset_changes.records(LOCAL) == {}
    assert ledger.revisions(LOCAL).attempted is None
    ledger.record_attempt(LOCAL, Revision("r"), NOON)
    assert ledger.revisions(LOCAL).attempted is not None


def test_a_block_whose_process_has_lost_the_lease_writes_nothing(ledger: Ledger, place: LedgerPlace) -> None:
    clock = ManualClock()
    position = OffsetPosition(Digest("d"), NOON)
    with suppress(LedgerBusy), ledger.lease(LOCAL, clock) as lease:
        under = ledger.under(lease)
        place.change_leases(number=lease.number + 1)
        with under.together():
            under.status.offset_positions.record(LOCAL, {ORDERS: position})  # needs no lease
            under.record_attempt(LOCAL, Revision("r"), NOON)
    assert ledger.revisions(LOCAL).attempted is None
    assert not ledger.status.offset_positions.of(LOCAL)
