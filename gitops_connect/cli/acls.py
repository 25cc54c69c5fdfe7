"""`gitops-connect acls`: the permissions on Kafka that the workers and the declared connectors need."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Annotated

import typer

from gitops_connect import runtime
from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import only_cluster, settings_of
from gitops_connect.cli.console import echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import OUTPUT, Directory, OnlyCluster, flag, option
from gitops_connect.cli.progress import progress
from gitops_connect.errors import UsageError
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.required_acls import AclOptions, KafkaClient, MissingAcl, RequiredAcls, WorkerFacts
from gitops_connect.plan.kafka_acls import required_acls
from gitops_connect.plan.missing_acls import missing_acls
from gitops_connect.report.acl_formats import (
    AclFormat,
    acl_json,
    acl_table,
    kafka_acls,
    missing_json,
    missing_table,
    strimzi_users,
    terraform,
)
from gitops_connect.report.problems import problem_lines
from gitops_connect.settings.sections import ClusterSettings, WorkerSettings

_KEYS = {
    "group_id": "group.id",
    "config_topic": "config.storage.topic",
    "offsets_topic": "offset.storage.topic",
    "status_topic": "status.storage.topic",
    "principal": "the name with which the worker logs in",
}
"""The settings that are required, and where they are in the config of a worker."""


Prefixed = Annotated[
    bool, flag("--prefixed", "Use prefixes for transactional ids, and for topics whose names begin with a known one.")
]
TopicsExist = Annotated[bool, flag("--topics-exist", "Do not allow to create the topics that Connect itself needs.")]
Check = Annotated[
    bool, flag("--check", "Compare with the ACLs of the brokers in [clusters.NAME.kafka], and exit with 3.")
]
KafkaCluster = Annotated[
    str | None, option("--kafka-cluster", "NAME", "For strimzi-user: the name of the Kafka resource.")
]


def acls(
    context: typer.Context,
    path: Directory = None,
    output: Annotated[AclFormat, OUTPUT] = AclFormat.TABLE,
    cluster: OnlyCluster = None,
    prefixed: Prefixed = False,
    topics_exist: TopicsExist = False,
    kafka_cluster: KafkaCluster = None,
    check: Check = False,
) -> int:
    """Show the permissions that connectors need on Kafka.

    The permissions (ACLs) of the workers are listed, too. They are for exact names, unless --prefixed is given. Topics
    that no config names are listed as notes. `[clusters.NAME.worker]` of the settings says what Connect's REST API does
    not. No secret of a connector is read, and Connect is not contacted. Exits with 4 if documents have errors:
    permissions of their connectors are missing.

    With --check, the ACLs of the brokers are read (`[clusters.NAME.kafka]`), and only the permissions that they do not
    grant are shown. Exits with 3 if there are any.
    """
    settings = settings_of(context)
    chosen = settings.clusters[only_cluster(settings, cluster)]
    if output is AclFormat.STRIMZI_USER and not kafka_cluster:
        raise UsageError("the name of the Kafka resource is missing; give it with --kafka-cluster NAME")
    if check and output not in (AclFormat.TABLE, AclFormat.JSON):
        raise UsageError(f"--check has the formats table and json, not {output.value}")
    facts = worker_facts(chosen, os.fspath(settings.file or "the settings"))
    path = cluster_commands.directory_of(settings, path)
    declared = cluster_commands.declared_in(settings, path)
    connectors = declared.states[chosen.name].connectors
    required = required_acls(connectors, facts, runtime.open_families(), AclOptions(prefixed, topics_exist))
    missing: tuple[MissingAcl, ...] = ()
    if check:
        with progress("Reading", "the ACLs of the brokers"):
            missing = missing_acls(required.acls, runtime.live_acls(settings, chosen.name))
        emit(missing_json(missing, required) if output is AclFormat.JSON else missing_table(missing, required))
    else:
        emit(_rendered(required, output, kafka_cluster or ""))
    for note in _notes(chosen, required, missing):
        echo_note(note)
    if not declared.diagnostics.errors:
        return ExitCode.DRIFT if missing else ExitCode.DONE
    echo(problem_lines(declared.diagnostics.under(cluster_commands.shown_directory(settings, path))).rstrip("\n"))
    return ExitCode.INVALID


def _notes(cluster: ClusterSettings, required: RequiredAcls, missing: Collection[MissingAcl]) -> Iterator[str]:
    if missing:
        yield (
            "ACLs do not show what the config of the brokers allows besides: super.users, who need no ACLs, and"
            " allow.everyone.if.no.acl.found"
        )
    if cluster.exactly_once is None:
        yield (
            f"[clusters.{cluster.name}] exactly_once is not set: the permissions are for workers that do not support"
            " exactly-once sources"
        )
    for note in required.notes:
        yield f"connector {note.connector}: {note.message}"


def worker_facts(cluster: ClusterSettings, file: str) -> WorkerFacts:
    """What the settings say about the workers. Raises UsageError if something is missing, or is no principal."""
    worker, where = cluster.worker, f"{file}: [clusters.{cluster.name}.worker]"
    if missing := [f"{name} ({key})" for name, key in _KEYS.items() if not getattr(worker, name).strip()]:
        raise UsageError(
            f"{where}: missing {', '.join(missing)}; Connect's REST API does not provide this: copy it from the config"
            " of the workers"
        )
    names = (worker.group_id, worker.config_topic, worker.offsets_topic, worker.status_topic)
    if "*" in names:
        raise UsageError(f"{where}: expected the name of a group or topic, found '*', which would mean every one")
    principals = _principals(worker)
    for principal in (*principals.values(), *worker.principals.values()):
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name and principal.isprintable()):
            raise UsageError(f"{where}: expected a principal such as User:connect, found {principal!r}")
    own = {ConnectorName(name): principal for name, principal in worker.principals.items()}
    return WorkerFacts(*names, principals, cluster.exactly_once or ExpectedSupport.DISABLED, own)


def _principals(worker: WorkerSettings) -> dict[KafkaClient, str]:
    return {
        KafkaClient.WORKER: worker.principal,
        KafkaClient.PRODUCER: worker.producer_principal or worker.principal,
        KafkaClient.CONSUMER: worker.consumer_principal or worker.principal,
        KafkaClient.ADMIN: worker.admin_principal or worker.principal,
    }


def _rendered(required: RequiredAcls, output: AclFormat, kafka_cluster: str) -> str:
    match output:
        case AclFormat.TABLE:
            return acl_table(required)
        case AclFormat.JSON:
            return acl_json(required)
        case AclFormat.KAFKA_ACLS:
            return kafka_acls(required)
        case AclFormat.STRIMZI_USER:
            return strimzi_users(required, kafka_cluster)
        case AclFormat.TERRAFORM:
            return terraform(required)
