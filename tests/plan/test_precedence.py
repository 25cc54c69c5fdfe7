"""Which intents pass which holds: every cell of the law of precedence, as plans of one connector show it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.planner.situations import (
    CLASS,
    DOCUMENT,
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

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.config_histories import ConfigHistory, ConfigTrial, RolledBack
from gitops_connect.model.desired import DesiredConnector, OnManualPause, TargetState
from gitops_connect.model.exactly_once import SUPPORT, ExactlyOnceSupport
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ConnectorName, Digest, Revision
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, clear_name
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action
from gitops_connect.model.restart_records import RequestKind, RestartRequest
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice, RolloutDecision
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.precedence import PASSES, Intent
from gitops_connect.plan.rollbacks import declared_config
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation, Unfinished

ORDERS = ConnectorName("orders")
EARLIER = Revision("0" * 40)
SHAPE = BUILT_IN.shape({"connector.class": CLASS})
BACK = change("back", "orders", acknowledge=["rewind"])
CLEAR = OffsetChange(clear_name(ORDERS), ORDERS, OffsetChangeKind.CLEAR, Digest("d"), REVISION)


def given(
    desired: DesiredConnector, observed: ObservedConnector | None, *, applied: bool = False, **more: Any
) -> Situation:
    """A managed connector. `applied`: its document was applied before, so that differences are drift."""
    made = situation([desired], () if observed is None else [observed], owned=["orders"], **more)
    if not applied:
        return made
    return replace(made, ownership={ORDERS: remember(made, desired, Origin.CREATED, NOW)})


def with_back(made: Situation, to: int = 10, **more: Any) -> Situation:
    """With the offset change `back`, from position 20 of the file a."""
    assert SHAPE is not None
    desired = replace(made.desired, offset_changes=(BACK,))
    offsets = OffsetSituation(
        manifests={BACK.name: current_offsets(a=to)},
        current={ORDERS: current_offsets(a=20)},
        shapes={ORDERS: SHAPE},
        **more,
    )
    return replace(made, desired=desired, offsets=offsets)


def begun(made: Situation) -> Situation:
    begun = OffsetChange(
        BACK.name, ORDERS, BACK.kind, BACK.digest, REVISION, current_offsets(a=10), frozenset(BACK.acknowledged)
    )
    unfinished = {BACK.name: Unfinished(begun, current_offsets(a=20))}
    return with_back(made, records={BACK.name: record(BACK, "in_progress")}, unfinished=unfinished)


def half_deleted(made: Situation) -> Situation:
    return replace(made, offsets=replace(made.offsets, records={CLEAR.name: record(CLEAR, "in_progress")}))


PLAIN = wanted("orders")
OTHER = wanted("orders", config={"topic": "new"})
RUNS, STOPPED = as_observed(PLAIN), replace(as_observed(PLAIN), state=WorkerState.STOPPED, tasks=())
FAILED = seen("orders", tasks=["Boom"])
ROLLED_BACK = RolledBack(Digest("bad"), REVISION, "task 0 is FAILED", ("topic",), NOW)
LISTING = RequestedListing(BACK.name, ORDERS, None, "offsets", "", "orders.json", DOCUMENT.location)

INTENTS: Mapping[Intent, tuple[Action, Callable[[], Situation]]] = {
    Intent.FINISH_DELETION: (Action.DELETE, lambda: half_deleted(given(PLAIN, STOPPED, applied=True))),
    Intent.FINISH: (Action.ALTER, lambda: begun(given(PLAIN, STOPPED, applied=True))),
    Intent.RETURN: (Action.RESUME, lambda: given(PLAIN, STOPPED, applied=True, stopped={ORDERS: TargetState.RUNNING})),
    Intent.ROLL_BACK: (Action.ROLL_BACK, lambda: given(replace(OTHER, rolled_back=ROLLED_BACK), RUNS)),
    Intent.CORRECT: (Action.CONFIGURE, lambda: given(OTHER, RUNS, applied=True)),
    Intent.HALT: (Action.STOP, lambda: given(wanted("orders", "stopped"), RUNS, applied=True)),
    Intent.RESUME: (Action.RESUME, lambda: given(PLAIN, STOPPED, applied=True)),
    Intent.CREATE: (Action.CREATE, lambda: given(PLAIN, None)),
    Intent.CONFIGURE: (Action.CONFIGURE, lambda: given(OTHER, RUNS)),
    Intent.STOP: (Action.STOP, lambda: given(wanted("orders", "stopped"), RUNS)),
    Intent.START: (Action.RESUME, lambda: given(PLAIN, STOPPED)),
    Intent.CHANGE_OFFSETS: (Action.ALTER, lambda: with_back(given(PLAIN, RUNS, applied=True))),
    Intent.DELETE: (Action.DELETE, lambda: given(wanted("orders", "absent"), RUNS)),
    Intent.RESTART: (
        Action.RESTART,
        lambda: given(wanted("orders", restarts=(RestartRequest(RequestKind.CONNECTOR, "1"),)), RUNS, applied=True),
    ),
    Intent.AUTO_RESTART: (
        Action.RESTART,
        lambda: given(PLAIN, FAILED, applied=True, policy=Policy(concurrent_restarts=2)),
    ),
    Intent.RESET_TOPICS: (
        Action.RESET_TOPICS,
        lambda: given(wanted("orders", reset_topics="1"), RUNS, applied=True),
    ),
    Intent.ADOPT: (Action.ADOPT, lambda: situation([PLAIN], [RUNS])),
    Intent.LIST: (Action.LIST, lambda: listing(given(PLAIN, RUNS, applied=True, policy=Policy(lists_offsets=True)))),
    Intent.RECORD: (Action.RECORD, lambda: with_back(given(PLAIN, RUNS, applied=True), to=20)),
}
"""For each intent: the action of its step, and a situation in which it is due."""


def listing(made: Situation) -> Situation:
    return replace(made, desired=replace(made.desired, listings=(LISTING,)))


def observe(made: Situation) -> Situation:
    return replace(made, policy=replace(made.policy, enforce=False))


def suspend(made: Situation) -> Situation:
    return replace(made, suspensions=Suspensions(connectors={ORDERS: Suspension(SuspendedBy.COMMAND, who="ana")}))


def lose(made: Situation) -> Situation:
    return replace(made, observed=replace(made.observed, connectors={}, unknown=frozenset({ORDERS})))


BROKEN = ConnectorName("broken")


def halted(made: Situation) -> Situation:
    """With a connector that does not work with its config of this commit, so that the rollout has stopped."""
    broken = wanted("broken")
    failed = ConfigHistory(trial=ConfigTrial(declared_config(broken).digest, REVISION, NOW, was_healthy=True))
    connectors = {**made.observed.connectors, BROKEN: seen("broken", tasks=["Boom"])}
    return replace(
        made,
        desired=replace(made.desired, connectors=(broken, *made.desired.connectors)),
        observed=replace(made.observed, connectors=connectors),
        policy=replace(made.policy, rollout_max_failures=1),
        config_histories={BROKEN: failed},
    )


def abandoned(made: Situation) -> Situation:
    """With a rollout that somebody has abandoned."""
    decision = RolloutDecision(RolloutChoice.SKIP, "ana", NOW, "")
    return replace(made, rollout_decisions={(made.revision, WHOLE_ROLLOUT): decision})


def reconfigured(made: Situation) -> Situation:
    """With another config in the document, which was not applied yet."""
    if not made.desired.connectors[0].config.keys() >= {"topic"}:
        (desired,) = made.desired.connectors
        changed = replace(desired, config={**desired.config, "topic": "new"})
        made = replace(made, desired=replace(made.desired, connectors=(changed,)))
    return replace(made, ownership={name: replace(one, desired=None) for name, one in made.ownership.items()})


def weakened(made: Situation) -> Situation:
    """With a config on the cluster that guarantees exactly-once, as the document does not."""
    connectors = {
        name: replace(one, config={**one.config, SUPPORT: "required"}) for name, one in made.observed.connectors.items()
    }
    support = ExactlyOnceSupport.ENABLED
    return replace(made, observed=replace(made.observed, connectors=connectors, exactly_once=support))


WRONG = change("wrong", "orders")


def with_wrong_offsets(made: Situation) -> Situation:
    """With an offset change that has errors."""
    changes = (*made.desired.offset_changes, WRONG)
    manifests = {**made.offsets.manifests, WRONG.name: None}
    offsets = replace(made.offsets, manifests=manifests, current={ORDERS: current_offsets(a=20)})
    return replace(made, desired=replace(made.desired, offset_changes=changes), offsets=offsets)


DOOMED = ConnectorName("doomed")


def guarded(made: Situation) -> Situation:
    """With the deletion of a protected connector."""
    connectors = {**made.observed.connectors, DOOMED: seen("doomed")}
    owned = situation(owned=["doomed"]).ownership
    return replace(
        made,
        observed=replace(made.observed, connectors=connectors),
        ownership={**made.ownership, **owned},
        policy=replace(made.policy, prune=True, protected=("doomed",), max_deletions=1, guards_hold=True),
    )


HOLDS: Mapping[HoldKind, Callable[[Situation], Situation]] = {
    HoldKind.UNREADABLE: lose,
    HoldKind.OBSERVE: observe,
    HoldKind.SUSPENDED: suspend,
    HoldKind.DELETION: half_deleted,
    HoldKind.GUARD: guarded,
    HoldKind.INVALID: lambda made: replace(made, invalid=frozenset({ORDERS})),
    HoldKind.UNREVIEWED: lambda made: replace(made, reviews=Reviews(ReviewMode.MANUAL)),
    HoldKind.UNACKNOWLEDGED: lambda made: weakened(reconfigured(made)),
    HoldKind.ROLLOUT: lambda made: abandoned(reconfigured(made)),
    HoldKind.STOPPED_ROLLOUT: lambda made: halted(reconfigured(made)),
    HoldKind.OFFSET_CHANGE: with_wrong_offsets,
}
"""For each hold: what puts it in force."""

OF_AN_APPLIED_DOCUMENT = (Intent.CORRECT, Intent.HALT, Intent.RESUME)
NEVER_MEET = {
    **{
        (hold, intent): why
        for hold in (HoldKind.UNACKNOWLEDGED, HoldKind.ROLLOUT, HoldKind.STOPPED_ROLLOUT)
        for intent, why in {
            **dict.fromkeys(OF_AN_APPLIED_DOCUMENT, "a document with a new config was not applied before"),
            Intent.ROLL_BACK: "the restored config was applied before",
            Intent.CREATE: "no other config is in effect",
            Intent.RECORD: "the connector is stopped for the change",
            Intent.DELETE: "the connector is deleted, with any config",
            Intent.FINISH_DELETION: "the connector is deleted, with any config",
        }.items()
    },
    (HoldKind.DELETION, Intent.CREATE): "a deletion of a connector that does not exist has ended",
    (HoldKind.UNREADABLE, Intent.CREATE): "whether the connector exists is unknown",
    (HoldKind.INVALID, Intent.ADOPT): "a connector with an invalid config is adopted only together with other steps",
}


def steps(made: Situation) -> list[tuple[Action, str]]:
    return [(step.action, step.reason) for step in plan(made).steps if step.connector == ORDERS]


def due(intent: Intent) -> tuple[Action, str]:
    """The step that is for the intent, as it is planned without a hold."""
    action, made = INTENTS[intent]
    (found,) = (step for step in steps(made()) if step[0] is action)
    return found


CELLS = [cell for cell in itertools.product(HOLDS, Intent) if cell not in NEVER_MEET]


@pytest.mark.parametrize(("hold", "intent"), CELLS, ids=lambda one: one.name)
def test_every_cell(hold: HoldKind, intent: Intent) -> None:
    assert (due(intent) in steps(HOLDS[hold](INTENTS[intent][1]()))) is (intent in PASSES[hold])


def unreviewed(made: Situation) -> Situation:
    return replace(made, reviews=Reviews(ReviewMode.MANUAL))


@pytest.mark.parametrize("intent", [Intent.RESTART, Intent.RESET_TOPICS, Intent.ADOPT, Intent.LIST])
def test_a_change_that_waits_for_its_review_blocks_nothing_that_needs_none(intent: Intent) -> None:
    made = INTENTS[intent][1]()
    config = {**made.desired.connectors[0].config, "topic": "new"}
    changed = replace(made.desired, connectors=(replace(made.desired.connectors[0], config=config),))
    planned = unreviewed(replace(made, desired=changed))
    (orders,) = plan(planned).connectors
    assert [step.action for step in orders.steps] == [INTENTS[intent][0]]
    assert (orders.applicable, orders.is_partial, [step.action for step in orders.held]) == (
        True,
        True,
        [Action.CONFIGURE],
    )


def test_a_manual_pause_lets_a_reset_of_active_topics_pass_and_no_restart() -> None:
    desired = wanted(
        "orders",
        reset_topics="1",
        restarts=(RestartRequest(RequestKind.CONNECTOR, "1"),),
        on_manual_pause=OnManualPause.RESPECT,
    )
    made = given(desired, replace(RUNS, state=WorkerState.PAUSED), applied=True)
    assert [action for action, _ in steps(made)] == [Action.RESET_TOPICS]


def test_a_deletion_that_was_begun_is_not_finished_once_the_document_only_observes() -> None:
    made = half_deleted(given(wanted("orders", mode="observe"), STOPPED, applied=True))
    assert steps(made) == []
    (orders,) = plan(made).connectors
    assert [one.kind for one in orders.holds] == [HoldKind.OBSERVE]


def test_a_deletion_that_has_failed_is_not_finished_and_a_stop_for_an_offset_change_is_no_drift() -> None:
    made = given(PLAIN, RUNS, applied=True)
    assert steps(replace(made, offsets=replace(made.offsets, records={CLEAR.name: record(CLEAR, "failed")}))) == []
    assert plan(with_back(made)).drifted == ()


def test_a_stopped_rollout_strands_no_connector_that_was_stopped_for_an_offset_change() -> None:
    made = halted(begun(given(OTHER, STOPPED)))
    assert [action for action, _ in steps(made)] == [Action.ALTER, Action.RESUME]
    assert [step.action for one in plan(made).connectors for step in one.held] == [Action.CONFIGURE]


def test_a_stopped_rollout_prevents_no_restart_and_no_stop() -> None:
    failed = halted(given(OTHER, FAILED, policy=Policy(concurrent_restarts=2)))
    assert [action for action, _ in steps(failed)] == [Action.RESTART]
    stopped = halted(given(wanted("orders", "stopped", config={"topic": "new"}), RUNS))
    assert [action for action, _ in steps(stopped)] == [Action.STOP]


def test_drift_is_corrected_and_offsets_are_changed_in_a_stopped_rollout() -> None:
    drifted = halted(with_back(given(OTHER, RUNS, applied=True)))
    assert [action for action, _ in steps(drifted)] == [Action.STOP, Action.CONFIGURE, Action.ALTER, Action.RESUME]


def test_an_offset_change_waits_with_the_config_of_its_commit() -> None:
    (orders, *_) = plan(halted(with_back(given(OTHER, RUNS)))).connectors[-1:]
    assert (orders.applicable, [step.action for step in orders.steps][1:3]) == (
        False,
        [Action.CONFIGURE, Action.ALTER],
    )


@pytest.mark.parametrize(
    ("desired", "is_partial"), [(PLAIN, False), (replace(OTHER, rolled_back=ROLLED_BACK), True)], ids=["list", "back"]
)
def test_a_document_is_not_in_effect_without_its_config_and_is_without_a_listing(
    desired: DesiredConnector, is_partial: bool
) -> None:
    policy = Policy(lists_offsets=True)
    (orders,) = plan(suspend(listing(begun(given(desired, STOPPED, applied=True, policy=policy))))).connectors
    assert [step.action for step in orders.steps] == [Action.ALTER, Action.RESUME]
    assert (orders.is_partial, len(orders.held)) == (is_partial, 1 + is_partial)


def test_an_offset_change_that_is_blocked_anyway_does_not_wait_for_the_review() -> None:
    desired = replace(OTHER, restarts=(RestartRequest(RequestKind.CONNECTOR, "1"),))
    made = with_wrong_offsets(given(desired, RUNS))
    (orders,), (free,) = plan(unreviewed(made)).connectors, plan(made).connectors
    assert [step.action for step in orders.steps] == [Action.RESTART]
    assert orders.offset_changes == free.offset_changes != ()


def test_of_a_suspended_connector_only_what_gitops_connect_has_stopped_starts() -> None:
    stopped = suspend(with_back(given(PLAIN, STOPPED, applied=True, stopped={ORDERS: TargetState.RUNNING})))
    assert [action for action, _ in steps(stopped)] == [Action.RESUME]
    paused = replace(RUNS, state=WorkerState.PAUSED)
    assert steps(suspend(given(PLAIN, paused, applied=True, stopped={ORDERS: TargetState.RUNNING}))) == []


def test_a_listing_that_fails_every_time_prevents_no_restart() -> None:
    policy = Policy(concurrent_restarts=2, lists_offsets=True)
    made = listing(given(PLAIN, FAILED, applied=True, policy=policy))
    assert [action for action, _ in steps(made)] == [Action.LIST, Action.RESTART]


def test_architecture_has_the_table_of_the_code() -> None:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", text.partition("## What wins")[2], re.MULTILINE))

    def words(passes: frozenset[Intent]) -> str:
        names = [one.value for one in Intent if one in passes]
        others = [one.value for one in Intent if one not in passes]
        few = ", ".join(names) or "nothing"
        return few if len(names) < len(others) else f"everything except: {', '.join(others)}"

    assert {name: rows.get(name) for name in (hold.value for hold in HoldKind)} == {
        hold.value: words(passes) for hold, passes in PASSES.items()
    }
    assert [*PASSES] == [*HoldKind]


def test_each_intent_has_words_of_its_own() -> None:
    assert len({one.value for one in Intent}) == len(Intent)
    assert all(re.fullmatch(r"[a-z][a-z ]+", one.value) for one in Intent)
