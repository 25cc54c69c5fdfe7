"""`gitops-connect get`, `describe` and `restart`: the connectors and plugins that are on the clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitops_connect.apply.actions import restart_alone
from gitops_connect.apply.effects import Watched, failed_parts
from gitops_connect.apply.step_execution import StepExecution, StepResult
from gitops_connect.cli.cluster_commands import opened, repository_of
from gitops_connect.cli.clusters import Failures, chosen_in, each_cluster, settings_of, worst
from gitops_connect.cli.console import echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import (
    Cluster,
    Clusters,
    ListOutput,
    NamedConnector,
    NamedConnectors,
    TableOutput,
    flag,
    group,
    in_format,
    listing,
    option,
)
from gitops_connect.cli.progress import progress
from gitops_connect.cli.selection import ConnectorSelection, Labels, Selectors, ShowLabels, label_words
from gitops_connect.cli.suspend import current_user
from gitops_connect.cli.watching import Interval, WatchedTable, Watches, watch_interval, watch_listing
from gitops_connect.connect.capabilities import ACTIVE_TOPICS, PLUGIN_KEYS
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exchanges import LONGEST, Exchange, noted_in
from gitops_connect.connect.plugin_definitions import needs_password_keys, password_keys
from gitops_connect.connect.validation import installed_versions
from gitops_connect.errors import GitopsConnectError, NotFound, Rejected, UsageError
from gitops_connect.families.health_rules import unhealthy
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.exactly_once import delivery
from gitops_connect.model.masking import mask, sensitive_values
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import (
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    ObservedState,
    WorkerState,
)
from gitops_connect.model.outcomes import Actor, ActorKind, Result, StepOutcome, by_hand
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import RequestKind, Restart, RestartRequest
from gitops_connect.model.status import Condition, ConditionType
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.observe import observe, observe_exactly_once, observe_topics
from gitops_connect.offset_changes.subject import Clients, clients_of, locate
from gitops_connect.plan.known_secrets import known_secrets, sensitive_keys
from gitops_connect.plan.offset_stores import depends_on_support
from gitops_connect.plan.restarts import find_unhealthy, restart_for
from gitops_connect.plan.situation import Situation
from gitops_connect.report.connector_status import CONNECTOR_HEADERS, PluginView, connector_row, describe_connector
from gitops_connect.report.offset_lines import progress_outline
from gitops_connect.report.table import outline
from gitops_connect.report.words import auto_restart_status
from gitops_connect.runtime import Runtime, SystemClock, open_families, open_ledger
from gitops_connect.secret_values import resolve
from gitops_connect.settings.own import ledger_file
from gitops_connect.settings.sections import Settings

if TYPE_CHECKING:
    from gitops_connect.declare import Declared

get, describe, restart = group(), group(), group()

Row = dict[str, str]


@get.command("connector", hidden=True)
@get.command()
def connectors(
    context: typer.Context,
    names: NamedConnectors = None,
    cluster: Clusters = None,
    selector: Selectors = None,
    label: Labels = None,
    show_labels: ShowLabels = False,
    watches: Watches = False,
    interval: Interval = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """List the connectors of the clusters.

    Labels are read from the repository.
    """
    selection, pause = ConnectorSelection.of(selector, label), watch_interval(output, interval, watches=watches)
    known: set[str] = set()
    documents = _Documents(settings_of(context), label)

    def rows(runtime: Runtime, name: ClusterName) -> list[Row]:
        ownership = runtime.ledger.ownership(name)
        there, _ = runtime.clients[name].connectors()
        known.update(there)
        labels = documents.labels(name) if selection.labels or show_labels else {}
        shown = [
            key for key in sorted(there) if (not names or key in names) and selection.includes(key, labels.get(key, {}))
        ]
        added = {key: {"labels": label_words(labels.get(key, {}))} if show_labels else {} for key in shown}
        return [{**connector_row(name, there[key], ownership.get(key)), **added[key]} for key in shown]

    headers = (*CONNECTOR_HEADERS, *(["LABELS"] if show_labels else []))
    clusters, failures = _list(context, cluster, headers, rows, output, pause)
    return worst(failures) if failures else _report_missing(names or (), known, clusters)


class _Documents:
    """The labels of declared connectors. Each reading of all clusters reads the documents once.

    If they cannot be read, the labels are those of the last reading.

    Raises UsageError if there are no documents, and labels are required.
    """

    def __init__(self, settings: Settings, required: Collection[str] | None) -> None:
        self._settings = settings
        self._declared = repository_of(settings) if required else None
        self._asked: set[ClusterName] = set()
        self._is_read = bool(required)
        if required and self._declared is None:
            raise UsageError(
                "--label needs the documents, which have the labels; set `url` in [repository], or use settings with"
                " the directory `clusters` next to them; without documents, select with NAME, --selector or --cluster"
            )

    def labels(self, cluster: ClusterName) -> Mapping[ConnectorName, Mapping[str, str]]:
        if cluster in self._asked or not self._is_read:  # the next reading, or the first one
            newest = repository_of(self._settings)
            self._declared, self._asked, self._is_read = newest or self._declared, set(), True
        self._asked.add(cluster)
        state = self._declared.states.get(cluster) if self._declared is not None else None
        return {one.name: one.labels for one in state.connectors} if state is not None else {}


def _report_missing(names: Collection[str], known: Collection[str], clusters: Collection[ClusterName]) -> ExitCode:
    missing = [name for name in dict.fromkeys(names) if name not in known]
    for name in missing:
        echo(f"error: there is no connector {name!r} on {', '.join(clusters)}{did_you_mean(name, known)}")
    return ExitCode.FAILED if missing else ExitCode.DONE


@get.command("topic", hidden=True)
@get.command()
def topics(
    context: typer.Context,
    names: NamedConnectors = None,
    topic: Annotated[
        list[str] | None, option("--topic", "TOPIC", "Only the connectors that use this topic; may be repeated.")
    ] = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """List the active topics of the connectors.

    They are the topics that a connector has used since it was created, or since they were last reset. A name may be
    that of a deleted connector. Its type is then `-`, and its topics are those that Connect has kept.
    """
    known: set[str] = set()
    unread: Failures = []

    def rows(runtime: Runtime, where: ClusterName) -> list[Row]:
        client = runtime.clients[where]
        client.require(ACTIVE_TOPICS)
        there, unknown = client.connectors()
        types = {**dict.fromkeys(unknown, "unknown"), **{name: one.type.value for name, one in there.items()}}
        found, failed = observe_topics(client, sorted({*map(ConnectorName, names)} if names else types))
        known.update(types, failed, (name for name, used in found.items() if used))
        for error in failed.values():
            echo(f"error: {str(error).removeprefix('connect ')}")
            unread.append(error)
        return [
            {"cluster": where, "connector": name, "type": types.get(name, "-"), "topic": one}
            for name, used in found.items()
            for one in sorted(used if topic is None else used.intersection(topic))
        ]

    clusters, failures = _list(context, cluster, ("CLUSTER", "CONNECTOR", "TYPE", "TOPIC"), rows, output)
    failures += unread
    return worst(failures) if failures else _report_missing(names or (), known, clusters)


@get.command("plugin", hidden=True)
@get.command()
def plugins(context: typer.Context, cluster: Clusters = None, output: ListOutput = TableOutput.TABLE) -> int:
    """List the connector classes that the workers can load."""

    def rows(runtime: Runtime, name: ClusterName) -> list[Row]:
        return [
            {"cluster": name, "type": plugin.type.value, "version": plugin.version, "class": plugin.class_name}
            for plugin in sorted(runtime.clients[name].plugins(), key=lambda plugin: plugin.class_name)
        ]

    _, failures = _list(context, cluster, ("CLUSTER", "TYPE", "VERSION", "CLASS"), rows, output)
    return worst(failures)


def _list(
    context: typer.Context,
    names: list[str] | None,
    headers: Sequence[str],
    rows: Callable[[Runtime, ClusterName], list[Row]],
    output: TableOutput,
    pause: float = 0,
) -> tuple[tuple[ClusterName, ...], Failures]:
    """Print the rows of each cluster, with `pause` again and again. Returns the clusters, and the errors of others."""
    with opened(context) as runtime:
        clusters, failures = chosen_in(runtime.settings, names), Failures()

        def read() -> WatchedTable:
            with progress("Reading") as say:

                def one(name: ClusterName) -> list[Row]:
                    say(f"cluster {name}")
                    return rows(runtime, name)

                found, failed = each_cluster(clusters, one)
            failures[:] = failed
            values = [value for one in found for value in one]
            return WatchedTable(headers, [list(value.values()) for value in values], values, is_complete=not failed)

        if pause:
            watch_listing(read, pause, output)
            return clusters, []
        found = read()
    emit(listing(headers, found.rows, found.values, output))
    return clusters, failures


@describe.command("connectors", hidden=True)
@describe.command("connector")
def describe_connectors(
    context: typer.Context, name: NamedConnector, cluster: Clusters = None, output: ListOutput = TableOutput.TABLE
) -> int:
    """Show the state, tasks, config and ownership of a connector."""
    with opened(context) as runtime:
        clusters = chosen_in(runtime.settings, cluster)
        declared = cache(lambda: repository_of(runtime.settings))
        with progress("Reading", f"connector {name}"):
            found, failures = each_cluster(
                clusters, lambda one: _described(runtime, one, ConnectorName(name), declared)
            )
    values = [value for value in found if value]
    if values:
        emit(in_format(output, values, lambda: "\n".join(outline(value) for value in values)))
    elif not failures:
        echo(
            f"error: there is no connector {name!r} on {', '.join(clusters)};"
            " run `gitops-connect get connectors` to list all connectors"
        )
    if failures:
        return worst(failures)
    return ExitCode.DONE if values else ExitCode.FAILED


def _described(
    runtime: Runtime, cluster: ClusterName, name: ConnectorName, repository: Callable[[], Declared | None]
) -> dict[str, Any] | None:
    client = runtime.clients[cluster]
    state = observe(client, ())
    observed = state.connectors.get(name)
    if observed is None:
        return None
    situation = _situation(runtime, state, observed, repository)
    declared = next((one for one in situation.desired.connectors if one.name == name), None)
    secret = sensitive_keys(situation, name, declared)
    safe = known_secrets(situation).mask_traces(observed)
    installed = installed_versions(client.plugins(), observed.config.get("connector.class", ""))
    problem, owned = find_unhealthy(situation).get(name), situation.ownership.get(name)
    described = describe_connector(cluster, safe, problem, owned, PluginView(secret, installed))
    if observed.type is ConnectorType.SOURCE:
        if depends_on_support(observed.config):
            state = replace(state, exactly_once=observe_exactly_once(client))
            described["Exactly-once sources"] = state.exactly_once.value
        support = replace(situation, observed=state, policy=runtime.policy(cluster)).exactly_once
        described["Delivery"] = delivery(observed.config, support).value
    if (restarts := auto_restart_status(name, runtime.ledger.restarts.of(cluster).get(name))) is not None:
        described["autoRestart"] = restarts
    if (position := runtime.ledger.status.offset_positions.of(cluster).get(name)) is not None and position.digest:
        described["Offsets"] = progress_outline(position)
    if ACTIVE_TOPICS.is_in(state.version):
        described["Active topics"] = _active_topics(client, name)
    kinds = (one for (of, kind, _), one in situation.conditions.items() if of == name and kind is ConditionType.WARNING)
    if warnings := sorted(kinds, key=attrgetter("reason", "message")):
        described["Warnings"] = [_condition(one) for one in warnings]
    return described


def _condition(one: Condition) -> dict[str, str]:
    since = f"{one.since:%Y-%m-%d %H:%M:%S} UTC"
    type_and_status = {"Type": one.type.value, "Status": one.status.value}
    return {**type_and_status, "Reason": one.reason, "Message": one.message, "Since": since}


def _active_topics(client: ConnectClient, name: ConnectorName) -> list[str] | str:
    try:
        return sorted(client.active_topics(name))
    except GitopsConnectError as error:
        return f"unknown: {error}"


def _situation(
    runtime: Runtime, state: ObservedState, observed: ObservedConnector, repository: Callable[[], Declared | None]
) -> Situation:
    """The data from which the cluster's secrets are known.

    The ledger may have no secrets of a connector, because the connector has none or because the ledger was lost. Then
    only the repository has them. A trace may also quote the secrets of other connectors.
    """
    cluster, client = state.cluster, runtime.clients[state.cluster]
    ownership = runtime.ledger.ownership(cluster)
    owned = ownership.get(observed.name)
    is_known = owned is not None and bool(owned.applied) and unhealthy(observed, runtime.families) is None
    declared = None if is_known else repository()
    desired = (declared.states.get(cluster) if declared is not None else None) or DesiredState(cluster)
    resolved = resolve(desired, runtime.settings, runtime.environment)
    passwords = password_keys(client, state, needs_password_keys(state, runtime.families))
    own = {observed.name: _passwords(client, state.version, observed)}
    return Situation(
        Revision(""),
        resolved.desired,
        state,
        runtime.clock.now(),
        families=runtime.families,
        ownership=ownership,
        quoted={**passwords.known, **own},
        undescribed=passwords.undescribed - own.keys(),
        secrets=resolved.values,
        conditions=runtime.ledger.status.conditions.of(cluster),
    )


def _passwords(client: ConnectClient, version: ConnectVersion, observed: ObservedConnector) -> frozenset[str]:
    """The keys of the plugin's type PASSWORD; every key if no worker describes it, because any may be a password."""
    why = "no worker has the plugin" if PLUGIN_KEYS.is_in(version) else PLUGIN_KEYS.missing(version)
    if PLUGIN_KEYS.is_in(version):
        with suppress(NotFound):
            return client.sensitive_keys(observed.config.get("connector.class", ""), observed.version)
    echo(f"note: all config values are masked: {why}, so it is unknown which keys are passwords")
    return frozenset(observed.config) - {"connector.class", "connector.plugin.version", "tasks.max"}


