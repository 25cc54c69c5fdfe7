"""When a config is on trial, when it is rolled back, and when it becomes the one to which others are rolled back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.planner.situations import NOW, REVISION, seen, situation, wanted

from gitops_connect.model.config_histories import ConfigHistory, ConfigTrial, RollbackOptions, RollbackTrigger
from gitops_connect.model.desired import DesiredConnector, DesiredState, SecretReference, SecretSource
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.ownership import Origin
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.rollbacks import begin_trial, declared_config, find_rollbacks, in_effect, next_histories
from gitops_connect.plan.situation import Policy, Situation

ORDERS = ConnectorName("orders")
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
    "suspended": at(1, orders(BAD, suspend=True), FAILED, history()),
    "mode observe": at(1, orders(BAD), FAILED, history(), policy=Policy(enforce=False)),
    "degraded, but only a failure counts": at(
        1, orders(BAD, rollback=ONLY_FAILED), seen("orders", config=BAD, tasks=[]), history()
    ),
}


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


def test_the_first_config_with_which_it_works_needs_no_trial() -> None:
    given = at(0, orders(GOOD), seen("orders", config=GOOD), None)
    assert next_histories(given, plan(given)) == {ORDERS: ConfigHistory(declared_config(orders(GOOD)))}
    unapplied = at(0, orders(BAD), seen("orders", config=GOOD), None)
    assert next_histories(unapplied, plan(unapplied)) == {}


def test_a_trial_begins_with_another_config_and_not_with_the_earlier_one() -> None:
    before = ConfigHistory(declared_config(orders(GOOD)))
    given = at(5, orders(BAD), seen("orders", config=GOOD), before)
    trial = begin_trial(given, plan(given), orders(BAD)).trial
    assert trial == ConfigTrial(declared_config(orders(BAD)).digest, REVISION, minutes(5), was_healthy=True)
    assert begin_trial(given, plan(given), orders(GOOD)).trial is None
    ill = at(5, orders(BAD), seen("orders", config=GOOD, tasks=["Boom"]), before)
    trial = begin_trial(ill, plan(ill), orders(BAD)).trial
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
        owned = {"owned": names, "policy": policy, "config_histories": histories}
        return [step.connector for step in plan(situation(desired, observed, **owned)).steps]

    limited = Policy(rollout_size=2, rollout_max_failures=1)
    assert configured(Policy(), {}) == ["a", "b", "c"]
    assert configured(limited, {}) == ["a", "b"]
    back = after_a_failure()
    assert back.rolled_back is not None
    assert configured(limited, {ORDERS: back}) == []
    earlier = replace(back, rolled_back=replace(back.rolled_back, revision=Revision("earlier")))
    assert configured(limited, {ORDERS: earlier}) == ["a", "b"]


def test_a_change_by_hand_is_corrected_although_the_rollout_is_stopped() -> None:
    back = after_a_failure()
    declared, policy = wanted("a", config=GOOD), Policy(rollout_max_failures=1)
    given = situation([declared], [seen("a", config=BAD)], owned=["a"], policy=policy, config_histories={ORDERS: back})
    assert [step.connector for step in plan(given).steps] == []
    applied = remember(given, declared, Origin.CREATED, NOW)
    assert [step.connector for step in plan(replace(given, ownership={declared.name: applied})).steps] == ["a"]
