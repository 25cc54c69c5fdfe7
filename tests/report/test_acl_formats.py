"""Permissions on Kafka in the formats of other programs: names from outside must reach these programs unchanged."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from support.files.tables import rows

from gitops_connect.errors import UsageError
from gitops_connect.exchange.readers.hcl import Attribute, HclBlock, Literal, items
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.required_acls import (
    Acl,
    AclNeed,
    AclOperation,
    AclPattern,
    AclResource,
    KafkaClient,
    RequiredAcls,
)
from gitops_connect.report.acl_formats import acl_json, acl_table, kafka_acls, strimzi_users, terraform

USER = "User:connect"


def acl(name: str, operation: str = "Read", resource: str = "group", principal: str = USER) -> Acl:
    need = AclNeed(ConnectorName("orders"), KafkaClient.CONSUMER)
    return Acl(principal, AclResource(resource), AclPattern.LITERAL, name, AclOperation(operation), (need,))


def required(*acls: Acl) -> RequiredAcls:
    return RequiredAcls(acls)


def values_of(text: str) -> dict[str, str]:
    """The attributes of the only block."""
    (block,) = items(text)
    assert isinstance(block, HclBlock)
    inside = [one for one in items(text, block.start, block.end) if isinstance(one, Attribute)]
    return {one.name: one.value.text for one in inside if isinstance(one.value, Literal)}


def run_commands(text: str, directory: Path) -> list[list[str]]:
    """The arguments of each command, with a script in the place of Kafka's."""
    script, log = directory / "kafka-acls.sh", directory / "log"
    script.write_text(f"#!/bin/sh\nfor one; do printf '%s\\n' \"$one\"; done >> '{log}'; echo >> '{log}'\n")
    script.chmod(0o700)
    environment = {"PATH": f"{directory}:{os.environ['PATH']}", "BOOTSTRAP_SERVERS": "b:1", "COMMAND_CONFIG": "c d"}
    subprocess.run(["sh", "-eu", "-c", text], check=True, env=environment)
    return [command.split("\n") for command in log.read_text().removesuffix("\n\n").split("\n\n")]


@pytest.mark.parametrize("name", rows(__file__, "names"))
def test_a_name_reaches_each_program_unchanged(name: str, tmp_path: Path) -> None:
    found = required(acl(name))
    (command,) = run_commands(kafka_acls(found), tmp_path)
    assert command == [
        *("--bootstrap-server", "b:1", "--command-config", "c d", "--add", f"--allow-principal={USER}"),
        *("--operation=Read", f"--group={name}", "--resource-pattern-type=literal"),
    ]
    user = yaml.safe_load(strimzi_users(found, "main"))
    assert user["spec"]["authorization"]["acls"] == [
        {"resource": {"type": "group", "name": name, "patternType": "literal"}, "operations": ["Read"]}
    ]
    assert json.loads(acl_json(found))["acls"][0]["name"] == name
    assert name in acl_table(found)
    assert values_of(terraform(found))["resource_name"] == name


def test_one_command_has_up_to_50_names_with_the_same_operations(tmp_path: Path) -> None:
    names = [f"t{number:03}" for number in range(120)]
    acls = [acl(name, operation, "topic") for name in names for operation in ("Read", "Write")]
    commands = run_commands(kafka_acls(required(*acls, acl("u", "Read", "topic"))), tmp_path)
    topics = [[one.removeprefix("--topic=") for one in command if "--topic" in one] for command in commands]
    assert topics == [names[:50], names[50:100], names[100:], ["u"]]
    assert [sum("--operation" in one for one in command) for command in commands] == [2, 2, 2, 1]


def test_strimzi_has_a_user_for_each_principal() -> None:
    found = required(acl("g"), acl("g", principal="User:CN=tls-user"))
    scram, tls = yaml.safe_load_all(strimzi_users(found, "main"))
    assert (scram["metadata"]["name"], "authentication" in scram["spec"]) == ("connect", False)
    assert scram["metadata"]["labels"] == {"strimzi.io/cluster": "main"}
    assert (tls["metadata"]["name"], tls["spec"]["authentication"]) == ("tls-user", {"type": "tls-external"})


@pytest.mark.parametrize("principal", ["User:CN=connect,O=example", "User:Connect", "Group:connect", "User:a b"])
def test_a_principal_that_is_no_user_of_strimzi_is_an_error(principal: str) -> None:
    with pytest.raises(UsageError, match="cannot be a KafkaUser: expected User:NAME or User:CN=NAME"):
        strimzi_users(required(acl("g", principal=principal)), "main")


def test_a_terraform_resource_has_the_arguments_of_the_provider_and_a_label_of_its_own() -> None:
    text = terraform(
        required(acl("a.b", "Read", "topic"), acl("a_b", "Read", "topic"), acl("x", "Write", "transactional-id"))
    )
    labels = [line.split('"')[3] for line in text.splitlines() if line.startswith("resource ")]
    assert len(set(labels)) == 3
    assert all(label.replace("_", "").isalnum() for label in labels)
    first = text.split("\n\n")[0]
    assert first == (
        f'resource "kafka_acl" "{labels[0]}" {{\n'
        '  resource_name                = "a.b"\n'
        '  resource_type                = "Topic"\n'
        '  resource_pattern_type_filter = "Literal"\n'
        '  acl_principal                = "User:connect"\n'
        '  acl_host                     = "*"\n'
        '  acl_operation                = "Read"\n'
        '  acl_permission_type          = "Allow"\n'
        "}"
    )
    assert '"TransactionalID"' in text
