"""`gitops-connect describe connector NAME`: everything about one connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from gitops_connect.cli import session
from gitops_connect.cli.console import emit, tell
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput

if TYPE_CHECKING:
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.names import ClusterName
    from gitops_connect.model.observed import ObservedConnector
    from gitops_connect.world import World

app = typer.Typer(help="Show one thing in full.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _describe() -> None:
    """A group even while it has one command."""


@app.command()
def connector(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The connector's name.")],
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show a connector's state, tasks with their traces, config and ownership."""
    with session.opened(context) as world:
        clusters = session.chosen(world, cluster)
        found, failures = session.each_cluster(clusters, lambda one: _describe_in(world, one, name))
    values = [value for value in found if value]
    if values:
        emit(_render(values, output))
    elif not failures:
        tell(
            f"error: there is no connector {name!r} on {', '.join(clusters)}: gitops-connect get connectors lists them"
        )
    if failures:
        return session.worst(failures)
    return ExitCode.DONE if values else ExitCode.FAILED


def _describe_in(world: World, cluster: ClusterName, name: str) -> dict[str, Any] | None:
    from gitops_connect.model.names import ConnectorName
    from gitops_connect.report.connectors import describe_connector

    client = world.clients[cluster]
    there, _ = client.connectors()
    observed = there.get(ConnectorName(name))
    if observed is None:
        return None
    owned = world.ledger.ownership(cluster).get(observed.name)
    remembered = frozenset(owned.applied) if owned else frozenset()
    return describe_connector(cluster, observed, owned, remembered | _passwords(client, observed))


def _passwords(client: ConnectClient, observed: ObservedConnector) -> frozenset[str]:
    """The keys that the plugin calls PASSWORD; every key where no worker knows the plugin, as any may be one."""
    from gitops_connect.errors import NotFound

    try:
        return client.sensitive_keys(observed.config.get("connector.class", ""))
    except NotFound:
        tell("note: no worker can tell which keys are passwords, so every value is masked")
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
