"""`gitops-connect status`: every connector, whether it is in sync with Git, and whether it works."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import chosen_in, worst
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import (
    Clusters,
    Directory,
    ListOutput,
    TableOutput,
    Untrusted,
    is_untrusted,
    listing,
)
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.status import ConnectorStatus
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.propose import Proposal
from gitops_connect.report.connector_status import (
    HEADERS,
    connector_statuses,
    problems_by_connector,
    revisions_line,
    suspended_cluster,
    unplaced,
    with_since,
)
from gitops_connect.report.printable import escaped
from gitops_connect.report.words import hints, plural
from gitops_connect.runtime import Runtime


def status(
    context: typer.Context,
    path: Directory = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 unless every connector is in sync and healthy.")
    ] = False,
    untrusted: Untrusted = None,
) -> int:
    """Show whether each connector is in sync and healthy.

    Connectors that are paused or stopped as declared count as healthy. Unmanaged connectors are listed, and do not
    affect the exit code.
    """
    with cluster_commands.opened(context) as runtime:
        clusters = chosen_in(runtime.settings, cluster)
        planned = cluster_commands.plan_clusters(runtime, path, clusters, untrusted=is_untrusted(untrusted))
        made, directory = planned.made, planned.directory
        documents = planned.declared.diagnostics.under(directory)
        unhealthy_ones = [find_unhealthy(proposal.situation) for proposal in made]
        statuses = [
            status
            for proposal, found in zip(made, unhealthy_ones, strict=True)
            for status in _statuses(proposal, found, documents, directory)
        ]
        lines = [line for proposal in made for line in _of_cluster(runtime, proposal, path)]
    unmatched = [line for proposal in made for line in unplaced(proposal.plan, statuses)]
    emit(listing(HEADERS, [one.row() for one in statuses], [one.value() for one in statuses], output))
    errors, only_planned = len(documents.errors), sum(len(proposal.diagnostics.errors) for proposal in made)
    more = (one.render(escaped) for one in hints([one for found in unhealthy_ones for one in found.values()]))
    for line in (*lines, *unmatched, *_problems(errors, only_planned), *more):
        echo(line)
    if planned.failures:
        return worst(planned.failures)
    is_fine = all(one.is_fine for one in statuses) and not (unmatched or errors or only_planned)
    return ExitCode.FAILED if exit_code and not is_fine else ExitCode.DONE


def _statuses(
    proposal: Proposal,
    unhealthy_ones: Mapping[ConnectorName, UnhealthyConnector],
    documents: Diagnostics,
    directory: str,
) -> list[ConnectorStatus]:
    desired, observed = proposal.situation.desired, proposal.situation.observed
    problems = problems_by_connector(desired, documents, proposal.diagnostics.under(directory))
    found = connector_statuses(proposal.plan, desired, observed, unhealthy_ones, problems)
    return with_since(found, proposal.situation.conditions)


def _of_cluster(runtime: Runtime, proposal: Proposal, path: Path | None) -> list[str]:
    cluster, applied = proposal.plan.cluster, runtime.ledger.revisions(proposal.plan.cluster).applied
    directory = escaped(path.as_posix()) if path else ""
    revisions = revisions_line(cluster, proposal.plan.revision, applied.revision if applied else None, directory)
    return [revisions, *map(escaped, suspended_cluster(proposal.plan))]


def _problems(errors: int, only_planned: int) -> list[str]:
    documents = f"{plural(errors, 'error')} in the documents; run `gitops-connect validate` for details"
    more = f"{plural(only_planned, 'error')} outside the documents; run `gitops-connect plan` for details"
    return [line for line, count in ((documents, errors), (more, only_planned)) if count]
