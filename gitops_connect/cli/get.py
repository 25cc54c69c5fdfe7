"""`gitops-connect get connectors|plugins`: the connectors and plugins of the clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import chosen_in, each_cluster, worst
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput, listing
from gitops_connect.model.names import ClusterName
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.report.connector_status import CONNECTOR_HEADERS, connector_row

app = typer.Typer(help="List connectors or connector plugins.", no_args_is_help=True, rich_markup_mode=None)


@app.command("connector", hidden=True)
@app.command()
def connectors(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Only these connectors. [default: all]")
    ] = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """List the connectors of the clusters."""
    known: set[str] = set()

    with cluster_commands.opened(context) as runtime:

        def one(name: ClusterName) -> list[dict[str, str]]:
            ownership = runtime.ledger.ownership(name)
            there, _ = runtime.clients[name].connectors()
            known.update(there)
            shown = [key for key in sorted(there) if not names or key in names]
            return [connector_row(name, there[key], ownership.get(key)) for key in shown]

        clusters = chosen_in(runtime.settings, cluster)
        found, failures = each_cluster(clusters, one)
    values = [value for rows in found for value in rows]
    emit(listing(CONNECTOR_HEADERS, [list(value.values()) for value in values], values, output))
    if failures:
        return worst(failures)
    missing = [name for name in dict.fromkeys(names or ()) if name not in known]
    for name in missing:
        echo(f"error: there is no connector {name!r} on {', '.join(clusters)}{did_you_mean(name, known)}")
    return ExitCode.FAILED if missing else ExitCode.DONE


@app.command("plugin", hidden=True)
@app.command()
def plugins(context: typer.Context, cluster: Clusters = None, output: ListOutput = TableOutput.TABLE) -> int:
    """List the connector classes that the workers can load."""
    with cluster_commands.opened(context) as runtime:

        def one(name: ClusterName) -> list[dict[str, str]]:
            return [
                {"cluster": name, "type": plugin.type.value, "version": plugin.version, "class": plugin.class_name}
                for plugin in sorted(runtime.clients[name].plugins(), key=lambda plugin: plugin.class_name)
            ]

        found, failures = each_cluster(chosen_in(runtime.settings, cluster), one)
    values = [value for rows in found for value in rows]
    emit(listing(("CLUSTER", "TYPE", "VERSION", "CLASS"), [list(value.values()) for value in values], values, output))
    return worst(failures) if failures else ExitCode.DONE
