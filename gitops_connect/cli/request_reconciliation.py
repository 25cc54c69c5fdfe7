"""`gitops-connect reconcile`: asks a running daemon to reconcile at once."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import typer

from gitops_connect import errors
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode, exit_code, worst_code
from gitops_connect.cli.options import Server, Timeout, timeout_seconds
from gitops_connect.cli.progress import progress
from gitops_connect.errors import DaemonUnavailable, UsageError
from gitops_connect.model.clock import Clock
from gitops_connect.model.plans import Action
from gitops_connect.model.revisions import origin
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.runtime import SystemClock
from gitops_connect.server.daemon_client import DaemonClient, daemon_url

_PAUSE = 0.5
"""Seconds between two requests while the command waits."""


def reconcile(
    context: typer.Context,
    cluster: Annotated[str | None, typer.Option("--cluster", metavar="NAME", help="Only this cluster.")] = None,
    server: Server = None,
    wait: Annotated[bool, typer.Option(help="Wait until the reconciliation has ended, and show its steps.")] = True,
    timeout: Timeout = "10m",
) -> int:
    """Let the running daemon reconcile at once.

    It polls the repository first. The daemon needs `listen` and `token` in the section `server` of its settings, and
    this command the same token.
    """
    settings = settings_of(context).server
    seconds = timeout_seconds(timeout)
    if settings.token is None:
        raise UsageError("[server] token is not set; the daemon accepts requests only with this token")
    with closing(DaemonClient(daemon_url(settings, server), settings.token.read())) as client:
        number = client.reconcile(cluster)
        if not wait:
            emit("The daemon reconciles now.\n")
            return ExitCode.DONE
        with progress("Reconciling") as update:
            update("waiting for the daemon")
            done = _await(client, number, cluster, seconds, SystemClock())
    emit("".join(f"{line}\n" for result in done["results"] for line in _lines(result)))
    if done["repository_error"]:
        echo(f"warning: the repository cannot be read: {done['repository_error']}")
    return _exit_code(done)


def _await(client: DaemonClient, number: int, cluster: str | None, seconds: float, clock: Clock) -> dict[str, Any]:
    until = clock.monotonic() + seconds
    while not (done := client.progress(number, cluster))["finished"]:
        if clock.monotonic() >= until:
            raise DaemonUnavailable(f"the reconciliation did not end within {seconds:g}s; the daemon continues with it")
        clock.sleep(_PAUSE)
    return done


def _lines(result: dict[str, Any]) -> list[str]:
    name = escaped(result["cluster"])
    if result["message"]:
        return [f"cluster {name}: {result['result']}: {one_line(result['message'])}"]
    lines = [
        f"  {Action(step['action']).symbol} {escaped(step['connector'])}: {step['action']} {step['result']}"
        + (f": {one_line(step['message'])}" if step["message"] else f" after {step['seconds']:.1f} s")
        for step in result["steps"]
    ]
    errors = f", {result['errors']} errors in the documents" if result["errors"] else ""
    return [f"cluster {name}: {result['result']} ({origin(result['commit'])}{errors})", *lines]


def _exit_code(done: dict[str, Any]) -> ExitCode:
    """As that of `apply`: the worst of all clusters."""
    codes = {_code(result) for result in done["results"]}
    if done["repository_error"]:
        codes.add(ExitCode.FAILED)
    return worst_code(codes)


def _code(result: dict[str, Any]) -> ExitCode:
    if result["error"]:
        kind = getattr(errors, result["error"], None)
        is_known = isinstance(kind, type) and issubclass(kind, errors.GitopsConnectError)
        return exit_code(kind("")) if is_known and kind is not None else ExitCode.BUG
    if result["result"] == "failed":
        return ExitCode.FAILED
    return ExitCode.INVALID if result["errors"] else ExitCode.DONE
