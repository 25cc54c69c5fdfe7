"""`gitops-connect plan` and `status`: what apply would do, and whether each connector is in sync and healthy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.cli import global_options
from gitops_connect.cli.cluster_commands import Planned, opened, plan_clusters, told_directory
from gitops_connect.cli.clusters import Failures, chosen_in, worst
from gitops_connect.cli.console import coloured, echo, echo_note, echo_styled, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import (
    OUTPUT,
    AllOffsets,
    Clusters,
    DetailedExitcode,
    Directory,
    ListOutput,
    PlanOutput,
    TableOutput,
    Untrusted,
    flag,
    is_untrusted,
    listing,
    option,
)
from gitops_connect.cli.selection import ConnectorSelection, Labels, Selectors, ShowLabels, label_words
from gitops_connect.cli.watching import Interval, WatchedTable, Watches, watch_interval, watch_listing
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.lag import Lags
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.status import ConnectorStatus
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.propose import Proposal
from gitops_connect.report import connector_status, markdown, plan_json, text
from gitops_connect.report.offset_lines import MOST_MOVES
from gitops_connect.report.plan_json import PlanOrigin
from gitops_connect.report.plan_view import exactly_once_support
from gitops_connect.report.printable import escaped
from gitops_connect.report.problems import problems_text
from gitops_connect.report.words import hints, plural
from gitops_connect.runtime import Runtime
from gitops_connect.safe_files import write_new


def plan(
    context: typer.Context,
    path: Directory = None,
    cluster: Clusters = None,
    out: Annotated[Path | None, option("--out", "FILE", "Save the plan to a file for `apply`.")] = None,
    output: Annotated[PlanOutput, OUTPUT] = PlanOutput.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    drift_exitcode: Annotated[
        bool, flag("--drift-exitcode", "Exit with 3 if a cluster has drifted since the last apply.")
    ] = False,
    all_offsets: AllOffsets = False,
    untrusted: Untrusted = None,
) -> int:
    """Show the changes that apply would make."""
    with opened(context) as runtime:
        clusters, path = chosen_in(runtime.settings, cluster), told_directory(runtime.settings, path)
        planned = plan_clusters(runtime, path, clusters, untrusted=is_untrusted(untrusted))
        revision, file = planned.declared.revision, str(path) if path else None
        origin = PlanOrigin(runtime.clock.now(), revision, file, planned.directory)
    plans, diagnostics = planned.plans, planned.diagnostics
    show_problems(diagnostics)
    verbose = global_options.of(context).verbose
    emit(_rendered(planned, diagnostics, origin, output, shown_moves(all_offsets), verbose))
    if out is not None:
        write_new(out, plan_json.render(plans, diagnostics, origin), force=True)
        echo(f"Saved the plan to {out}. To apply exactly this plan: {command_line('apply', str(out))}")
    if diagnostics.bugs:
        return ExitCode.BUG
    if planned.failures:
        return worst(planned.failures)
    if any(one.refusals for one in plans):
        return ExitCode.FAILED
    if diagnostics.errors:
        return ExitCode.INVALID
    if drift_exitcode and any(one.drifted for one in plans):
        return ExitCode.DRIFT
    return ExitCode.CHANGES if detailed_exitcode and any(not one.is_empty for one in plans) else ExitCode.DONE


def show_problems(diagnostics: Diagnostics) -> None:
    """Print every problem of the documents on stderr."""
    if len(diagnostics):
        echo_styled(problems_text(diagnostics, coloured=coloured(sys.stderr)))


def shown_moves(all_offsets: bool) -> int | None:
    """How many partitions of each offset change are shown; None: all."""
    return None if all_offsets else MOST_MOVES


def _rendered(
    planned: Planned, diagnostics: Diagnostics, origin: PlanOrigin, output: PlanOutput, moves: int | None, verbose: bool
) -> str:
    """The plan. JSON has every partition, whatever `moves` is. `verbose`: text lists the changes applied before."""
    match output:
        case PlanOutput.TEXT:
            report = text.TextReport(coloured=coloured(sys.stdout), moves=moves, applied=verbose)
            return report.plans(planned.plans, len(diagnostics.errors))
        case PlanOutput.JSON:
            return plan_json.render(planned.plans, diagnostics, origin)
        case PlanOutput.MARKDOWN:
            return markdown.render(planned.plans, moves, len(diagnostics.errors))


def status(
    context: typer.Context,
    path: Directory = None,
    cluster: Clusters = None,
    selector: Selectors = None,
    label: Labels = None,
    show_labels: ShowLabels = False,
    watches: Watches = False,
    interval: Interval = None,
    output: ListOutput = TableOutput.TABLE,
    exit_code: Annotated[
        bool, flag("--exit-code", "Exit with 1 unless every connector is in sync and healthy.")
    ] = False,
    untrusted: Untrusted = None,
) -> int:
    """Show whether each connector is in sync and healthy.

    Connectors that are paused or stopped as declared count as healthy. Unmanaged connectors are listed, and do not
    affect the exit code. Errors in documents do, also if --selector or --label leaves their connectors out.
    """
    selection, pause = ConnectorSelection.of(selector, label), watch_interval(output, interval, watches=watches)
    is_unmerged = is_untrusted(untrusted)
    with opened(context) as runtime:
        clusters, path = chosen_in(runtime.settings, cluster), told_directory(runtime.settings, path)

        def read() -> _Statuses:
            return _read_statuses(runtime, plan_clusters(runtime, path, clusters, untrusted=is_unmerged), path)

        if pause:
            return watch_listing(lambda: read().listing(selection, show_labels=show_labels), pause, output)
        found = read()
    shown = found.listing(selection, show_labels=show_labels)
    emit(listing(shown.headers, shown.rows, shown.values, output))
    for line in found.notes:
        echo(line)
    if found.failures:
        return worst(found.failures)
    is_fine = found.is_complete and all(one.is_fine for one in found.selected(selection))
    return ExitCode.FAILED if exit_code and not is_fine else ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _Statuses:
    """The connectors of the clusters that could be read, what else there is to say, and the errors of the others.

    `is_complete` is False if there is an error in a document, or an offset change whose connector has no row.
    """

    found: list[ConnectorStatus]
    with_lag: bool
    notes: tuple[str, ...]
    is_complete: bool
    failures: Failures

    def selected(self, selection: ConnectorSelection) -> list[ConnectorStatus]:
        return [one for one in self.found if selection.includes(one.name, dict(one.labels))]

    def listing(self, selection: ConnectorSelection, *, show_labels: bool) -> WatchedTable:
        statuses = self.selected(selection)
        headers, rows = connector_status.status_table(statuses, with_lag=self.with_lag)
        values = [{**one.value(), "labels": dict(one.labels)} for one in statuses]
        if show_labels:
            headers = (*headers, "LABELS")
            rows = [(*row, label_words(dict(one.labels))) for row, one in zip(rows, statuses, strict=True)]
        return WatchedTable(headers, rows, values, is_complete=not self.failures)


def _read_statuses(runtime: Runtime, planned: Planned, path: Path | None) -> _Statuses:
    made, directory = planned.made, planned.directory
    documents = planned.declared.diagnostics.under(directory)
    unhealthy_ones = [find_unhealthy(proposal.situation) for proposal in made]
    statuses = [
        status
        for proposal, found in zip(made, unhealthy_ones, strict=True)
        for status in connector_statuses(runtime, proposal, found, documents, directory)
    ]
    lines = [line for proposal in made for line in _of_cluster(runtime, proposal, path)]
    lags = {proposal.plan.cluster: _lags(runtime, proposal) for proposal in made}
    unmatched = [line for proposal in made for line in connector_status.unplaced(proposal.plan, statuses)]
    errors, only_planned = len(documents.errors), sum(len(proposal.diagnostics.errors) for proposal in made)
    more = (one.render(escaped) for one in hints([one for found in unhealthy_ones for one in found.values()]))
    return _Statuses(
        [replace(one, lag=lags[one.cluster].get(one.name)) for one in statuses],
        any(runtime.cluster(one).lag_interval for one in lags),
        (*lines, *unmatched, *_problems(errors, only_planned), *more),
        not (unmatched or errors or only_planned),
        planned.failures,
    )


def connector_statuses(
    runtime: Runtime,
    proposal: Proposal,
    unhealthy_ones: Mapping[ConnectorName, UnhealthyConnector],
    documents: Diagnostics,
    directory: str,
) -> list[ConnectorStatus]:
    """Each connector of the cluster, with the time since when it has its health."""
    desired, observed = proposal.situation.desired, proposal.situation.observed
    problems = connector_status.problems_by_connector(desired, documents, proposal.diagnostics.under(directory))
    failures = runtime.ledger.status.failed_steps(proposal.plan.cluster)
    findings = connector_status.StatusFindings(proposal.situation.now, unhealthy_ones, problems, failures)
    found = connector_status.connector_statuses(proposal.plan, desired, observed, findings)
    return connector_status.with_since(found, proposal.situation.conditions)


def _lags(runtime: Runtime, proposal: Proposal) -> Lags:
    """The lags of the connectors that the plan has read; a note says what could not be read."""
    settings, situation = runtime.cluster(proposal.plan.cluster), proposal.situation
    if not settings.lag_interval:
        return {}
    from gitops_connect.offset_changes.connector_lag import LagReads  # noqa: PLC0415 - few settings name a Kafka cluster

    client, reads = runtime.clients[settings.name], LagReads(settings, runtime.families, runtime.open_kafka)
    found = reads.measure(client, situation.observed.connectors, runtime.clock)
    for problem in found.problems:
        echo_note(f"cluster {settings.name}: lag unknown: {problem}")
    return found.lags


def _of_cluster(runtime: Runtime, proposal: Proposal, path: Path | None) -> list[str]:
    cluster, directory = proposal.plan.cluster, escaped(path.as_posix()) if path else ""
    recorded = runtime.ledger.revisions(cluster)
    revisions = connector_status.revisions_line(cluster, proposal.plan.revision, recorded, directory)
    support = (f"cluster {cluster}: {one.render(escaped)}" for one in exactly_once_support(proposal.plan))
    return [revisions, *support, *map(escaped, connector_status.suspended_cluster(proposal.plan))]


def _problems(errors: int, only_planned: int) -> list[str]:
    documents = f"{plural(errors, 'error')} in the documents; run `gitops-connect validate` for details"
    more = f"{plural(only_planned, 'error')} outside the documents; run `gitops-connect plan` for details"
    return [line for line, count in ((documents, errors), (more, only_planned)) if count]