@restart.command("connector")
def restart_connector(
    context: typer.Context,
    name: NamedConnector,
    task: Annotated[
        list[int] | None, option("--task", "NUMBER", "Restart only this task; may be repeated.", min=0)
    ] = None,
    failed: Annotated[bool, flag("--failed", "Restart only the parts that are FAILED.")] = False,
    reset_count: Annotated[
        bool, flag("--reset-count", "Count automatic restarts from 0 again. Needs the ledger.")
    ] = False,
    cluster: Cluster = None,
) -> int:
    """Restart a connector with all its tasks, and wait until it works.

    The command needs no repository and, without --reset-count, no ledger. Automatic restarts do not count it.
    """
    if task and failed:
        raise UsageError("--task and --failed exclude each other: --failed selects the tasks")
    settings, clock, wanted = settings_of(context), SystemClock(), ConnectorName(name)
    with clients_of(settings, chosen_in(settings, cluster)) as clients:
        where, seen = _running(clients, wanted, task or ())
        client, limits = clients[where], settings.clusters[where]
        if reset_count:
            with closing(open_ledger(settings)) as ledger:
                ledger.restarts.record(where, {}, (wanted,))
            emit(f"The automatic restarts of {name} on {where} count from 0 again.\n")
        if failed and not failed_parts(seen):
            emit(f"No part of {name} on {where} is FAILED: nothing is restarted.\n")
            return ExitCode.DONE
        kind = RequestKind.TASKS if task else RequestKind.CONNECTOR
        request = RestartRequest(kind, "by hand", only_failed=failed, tasks=tuple(sorted(set(task or ()))))
        requested = restart_for(request, seen, client.info().version)
        step = Step(wanted, Action.RESTART, "requested by a command", restart=requested)
        watched = Watched(limits.min_running, failed_parts(seen), open_families()) if limits.min_running else None
        echo(f"Restarting {name} on {where}.")
        execution = StepExecution(step, clock.monotonic(), limits.settle_timeout, watched)
        with progress("Restarting", f"waiting until {name} works"):
            result = _restart(settings, client, seen, execution, clock)
    if result.result is Result.UNCONFIRMED:
        echo(f"{name} on {where} was restarted; not confirmed yet: {result.message}")
        return ExitCode.UNCONFIRMED
    if result.result is not Result.APPLIED or result.message:
        echo(f"error: {name} on {where}: {result.message}")
        return ExitCode.FAILED
    emit(f"{name} on {where} was restarted.\n")
    return ExitCode.DONE


