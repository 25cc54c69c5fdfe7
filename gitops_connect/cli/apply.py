"""`gitops-connect apply`: plan, ask for approval, apply; or apply a saved plan if a new plan is equal to it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from gitops_connect.apply.step_context import StoppedConnectors
from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import Failures, chosen_in, each_cluster, settings_of, worst
from gitops_connect.cli.console import approved, bug_report, coloured, echo, echo_styled, emit
from gitops_connect.cli.exit_codes import ExitCode, outcome_code, worst_code
from gitops_connect.cli.interrupts import interruptible, tell_at_once
from gitops_connect.cli.options import Clusters, argument, flag, unmerged_variable
from gitops_connect.cli.plan import show_problems
from gitops_connect.cli.progress import progress
from gitops_connect.cli.suspend import current_user
from gitops_connect.errors import StalePlan, UnsafePlan, UsageError
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.plan.guards import SavedPlan, enforce, load_saved, require_fresh
from gitops_connect.reconcile import ReconcileOptions, reconcile
from gitops_connect.report.text import TextReport
from gitops_connect.report.words import left_stopped, sending_words
from gitops_connect.runtime import Runtime
from gitops_connect.safe_files import read_text


def apply(
    context: typer.Context,
    path: Annotated[
        Path | None,
        argument("PATH", "A plan saved by `plan --out`; or a directory to read instead of the configured repository."),
    ] = None,
    cluster: Clusters = None,
    yes: Annotated[bool, typer.Option("--yes", "--auto-approve", help="Do not ask for approval.")] = False,
    trusted: Annotated[
        bool, flag("--trusted", "Apply documents that are not merged, in a CI job of a pull request.")
    ] = False,
) -> int:
    """Apply a saved plan, or make a plan and apply it after approval."""
    if not trusted and (path is not None or not settings_of(context).repository.url):
        _require_merged()
    saved, report = None, TextReport(coloured=coloured(sys.stdout))
    if path is not None and not path.is_dir():
        saved = load_saved(_read(path), str(path))
        echo(f"Applying the saved plan {path}.")
        path = Path(saved.path) if saved.path else None
    with cluster_commands.opened(context) as runtime:
        path = cluster_commands.told_directory(runtime.settings, path)
        planned = cluster_commands.plan_clusters(runtime, path, _clusters(runtime, saved, cluster))
        plans, errors = planned.plans, len(planned.diagnostics.errors)
        show_problems(planned.diagnostics)
        if saved:
            require_fresh(saved, plans)
        _require_safe(plans)
        emit(report.plans(plans, errors))
        if not (yes or saved or all(plan.is_empty for plan in plans) or _is_approved()):
            return ExitCode.FAILED
        outcomes, more = _carry_out(runtime, planned, report)
    if any(outcome.steps for outcome in outcomes):
        emit("\n" + report.outcome(outcomes))
    code = _exit_code(outcomes, errors)
    if code in (ExitCode.DONE, ExitCode.INVALID, ExitCode.UNCONFIRMED) and (planned.failures or more):
        return worst([*planned.failures, *more])
    return code


def _require_merged() -> None:
    if (found := unmerged_variable(os.environ)) is not None:
        raise UsageError(
            f"{found} is set: this is a job of a pull request, whose documents are not merged; apply them after the"
            " merge, or apply them anyway with --trusted"
        )


def _read(planfile: Path) -> str:
    try:
        return read_text(planfile)
    except FileNotFoundError as error:
        raise UsageError(f"{planfile} does not exist; expected a saved plan or a directory with documents") from error
    except OSError as error:
        raise UsageError(f"cannot read the saved plan {planfile}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{planfile} is not a plan saved by `gitops-connect plan --out`") from error


def _clusters(runtime: Runtime, saved: SavedPlan | None, named: list[str] | None) -> tuple[ClusterName, ...]:
    if saved is None:
        return chosen_in(runtime.settings, named)
    if named:
        raise UsageError("--cluster cannot be used with a saved plan, which lists its own clusters; remove --cluster")
    return chosen_in(runtime.settings, [one.cluster for one in saved.clusters])


def _require_safe(plans: list[Plan]) -> None:
    """Enforce the guards of all plans before the first change. Raises UnsafePlan with the errors of all of them."""
    refused = []
    for plan in plans:
        try:
            enforce(plan)
        except UnsafePlan as error:
            refused.append(str(error))
    if refused:
        raise UnsafePlan("\n".join(refused))


def _is_approved() -> bool:
    return approved(
        "Do you want to apply these steps?",
        "review the plan, then run apply with --yes, or apply a saved plan",
        "Apply cancelled.",
    )


def _carry_out(
    runtime: Runtime, planned: cluster_commands.Planned, report: TextReport
) -> tuple[list[ReconciliationOutcome], Failures]:
    plans = {plan.cluster: plan for plan in planned.plans}
    interrupted, stopped = Event(), StoppedConnectors()
    ended, total = 0, sum(len(plan.steps) for plan in plans.values())

    def interrupt() -> None:
        interrupted.set()
        tell_at_once("interrupted: finishing the steps in progress; interrupt again to stop immediately")

    def end_at_once() -> None:
        for cluster, connector in sorted(stopped.now):
            tell_at_once(left_stopped(connector, runtime.cluster(cluster).url[0]))

    with progress("Applying") as update, interruptible(interrupt, end_at_once):
        update("steps", 0, total)
        telling = replace(runtime, say=update)

        def approve(plan: Plan) -> None:
            _require_same(plan, plans[plan.cluster])
            update("steps", ended, total)  # planning again has displayed its requests to Connect

        def listen(outcome: StepOutcome) -> None:
            nonlocal ended
            ended += 1
            _show(report, outcome)
            update("steps", ended, total)

        def follow(sending: SendingProgress) -> None:
            update(sending_words(sending), sending.done, sending.entries)
            if not sys.stderr.isatty():
                echo(sending_words(sending))

        options = ReconcileOptions(
            lambda _proposal: None, approve, listen, interrupted, follow, stopped, by=current_user()
        )
        return each_cluster([*plans], lambda cluster: reconcile(telling, planned.declared, cluster, options))


def _require_same(plan: Plan, shown: Plan) -> None:
    if (plan.digest, plan.fingerprint) != (shown.digest, shown.fingerprint):
        raise StalePlan("the cluster changed after the plan was shown; run the command again")


def _show(report: TextReport, outcome: StepOutcome) -> None:
    echo_styled(report.step(outcome))
    if outcome.bug is not None:
        echo(bug_report(outcome.bug, f"step: {outcome.step.action.value} of a connector"))


def _exit_code(outcomes: list[ReconciliationOutcome], errors: int) -> ExitCode:
    if any(outcome.interrupted for outcome in outcomes):
        return ExitCode.INTERRUPTED
    return worst_code({*map(outcome_code, outcomes), ExitCode.INVALID if errors else ExitCode.DONE})
