"""Which permissions on Kafka the planner of ACLs lists. tests/contract/test_acls.py tries them with an authorizer."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.tables import cases
from support.planner.situations import DOCUMENT

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, SecretReference, SecretSource, TargetState
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.required_acls import AclOptions, KafkaClient, RequiredAcls, WorkerFacts
from gitops_connect.plan.kafka_acls import required_acls
from gitops_connect.report.acl_formats import by_resource

NAME = ConnectorName("c")
FILE = {"connector.class": "FileStreamSource", "topic": "t"}
SINK = {"connector.class": "com.example.Sink", "topics": "t"}


def connector(
    name: str, config: dict[str, str], state: str = "running", secrets: tuple[str, ...] = ()
) -> DesiredConnector:
    references = {key: SecretReference(SecretSource.ENV, "X") for key in secrets}
    return DesiredConnector(ConnectorName(name), TargetState(state), config, DOCUMENT, references)


def worker(support: str = "disabled", own: str = "", principal: str = "") -> WorkerFacts:
    principals = {client: principal or client.value for client in KafkaClient}
    owners = {NAME: own} if own else {}
    return WorkerFacts("G", "configs", "offsets", "status", principals, ExpectedSupport(support), owners)


def shown(required: RequiredAcls) -> list[str]:
    return [
        f"{acl[0].principal} {'+'.join(one.operation.value for one in acl)} {acl[0].resource.value}"
        f" {acl[0].pattern.value} {acl[0].name}"
        for acl in by_resource(required.acls)
    ]


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["case"])
def test_a_connector_needs(case: dict[str, Any]) -> None:
    config = case["config"] | ({"transforms.r.type": case["transforms"]} if "transforms" in case else {})
    declared = connector(NAME, config, case.get("state", "running"), tuple(case.get("secrets", ())))
    options = AclOptions(case.get("prefixed", False), case.get("topics_exist", False))
    facts = worker(case.get("exactly_once", "disabled"), case.get("own", ""))
    found = required_acls([declared], facts, BUILT_IN, options)
    assert sorted(one for one in shown(found) if not one.startswith("worker ")) == sorted(case["acls"])
    expected = case.get("notes", [])
    assert len(found.notes) == len(expected), found.notes
    for part in expected:
        assert any(part in note.message for note in found.notes), found.notes


@pytest.mark.parametrize("support", ["disabled", "preparing", "enabled"])
def test_the_worker_needs_its_group_its_topics_and_its_transactional_id(support: str) -> None:
    topics = [f"worker Create+Read+Write topic literal {topic}" for topic in ("configs", "offsets", "status")]
    leader = [] if support == "disabled" else ["worker Write transactional-id literal connect-cluster-G"]
    found = required_acls([], worker(support), BUILT_IN, AclOptions())
    assert shown(found) == ["worker Read group literal G", *topics, *leader]
    without = required_acls([], worker(support), BUILT_IN, AclOptions(topics_exist=True))
    assert shown(without) == ["worker Read group literal G", *(one.replace("Create+", "") for one in topics), *leader]


def test_a_permission_that_several_need_is_listed_once_and_what_another_one_implies_is_not() -> None:
    declared = [connector("a", FILE), connector("b", FILE), connector("s", SINK)]
    found = required_acls(declared, worker("enabled", principal="User:one"), BUILT_IN, AclOptions())
    assert len(set(found.acls)) == len(found.acls)
    assert not any(acl.operation.value == "Describe" for acl in found.acls)
    (write,) = [acl for acl in found.acls if (acl.name, acl.operation.value) == ("t", "Write")]
    assert [str(need) for need in write.needed_by] == ["a (producer)", "b (producer)"]


def test_a_prefix_that_covers_what_another_connector_needs_is_said() -> None:
    declared = [connector(name, FILE) for name in ("a", "a-b", "a-c", "ab")]
    found = required_acls(declared, worker("enabled"), BUILT_IN, AclOptions(prefixed=True))
    message = "its prefix 'G-a-' (transactional-id) also covers connector 'a-b' and 1 more"
    assert [(note.connector, note.message) for note in found.notes] == [("a", message)]
    assert not required_acls(declared, worker("enabled"), BUILT_IN, AclOptions()).notes


def test_values_of_a_config_are_in_no_result() -> None:
    secret = {"consumer.override.sasl.jaas.config": "hunter2", "password": "hunter2", "topics.regex": "hunter2"}
    found = required_acls([connector("s", secret | {"connector.class": "S"})], worker(), BUILT_IN, AclOptions())
    assert found.notes
    assert "hunter2" not in repr(found)
