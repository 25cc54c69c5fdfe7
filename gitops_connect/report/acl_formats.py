"""Permissions on Kafka as a table, JSON, command lines of Kafka, resources of Strimzi, and resources of Terraform."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import Any

from gitops_connect.errors import UsageError
from gitops_connect.model.required_acls import Acl, AclOperation, AclPattern, AclResource, MissingAcl, RequiredAcls
from gitops_connect.report.printable import escaped
from gitops_connect.report.table import as_json, table
from gitops_connect.report.words import plural
from gitops_connect.report.yaml_text import lines


class AclFormat(Enum):
    """How permissions are printed."""

    TABLE = "table"
    JSON = "json"
    KAFKA_ACLS = "kafka-acls"
    STRIMZI_USER = "strimzi-user"
    TERRAFORM = "terraform"


_NAMES_IN_COMMAND = 50
_SHOWN_NEEDS = 3
_TERRAFORM_RESOURCES = {
    AclResource.TOPIC: "Topic",
    AclResource.GROUP: "Group",
    AclResource.TRANSACTIONAL_ID: "TransactionalID",
}
_STRIMZI_RESOURCES = {
    AclResource.TOPIC: "topic",
    AclResource.GROUP: "group",
    AclResource.TRANSACTIONAL_ID: "transactionalId",
}
_STRIMZI_PATTERNS = {AclPattern.LITERAL: "literal", AclPattern.PREFIXED: "prefix"}
_KUBERNETES_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_COMMANDS = """\
# Set BOOTSTRAP_SERVERS, and COMMAND_CONFIG to the properties file of an administrator of Kafka.
"""


def acl_table(required: RequiredAcls) -> str:
    """A row for each principal and resource."""
    rows = [
        (one[0].principal, one[0].resource.value, one[0].pattern.value, one[0].name, _operations(one), _needed_by(one))
        for one in by_resource(required.acls)
    ]
    return table(("PRINCIPAL", "RESOURCE", "PATTERN", "NAME", "OPERATIONS", "NEEDED BY"), rows)


def acl_json(required: RequiredAcls) -> str:
    """Every permission with who needs it, and the notes."""
    return as_json({"acls": list(map(_value, required.acls)), "notes": _notes(required)})


def missing_json(missing: Iterable[MissingAcl], required: RequiredAcls) -> str:
    """The permissions that the broker does not grant, each with a reason, and the notes about all required ones."""
    values = [{**_value(one.acl), "reason": one.reason} for one in missing]
    return as_json({"missing": values, "required": len(required.acls), "notes": _notes(required)})


def missing_table(missing: Sequence[MissingAcl], required: RequiredAcls) -> str:
    """A row for each permission that the broker does not grant, or a line if there are none."""
    count = plural(len(required.acls), "required permission")
    if not missing:
        return f"Nothing is missing: the brokers grant {count}.\n"
    rows = [
        (acl.principal, acl.resource.value, acl.pattern.value, acl.name, acl.operation.value, reason, _needed_by([acl]))
        for acl, reason in ((one.acl, one.reason) for one in missing)
    ]
    headers = ("PRINCIPAL", "RESOURCE", "PATTERN", "NAME", "MISSING", "REASON", "NEEDED BY")
    return f"{table(headers, rows)}\n{len(missing)} of {count} missing.\n"


def _value(acl: Acl) -> dict[str, Any]:
    return {
        "principal": acl.principal,
        "resource": acl.resource.value,
        "pattern": acl.pattern.value,
        "name": acl.name,
        "operation": acl.operation.value,
        "needed_by": [{"connector": need.connector, "client": need.client.value} for need in acl.needed_by],
    }


def _notes(required: RequiredAcls) -> list[dict[str, str]]:
    return [{"connector": note.connector, "message": note.message} for note in required.notes]


def kafka_acls(required: RequiredAcls) -> str:
    """Commands for a POSIX shell. One command adds the same operations on up to 50 names.

    Values are part of the option (`--group=NAME`), so that no name can be read as an option.
    """
    commands = defaultdict[tuple[str, AclResource, AclPattern, tuple[AclOperation, ...]], list[str]](list)
    for one in by_resource(required.acls):
        first = one[0]
        commands[first.principal, first.resource, first.pattern, tuple(acl.operation for acl in one)].append(first.name)
    text = [_COMMANDS]
    for (principal, resource, pattern, operations), names in commands.items():
        for start in range(0, len(names), _NAMES_IN_COMMAND):
            words = [
                f"--allow-principal={principal}",
                *(f"--operation={operation.value}" for operation in operations),
                *(f"--{resource.value}={name}" for name in names[start : start + _NAMES_IN_COMMAND]),
                f"--resource-pattern-type={pattern.value}",
            ]
            text.append(
                'kafka-acls.sh --bootstrap-server "${BOOTSTRAP_SERVERS:?}" --command-config "${COMMAND_CONFIG:?}" --add'
                f" {shlex.join(words)}\n"
            )
    return "".join(text)


def strimzi_users(required: RequiredAcls, kafka_cluster: str) -> str:
    """A `KafkaUser` for each principal. Raises UsageError for a principal that is not a user of Strimzi's operator."""
    users = (
        _strimzi_user(principal, list(acls), kafka_cluster)
        for principal, acls in groupby(required.acls, key=lambda acl: acl.principal)
    )
    return "---\n".join(
        "".join(f"{line}\n" for key, value in user.items() for line in lines(key, value, "")) for user in users
    )


