"""What is written to the ledger while a plan is applied, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, update
from support.cluster.manual_clock import ManualClock
from support.files.tables import cases
from support.ledger.ledger_places import transactions
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

from gitops_connect.errors import LedgerBusy, LedgerUnusable
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import LEASES
from gitops_connect.model.applied_effects import EffectApproval
from gitops_connect.model.config_histories import ConfigHistory, QueuedConfig
from gitops_connect.model.desired import DesiredConnector, OnDelete, OnManualPause, TargetState
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, clear_name, seed_name
from gitops_connect.model.outcomes import ActorKind, Result, StepOutcome
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.restart_records import RequestKind, RestartRecord, RestartRequest
from gitops_connect.model.reviewed_plans import (
    Approval,
    DestructiveEffect,
    DestructiveKind,
    PlanPurpose,
    ReviewedConnector,
    ReviewedPlan,
    ReviewMode,
    Reviews,
)
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.rollbacks import declared_config
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
def ledger(sqlite_ledger: Ledger) -> WatchedLedger:
    return WatchedLedger(sqlite_ledger._database, sqlite_ledger.key)


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
        records.after([outcome], [].append)
    if not killed:
        records.end(outcomes)


def owned(ledger: Ledger) -> dict[str, Origin]:
    return {name: one.origin for name, one in ledger.ownership(CLUSTER).items()}


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["case"])
def test_case(ledger: WatchedLedger, case: Mapping[str, Any]) -> None:
    for given in case["rounds"]:
        before, ledger.writes = ledger.ownership(CLUSTER), 0
        results = [Result(one) for one in given["results"]] if "results" in given else None
        carry_out(ledger, about(given), results, killed=given.get("killed", False))
        ownership, revisions = ledger.ownership(CLUSTER), ledger.revisions(CLUSTER)
        found = {
            "owned": {name: one.origin.value for name, one in ownership.items()},
            "in_sync": [name for name, one in ownership.items() if one.desired is not None],
            "secrets": [f"{name} {key}" for name, one in ownership.items() for key in one.applied],
            "on_delete": {name: one.on_delete.value for name, one in ownership.items()},
            "revision": revisions.applied and revisions.applied.revision,
            "attempted": revisions.attempted and revisions.attempted.result,
            "writes": ledger.writes,
            "unchanged": ownership == before,
        }
        expected = {key: given[key] for key in found.keys() & given.keys()}
        assert {key: found[key] for key in expected} == expected


def about(given: Mapping[str, Any]) -> Situation:
    desired = {name: declared(name, **fields) for name, fields in given["desired"].items()}
    observed = [
        as_observed(desired[name]) if fields == "same" else seen(name, **fields)
        for name, fields in given.get("observed", {}).items()
    ]
    more = {key: given[key] for key in ("held", "unknown", "version") if key in given}
    more |= {"invalid": frozenset(given.get("invalid", ())), "policy": Policy(**given.get("policy", {}))}
    if given.get("suspended"):
        more["suspensions"] = Suspensions(Suspension(SuspendedBy.SETTINGS, whole_cluster=True))
    if "review" in given:
        more["reviews"] = Reviews(ReviewMode(given["review"]))
    return replace(situation(desired.values(), observed, **more), revision=Revision(given.get("at", REVISION)))


def declared(name: str, on_delete: str = "keep", **fields: Any) -> DesiredConnector:
    return wanted(name, on_delete=OnDelete(on_delete), **fields)


def test_all_adoptions_are_one_write_and_each_is_in_the_journal(ledger: WatchedLedger) -> None:
    many = [wanted(f"orders-{number}") for number in range(5)]
    carry_out(ledger, situation(many, [as_observed(one) for one in many]), killed=True)
    assert len(owned(ledger)) == 5
    assert ledger.writes == 2, "the attempt, and all that were adopted"
    steps = ledger.status.steps(CLUSTER, limit=10)
    assert sorted((one.connector, one.action) for one in steps) == [(one.name, Action.ADOPT) for one in many]


def test_steps_that_end_together_are_one_write_and_each_is_in_the_journal(ledger: WatchedLedger) -> None:
    about = situation([wanted(f"orders-{number}") for number in range(5)], [])
    planned = plan(about)
    outcomes = [StepOutcome(step, Result.APPLIED) for step in planned.steps]
    recorded: list[StepOutcome] = []
    with transactions() as found:
        LedgerRecords(ledger, about, planned, ManualClock()).after(outcomes, recorded.append)
    assert (len(owned(ledger)), len(found)) == (5, 1)
    steps = ledger.status.steps(CLUSTER)
    assert {one.id: one.step.connector for one in recorded} == {one.id: one.connector for one in steps}


def test_a_step_has_its_actor_its_approval_and_its_request(ledger: WatchedLedger) -> None:
    """The config of an earlier commit was approved; its author is known from a step of that commit."""
    earlier, orders = Revision("e" * 40), wanted("orders", config={"topic": "new"})
    queued = ConfigHistory(queued=QueuedConfig(declared_config(orders).digest, earlier))
    about = replace(situation([orders], [seen("orders")], owned=["orders"]), author="Eva")
    reviewed = reviewed_plan(7, earlier, [plan(about)])
    ledger.reviews.record(reviewed, PlanPurpose.APPROVAL, NOW)
    for who in ("bob", "ana"):
        assert ledger.reviews.approve(Approval(7, reviewed.digest, who, NOW, "comment 1"))
    LedgerRecords(ledger, replace(about, revision=earlier, author="Ana"), plan(about), ManualClock()).after(
        [StepOutcome(plan(about).steps[0], Result.SKIPPED)], [].append
    )
    reviews = Reviews(ReviewMode.MANUAL, approved=(reviewed,))
    about = replace(about, reviews=reviews, config_histories={ORDERS: queued})
    (step,) = plan(about).steps
    outcome = StepOutcome(step, Result.APPLIED, request="PUT /connectors/orders/config", answer="HTTP 200")
    LedgerRecords(ledger, about, plan(about), ManualClock()).after([outcome], [].append)
    found = ledger.status.steps(CLUSTER, ORDERS)[0]
    assert (found.actor, found.who, found.commit) == (ActorKind.PERSON, "Ana", earlier)
    assert (found.revision, found.author) == (REVISION, "Eva")
    assert (found.pull_request, found.approved_digest, found.approved_by) == (7, reviewed.digest, "ana, bob")
    assert (found.request, found.answer) == ("PUT /connectors/orders/config", "HTTP 200")


def test_a_restart_after_which_the_connector_is_failed_again_is_recorded_as_failed(ledger: WatchedLedger) -> None:
    failed = situation([wanted("orders")], [seen("orders", tasks=["Boom"])], owned=["orders"])
    about = replace(failed, policy=Policy(concurrent_restarts=1), author="Eva")
    (step,) = plan(about).steps
    for message in ("task 0 is FAILED again: Boom", ""):
        outcome = StepOutcome(step, Result.APPLIED, message)
        LedgerRecords(ledger, about, plan(about), ManualClock()).after([outcome], [].append)
    found = [(one.actor, one.who, one.result) for one in ledger.status.steps(CLUSTER, ORDERS)]
    assert found == [(ActorKind.AUTOMATIC_RESTART, "", one) for one in (Result.APPLIED, Result.FAILED)]


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
    finished = replace(finished, ownership=before)
    assert [step.action.value for step in plan(finished).steps] == ["alter", "resume"]
    carry_out(ledger, replace(finished, revision=Revision("newer")))
    assert ledger.ownership(CLUSTER) == before
    assert ledger.revisions(CLUSTER).applied == applied


def test_a_created_connector_that_waits_for_an_offset_change_is_not_recorded_as_in_sync(ledger: WatchedLedger) -> None:
    """It is still stopped. If it were recorded, someone seemed to have stopped it by hand, and it stayed stopped."""
    ledger.record(Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW))
    offsets = OffsetSituation(current={ORDERS: current_offsets(a=20)})
    waiting = situation(
        [wanted("orders")], [seen("orders", "STOPPED")], offsets=offsets, changes=[change("back", "orders")]
    )
    waiting = replace(waiting, ownership=ledger.ownership(CLUSTER))
    assert not plan(waiting).steps
    carry_out(ledger, waiting)
    assert ledger.ownership(CLUSTER)[ORDERS].desired is None


def test_a_connector_that_waits_for_another_offset_change_returns_when_that_is_withdrawn(ledger: WatchedLedger) -> None:
    """Found by seed 7081: the plan that stops it does not resume it, so that it seemed to be stopped by hand."""
    orders = wanted("orders")
    carry_out(ledger, situation([orders], [as_observed(orders)]))
    both = [change("back", "orders", acknowledge=["rewind"]), change("then-reset", "orders", "reset")]
    offsets = OffsetSituation(manifests={both[0].name: current_offsets(a=4)}, current={ORDERS: current_offsets(a=20)})
    stops = situation([orders], [as_observed(orders)], offsets=offsets, changes=both)
    stops = replace(stops, ownership=ledger.ownership(CLUSTER))
    planned = plan(stops)
    assert [step.action for step in planned.steps] == [Action.STOP, Action.ALTER]
    LedgerRecords(ledger, stops, planned, ManualClock()).stopping(ORDERS)
    withdrawn = situation([orders], [seen("orders", "STOPPED")], policy=Policy(on_manual_pause=OnManualPause.RESPECT))
    withdrawn = replace(withdrawn, ownership=ledger.ownership(CLUSTER), stopped=ledger.stopped.of(CLUSTER))
    assert [step.action for step in plan(withdrawn).steps] == [Action.RESUME]


@pytest.mark.parametrize(("state", "is_known"), [("UNASSIGNED", True), ("STOPPED", True), ("RUNNING", False)])
def test_a_stopped_connector_that_moves_to_another_worker_was_not_started(
    ledger: WatchedLedger, state: str, *, is_known: bool
) -> None:
    """Found by seed 24878: it could not be resumed after its offset change, and seemed to be stopped by hand."""
    ledger.stopped.record(CLUSTER, {ORDERS: TargetState.RUNNING})
    moving = situation([wanted("orders")], [seen("orders", state)], stopped=ledger.stopped.of(CLUSTER))
    LedgerRecords(ledger, moving, plan(moving), ManualClock()).before()
    assert bool(ledger.stopped.of(CLUSTER)) is is_known


def test_a_step_of_a_connector_whose_initial_offsets_failed_does_not_record_it_as_in_sync(
    ledger: WatchedLedger,
) -> None:
    """Found by seed 18336: the connector is still stopped, and seemed to have been stopped by hand."""
    seed, reset = change(seed_name(ORDERS), "orders", "seed"), change("back", "orders", "reset", acknowledge=["reset"])
    ledger.record(Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW))
    failed = record(seed, "failed", final=True)
    offsets = OffsetSituation({seed.name: failed}, current={ORDERS: current_offsets(a=20)})
    stopped = situation(
        [wanted("orders", initial_offsets=seed)], [seen("orders", "STOPPED")], offsets=offsets, changes=[reset]
    )
    stopped = replace(stopped, ownership=ledger.ownership(CLUSTER))
    assert [step.action.value for step in plan(stopped).steps] == ["reset"]
    carry_out(ledger, stopped)
    assert ledger.ownership(CLUSTER)[ORDERS].desired is None


def test_a_rejected_config_ends_no_trial_of_the_config_before(ledger: WatchedLedger) -> None:
    """Found by seed 1727: the next connector of the rollout got its config during the trial that was forgotten."""
    first, second = (wanted("orders", config={"batch.size": size}) for size in ("1", "2"))
    known = situation([first], [seen("orders")])
    LedgerRecords(ledger, known, plan(known), ManualClock()).configuring(ORDERS)
    on_trial = ledger.configs.of(CLUSTER)
    assert on_trial[ORDERS].trial is not None
    newer = situation([second], [as_observed(first)], config_histories=on_trial)
    records = LedgerRecords(ledger, newer, plan(newer), ManualClock())
    records.configuring(ORDERS)
    assert ledger.configs.of(CLUSTER) != on_trial
    records.rejected(ORDERS)
    waits = QueuedConfig(declared_config(second).digest, newer.revision)
    assert ledger.configs.of(CLUSTER) == {ORDERS: replace(on_trial[ORDERS], queued=waits)}
    later = replace(newer, revision=Revision("later"), config_histories=ledger.configs.of(CLUSTER))
    records = LedgerRecords(ledger, later, plan(later), ManualClock())
    records.before()
    records.configuring(ORDERS)
    trial = ledger.configs.of(CLUSTER)[ORDERS].trial
    assert trial is not None
    assert trial.revision == newer.revision, "it belongs to the commit that declared it"


@pytest.mark.parametrize(("result", "is_counted"), [(Result.FAILED, True), (Result.APPLIED, False)])
def test_restarts_are_counted_until_another_config_is_in_effect(
    ledger: WatchedLedger, result: Result, *, is_counted: bool
) -> None:
    """Seed 12016: they counted from 0 again as soon as a config was planned, which Connect then rejected."""
    counted = {ORDERS: RestartRecord(3, NOW)}
    ledger.restarts.record(CLUSTER, counted)
    failed = seen("orders", "FAILED")
    carry_out(
        ledger, situation([wanted("orders", config={"a": "b"})], [failed], restarts=counted), [Result.APPLIED, result]
    )
    assert ledger.restarts.of(CLUSTER) == (counted if is_counted else {})


def test_a_requested_reset_of_topics_is_recorded_once_it_is_carried_out(ledger: WatchedLedger) -> None:
    """A connector that does not exist does not become managed by it."""
    gone = situation([wanted("orders", "absent", reset_topics="1")])
    carry_out(ledger, gone, [Result.FAILED])
    assert ledger.restart_requests.of(CLUSTER) == {}
    carry_out(ledger, gone)
    done = {(ORDERS, RequestKind.TOPICS): "1"}
    assert (ledger.restart_requests.of(CLUSTER), owned(ledger)) == (done, {})
    assert not plan(replace(gone, restart_requests=done)).steps
    there = wanted("orders", reset_topics="2")
    carry_out(ledger, situation([there], [as_observed(there)], restart_requests=done))
    done = {(ORDERS, RequestKind.TOPICS): "2"}
    assert (ledger.restart_requests.of(CLUSTER), owned(ledger)) == (done, {"orders": Origin.ADOPTED})


@pytest.mark.parametrize(
    ("results", "is_managed"),
    [
        ([Result.APPLIED, Result.SKIPPED], True),
        ([Result.APPLIED, Result.FAILED], False),
        ([Result.APPLIED, Result.APPLIED], False),
        ([Result.FAILED, Result.SKIPPED], True),
    ],
)
def test_a_deleted_connector_is_forgotten_after_the_reset_of_its_topics(
    ledger: WatchedLedger, results: list[Result], *, is_managed: bool
) -> None:
    """If the process ends between the two, the next reconciliation resets what the deletion has left."""
    there, absent = wanted("orders"), wanted("orders", "absent", on_delete=OnDelete.KEEP_AND_RESET_TOPICS)
    carry_out(ledger, situation([there], [as_observed(there)]))
    before = ledger.ownership(CLUSTER)
    carry_out(ledger, replace(situation([absent], [as_observed(there)]), ownership=before), results)
    assert bool(owned(ledger)) is is_managed
    if results[0] is Result.APPLIED:
        gone = replace(situation([absent]), ownership=ledger.ownership(CLUSTER))
        assert [step.action.value for step in plan(gone).steps] == ["reset-topics"] * is_managed
        carry_out(ledger, gone)
        assert owned(ledger) == {}


@contextmanager
def breaking(table: str, error: BaseException, of: str = "") -> Iterator[None]:
    """Each insertion into the table, or each with that value, raises the error meanwhile."""

    def fail(*arguments: Any) -> None:
        if str(arguments[2]).startswith(f"INSERT INTO {table} ") and of in str(arguments[3]):
            raise error

    event.listen(Engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", fail)


class TestOutcomes:
    """The step and its effect are one transaction."""

    def records(self, ledger: Ledger) -> tuple[LedgerRecords, Plan]:
        about = situation([wanted("orders")])
        return LedgerRecords(ledger, about, plan(about), ManualClock()), plan(about)

    def journal(self, ledger: Ledger) -> list[Action]:
        return [one.action for one in ledger.status.steps(CLUSTER)]

    def test_what_an_outcome_means_is_one_transaction(self, ledger: WatchedLedger) -> None:
        """Of a restart on request, of a config, of the end of a stop, and of a deletion with offsets and topics."""
        names = [ConnectorName(one) for one in ("gone", "orders", "other")]
        ledger.record(*(Ownership(CLUSTER, one, Origin.CREATED, REVISION, NOW) for one in names))
        counted = {one: RestartRecord(3, NOW) for one in names}
        ledger.restarts.record(CLUSTER, counted)
        ledger.stopped.record(CLUSTER, dict.fromkeys(names, TargetState.RUNNING))
        desired = [
            wanted("gone", "absent", on_delete=OnDelete.RESET),
            wanted("orders", config={"a": "b"}),
            wanted("other", restarts=(RestartRequest(RequestKind.CONNECTOR, "1"),)),
        ]
        observed = [seen("gone"), seen("orders", "STOPPED"), seen("other")]
        about = situation(desired, observed, restarts=counted)
        about = replace(about, ownership=ledger.ownership(CLUSTER), stopped=ledger.stopped.of(CLUSTER))
        planned = plan(about)
        records = LedgerRecords(ledger, about, planned, ManualClock())
        clear = next(one.offset_change for one in planned.steps if one.action is Action.RESET)
        assert clear is not None
        ledger.offset_changes.begin(CLUSTER, clear, current_offsets(a=1), NOW)
        with transactions() as before:
            records.before()
        assert len(before) <= 1
        for step in planned.steps:
            recorded: list[StepOutcome] = []
            with transactions() as found:
                records.after([StepOutcome(step, Result.APPLIED)], recorded.append)
            assert len(found) == 1, step
            assert recorded[0].id is not None
        actions = {step.action.value for step in planned.steps}
        assert actions == {"stop", "reset", "delete", "configure", "resume", "restart"}
        assert ("orders" in ledger.restarts.of(CLUSTER), ledger.stopped.of(CLUSTER)) == (False, {})
        assert owned(ledger).keys() == {"orders", "other"}

    def test_a_seeded_connector_is_recorded_in_one_transaction_before_it_is_created(
        self, ledger: WatchedLedger
    ) -> None:
        records, planned = self.records(ledger)
        seed = change(seed_name(ORDERS), "orders", "seed")
        offset_change = OffsetChange(seed.name, ORDERS, OffsetChangeKind.SEED, seed.digest, REVISION)
        step = replace(planned.steps[0], offset_change=offset_change)
        with transactions() as found:
            records.creating([step])
            records.creating([step])
        assert len(found) == 1
        assert (owned(ledger), len(ledger.offset_changes.records(CLUSTER))) == ({"orders": Origin.CREATED}, 1)

    @pytest.mark.parametrize("earlier", ["", "intended", "released"], ids=["new", "begun earlier", "deleted earlier"])
    def test_a_connector_that_was_not_created_is_not_managed(self, ledger: WatchedLedger, earlier: str) -> None:
        """One that someone else creates would be deleted with its document, and stopped for its initial offsets."""
        seed = change(seed_name(ORDERS), "orders", "seed")
        if earlier == "intended":
            ledger.record(Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW))
        if earlier:
            ledger.offset_changes.mark(CLUSTER, replace(record(seed, earlier), before=Digest("removed by `intend`")))
        about = situation(
            [wanted("orders", initial_offsets=seed)],
            owned=ledger.ownership(CLUSTER),
            offsets=OffsetSituation(
                ledger.offset_changes.records(CLUSTER), manifests={seed.name: current_offsets(a=1)}
            ),
        )
        planned = plan(about)
        step = planned.steps[0]
        assert (step.action, step.offset_change is not None) == (Action.CREATE, True)
        records = LedgerRecords(ledger, about, planned, ManualClock())
        records.creating([step])
        assert (owned(ledger).keys(), ledger.offset_changes.records(CLUSTER).keys()) == ({"orders"}, {seed.name})
        records.after([StepOutcome(step, Result.FAILED, created_nothing=True)], [].append)
        assert owned(ledger).keys() == ({"orders"} if earlier == "intended" else set())
        left = ledger.offset_changes.records(CLUSTER).values()
        assert [(one.state.value, one.before) for one in left] == ([(earlier, None)] if earlier else [])

    def test_a_process_that_is_killed_has_recorded_all_of_an_outcome_or_nothing(self, ledger: WatchedLedger) -> None:
        records, planned = self.records(ledger)
        for table in ("ownership", "steps"):
            with breaking(table, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
                records.after([StepOutcome(planned.steps[0], Result.APPLIED)], [].append)
            assert (owned(ledger), self.journal(ledger)) == ({}, [])

    def test_a_step_that_the_journal_does_not_take_has_its_effect_recorded(self, ledger: WatchedLedger) -> None:
        records, planned = self.records(ledger)
        recorded: list[StepOutcome] = []
        with breaking("steps", LedgerUnusable("the disk is full")):
            records.after([StepOutcome(planned.steps[0], Result.APPLIED)], recorded.append)
        assert (recorded[0].id, owned(ledger), self.journal(ledger)) == (None, {"orders": Origin.CREATED}, [])

    def test_a_bug_in_the_record_of_one_step_does_not_keep_another_one_from_being_recorded(
        self, ledger: WatchedLedger
    ) -> None:
        about = situation([wanted("orders"), wanted("other")])
        planned = plan(about)
        records = LedgerRecords(ledger, about, planned, ManualClock())
        recorded: list[StepOutcome] = []
        with breaking("ownership", ZeroDivisionError(), of="'orders'"), pytest.raises(ZeroDivisionError):
            records.after([StepOutcome(step, Result.APPLIED) for step in planned.steps], recorded.append)
        assert [one.step.connector for one in recorded] == ["other"]
        assert owned(ledger).keys() == {"other"}

    def test_a_process_without_its_lease_records_only_what_it_did(self, ledger: WatchedLedger) -> None:
        with suppress(LedgerBusy), ledger.lease(CLUSTER, ManualClock()) as lease:
            records, planned = self.records(ledger.under(lease))
            with ledger._database.write() as connection:
                connection.execute(update(LEASES).values(number=lease.number + 1))
            with pytest.raises(LedgerBusy, match="was lost"):
                records.after([StepOutcome(planned.steps[0], Result.APPLIED)], [].append)
        assert (owned(ledger), self.journal(ledger)) == ({}, [Action.CREATE])

    def test_a_creation_that_was_skipped_because_the_lease_was_lost_is_reported(self, ledger: WatchedLedger) -> None:
        reported: list[StepOutcome] = []
        with suppress(LedgerBusy), ledger.lease(CLUSTER, ManualClock()) as lease:
            records, planned = self.records(ledger.under(lease))
            with ledger._database.write() as connection:
                connection.execute(update(LEASES).values(number=lease.number + 1))
            skipped = StepOutcome(planned.steps[0], Result.SKIPPED, created_nothing=True)
            with pytest.raises(LedgerBusy, match="was lost"):
                records.after([skipped], reported.append)
        assert [one.result for one in reported] == [Result.SKIPPED]


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

    @pytest.mark.parametrize(
        ("there", "left"), [([seen("orders", "STOPPED")], {seed_name(ORDERS): "intended"}), ([], {})]
    )
    def test_a_seed_is_kept_while_its_connector_waits_to_be_deleted(
        self, ledger: WatchedLedger, there: list[ObservedConnector], left: dict[str, str]
    ) -> None:
        """Found by seed 90666: its document was restored, and the connector was started without its offsets."""
        seed = record(change(seed_name(ORDERS), "orders", "seed"), "intended")
        ledger.offset_changes.mark(CLUSTER, seed)
        carry_out(ledger, situation([], there, offsets=OffsetSituation({seed.name: seed})))
        assert self.known(ledger) == left

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

    @pytest.mark.parametrize(("there", "returns"), [("RUNNING", ["resume"]), ("PAUSED", ["pause"])])
    def test_a_connector_that_was_stopped_to_be_deleted_returns_to_its_state_if_its_document_is_restored(
        self, ledger: WatchedLedger, there: str, returns: list[str]
    ) -> None:
        """Found by seed 20261: the process was killed, and the connector seemed to be stopped by hand."""
        policy = Policy(prune=True, on_manual_pause=OnManualPause.RESPECT)
        orders, other = wanted("orders", on_delete=OnDelete.RESET), wanted("other")
        carry_out(ledger, situation([orders, other], [as_observed(orders), as_observed(other)]))
        owned = ledger.ownership(CLUSTER)
        removed = situation([other], [seen("orders", there), as_observed(other)], policy=policy)
        removed = replace(removed, ownership=owned)
        LedgerRecords(ledger, removed, plan(removed), ManualClock()).stopping(ORDERS)
        restored = situation([orders, other], [seen("orders", "STOPPED"), as_observed(other)], policy=policy)
        restored = replace(restored, ownership=owned, stopped=ledger.stopped.of(CLUSTER))
        assert [step.action.value for step in plan(restored).steps] == returns

    def test_an_interrupted_deletion_is_recognized_from_the_cluster(self, ledger: WatchedLedger) -> None:
        clear = OffsetChange(clear_name(ORDERS), ORDERS, OffsetChangeKind.CLEAR, Digest("d"), REVISION)
        ledger.offset_changes.begin(CLUSTER, clear, current_offsets(a=1), NOW)
        unfinished = {clear.name: Unfinished(clear, current_offsets(a=1))}
        records = ledger.offset_changes.records(CLUSTER)
        carry_out(ledger, situation([], [], offsets=OffsetSituation(records, unfinished)))
        assert self.known(ledger) == {clear.name: "released"}


def test_a_change_of_unknown_outcome_keeps_the_time_since_when_it_is_unknown(ledger: WatchedLedger) -> None:
    one = change("back", "orders")
    known = record(one, "unknown", since=NOW - timedelta(days=1))
    ledger.offset_changes.mark(CLUSTER, known)
    about = situation([wanted("orders")], [seen("orders")], owned=["orders"])
    about = replace(about, desired=replace(about.desired, offset_changes=(one,)))
    carry_out(ledger, replace(about, offsets=OffsetSituation({one.name: known})))
    assert ledger.offset_changes.find(CLUSTER, one.name) == known


def test_who_approved_a_change_is_recorded_when_it_begins(ledger: WatchedLedger) -> None:
    sent = OffsetChange(OffsetChangeName("back"), ORDERS, OffsetChangeKind.ALTER, Digest("d1"), REVISION)
    effect = DestructiveEffect(DestructiveKind.REWIND, sent.name, sent.digest, 2)
    reviewed = ReviewedPlan(7, REVISION, Digest("p"), {CLUSTER: {ORDERS: ReviewedConnector((), (effect,))}})
    ledger.reviews.record(reviewed, PlanPurpose.APPROVAL, NOW)
    assert ledger.reviews.approve(Approval(7, reviewed.digest, "ana", NOW, ""))
    about = replace(situation([wanted("orders")]), reviews=Reviews(ReviewMode.REVIEWED, approved=(reviewed,)))
    records = LedgerRecords(ledger, about, plan(about), ManualClock())
    records.begin(sent, current_offsets(a=1), Difference({Direction.REWIND: 2}))
    recorded = ledger.offset_changes.effects(CLUSTER, [sent.name]).get(sent.name)
    assert recorded is not None
    assert recorded.difference.counts == {Direction.REWIND: 2}
    words = "rewind of 2 partitions (offset change back)"
    assert recorded.approvals == (EffectApproval(7, reviewed.digest, "ana", NOW, (words,)),)
