"""What is written to the ledger while a plan is applied, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.planner.situations import (
    CLUSTER,
    NOW,
    REVISION,
    as_observed,
    change,
    current_offsets,
    record,
    seen,
    situation,
    wanted,
)

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ConnectorName, Digest, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, clear_name, seed_name
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Action
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation, Unfinished
from gitops_connect.recorder import LedgerRecords

ORDERS = ConnectorName("orders")


class WatchedLedger(Ledger):
    """A real ledger that counts what is written to it."""

    writes = 0
    on_mark: Callable[[], None] = staticmethod(lambda: None)

    def record(self, *ownerships: Ownership) -> None:
        self.writes += 1
        super().record(*ownerships)

    def forget(self, *about: Any) -> None:
        self.writes += 1
        super().forget(*about)

    def record_attempt(self, *about: Any) -> None:
        self.on_mark()
        self.writes += 1
        super().record_attempt(*about)

    def record_applied(self, *about: Any) -> None:
        self.writes += 1
        super().record_applied(*about)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[WatchedLedger]:
    opened = Ledger.open("sqlite:///state.db", tmp_path, b"k" * 32)
    yield WatchedLedger(opened._database, opened.key)
    opened.close()


def carry_out(
    ledger: Ledger, about: Situation, results: Iterable[Result] | None = None, *, killed: bool = False
) -> None:
    """Apply the plan of a situation: each step succeeds or has its result in `results`; `killed` skips the end."""
    about = replace(about, ownership=ledger.ownership(CLUSTER))
    planned = plan(about)
    records = LedgerRecords(ledger, about, planned, ManualClock())
    records.before()
    ends = list(results) if results is not None else [Result.APPLIED] * len(planned.steps)
    outcomes = [StepOutcome(step, result) for step, result in zip(planned.steps, ends, strict=False)]
    adopted = [one for one in outcomes if one.step.action is Action.ADOPT and one.result is Result.APPLIED]
    if adopted:
        records.adopt([one.step.connector for one in adopted])
    for outcome in outcomes:
        records.after(outcome)
    if not killed:
        records.end(outcomes)


def owned(ledger: Ledger) -> dict[str, Origin]:
    return {name: one.origin for name, one in ledger.ownership(CLUSTER).items()}


def test_each_connector_is_recorded_as_its_last_step_ends(ledger: WatchedLedger) -> None:
    three = situation([wanted(name) for name in ("a", "b", "c")])
    carry_out(ledger, three, [Result.APPLIED, Result.APPLIED], killed=True)
    assert owned(ledger) == {"a": Origin.CREATED, "b": Origin.CREATED}
    assert ledger.revisions(CLUSTER).applied is None


def test_a_created_connector_is_managed_before_its_further_steps(ledger: WatchedLedger) -> None:
    """Otherwise it could never be deleted if its document is removed from Git at that moment."""
    two_steps = situation([wanted("orders", "stopped")], version="3.6.2")
    carry_out(ledger, two_steps, [Result.APPLIED], killed=True)
    half = ledger.ownership(CLUSTER)[ORDERS]
    assert (half.origin, half.desired) == (Origin.CREATED, None), "ours, and not yet as desired"
    there = situation([wanted("orders", "stopped")], [seen("orders")], version="3.6.2")
    carry_out(ledger, there)
    whole = ledger.ownership(CLUSTER)[ORDERS]
    assert whole.origin is Origin.CREATED
    assert whole.desired is not None


@pytest.mark.parametrize("result", [Result.FAILED, Result.SKIPPED])
def test_a_step_without_effect_records_no_ownership(ledger: WatchedLedger, result: Result) -> None:
    carry_out(ledger, situation([wanted("orders")]), [result])
    assert owned(ledger) == {}
    attempted = ledger.revisions(CLUSTER).attempted
    assert attempted is not None
    assert attempted.result == "1 of 1 steps were not applied; the first is of orders"


def test_a_declared_connector_that_exists_is_adopted(ledger: WatchedLedger) -> None:
    same, other = wanted("same"), wanted("other", config={"batch.size": "7"})
    carry_out(ledger, situation([same, other], [as_observed(same), seen("other")]))
    assert owned(ledger) == {"same": Origin.ADOPTED, "other": Origin.ADOPTED}


def test_an_adopted_connector_is_managed_before_its_other_steps_and_in_sync_after_them(ledger: WatchedLedger) -> None:
    """A step that fails leaves it managed, and no secret counts as applied that was not sent."""
    secret = {"database.password": "hunter2"}
    given = situation([wanted("orders", config=secret)], [seen("orders", "PAUSED")])
    carry_out(ledger, given, [Result.APPLIED, Result.FAILED, Result.SKIPPED])
    half = ledger.ownership(CLUSTER)[ORDERS]
    assert (half.origin, half.desired, half.applied) == (Origin.ADOPTED, None, {})
    carry_out(ledger, given)
    whole = ledger.ownership(CLUSTER)[ORDERS]
    assert (whole.origin, set(whole.applied)) == (Origin.ADOPTED, set(secret))
    assert whole.desired is not None


def test_all_adoptions_are_one_write_and_each_is_in_the_journal(ledger: WatchedLedger) -> None:
    many = [wanted(f"orders-{number}") for number in range(5)]
    carry_out(ledger, situation(many, [as_observed(one) for one in many]), killed=True)
    assert len(owned(ledger)) == 5
    assert ledger.writes == 2, "the attempt, and all that were adopted"
    steps = ledger.status.steps(CLUSTER, limit=10)
    assert sorted((one.connector, one.action) for one in steps) == [(one.name, Action.ADOPT) for one in many]


def test_a_connector_that_is_only_adopted_is_recorded_in_sync_with_one_write(ledger: WatchedLedger) -> None:
    orders = wanted("orders")
    carry_out(ledger, situation([orders], [as_observed(orders)]), killed=True)
    assert ledger.ownership(CLUSTER)[ORDERS].desired is not None
    assert ledger.writes == 2, "the attempt, and the connector"


@pytest.mark.parametrize("result", [Result.FAILED, Result.SKIPPED])
def test_a_connector_is_unmanaged_until_its_adoption_is_applied(ledger: WatchedLedger, result: Result) -> None:
    orders = wanted("orders")
    carry_out(ledger, situation([orders], [as_observed(orders)]), [result])
    assert owned(ledger) == {}


@pytest.mark.parametrize("more", [{"suspend": True}, {"mode": "observe"}])
def test_a_suspended_or_observed_connector_is_not_adopted(ledger: WatchedLedger, more: dict[str, Any]) -> None:
    looked_at = wanted("orders", **more)
    carry_out(ledger, situation([looked_at], [as_observed(looked_at)]))
    assert owned(ledger) == {}


SUSPENDED = Suspensions(connectors={ORDERS: Suspension(SuspendedBy.COMMAND, who="ana@ops-1", since=NOW)})
HELD_BACK: list[dict[str, Any]] = [{"suspensions": SUSPENDED}, {"reviews": Reviews(ReviewMode.MANUAL)}]


@pytest.mark.parametrize("held_back", HELD_BACK, ids=lambda one: next(iter(one)))
def test_a_connector_of_which_only_an_offset_change_is_finished_is_not_recorded_as_in_sync(
    ledger: WatchedLedger, held_back: dict[str, Any]
) -> None:
    """Its new config is not sent. If it were recorded, the config would count as drift, which needs no review."""
    orders, back = wanted("orders"), change("back", "orders", acknowledge=["rewind"])
    carry_out(ledger, situation([orders], [as_observed(orders)]))
    before, applied = ledger.ownership(CLUSTER), ledger.revisions(CLUSTER).applied
    begun = OffsetChange(back.name, ORDERS, OffsetChangeKind.ALTER, back.digest, REVISION, current_offsets(a=4))
    offsets = OffsetSituation(
        {back.name: record(back, "in_progress")},
        {back.name: Unfinished(begun, current_offsets(a=20))},
        current={ORDERS: current_offsets(a=20)},
    )
    changed = wanted("orders", config={"a": "b"})
    finished = situation([changed], [seen("orders", "STOPPED")], offsets=offsets, changes=[back], **held_back)
    assert [step.action.value for step in plan(finished).steps] == ["alter", "resume"]
    carry_out(ledger, replace(finished, revision=Revision("newer")))
    assert ledger.ownership(CLUSTER) == before
    assert ledger.revisions(CLUSTER).applied == applied


@pytest.mark.parametrize(
    ("more", "is_applied"),
    [
        ({"desired": {"suspend": True}}, True),
        ({"desired": {"mode": "observe"}}, True),
        ({"suspensions": Suspensions(Suspension(SuspendedBy.SETTINGS, whole_cluster=True))}, False),
        ({"policy": Policy(enforce=False)}, False),
        ({"reviews": Reviews(ReviewMode.MANUAL)}, False),
        ({"reviews": Reviews(ReviewMode.REVIEWED)}, True),
    ],
)
def test_a_revision_is_applied_if_nothing_but_its_documents_leaves_steps_out(
    ledger: WatchedLedger, more: dict[str, Any], is_applied: bool
) -> None:
    carry_out(ledger, situation([wanted("orders", **more.pop("desired", {}))], **more))
    assert (ledger.revisions(CLUSTER).applied is not None) is is_applied


def test_an_invalid_or_unknown_connector_is_not_recorded_as_applied(ledger: WatchedLedger) -> None:
    orders = wanted("orders")
    carry_out(ledger, situation([orders], [as_observed(orders)], invalid=frozenset({ORDERS})))
    carry_out(ledger, situation([orders], [as_observed(orders)], unknown=["orders"]))
    assert owned(ledger) == {}


def test_a_connector_that_is_stopped_with_an_invalid_config_is_not_in_sync(ledger: WatchedLedger) -> None:
    """Its new secret was not sent. Otherwise a server that masks it would never get it."""
    before = wanted("orders", config={"database.password": "hunter2"})
    carry_out(ledger, situation([before], [as_observed(before)]))
    recorded = ledger.ownership(CLUSTER)[ORDERS]
    after = wanted("orders", "stopped", config={"database.password": "hunter3", "file": ""})
    carry_out(ledger, situation([after], [as_observed(before)], invalid=frozenset({ORDERS})))
    assert ledger.ownership(CLUSTER)[ORDERS] == recorded


def test_a_deleted_connector_is_forgotten(ledger: WatchedLedger) -> None:
    orders = wanted("orders")
    carry_out(ledger, situation([orders]))
    carry_out(ledger, situation([wanted("orders", "absent")], [seen("orders")]))
    assert owned(ledger) == {}


def test_a_pruned_connector_is_forgotten_and_a_kept_one_is_not(ledger: WatchedLedger) -> None:
    carry_out(ledger, situation([wanted("orders"), wanted("other")]))
    left = [wanted("other")], [seen("orders"), seen("other")]
    carry_out(ledger, situation(*left))
    assert owned(ledger).keys() == {"orders", "other"}, "prune is off"
    carry_out(ledger, situation(*left, policy=Policy(prune=True)))
    assert owned(ledger).keys() == {"other"}


def test_a_connector_that_is_neither_declared_nor_observed_is_forgotten(ledger: WatchedLedger) -> None:
    carry_out(ledger, situation([wanted("orders"), wanted("other")]))
    carry_out(ledger, situation([wanted("other")], [seen("other")]))
    assert owned(ledger).keys() == {"other"}


def test_a_reconciliation_without_changes_writes_nothing(ledger: WatchedLedger) -> None:
    orders, secret = wanted("orders"), wanted("secret", config={"database.password": "hunter2"})
    there = situation([orders, secret], [as_observed(orders), as_observed(secret)])
    carry_out(ledger, situation([orders, secret]))
    carry_out(ledger, there)
    ledger.writes = 0
    carry_out(ledger, there)
    assert ledger.writes == 0


def test_a_document_that_changed_to_the_observed_state_is_recorded(ledger: WatchedLedger) -> None:
    """Otherwise the next difference would be taken for a change of the document, and not for drift."""
    carry_out(ledger, situation([wanted("orders")]))
    before = ledger.ownership(CLUSTER)[ORDERS].desired
    paused = wanted("orders", "paused")
    carry_out(ledger, situation([paused], [as_observed(paused)]))
    assert ledger.ownership(CLUSTER)[ORDERS].desired != before


def test_a_revision_is_applied_when_no_step_remains(ledger: WatchedLedger) -> None:
    two = situation([wanted("a"), wanted("b")])
    carry_out(ledger, two, [Result.APPLIED, Result.FAILED])
    assert ledger.revisions(CLUSTER).applied is None
    carry_out(ledger, situation([wanted("a"), wanted("b")], [seen("a")]))
    known = ledger.revisions(CLUSTER)
    assert known.applied is not None
    assert known.applied.revision == REVISION
    assert known.attempted is not None
    assert known.attempted.result == "", "the earlier failure is fixed"


def test_a_revision_with_blocked_documents_is_not_applied(ledger: WatchedLedger) -> None:
    carry_out(ledger, situation([wanted("a")], held=["broken"]))
    assert ledger.revisions(CLUSTER).applied is None
    assert owned(ledger) == {"a": Origin.CREATED}


def test_another_revision_with_equal_documents_is_noted_as_applied(ledger: WatchedLedger) -> None:
    orders = wanted("orders")
    carry_out(ledger, situation([orders]))
    newer = replace(situation([orders], [as_observed(orders)]), revision=Revision("f" * 40))
    carry_out(ledger, newer)
    applied = ledger.revisions(CLUSTER).applied
    assert applied is not None
    assert applied.revision == "f" * 40


class TestOperations:
    """Offset changes that need no step, and the results of those that have one."""

    def known(self, ledger: Ledger) -> dict[str, str]:
        return {name: one.state.value for name, one in ledger.offset_changes.records(CLUSTER).items()}

    def test_changes_of_unknown_outcome_are_recorded_before_the_revision(self, ledger: WatchedLedger) -> None:
        about = situation(
            [wanted("orders")],
            [as_observed(wanted("orders"))],
            changes=[change("c", "orders")],
            offsets=OffsetSituation(current={ORDERS: current_offsets(a=1)}, is_new=True),
        )
        seen_at_the_attempt: list[dict[str, str]] = []
        ledger.on_mark = lambda: seen_at_the_attempt.append(self.known(ledger))
        carry_out(ledger, about)
        assert self.known(ledger) == {"c": "unknown"}
        assert seen_at_the_attempt[0] == {"c": "unknown"}

    @pytest.mark.parametrize("state", ["intended", "failed"])
    def test_a_seed_that_was_removed_before_it_was_applied_is_forgotten(
        self, ledger: WatchedLedger, state: str
    ) -> None:
        seed = record(change(seed_name(ORDERS), "orders", "seed"), state)
        ledger.offset_changes.mark(CLUSTER, seed)
        about = situation(
            [wanted("orders")],
            [as_observed(wanted("orders"))],
            offsets=OffsetSituation({seed.name: seed}),
        )
        carry_out(ledger, about)
        assert self.known(ledger) == {}

    def test_a_deletion_with_its_offsets_lets_a_later_connector_be_seeded(self, ledger: WatchedLedger) -> None:
        seed = record(change(seed_name(ORDERS), "orders", "seed"), "applied")
        ledger.offset_changes.mark(CLUSTER, seed)
        gone = replace(wanted("orders", "absent"), on_delete=OnDelete.RESET)
        about = situation([gone], [seen("orders")], offsets=OffsetSituation({seed.name: seed}))
        ledger.record(Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW))
        clear = plan(replace(about, ownership=ledger.ownership(CLUSTER))).steps[1].offset_change
        assert clear is not None
        ledger.offset_changes.begin(CLUSTER, clear, current_offsets(a=1), NOW)
        carry_out(ledger, about)
        assert self.known(ledger) == {clear_name(ORDERS): "released", seed.name: "released"}
        assert owned(ledger) == {}

    def test_an_interrupted_deletion_is_recognized_from_the_cluster(self, ledger: WatchedLedger) -> None:
        clear = OffsetChange(clear_name(ORDERS), ORDERS, OffsetChangeKind.CLEAR, Digest("d"), REVISION)
        ledger.offset_changes.begin(CLUSTER, clear, current_offsets(a=1), NOW)
        unfinished = {clear.name: Unfinished(clear, current_offsets(a=1))}
        records = ledger.offset_changes.records(CLUSTER)
        carry_out(ledger, situation([], [], offsets=OffsetSituation(records, unfinished)))
        assert self.known(ledger) == {clear.name: "released"}

    def test_the_handling_of_offsets_at_deletion_is_recorded_with_the_connector(self, ledger: WatchedLedger) -> None:
        orders = replace(wanted("orders"), on_delete=OnDelete.RESET)
        carry_out(ledger, situation([orders], [as_observed(orders)]))
        assert ledger.ownership(CLUSTER)[ORDERS].on_delete is OnDelete.RESET
        carry_out(ledger, situation([wanted("orders")], [as_observed(orders)]))
        assert ledger.ownership(CLUSTER)[ORDERS].on_delete is OnDelete.KEEP
