"""`gitops-connect plan`: shows what apply would do, and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, assert_never

import typer

from gitops_connect.cli import cluster_commands, global_options
from gitops_connect.cli.clusters import chosen_in, worst
from gitops_connect.cli.console import coloured, echo, echo_styled, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import OUTPUT, AllOffsets, Clusters, Directory, PlanOutput, Untrusted, is_untrusted
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.plans import Plan
from gitops_connect.report import markdown, plan_json, text
from gitops_connect.report.offset_lines import MOST_MOVES
from gitops_connect.report.plan_json import PlanOrigin
from gitops_connect.report.problems import problems_text
from gitops_connect.safe_files import write_new


def plan(
    context: typer.Context,
    path: Directory = None,
    cluster: Clusters = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Save the plan to a file for `apply`.")
    ] = None,
    output: Annotated[PlanOutput, OUTPUT] = PlanOutput.TEXT,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 if there are changes.")
    ] = False,
    drift_exitcode: Annotated[
        bool, typer.Option("--drift-exitcode", help="Exit with 3 if a cluster has drifted since the last apply.")
    ] = False,
    all_offsets: AllOffsets = False,
    untrusted: Untrusted = None,
) -> int:
    """Show the changes that apply would make."""
    with cluster_commands.opened(context) as runtime:
        clusters = chosen_in(runtime.settings, cluster)
        planned = cluster_commands.plan_clusters(runtime, path, clusters, untrusted=is_untrusted(untrusted))
        revision, file = planned.declared.revision, str(path) if path else None
        origin = PlanOrigin(runtime.clock.now(), revision, file, planned.directory)
    plans, diagnostics = planned.plans, planned.diagnostics
    show_problems(diagnostics)
    verbose = global_options.of(context).verbose
    emit(render(plans, diagnostics, origin, output, shown_moves(all_offsets), applied=verbose))
    if out is not None:
        write_new(out, plan_json.render(plans, diagnostics, origin), force=True)
        echo(f"Saved the plan to {out}. To apply exactly this plan: gitops-connect apply {out}")
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
    changes = any(not one.is_empty for one in plans)
    return ExitCode.CHANGES if detailed_exitcode and changes else ExitCode.DONE


def show_problems(diagnostics: Diagnostics) -> None:
    """Print every problem of the documents on stderr."""
    if len(diagnostics):
        echo_styled(problems_text(diagnostics, coloured=coloured(sys.stderr)))


def shown_moves(all_offsets: bool) -> int | None:
    """How many partitions of each offset change are shown; None: all."""
    return None if all_offsets else MOST_MOVES


def render(
    plans: Sequence[Plan],
    diagnostics: Diagnostics,
    origin: PlanOrigin,
    output: PlanOutput,
    moves: int | None,
    *,
    applied: bool,
) -> str:
    """The plan. JSON has every partition, whatever `moves` is. `applied`: text lists the changes applied before."""
    match output:
        case PlanOutput.TEXT:
            report = text.TextReport(coloured=coloured(sys.stdout), moves=moves, applied=applied)
            return report.plans(plans, len(diagnostics.errors))
        case PlanOutput.JSON:
            return plan_json.render(plans, diagnostics, origin)
        case PlanOutput.MARKDOWN:
            return markdown.render(plans, moves, len(diagnostics.errors))
        case _:
            assert_never(output)