def _restart(
    settings: Settings, client: ConnectClient, seen: ObservedConnector, execution: StepExecution, clock: Clock
) -> StepResult:
    """Carry out the restart, and add it to the history if there is a ledger: the restart itself needs none."""
    step, exchanges = execution.step, list[Exchange]()
    with noted_in(exchanges):
        result = restart_alone(execution, step.restart or Restart(), client, clock)
    if (file := ledger_file(settings)) is not None and not file.exists():
        return result
    actor, where = Actor(ActorKind.COMMAND, current_user()), (client.cluster, seen.name)
    entry = replace(
        by_hand(actor, where, step.action, clock.now(), step.reason),
        result=StepOutcome(step, result.result, result.message).shown_result,
        seconds=clock.monotonic() - execution.started,
    )
    request, answer = exchanges[-1] if exchanges else ("", "")
    try:
        with closing(open_ledger(settings)) as ledger:
            owned = ledger.ownership(client.cluster).get(seen.name)
            secrets = sensitive_values(seen.config, owned.applied if owned is not None else ())
            message, answer = mask(result.message, secrets), mask(answer, secrets)[:LONGEST]
            entry = replace(entry, message=message, request=request, answer=answer)
            ledger.status.record_steps(client.cluster, [entry])
    except GitopsConnectError as error:
        echo_note(f"the restart is not in the history: {error}")
    return result


def _running(clients: Clients, name: ConnectorName, tasks: Collection[int]) -> tuple[ClusterName, ObservedConnector]:
    """The connector, and its cluster.

    Raises UsageError, NotFound, or Rejected if a restart would not start it, or if it has no such task.
    """
    with progress("Restarting", f"reading {name}"):
        where = locate(clients, name, echo_note)
        seen = clients[where].connectors()[0].get(name)
    if seen is None:
        raise NotFound(f"cluster {where} did not return the state of connector {name!r}; try again")
    if seen.state in (WorkerState.STOPPED, WorkerState.PAUSED):
        way_out = "declare it with `state: running`, or resume it"
        raise Rejected(f"{name} is {seen.state.value}: a restart would not start it; {way_out}")
    known = [one.id for one in seen.tasks]
    if unknown := sorted(set(tasks) - set(known)):
        raise Rejected(f"{name} has no task {unknown[0]}; its tasks are {', '.join(map(str, known)) or 'none'}")
    return where, seen
