"""`gitops-connect suspend` and `resume`: take a connector or a whole cluster out of the reconciliation for a while."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Annotated

import typer

from gitops_connect.cli.clusters import chosen_in, settings_of
from gitops_connect.cli.completion import complete_clusters
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.daemon_requests import await_reconciliation, daemon_with_token
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Cluster, NamedConnector, flag, group, option
from gitops_connect.cli.progress import progress
from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import NO_COMMIT, Actor, ActorKind, ManualAction, by_hand
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.report.printable import one_line
from gitops_connect.runtime import SystemClock, open_ledger
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import require_clusters

suspend, resume = group(), group()

WHOLE_CLUSTER = ConnectorName("")

Reason = Annotated[str, option("--reason", "TEXT", "Why, for the people who see the suspension.")]
Wait = Annotated[
    bool, flag("--wait", "Let the running daemon reconcile at once, as `reconcile` does, and wait for its steps.")
]
ClusterArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The cluster's name in the settings.", autocompletion=complete_clusters)
]


@suspend.command("connector")
def suspend_connector(
    context: typer.Context, name: NamedConnector, cluster: Cluster = None, reason: Reason = "", wait: Wait = False
) -> int:
    """Suspend a managed connector: no step, no restart and no offset change until it is resumed.

    The command does not ask Connect. It takes effect at the next reconciliation; steps in progress are finished.
    """
    connector = ConnectorName(name)
    with opened_ledger(context, wait=wait) as (settings, ledger):
        where, suspension = _managed_on(settings, ledger, connector, cluster), _suspension(reason)
        with ledger.together():
            ledger.suspend(where, connector, suspension)
            add_to_history(ledger, where, connector, ManualAction.SUSPEND, suspension.reason)
        begun = [one for one in _in_progress(ledger, where) if one.connector == connector]
    emit(f"{name} on {where} is suspended: from its next reconciliation on, gitops-connect changes nothing on it.\n")
    _tell_of_changes(begun)
    echo(f"To end this: {command_line('resume connector', name, '--cluster', where)}")
    return reconciled(settings, where, wait=wait)


@suspend.command("cluster")
def suspend_cluster(context: typer.Context, name: ClusterArgument, reason: Reason = "", wait: Wait = False) -> int:
    """Suspend all connectors of a cluster.

    The command does not ask Connect. It takes effect at the next reconciliation; steps in progress are finished.
    """
    with opened_ledger(context, wait=wait) as (settings, ledger):
        (where,) = chosen_in(settings, [name])
        suspension = _suspension(reason, whole_cluster=True)
        with ledger.together():
            ledger.suspend(where, None, suspension)
            add_to_history(ledger, where, WHOLE_CLUSTER, ManualAction.SUSPEND, suspension.reason)
        begun = _in_progress(ledger, where)
    emit(f"Cluster {where} is suspended: from its next reconciliation on, gitops-connect changes nothing on it.\n")
    _tell_of_changes(begun)
    echo(f"To end this: {command_line('resume cluster', where)}")
    return reconciled(settings, where, wait=wait)


@resume.command("connector")
def resume_connector(context: typer.Context, name: NamedConnector, cluster: Cluster = None, wait: Wait = False) -> int:
    """End the suspension of a connector by a command.

    Then say what the next reconciliation does with the connector, and what its document must declare to let it run.
    """
    connector = ConnectorName(name)
    with opened_ledger(context, wait=wait) as (settings, ledger):
        candidates = chosen_in(settings, cluster)
        there = [one for one in candidates if connector in ledger.suspensions(one).connectors]
        where = _only_one(name, "suspended", there)
        still = _why_cluster_is_suspended(settings, ledger, where) if where is not None else ""
        if where is not None:
            with ledger.together():
                ledger.resume(where, connector)
                add_to_history(ledger, where, connector, ManualAction.END_SUSPENSION)
    if where is None:
        echo(f"{name} is not suspended by a command.")
    else:
        emit(f"{name} on {where} is resumed: the next reconciliation brings it in sync.\n")
    if still:
        echo(f"note: cluster {where} is still suspended {still}")
    _tell_next(settings, connector, candidates if where is None else [where])
    return reconciled(settings, where, wait=wait) if where is not None else ExitCode.DONE


def _tell_next(settings: Settings, name: ConnectorName, clusters: Sequence[ClusterName]) -> None:
    """The command has done its work: that the next steps cannot be planned is only a note."""
    from gitops_connect.cli.explain import tell_next  # noqa: PLC0415 - `suspend` needs no planner

    try:
        tell_next(settings, name, clusters)
    except GitopsConnectError as error:
        echo(f"note: what the next reconciliation does is unknown: {error}")


@resume.command("cluster")
def resume_cluster(context: typer.Context, name: ClusterArgument, wait: Wait = False) -> int:
    """End the suspension of a cluster by a command."""
    with opened_ledger(context, wait=wait) as (settings, ledger):
        (where,) = chosen_in(settings, [name])
        with ledger.together():
            if was_suspended := ledger.resume(where, None):
                add_to_history(ledger, where, WHOLE_CLUSTER, ManualAction.END_SUSPENSION)
        still = sorted(ledger.suspensions(where).connectors)
    if settings.clusters[where].suspend:
        echo(f"note: [clusters.{where}] suspend = true in the settings still suspends the cluster; remove that")
    elif was_suspended:
        emit(f"Cluster {where} is resumed: the next reconciliation brings it in sync.\n")
    else:
        echo(f"Cluster {where} is not suspended.")
    if still:
        echo(f"note: still suspended by a command of their own: {', '.join(still)}")
    return reconciled(settings, where, wait=wait)


@contextmanager
def opened_ledger(context: typer.Context, *, wait: bool) -> Iterator[tuple[Settings, Ledger]]:
    """The settings and the ledger. `wait`: also raise UsageError if no daemon can be asked to reconcile."""
    settings = settings_of(context)
    require_clusters(settings)
    if wait:
        daemon_with_token(settings.server).close()
    with progress("Opening", "the ledger"):
        ledger = open_ledger(settings)
    with closing(ledger):
        yield settings, ledger


def reconciled(settings: Settings, cluster: ClusterName, *, wait: bool) -> ExitCode:
    """The exit code of a command that has recorded something; `wait`: after the daemon has reconciled the cluster."""
    return await_reconciliation(settings.server, cluster) if wait else ExitCode.DONE


def _suspension(reason: str, *, whole_cluster: bool = False) -> Suspension:
    return Suspension(SuspendedBy.COMMAND, whole_cluster, current_user(), SystemClock().now(), one_line(reason).strip())


def add_to_history(
    ledger: Ledger,
    cluster: ClusterName,
    connector: ConnectorName,
    action: ManualAction,
    reason: str = "",
    *,
    commit: Revision = NO_COMMIT,
    offset_change: str = "",
) -> None:
    """Record that the user of this command did this."""
    actor = Actor(ActorKind.COMMAND, current_user(), commit)
    entry = by_hand(actor, (cluster, connector), action, SystemClock().now(), reason)
    ledger.status.record_steps(cluster, [replace(entry, offset_change=offset_change)])


def current_user() -> str:
    """The user of the operating system and the machine, as in `ana@ops-1`."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name  # unlike `getpass.getuser`, which trusts environment variables
    except KeyError:  # a container may run with a user id that has no name
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


