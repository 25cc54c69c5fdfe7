"""`gitops-connect describe connector NAME`: everything about one connector."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from gitops_connect.cli import session
from gitops_connect.cli.console import emit, tell
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput

if TYPE_CHECKING:
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.model.observed import ObservedConnector
    from gitops_connect.reconcile import Declared
    from gitops_connect.settings.sections import Settings
    from gitops_connect.world import World

app = typer.Typer(help="Show the details of a connector.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _describe() -> None:
    """A group even while it has one command."""


@app.command("connectors", hidden=True)
@app.command()
def connector(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The connector's name.")],
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the state, tasks, config and ownership of a connector."""
    with session.opened(context) as world:
        clusters = session.chosen(world, cluster)
        secrets = _DeclaredSecrets(world.settings)
        found, failures = session.each_cluster(clusters, lambda one: _describe_in(world, one, name, secrets))
    values = [value for value in found if value]
    if values:
        emit(_render(values, output))
    elif not failures:
        tell(
            f"error: there is no connector {name!r} on {', '.join(clusters)};"
            " run `gitops-connect get connectors` to list all connectors"
        )
    if failures:
        return session.worst(failures)
    return ExitCode.DONE if values else ExitCode.FAILED


class _DeclaredSecrets:
    """The config keys that the repository gives a secret. It is read once, and only if the ledger knows none."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _declared(self) -> Declared | None:
        from gitops_connect.cli.subject import repository_of

        return repository_of(self._settings)

    def keys(self, cluster: ClusterName, name: ConnectorName) -> frozenset[str]:
        """Of one connector; none if no repository is set, or if it cannot be read, of which the user is told."""
        state = self._declared.states.get(cluster) if self._declared is not None else None
        connectors = state.connectors if state is not None else ()
        return frozenset(key for one in connectors if one.name == name for key in one.secrets)


def _describe_in(world: World, cluster: ClusterName, name: str, secrets: _DeclaredSecrets) -> dict[str, Any] | None:
    from gitops_connect.model.masking import mask_traces, sensitive_values
    from gitops_connect.model.names import ConnectorName
    from gitops_connect.report.connectors import describe_connector

    client = world.clients[cluster]
    there, _ = client.connectors()
    observed = there.get(ConnectorName(name))
    if observed is None:
        return None
    owned = world.ledger.ownership(cluster).get(observed.name)
    secret = frozenset(owned.applied) if owned else secrets.keys(cluster, observed.name)
    passwords = secret | _passwords(client, observed)
    safe = mask_traces(observed, sensitive_values(observed.config, passwords))
    return describe_connector(cluster, safe, owned, passwords)


def _passwords(client: ConnectClient, observed: ObservedConnector) -> frozenset[str]:
    """The keys that the plugin calls PASSWORD; every key where no worker knows the plugin, as any may be one."""
    from gitops_connect.errors import NotFound

    try:
        return client.sensitive_keys(observed.config.get("connector.class", ""))
    except NotFound:
        tell("note: all config values are masked: no worker has the plugin, so it is unknown which keys are passwords")
        return frozenset(observed.config) - {"connector.class", "tasks.max"}


def _render(values: list[dict[str, Any]], output: TableOutput) -> str:
    from gitops_connect.report.table import as_json, as_yaml, outline

    match output:
        case TableOutput.TABLE:
            return "\n".join(outline(value) for value in values)
        case TableOutput.JSON:
            return as_json(values)
        case TableOutput.YAML:
            return as_yaml(values)
        case _:
            assert_never(output)
