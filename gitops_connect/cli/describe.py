"""`gitops-connect describe connector NAME`: everything about one connector."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.cluster_commands import repository_of
from gitops_connect.cli.clusters import chosen_in, each_cluster, worst
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput, in_format
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.plugin_definitions import needs_password_keys, password_keys
from gitops_connect.errors import NotFound
from gitops_connect.families.health_rules import unhealthy
from gitops_connect.model.capabilities import PLUGIN_KEYS
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import ConnectVersion, ObservedConnector, ObservedState
from gitops_connect.model.status import ConditionType
from gitops_connect.model.validation import installed_versions
from gitops_connect.observe import observe
from gitops_connect.plan.known_secrets import known_secrets, sensitive_keys
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.plan.situation import Situation
from gitops_connect.report.connector_status import PluginView, describe_connector
from gitops_connect.report.table import outline
from gitops_connect.report.words import auto_restart_status
from gitops_connect.runtime import Runtime
from gitops_connect.secret_values import resolve
from gitops_connect.settings.sections import Settings

if TYPE_CHECKING:
    from gitops_connect.declare import Declared

app = typer.Typer(help="Show the details of a connector.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _describe() -> None:
    """A command group, although it has only one command."""


@app.command("connectors", hidden=True)
@app.command()
def connector(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The connector's name.")],
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the state, tasks, config and ownership of a connector."""
    with cluster_commands.opened(context) as runtime:
        clusters = chosen_in(runtime.settings, cluster)
        repository = _Repository(runtime.settings)
        found, failures = each_cluster(clusters, lambda one: _describe_in(runtime, one, name, repository))
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


class _Repository:
    """What the repository declares. It is read once, and only if it is needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _declared(self) -> Declared | None:
        return repository_of(self._settings)

    def desired(self, cluster: ClusterName) -> DesiredState:
        """The state that the repository declares for the cluster.

        It is empty if no repository is configured, or if it cannot be read, which is reported to the user.
        """
        states = self._declared.states if self._declared is not None else {}
        return states.get(cluster) or DesiredState(cluster)


def _describe_in(runtime: Runtime, cluster: ClusterName, name: str, repository: _Repository) -> dict[str, Any] | None:
    client = runtime.clients[cluster]
    state = observe(client, ())
    observed = state.connectors.get(ConnectorName(name))
    if observed is None:
        return None
    situation = _situation(runtime, state, observed, repository)
    declared = next((one for one in situation.desired.connectors if one.name == observed.name), None)
    secret = sensitive_keys(situation, observed.name, declared, frozenset(observed.config))
    safe = known_secrets(situation).mask_traces(observed)
    problem = find_unhealthy(situation).get(observed.name)
    owned = situation.ownership.get(observed.name)
    installed = installed_versions(client.plugins(), observed.config.get("connector.class", ""))
    described = describe_connector(cluster, safe, problem, owned, PluginView(secret, installed))
    return {**described, **_strimzi_status(runtime, situation, observed)}


def _strimzi_status(runtime: Runtime, situation: Situation, observed: ObservedConnector) -> dict[str, Any]:
    """What the status of a Strimzi resource has: automatic restarts, and the condition that the daemon recorded."""
    restarts = auto_restart_status(observed.name, runtime.ledger.restarts(situation.desired.cluster).get(observed.name))
    warning = situation.conditions.get((observed.name, ConditionType.WARNING))
    found: dict[str, Any] = {} if restarts is None else {"autoRestart": restarts}
    if warning is not None:
        found["Warning"] = {
            "Reason": warning.reason,
            "Message": warning.message,
            "Since": f"{warning.since:%Y-%m-%d %H:%M:%S} UTC",
        }
    return found


def _situation(
    runtime: Runtime, state: ObservedState, observed: ObservedConnector, repository: _Repository
) -> Situation:
    """The data from which the cluster's secrets are known.

    The ledger may have no secrets of a connector, because the connector has none or because the ledger was lost. Then
    only the repository has them. A trace may also quote the secrets of other connectors.
    """
    client = runtime.clients[state.cluster]
    ownership = runtime.ledger.ownership(state.cluster)
    owned = ownership.get(observed.name)
    is_known = owned is not None and bool(owned.applied) and unhealthy(observed, runtime.families) is None
    desired = DesiredState(state.cluster) if is_known else repository.desired(state.cluster)
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
        conditions=runtime.ledger.status.conditions(state.cluster),
    )


def _passwords(client: ConnectClient, version: ConnectVersion, observed: ObservedConnector) -> frozenset[str]:
    """The keys of the plugin's type PASSWORD; every key if no worker describes it, because any may be a password."""
    why = "no worker has the plugin" if PLUGIN_KEYS.is_in(version) else PLUGIN_KEYS.missing(version)
    if PLUGIN_KEYS.is_in(version):
        with suppress(NotFound):
            return client.sensitive_keys(observed.config.get("connector.class", ""), observed.version)
    echo(f"note: all config values are masked: {why}, so it is unknown which keys are passwords")
    return frozenset(observed.config) - {"connector.class", "connector.plugin.version", "tasks.max"}