def _managed_on(settings: Settings, ledger: Ledger, name: ConnectorName, cluster: str | None) -> ClusterName:
    """The cluster on which the connector is managed. Raises UsageError if there is none, or more than one."""
    candidates = chosen_in(settings, cluster)
    managed = {one: ledger.ownership(one) for one in candidates}
    where = _only_one(name, "managed", [one for one, owned in managed.items() if name in owned])
    if where is None:
        known = [other for owned in managed.values() for other in owned]
        raise UsageError(
            f"connector {name!r} is not managed on {', '.join(candidates)}{did_you_mean(name, known)}; to suspend a"
            " connector that is not managed yet, set `suspend: true` in its document"
        )
    return where


def _only_one(name: str, what: str, clusters: Sequence[ClusterName]) -> ClusterName | None:
    if len(clusters) > 1:
        raise UsageError(f"connector {name!r} is {what} on {', '.join(clusters)}; select one with --cluster")
    return clusters[0] if clusters else None


def _why_cluster_is_suspended(settings: Settings, ledger: Ledger, cluster: ClusterName) -> str:
    suspension = ledger.suspensions(cluster).cluster
    if suspension is not None:
        return suspension.origin
    return "by the settings" if settings.clusters[cluster].suspend else ""


def _in_progress(ledger: Ledger, cluster: ClusterName) -> list[OffsetChangeRecord]:
    found = ledger.offset_changes.latest(cluster, None, [OffsetChangeState.OPEN], limit=None)
    return sorted(found, key=lambda one: one.name)


def _tell_of_changes(begun: Sequence[OffsetChangeRecord]) -> None:
    for one in begun:
        echo(f"note: offset change {one.name} of {one.connector} is in progress, and is finished first")