def _strimzi_user(principal: str, acls: Sequence[Acl], kafka_cluster: str) -> dict[str, Any]:
    """The operator's name of a user is `User:NAME`, or `User:CN=NAME` with a client certificate (KafkaUserModel)."""
    name = principal.removeprefix("User:").removeprefix("CN=")
    if not principal.startswith("User:") or not _KUBERNETES_NAME.fullmatch(name):
        raise UsageError(
            f"the principal {principal!r} cannot be a KafkaUser: expected User:NAME or User:CN=NAME with a name that"
            " Kubernetes allows"
        )
    rules = [
        {
            "resource": {
                "type": _STRIMZI_RESOURCES[one[0].resource],
                "name": one[0].name,
                "patternType": _STRIMZI_PATTERNS[one[0].pattern],
            },
            "operations": [acl.operation.value for acl in one],
        }
        for one in by_resource(acls)
    ]
    authentication = {"authentication": {"type": "tls-external"}} if principal.startswith("User:CN=") else {}
    return {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "kind": "KafkaUser",
        "metadata": {"name": name, "labels": {"strimzi.io/cluster": kafka_cluster}},
        "spec": {**authentication, "authorization": {"type": "simple", "acls": rules}},
    }


def terraform(required: RequiredAcls) -> str:
    """A `kafka_acl` of the provider Mongey/kafka for each permission. Its label depends on nothing but its content."""
    return "\n".join(map(_terraform, required.acls))


def _terraform(acl: Acl) -> str:
    values = {
        "resource_name": acl.name,
        "resource_type": _TERRAFORM_RESOURCES[acl.resource],
        "resource_pattern_type_filter": acl.pattern.value.capitalize(),
        "acl_principal": acl.principal,
        "acl_host": "*",
        "acl_operation": acl.operation.value,
        "acl_permission_type": "Allow",
    }
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:12]
    words = re.sub(r"[^a-z0-9]+", "_", f"{acl.resource.value}_{acl.name}_{acl.operation.value}".lower())[:80]
    width = max(map(len, values))
    arguments = "".join(f"  {key:<{width}} = {_hcl(value)}\n" for key, value in values.items())
    return f'resource "kafka_acl" "{words}_{digest}" {{\n{arguments}}}\n'


def _hcl(text: str) -> str:
    """A string of HCL: as in JSON, but `${` and `%{` begin a template."""
    return escaped(json.dumps(text, ensure_ascii=False)).replace("${", "$${").replace("%{", "%%{")


def by_resource(acls: Iterable[Acl]) -> Iterator[list[Acl]]:
    """Permissions of one principal on one resource; they follow each other."""
    for _, same in groupby(acls, key=lambda acl: (acl.principal, acl.resource, acl.name, acl.pattern)):
        yield list(same)


def _operations(acls: Iterable[Acl]) -> str:
    return ", ".join(acl.operation.value for acl in acls)


def _needed_by(acls: Iterable[Acl]) -> str:
    needs = list(dict.fromkeys(need for acl in acls for need in acl.needed_by))
    shown = ", ".join(map(str, needs[:_SHOWN_NEEDS]))
    more = len(needs) - _SHOWN_NEEDS
    return f"{shown} and {plural(more, 'more client')}" if more > 0 else shown
