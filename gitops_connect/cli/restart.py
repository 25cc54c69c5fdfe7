"""`gitops-connect restart connector NAME`: restarts a connector or its tasks by hand."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from gitops_connect.apply.actions import restart_alone
from gitops_connect.apply.effects import Watched, failed_parts
from gitops_connect.apply.step_execution import StepExecution
from gitops_connect.cli.clusters import chosen_in, settings_of
from gitops_connect.cli.console import echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Cluster
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import NotFound, Rejected, UsageError
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectVersion, ObservedConnector, WorkerState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import Restart, RestartKind, RestartRequest
from gitops_connect.offset_changes.subject import clients_of, locate
from gitops_connect.plan.restarts import restart_for
from gitops_connect.runtime import SystemClock, open_families

app = typer.Typer(help="Restart a connector.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _restart() -> None:
    """A command group, although it has only one command."""


@app.command()
def connector(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The connector's name.")],
    task: Annotated[
        list[int] | None,
        typer.Option("--task", metavar="NUMBER", min=0, help="Restart only this task; may be repeated."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Restart only the parts that are FAILED.")] = False,
    cluster: Cluster = None,
) -> int:
    """Restart a connector with all its tasks, and wait until it works.

    The command needs neither the repository nor the ledger. Automatic restarts do not count it.
    """
    if task and failed:
        raise UsageError("--task and --failed exclude each other: --failed selects the tasks")
    settings, clock, wanted = settings_of(context), SystemClock(), ConnectorName(name)
    chosen = chosen_in(settings, [cluster] if cluster else None)
    with clients_of(settings, chosen) as clients:
        where = locate(clients, wanted, echo_note)
        client, limits = clients[where], settings.clusters[where]
        seen = _running(client, wanted, task or ())
        if failed and not failed_parts(seen):
            emit(f"No part of {name} on {where} is FAILED: nothing is restarted.\n")
            return ExitCode.DONE
        restart = _requested(seen, client.info().version, tuple(sorted(set(task or ()))), failed=failed)
        step = Step(wanted, Action.RESTART, "requested by a command", restart=restart)
        watched = Watched(limits.min_running, failed_parts(seen), open_families()) if limits.min_running else None
        echo(f"Restarting {name} on {where}.")
        execution = StepExecution(step, clock.monotonic(), limits.settle_timeout, watched)
        result = restart_alone(execution, restart, client, clock)
    if result.result is not Result.APPLIED or result.message:
        echo(f"error: {name} on {where}: {result.message}")
        return ExitCode.FAILED
    emit(f"{name} on {where} was restarted.\n")
    return ExitCode.DONE


def _running(client: ConnectClient, name: ConnectorName, tasks: Collection[int]) -> ObservedConnector:
    """The connector. Raises NotFound, or Rejected if a restart would not start it, or if it has no such task."""
    seen = client.connectors()[0].get(name)
    if seen is None:
        raise NotFound(f"cluster {client.cluster} did not return the state of connector {name!r}; try again")
    if seen.state in (WorkerState.STOPPED, WorkerState.PAUSED):
        way_out = "declare it with `state: running`, or resume it"
        raise Rejected(f"{name} is {seen.state.value}: a restart would not start it; {way_out}")
    known = [one.id for one in seen.tasks]
    if unknown := sorted(set(tasks) - set(known)):
        raise Rejected(f"{name} has no task {unknown[0]}; its tasks are {', '.join(map(str, known)) or 'none'}")
    return seen


def _requested(seen: ObservedConnector, version: ConnectVersion, tasks: tuple[int, ...], *, failed: bool) -> Restart:
    kind = RestartKind.TASKS if tasks else RestartKind.CONNECTOR
    request = RestartRequest(kind, "by hand", only_failed=failed, tasks=tasks)
    return restart_for(request, seen, version)
