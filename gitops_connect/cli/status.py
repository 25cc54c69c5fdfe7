"""`gitops-connect status`: every connector, as declared and as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from gitops_connect.cli import session
from gitops_connect.cli.console import emit, tell
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.listing import listing
from gitops_connect.cli.options import Clusters, DriftExitcode, Folder, ListOutput, TableOutput

if TYPE_CHECKING:
    from gitops_connect.reconcile import Proposal
    from gitops_connect.report.status import ConnectorStatus
    from gitops_connect.world import World


def status(
    context: typer.Context,
    path: Folder = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
    drift_exitcode: DriftExitcode = False,
) -> int:
    """Show each connector: is it as declared, and does it work?"""
    from gitops_connect.report.status import HEADERS, unplaced

    with session.opened(context) as world:
        declared, made, failures = session.proposals(world, path, session.chosen(world, cluster))
        statuses = [status for proposal in made for status in _statuses(proposal)]
        lines = [_revisions(world, proposal) for proposal in made]
        lines += [line for proposal in made for line in unplaced(proposal.plan, statuses)]
    emit(listing(HEADERS, [one.row() for one in statuses], [one.value() for one in statuses], output))
    only_planned = sum(len(proposal.diagnostics.errors) for proposal in made)
    for line in (*lines, *_problems(len(declared.diagnostics.errors), only_planned)):
        tell(line)
    if failures:
        return session.worst(failures)
    drifted = any(proposal.plan.drifted for proposal in made)
    return ExitCode.DRIFT if drift_exitcode and drifted else ExitCode.DONE


def _statuses(proposal: Proposal) -> list[ConnectorStatus]:
    from gitops_connect.report.status import connector_statuses

    desired = proposal.situation.desired
    declared = {connector.name: connector for connector in desired.connectors}
    return connector_statuses(proposal.plan, declared, desired.held, proposal.situation.observed)


def _revisions(world: World, proposal: Proposal) -> str:
    from gitops_connect.report.words import short

    revisions = world.ledger.revisions(proposal.plan.cluster)
    applied = short(revisions.applied.revision) if revisions.applied else "never"
    return f"{proposal.plan.cluster}: desired {short(proposal.plan.revision)}, last applied {applied}"


def _problems(errors: int, only_planned: int) -> list[str]:
    lines = [f"{errors} errors in the documents: gitops-connect validate shows them"] if errors else []
    more = f"{only_planned} errors beside the documents: gitops-connect plan shows them"
    return [*lines, more] if only_planned else lines
