"""When a config is on trial, when it is rolled back, and when it becomes the one to which others are rolled back."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.planner.situations import NOW, REVISION, change, current_offsets, record, seen, situation, wanted

from gitops_connect.model.config_histories import (
    ConfigHistory,
    ConfigTrial,
    QueuedConfig,
    RollbackOptions,
    RollbackTrigger,
)
from gitops_connect.model.desired import (
    DesiredConnector,
    DesiredState,
    OnManualPause,
    SecretReference,
    SecretSource,
    TargetState,
)
from gitops_connect.model.health import HealthReason
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offset_changes import seed_name
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, ReviewMode, Reviews
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice, RolloutDecision
from gitops_connect.model.status import Condition, Conditions, ConditionStatus, ConditionType
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.rollbacks import (
    begin_trial,
    declared_config,
    find_rollbacks,
    in_effect,
    next_histories,
    restorable,
)
from gitops_connect.plan.rollouts import stopped_rollouts, until_rollout_continues, waiting_for_rollout
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation

ORDERS = ConnectorName("orders")
RESPECTING = Policy(on_manual_pause=OnManualPause.RESPECT)
WATCHED = RollbackOptions(timedelta(minutes=2))
GOOD = {"topic": "good"}
BAD = {"topic": "bad"}
FAILED = seen("orders", config=BAD, tasks=["Boom: x"])


def minutes(number: float) -> datetime:
    return NOW + timedelta(minutes=number)


def orders(config: dict[str, str], **more: Any) -> DesiredConnector:
    return wanted("orders", config=config, **{"rollback": WATCHED, **more})


def history(*, was_healthy: bool = True, since: float = 0) -> ConfigHistory:
    """The config BAD is on trial; it worked with GOOD."""
    trial = ConfigTrial(declared_config(orders(BAD)).digest, REVISION, minutes(since), was_healthy)
    return ConfigHistory(declared_config(orders(GOOD)), trial)


def at(
    minute: float, desired: DesiredConnector, observed: ObservedConnector, before: ConfigHistory | None, **more: Any
) -> Situation:
    histories = {} if before is None else {ORDERS: before}
    return situation([desired], [observed], owned=["orders"], now=minutes(minute), config_histories=histories, **more)


def rolled_back(given: Situation) -> ConfigHistory | None:
    return find_rollbacks(given, plan(given)).get(ORDERS)


def test_a_config_that_fails_its_trial_is_replaced_until_the_document_has_another_one() -> None:
    after = after_a_failure()
    assert after.rolled_back is not None
    assert (after.rolled_back.keys, after.rolled_back.revision, after.trial) == (("topic",), REVISION, None)
    assert after.rolled_back.reason == "task 0 is FAILED: Boom: x"

    def effective(config: dict[str, str]) -> DesiredConnector:
        desired = DesiredState(ClusterName("local"), (orders(config),))
        (found,) = in_effect(desired, {ORDERS: after}).connectors
        return found

    assert (effective(BAD).config["topic"], effective(BAD).rolled_back) == ("good", after.rolled_back)
    assert (effective({"topic": "new"}).config["topic"], effective({"topic": "new"}).rolled_back) == ("new", None)


def after_a_failure(before: ConfigHistory | None = None) -> ConfigHistory:
    """The history after BAD failed."""
    after = rolled_back(at(1, orders(BAD), FAILED, before or history()))
    assert after is not None
    return after


ONLY_FAILED = replace(WATCHED, on=frozenset({RollbackTrigger.FAILED}))
NO_ROLLBACK: dict[str, Situation] = {
    "it did not work before": at(1, orders(BAD), FAILED, history(was_healthy=False)),
    "no earlier config": at(1, orders(BAD), FAILED, ConfigHistory(trial=history().trial)),
    "no trial": at(1, orders(BAD), FAILED, None),
    "off": at(1, orders(BAD, rollback=None), FAILED, history()),
    "off in the document": at(1, orders(BAD, rollback=RollbackOptions(timedelta())), FAILED, history()),
    "another config since": at(1, orders({"topic": "new"}), FAILED, history()),
    "it works": at(1, orders(BAD), seen("orders", config=BAD), history()),
    "its config was not sent yet": at(1, orders(BAD), seen("orders", config=GOOD, tasks=["Boom: x"]), history()),
    "suspended": at(1, orders(BAD, suspend=True), FAILED, history()),
    "it must not run": at(1, orders(BAD, state="stopped"), FAILED, history()),
    "mode observe": at(1, orders(BAD), FAILED, history(), policy=Policy(enforce=False)),
    "degraded, but only a failure counts": at(
        1, orders(BAD, rollback=ONLY_FAILED), seen("orders", config=BAD, tasks=[]), history()
    ),
}


def test_a_failed_task_is_a_reason_although_a_degraded_connector_is_none() -> None:
    assert rolled_back(at(1, orders(BAD, rollback=ONLY_FAILED), FAILED, history())) is not None


def test_a_config_is_rolled_back_although_someone_has_changed_it() -> None:
    given = at(1, orders(BAD), seen("orders", config={"topic": "by hand"}, tasks=["Boom: x"]), history())
    drifted = replace(given, ownership={ORDERS: remember(given, orders(BAD), Origin.CREATED, NOW)})
    assert rolled_back(drifted) is not None


@pytest.mark.parametrize("case", NO_ROLLBACK)
def test_no_rollback(case: str) -> None:
    assert rolled_back(NO_ROLLBACK[case]) is None


def test_the_settings_have_the_default_and_the_document_decides() -> None:
    policy = Policy(rollback=WATCHED)
    assert rolled_back(at(1, orders(BAD, rollback=None), FAILED, history(), policy=policy)) is not None
    off = orders(BAD, rollback=RollbackOptions(timedelta()))
    assert rolled_back(at(1, off, FAILED, history(), policy=policy)) is None


def test_a_trial_is_passed_once_the_connector_works_at_its_end() -> None:
    works, before = seen("orders", config=BAD), history()

    def after(minute: float, observed: ObservedConnector) -> ConfigHistory | None:
        given = at(minute, orders(BAD), observed, before)
        return next_histories(given, plan(given)).get(ORDERS)

    assert after(1.9, works) is None
    assert after(2, FAILED) is None
    passed = after(2, works)
    assert passed == ConfigHistory(declared_config(orders(BAD)))


def test_a_trial_is_not_passed_while_its_config_waits() -> None:
    """A killed process has recorded the trial and not sent the config, and someone has suspended the connector."""
    given = at(2, orders(BAD, suspend=True), seen("orders", config=GOOD), history())
    assert next_histories(given, plan(given)).get(ORDERS, history()).trial is not None


def test_the_first_config_with_which_it_works_needs_no_trial() -> None:
    given = at(0, orders(GOOD), seen("orders", config=GOOD), None)
    assert next_histories(given, plan(given)) == {ORDERS: ConfigHistory(declared_config(orders(GOOD)))}
    for more in ({}, {"suspend": True}, {"suspend": True, "state": "absent"}):
        unapplied = at(0, orders(BAD, **more), seen("orders", config=GOOD), None)
        assert next_histories(unapplied, plan(unapplied)).get(ORDERS, ConfigHistory()).healthy is None


def test_a_trial_begins_with_another_config_and_not_with_the_earlier_one() -> None:
    before = ConfigHistory(declared_config(orders(GOOD)))
    given = at(5, orders(BAD), seen("orders", config=GOOD), before)
    trial = begin_trial(given, plan(given), orders(BAD), minutes(6)).trial
    bad = declared_config(orders(BAD))
    assert trial == ConfigTrial(bad.digest, REVISION, minutes(6), was_healthy=True, config=bad)
    assert begin_trial(given, plan(given), orders(GOOD), NOW).trial is None
    ill = at(5, orders(BAD), seen("orders", config=GOOD, tasks=["Boom"]), before)
    trial = begin_trial(ill, plan(ill), orders(BAD), NOW).trial
    assert trial is not None
    assert not trial.was_healthy


def test_values_of_secrets_are_not_recorded_and_their_references_are_restored() -> None:
    desired = wanted("orders", config={"password": "correct-horse"}, secrets=["password"], rollback=WATCHED)
    config = declared_config(desired)
    assert "password" not in config.config
    assert config.secrets == {"password": ("env", "PASSWORD")}
    back = after_a_failure(replace(history(), healthy=config))
    (found,) = in_effect(DesiredState(ClusterName("local"), (orders(BAD),)), {ORDERS: back}).connectors
    assert found.secrets == {"password": SecretReference(SecretSource.ENV, "PASSWORD")}


def test_a_rollout_is_limited_and_stopped_by_failures_of_its_commit() -> None:
    names = ("a", "b", "c")
    desired = [wanted(name, config=BAD) for name in names]
    observed = [seen(name, config=GOOD) for name in names]

    def configured(policy: Policy, histories: dict[ConnectorName, ConfigHistory]) -> list[str]:
        owned = {"owned": [*names, "orders"], "policy": policy, "config_histories": histories}
        made = situation([*desired, orders(BAD)], [*observed, FAILED], **owned)
        made = replace(made, desired=in_effect(made.desired, histories))
        return [step.connector for step in plan(made).steps if step.connector != ORDERS]

    limited = Policy(rollout_size=2, rollout_max_failures=1)
    assert configured(Policy(), {}) == ["a", "b", "c"]
    assert configured(limited, {}) == ["a", "b"]
    unsent = {ConnectorName("a"): history()}
    one_by_one = replace(limited, rollout_size=1, rollback=WATCHED)
    assert configured(one_by_one, unsent) == ["a"], "a killed process has only recorded the trial"
    refused = {ConnectorName("b"): history()}
    assert configured(one_by_one, refused) == ["b"], "the config before it may be on trial (found by seed 10884)"
    back = after_a_failure()
    assert back.rolled_back is not None
    assert configured(limited, {ORDERS: back}) == []
    earlier = replace(back, rolled_back=replace(back.rolled_back, revision=Revision("earlier")))
    assert configured(limited, {ORDERS: earlier}) == ["a", "b"]


def test_a_trial_goes_on_while_the_document_cannot_be_read() -> None:
    made = situation(
        [wanted("a", config=BAD)], [seen("a", config=GOOD), seen("orders", config=BAD)], owned=["a", "orders"]
    )
    made = replace(made, desired=replace(made.desired, held=frozenset({ORDERS})), config_histories={ORDERS: history()})
    policy = Policy(rollout_size=1, rollback=WATCHED)
    assert [bool(plan(replace(made, now=minutes(at), policy=policy)).steps) for at in (1, 2)] == [False, True]
    ill_before = {ORDERS: history(was_healthy=False)}
    assert plan(replace(made, now=minutes(1), policy=policy, config_histories=ill_before)).steps


def test_a_change_by_hand_is_corrected_although_the_rollout_is_stopped() -> None:
    back = after_a_failure()
    declared, policy = wanted("a", config=GOOD), Policy(rollout_max_failures=1)
    broken = replace(orders(BAD), rolled_back=back.rolled_back)
    observed = [seen("a", config=BAD), seen("orders", config=BAD)]
    given = situation([declared, broken], observed, owned=["a"], policy=policy, config_histories={ORDERS: back})
    assert [step.connector for step in plan(given).steps if step.action is Action.CONFIGURE] == []
    applied = remember(given, declared, Origin.CREATED, NOW)
    corrected = replace(given, ownership={declared.name: applied})
    assert [step.connector for step in plan(corrected).steps if step.action is Action.CONFIGURE] == ["a"]


@pytest.mark.parametrize("was_sent", [False, True], ids=["it waits", "its request has failed"])
def test_a_push_about_something_else_does_not_continue_a_rollout_and_a_fix_does(*, was_sent: bool) -> None:
    """Seed 8503: the second connector, whose request had failed, got the config of the stopped rollout."""
    policy = Policy(rollout_size=2, rollout_max_failures=1, rollback=WATCHED)
    declared = [wanted("a", config=BAD), wanted("b", config=BAD)]
    observed = [seen("a", config=BAD, tasks=["Boom"]), seen("b", config=GOOD)]
    trial = ConfigTrial(declared_config(declared[0]).digest, REVISION, NOW, was_healthy=True)
    digest = declared_config(declared[1]).digest
    unsent, queued = replace(trial, digest=digest), QueuedConfig(digest, REVISION)
    waits = ConfigHistory(trial=unsent) if was_sent else ConfigHistory(queued=queued)
    histories = {ConnectorName("a"): ConfigHistory(trial=trial), ConnectorName("b"): waits}
    given = situation(declared, observed, owned=["a", "b"], policy=policy, config_histories=histories)

    def configured(one: Situation) -> list[str]:
        return [step.connector for step in plan(one).steps if step.action is Action.CONFIGURE]

    assert configured(given) == []
    assert configured(replace(given, revision=Revision("readme"))) == []
    fixed = replace(given.desired, connectors=(wanted("a", config={"topic": "fixed"}), declared[1]))
    assert configured(replace(given, revision=Revision("fix"), desired=fixed)) == ["a", "b"]
    other = replace(given.desired, connectors=(declared[0], wanted("b", config={"topic": "fixed"})))
    assert configured(replace(given, revision=Revision("fix"), desired=other)) == ["b"]


def test_a_config_that_waits_keeps_the_commit_that_declared_it() -> None:
    policy, earlier = Policy(rollout_size=1), Revision("earlier")
    declared, observed = [wanted(name, config=BAD) for name in "ab"], [seen(name, config=GOOD) for name in "ab"]
    given = replace(situation(declared, observed, owned=["a", "b"], policy=policy), revision=earlier)
    histories = next_histories(given, plan(given))
    digest = declared_config(declared[0]).digest
    assert {name: one.queued for name, one in histories.items()} == {
        "a": QueuedConfig(digest, earlier),  # found by seed 69517: the ledger could not be written before it was sent
        "b": QueuedConfig(digest, earlier),
    }
    later = replace(given, revision=REVISION, config_histories=histories)
    trial = begin_trial(later, plan(later), declared[1], NOW).trial
    assert trial is not None
    assert trial.revision == earlier


def test_a_new_connector_that_is_held_is_not_started_without_its_initial_offsets() -> None:
    """Found by seed 115163: a worker of Kafka 3.6 creates it running, and it had been stopped for its offsets."""
    seed = change(seed_name("b"), "b", "seed")
    declared = [wanted("a", config=BAD), wanted("b", config=BAD, initial_offsets=seed)]
    observed = [seen("a", config=GOOD), seen("b", "STOPPED", config=GOOD)]
    offsets = OffsetSituation({seed.name: record(seed, "intended")}, manifests={seed.name: current_offsets(a=5)})
    given = situation(declared, observed, owned=["a", "b"], policy=Policy(rollout_size=1))
    given = replace(given, offsets=replace(offsets, current={seed.connector: {}}))
    for stopped in ({}, {seed.connector: TargetState.RUNNING}):
        steps = plan(replace(given, stopped=stopped)).steps
        assert [(step.action, step.connector) for step in steps] == [(Action.CONFIGURE, "a")]
    suspended = replace(given.desired, connectors=(declared[0], replace(declared[1], suspend=True)))
    alone = replace(given, desired=suspended, policy=Policy(), stopped={seed.connector: TargetState.RUNNING})
    assert [step.connector for step in plan(alone).steps] == ["a"], "a suspension holds it, too"


def test_a_record_has_the_commit_that_changed_it_last() -> None:
    given = situation([orders(GOOD)], [seen("orders", config=GOOD)])
    first = remember(given, orders(GOOD), Origin.CREATED, NOW)
    later = replace(given, ownership={ORDERS: first}, revision=Revision("later"))
    assert remember(later, orders(GOOD), Origin.ADOPTED, minutes(1)) is first
    changed = remember(later, orders(BAD), Origin.ADOPTED, minutes(1))
    assert (changed.revision, changed.origin, changed.since) == (Revision("later"), Origin.CREATED, NOW)


def test_a_config_that_is_in_effect_waits_no_longer() -> None:
    waited = ConfigHistory(
        declared_config(orders(GOOD)), queued=QueuedConfig(declared_config(orders(GOOD)).digest, REVISION)
    )
    given = situation(
        [orders(GOOD)], [seen("orders", config=GOOD)], owned=["orders"], config_histories={ORDERS: waited}
    )
    assert next_histories(given, plan(given))[ORDERS].queued is None


@pytest.mark.parametrize(("declared", "waits"), [(BAD, True), (GOOD, False)])
def test_a_config_keeps_its_commit_while_the_connector_cannot_be_read(declared: dict[str, str], *, waits: bool) -> None:
    """Found by seed 51361: after another commit, the connector got the config of a rollout that had stopped."""
    given = replace(at(1, orders(declared), FAILED, ConfigHistory(declared_config(orders(GOOD)))))
    given = replace(given, observed=replace(given.observed, connectors={}, unknown=frozenset({ORDERS})))
    queued = QueuedConfig(declared_config(orders(BAD)).digest, given.revision)
    found = next_histories(given, plan(given))
    assert found == ({ORDERS: replace(given.config_histories[ORDERS], queued=queued)} if waits else {})


def test_a_config_whose_request_has_failed_is_not_recorded_as_one_that_works() -> None:
    """Found by seed 47417: the config of the next commit was waiting, and the connector worked with the one before."""
    policy, newer, before = Policy(rollout_size=1, rollback=WATCHED), {"topic": "newer"}, history()
    assert before.trial is not None
    before = replace(before, trial=replace(before.trial, config=declared_config(orders(BAD))))
    given = situation(
        [wanted("a", config=BAD), orders(newer, rollback=None)], [seen("a", config=GOOD), seen("orders", config=GOOD)],
        owned=["a", "orders"], policy=policy, now=minutes(2), config_histories={ORDERS: before},
    )  # fmt: skip
    waiting = QueuedConfig(declared_config(orders(newer)).digest, REVISION)
    after = next_histories(given, plan(given))[ORDERS]
    assert after == replace(before, trial=None, queued=waiting)
    there = {**given.observed.connectors, ORDERS: FAILED}
    failed = replace(given, observed=replace(given.observed, connectors=there))
    assert find_rollbacks(failed, plan(failed))[ORDERS].rolled_back is not None, "this one was sent"


def test_a_trial_goes_on_while_the_connector_has_no_worker() -> None:
    """Found by seed 73141: the worker was killed in the trial, and the config failed on the next one."""
    unassigned = seen("orders", "UNASSIGNED", config=BAD)
    given = at(2, orders(BAD), unassigned, history())
    assert next_histories(given, plan(given)) == {}
    failed = at(3, orders(BAD), FAILED, history())
    assert rolled_back(failed) is not None
    long = replace(at(9, orders(BAD, rollback=ONLY_FAILED), unassigned, history()), conditions=unassigned_since(2))
    assert next_histories(long, plan(long))[ORDERS].trial is None, "its worker does not return"


def unassigned_since(minute: float) -> Conditions:
    message, reason = "task 0 is UNASSIGNED", HealthReason.PROGRESSING.value
    key = (ORDERS, ConditionType.HEALTHY, "")
    return {key: Condition(key[1], ConditionStatus.UNKNOWN, reason, message, minutes(minute), REVISION)}


@pytest.mark.parametrize(("minute", "is_over"), [(1, False), (2, True)])
def test_a_trial_goes_on_while_the_connector_cannot_be_read(minute: int, *, is_over: bool) -> None:
    """Found by seed 12081."""
    policy = Policy(rollout_size=1, rollback=WATCHED)
    made = situation([wanted("a", config=BAD), orders(BAD)], [seen("a", config=GOOD)], owned=["a", "orders"])
    unknown = replace(made.observed, unknown=frozenset({ORDERS}))
    made = replace(made, observed=unknown, config_histories={ORDERS: history()}, policy=policy, now=minutes(minute))
    assert bool(plan(made).steps) is is_over


def test_a_connector_that_did_not_work_before_stops_no_rollout() -> None:
    policy = Policy(rollout_max_failures=1)
    declared, observed = (
        [wanted("a", config=BAD), orders(BAD)],
        [seen("a", config=GOOD), seen("orders", config=BAD, tasks=["Boom"])],
    )
    given = situation(declared, observed, policy=policy, config_histories={ORDERS: history(was_healthy=False)})
    assert [step.connector for step in plan(given).steps if step.action is Action.CONFIGURE] == ["a"]


def test_the_correction_of_drift_begins_no_trial() -> None:
    given = at(5, orders(BAD), seen("orders", config=GOOD), None)
    given = replace(given, ownership={ORDERS: remember(given, orders(BAD), Origin.CREATED, NOW)})
    assert begin_trial(given, plan(given), orders(BAD), NOW) == ConfigHistory()


def test_a_trial_ends_by_time_although_a_newer_config_waits() -> None:
    """Two days later the database fails, and the newer config is withdrawn: the config has worked until then."""
    bad = declared_config(orders(BAD))
    trial = ConfigTrial(bad.digest, REVISION, NOW, was_healthy=True, config=bad)
    before = ConfigHistory(declared_config(orders(GOOD)), trial)
    manual = {"reviews": Reviews(ReviewMode.MANUAL)}
    waiting = at(3, orders({"topic": "newer"}), seen("orders", config=BAD), before, **manual)
    after = next_histories(waiting, plan(waiting))[ORDERS]
    assert (after.healthy, after.trial) == (bad, None)
    assert rolled_back(at(2880, orders(BAD), FAILED, after)) is None


def test_a_trial_of_a_connector_that_nobody_saw_working_ends_by_time_too() -> None:
    paused = at(3, orders(BAD), seen("orders", "PAUSED", config=BAD), history(), policy=RESPECTING)
    paused = replace(paused, ownership={ORDERS: remember(paused, orders(BAD), Origin.CREATED, NOW)})
    after = next_histories(paused, plan(paused))[ORDERS]
    assert (after.healthy, after.trial) == (declared_config(orders(GOOD)), None)


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_a_rollback_does_not_resume_what_someone_has_paused(state: str) -> None:
    observed = seen("orders", state, config=BAD, tasks=["Boom"])
    given = at(1, orders(BAD), observed, history(), policy=RESPECTING)
    given = replace(given, ownership={ORDERS: remember(given, orders(BAD), Origin.CREATED, NOW)})
    after = rolled_back(given)
    assert after is not None
    second = replace(given, desired=in_effect(given.desired, {ORDERS: after}), config_histories={ORDERS: after})
    assert [step.action for step in plan(second).steps] == [Action.ROLL_BACK]


def test_a_rollback_lets_no_other_change_pass_the_review() -> None:
    back = rolled_back(at(1, orders(BAD), FAILED, history()))
    assert back is not None
    stopped = replace(orders(GOOD, state="stopped"), rolled_back=back.rolled_back)
    manual = {"reviews": Reviews(ReviewMode.MANUAL)}
    given = at(2, stopped, seen("orders", config=GOOD), back, **manual)
    assert plan(given).steps == ()
    assert plan(replace(given, reviews=NO_REVIEWS)).steps != ()


NEWER = {"topic": "newer"}
WAITS: dict[str, dict[str, Any]] = {
    "for its review": {"reviews": Reviews(ReviewMode.MANUAL)},
    "because it is invalid": {"invalid": frozenset({ORDERS})},
}


@pytest.mark.parametrize("why", WAITS)
def test_a_config_is_rolled_back_although_a_newer_one_waits(why: str) -> None:
    bad = declared_config(orders(BAD))
    trial = ConfigTrial(bad.digest, Revision("bad"), NOW, was_healthy=True, config=bad)
    before = ConfigHistory(declared_config(orders(GOOD)), trial)
    first = at(1, orders(NEWER), FAILED, before, **WAITS[why])
    after = rolled_back(first)
    assert after is not None
    assert after.rolled_back is not None
    assert (after.rolled_back.revision, after.rolled_back.keys) == ("bad", ("topic",))
    histories = {ORDERS: after}
    restored = {one.name: one for one in restorable(first.desired, histories).connectors}
    second = replace(first, config_histories=histories, restored=restored)
    (step,) = plan(second).steps
    reason = "from the config of commit bad to the one that worked last: 1 key differs"
    assert (step.action, step.config["topic"], step.reason) == (Action.ROLL_BACK, "good", reason)
    assert plan(second).drifted == ()
    (planned,) = plan(second).connectors
    assert planned.notes[-1].endswith("the declared config waits: the earlier one is in effect")
    assert next_histories(second, plan(second)).get(ORDERS, after).rolled_back is not None
    third = replace(second, observed=replace(second.observed, connectors={ORDERS: seen("orders", config=GOOD)}))
    assert plan(third).steps == ()
    released = replace(third, reviews=NO_REVIEWS, invalid=frozenset())
    (step,) = plan(released).steps
    assert step.config["topic"] == "newer"
    began = begin_trial(released, plan(released), orders(NEWER), NOW)
    assert (began.rolled_back, began.trial and began.trial.was_healthy) == (None, True)


def rollout(states: dict[str, str], minute: float, policy: Policy, **more: Any) -> Plan:
    """Connectors with a new config: `new` still wait, `works` and `fails` have had it since minute 0.

    So have `newer`, and their documents have another config since then, and `stopped`, as their documents say.
    """
    bad = declared_config(wanted("a", config=BAD))
    trial = ConfigTrial(bad.digest, REVISION, NOW, was_healthy=True, config=bad)
    observed = [
        seen(
            name,
            {"stopped": "STOPPED", "moves": "UNASSIGNED"}.get(state, "RUNNING"),
            config=GOOD if state == "new" else BAD,
            tasks=["Boom"] if state == "fails" else None,
        )
        for name, state in states.items()
    ]
    histories = {ConnectorName(name): ConfigHistory(trial=trial) for name, state in states.items() if state != "new"}
    desired = [
        wanted(name, "stopped" if state == "stopped" else "running", config=NEWER if state == "newer" else BAD)
        for name, state in states.items()
    ]
    given = situation(desired, observed, owned=[*states], policy=policy, config_histories=histories)
    return plan(replace(given, now=minutes(minute), **more))


TWO = Policy(rollout_size=2, rollout_max_failures=2, rollback=WATCHED)
ROLLOUTS: list[tuple[dict[str, str], float, Policy, list[str]]] = [
    ({"a": "new", "b": "new", "c": "new"}, 0, TWO, ["a", "b"]),
    ({"a": "works", "b": "works", "c": "new"}, 1.9, TWO, []),
    ({"a": "works", "b": "works", "c": "new"}, 2, TWO, ["c"]),
    ({"a": "works", "b": "fails", "c": "new"}, 1, TWO, ["c"]),
    ({"a": "works", "b": "fails", "c": "new", "d": "new"}, 2, TWO, ["c", "d"]),
    ({"a": "fails", "b": "fails", "c": "new"}, 2, TWO, []),
    ({"a": "works", "b": "works", "c": "new"}, 0, replace(TWO, rollback=None), ["c"]),
    ({"a": "new", "b": "newer", "c": "new"}, 1, replace(TWO, rollout_size=1), ["b"]),
    ({"a": "stopped", "b": "new"}, 1, replace(TWO, rollout_size=1), ["b"]),
]


@pytest.mark.parametrize(("states", "minute", "policy", "expected"), ROLLOUTS)
def test_the_next_connectors_follow_when_those_before_have_worked_for_the_time_of_their_trial(
    states: dict[str, str], minute: float, policy: Policy, expected: list[str]
) -> None:
    made = rollout(states, minute, policy)
    assert [step.connector for step in made.steps if step.action is Action.CONFIGURE] == expected
    waits = waiting_for_rollout(made) + sum(stopped_rollouts(made).values())
    assert waits == sum(state in ("new", "newer") for state in states.values()) - len(expected)
    known = policy.rollback is not None and waits and {"works", "newer"} & {*states.values()}
    assert until_rollout_continues(made, minutes(minute)) == pytest.approx((2 - minute) * 60 if known else math.inf)


def test_nobody_knows_when_a_trial_ends_whose_connector_has_no_worker_at_its_end() -> None:
    """The daemon reconciled without a pause when its rollout was to continue in the past."""
    one_by_one = replace(TWO, rollout_size=1)
    made = rollout({"a": "moves", "b": "new"}, 1.5, one_by_one)
    assert until_rollout_continues(made, minutes(1.5)) == pytest.approx(30)
    made = rollout({"a": "moves", "b": "new"}, 2.5, one_by_one)
    assert until_rollout_continues(made, minutes(2.5)) == math.inf
    assert waiting_for_rollout(made) == 1


STOPS: dict[str, str] = {"a": "fails", "b": "new", "c": "new"}
UNHEALTHY = Condition(ConditionType.HEALTHY, ConditionStatus.FALSE, "Failed", "", minutes(1), REVISION)
A_FAILED = {(ConnectorName("a"), ConditionType.HEALTHY, ""): UNHEALTHY}
CONTINUE, SKIP = RolloutChoice.CONTINUE, RolloutChoice.SKIP
DECISIONS: list[tuple[dict[str, tuple[RolloutChoice, float]], list[str], str]] = [
    ({}, [], "a connector failed with commit 1a2b3c4: a; commit a fix, or run `gitops-connect rollout continue"),
    ({"": (CONTINUE, 3)}, ["b", "c"], ""),
    ({"": (CONTINUE, 1)}, ["b", "c"], ""),
    ({"": (CONTINUE, 0.5)}, [], "a connector failed with commit 1a2b3c4: a"),
    ({"b": (CONTINUE, 3)}, ["b"], "a connector failed with commit 1a2b3c4: a"),
    ({"": (CONTINUE, 3), "b": (SKIP, 3)}, ["c"], "b was skipped by ana since "),
    (
        {"": (SKIP, 3)},
        [],
        "it was abandoned by ana since 2026-11-21 09:33:00 UTC (INC-1); commit another config",
    ),
    ({"": (SKIP, 3), "c": (CONTINUE, 3)}, ["c"], "it was abandoned by ana"),
]


@pytest.mark.parametrize(("given", "expected", "why"), DECISIONS)
def test_somebody_decides_how_a_rollout_goes_on(
    given: dict[str, tuple[RolloutChoice, float]], expected: list[str], why: str
) -> None:
    """The connector a has failed at minute 1, as its condition says."""
    decisions = {
        (REVISION, ConnectorName(name)): RolloutDecision(choice, "ana", minutes(minute), "INC-1")
        for name, (choice, minute) in given.items()
    }
    policy = replace(TWO, rollout_max_failures=1, rollback=None)
    made = rollout(STOPS, 4, policy, rollout_decisions=decisions, conditions=A_FAILED)
    assert [step.connector for step in made.steps if step.action is Action.CONFIGURE] == expected
    holds = [hold for one in made.connectors for hold in one.holds]
    assert len(holds) == 2 - len(expected)
    assert all(why in hold.words for hold in holds)
    assert bool(stopped_rollouts(made)) == (why.startswith("a connector failed"))


def test_a_stopped_rollout_names_the_first_three_connectors_that_failed() -> None:
    policy = replace(TWO, rollout_max_failures=1, rollback=None)
    for count, words in ((3, "3 connectors failed with commit 1a2b3c4: a, b, c"), (4, ": a, b, c, …")):
        states = {**dict.fromkeys("abcd"[:count], "fails"), "x": "new"}
        ((hold, _),) = stopped_rollouts(rollout(states, 4, policy)).items()
        assert hold.message.endswith(words)


def test_a_rollout_stops_again_after_a_failure_that_somebody_has_not_seen() -> None:
    policy = replace(TWO, rollout_max_failures=1, rollback=None)
    decisions = {(REVISION, WHOLE_ROLLOUT): RolloutDecision(CONTINUE, "ana", minutes(3), "")}
    states = {"a": "fails", "b": "fails", "c": "new"}
    made = rollout(states, 5, policy, rollout_decisions=decisions, conditions=A_FAILED)
    ((hold, waiting),) = stopped_rollouts(made).items()
    assert (hold.message, waiting) == ("a connector failed with commit 1a2b3c4: b", 1)
