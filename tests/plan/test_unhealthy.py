"""What a plan says about connectors that do not work, and what does not depend on that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.files.tables import rows
from support.planner.situations import CLUSTER, NOW, REVISION, seen, situation, wanted

from gitops_connect.families.health_rules import runs_without_tasks, summary, why_no_tasks
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.health import FailedPart, UnhealthyConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.plan.planner import plan

ORDERS = ConnectorName("orders")


@pytest.mark.parametrize("unwell", [seen("orders", tasks=["Boom"]), seen("orders", "FAILED"), seen("orders", tasks=[])])
def test_a_plan_does_not_become_stale_when_a_task_fails(unwell: ObservedConnector) -> None:
    well, ill = (plan(situation([wanted("orders")], [one], owned=["orders"])) for one in (seen("orders"), unwell))
    assert (ill.digest, ill.fingerprint) == (well.digest, well.fingerprint)
    assert [one.name for one in ill.unhealthy] == ["orders"]
    assert well.unhealthy == ()


def test_a_plan_becomes_stale_if_a_failure_requires_other_steps() -> None:
    well, ill = (plan(situation([wanted("orders", "paused")], [seen("orders", one)])) for one in ("RUNNING", "FAILED"))
    assert ill.digest != well.digest


class TestSecretsInTraces:
    @pytest.mark.parametrize("case", rows(__file__, "masked"), ids=lambda case: case["case"])
    def test_secrets_of_the_connector_are_masked(self, case: dict[str, Any]) -> None:
        declared = wanted("orders", config={"pin": "hunter2"}, secrets=case.get("secrets", ()))
        observed = seen("orders", config={"pin": "hunter1"}, tasks=[case["trace"]])
        passwords = {ORDERS: frozenset(case.get("passwords", ()))}
        (one,) = plan(situation([declared], [observed], passwords=passwords)).unhealthy
        assert one.problems == (f"task 0 is FAILED: {case['expected']}",)

    def test_secrets_in_the_ledger_of_a_connector_that_is_no_longer_declared_are_masked(self) -> None:
        owned = Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW, applied={"pin": "digest"})  # type: ignore[dict-item]
        observed = seen("orders", config={"pin": "hunter1"}, tasks=["Boom: hunter1"])
        given = situation([], [observed])
        given = type(given)(given.revision, given.desired, given.observed, NOW, given.policy, {ORDERS: owned})
        (one,) = plan(given).unhealthy
        assert one.problems == ("task 0 is FAILED: Boom: ***",)

    @pytest.mark.parametrize("secret", ["hunter2", "a", "no", "42", "true", "NULL"])
    def test_secrets_of_another_connector_are_masked_except_common_words(self, secret: str) -> None:
        connectors = [seen("orders", tasks=[f"Boom: x {secret} y"]), seen("payments", config={"pin": secret})]
        declared = [wanted("orders"), wanted("payments", config={"pin": secret}, secrets=["pin"])]
        (one,) = plan(situation(declared, connectors)).unhealthy
        assert one.problems == (f"task 0 is FAILED: Boom: x {'***' if secret == 'hunter2' else secret} y",)

    def test_secrets_that_were_read_for_an_invalid_document_are_masked(self) -> None:
        given = replace(situation([], [seen("orders", tasks=["Boom: hunter2"])], owned=["orders"]), secrets={"hunter2"})
        (one,) = plan(given).unhealthy
        assert one.problems == ("task 0 is FAILED: Boom: ***",)

    def test_values_of_a_class_that_no_worker_describes_are_masked_for_their_own_connector(self) -> None:
        connectors = [
            seen(name, config={"pin": name * 2}, tasks=["Boom: a-aa-a and b-bb-b"]) for name in ("a-a", "b-b")
        ]
        given = replace(situation([wanted("a-a"), wanted("b-b")], connectors), undescribed={ORDERS, "a-a"})
        one, other = plan(given).unhealthy
        assert one.problems == ("task 0 is FAILED: Boom: *** and b-bb-b",)
        assert other.problems == ("task 0 is FAILED: Boom: a-aa-a and b-bb-b",)


def test_a_connector_that_the_cluster_did_not_report_is_unread_and_not_unhealthy() -> None:
    made = plan(situation([wanted("orders"), wanted("gone")], unknown=["orders", "theirs"]))
    assert made.unread == ("orders",)
    assert made.unhealthy == ()


@pytest.mark.parametrize(("trace", "expected"), rows(__file__, "summaries"))
def test_the_summary_of_a_trace(trace: str, expected: str) -> None:
    assert summary(trace) == expected


def test_a_long_summary_is_cut_in_the_middle() -> None:
    long = f"Boom: at {'x' * 1000} which is gone"
    assert summary(long) == f"Boom: at {'x' * 151} … {'x' * 146} which is gone"


def test_the_connector_comes_before_its_tasks() -> None:
    one = UnhealthyConnector(ORDERS, (FailedPart(None, "a"), FailedPart(0, "b"), FailedPart(2, "b")))
    assert one.problems == ("the connector is FAILED: a", "tasks 0, 2 are FAILED: b")


MIRROR = "org.apache.kafka.connect.mirror.Mirror"


@pytest.mark.parametrize(("plugin", "reason"), rows(__file__, "without_tasks"))
def test_why_there_are_no_tasks(plugin: str, reason: str) -> None:
    one = seen("orders", config={"connector.class": plugin}, tasks=[])
    assert runs_without_tasks(one, BUILT_IN)
    assert reason in why_no_tasks(one, BUILT_IN)


@pytest.mark.parametrize(
    ("name", "key"),
    [("Source", "enabled"), ("Checkpoint", "emit.checkpoints.enabled"), ("Heartbeat", "emit.heartbeats.enabled")],
)
def test_a_mirror_that_is_switched_off_has_no_tasks_on_purpose(name: str, key: str) -> None:
    off = {"connector.class": f"{MIRROR}{name}Connector", key: "false"}
    assert not runs_without_tasks(seen("orders", config=off, tasks=[]), BUILT_IN)
    assert runs_without_tasks(seen("orders", config={**off, key: "true"}, tasks=[]), BUILT_IN)
