"""`gitops-connect run`: the reconciling daemon."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_connect import DISTRIBUTION
from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.exit_codes import ExitCode, outcome_code, worst_code
from gitops_connect.cli.interrupts import interruptible, on_change, on_hangup, tell_at_once
from gitops_connect.cli.logs import formatter, logging_to_stderr
from gitops_connect.cli.options import flag
from gitops_connect.daemon import events
from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.notifications import notifying
from gitops_connect.errors import UsageError
from gitops_connect.forge.forge import Forge
from gitops_connect.forge.opening import open_forge
from gitops_connect.review.pull_request_plans import PullRequestPlanner
from gitops_connect.review.reviews import PullRequestReviews, reviewing
from gitops_connect.runtime import Runtime, open_source
from gitops_connect.tracing.spans import wants_traces

if TYPE_CHECKING:
    from gitops_connect.server.listen_address import ListenAddress


def run(
    context: typer.Context,
    once: Annotated[bool, flag("--once", "Reconcile each cluster once, then exit.")] = False,
    watch_settings: Annotated[
        bool, flag("--watch-settings", "Read the settings again if their file changes, as on SIGHUP.")
    ] = False,
) -> int:
    """Continuously reconcile the clusters with the repository."""
    notes: list[str] = []
    with (
        cluster_commands.opened(context, notes.append) as runtime,
        closing(open_source(runtime.settings, path=None)) as source,
    ):
        daemon = Daemon(runtime, source, once=once, load=lambda: settings_of(context))
        log_format = runtime.settings.daemon.log_format
        writer = formatter(log_format)

        def end_at_once() -> None:
            for cluster, connector in sorted(daemon.stopped.now):
                tell_at_once(writer.format(events.left_stopped(cluster, connector, runtime.cluster(cluster).url[0])))

        with ExitStack() as stack:
            stack.enter_context(logging_to_stderr(log_format))
            for note in notes:
                events.say(logging.WARNING, "note", message=note.partition(": ")[2])
            stack.enter_context(interruptible(daemon.stop, end_at_once))
            stack.enter_context(on_hangup(daemon.reload))
            stack.enter_context(on_change(runtime.settings.file if watch_settings else None, daemon.reload))
            if not once:
                _start_services(stack, runtime, daemon)
            if wants_traces(os.environ):
                stack.enter_context(_exporting())
            daemon.run()
            if daemon.abandoned:
                end_at_once()
        code = _exit_code(daemon) if once or daemon.abandoned else ExitCode.DONE
        if daemon.is_polling:
            _leave(code)
    return code


def _start_services(stack: ExitStack, runtime: Runtime, daemon: Daemon) -> None:
    settings = runtime.settings
    if settings.server.listen is not None:
        url = stack.enter_context(_serving(runtime, daemon, settings.server.listen)).url
        events.say(logging.INFO, "server_started", url=url)
    if settings.notifications.targets:
        stack.enter_context(_notifying(runtime))
    if (forge := open_forge(settings, runtime.clock)) is not None:
        stack.enter_context(_reviewing(runtime, daemon, forge))


def _notifying(runtime: Runtime) -> AbstractContextManager[None]:
    link = runtime.settings.server.public_url or ""
    with _extra("[notifications] targets", "notifications"):
        return notifying(runtime.settings.notifications, runtime.clock, link)


@contextmanager
def _extra(setting: str, extra: str) -> Iterator[None]:
    """For imports of an extra, which the setting needs: raise UsageError if it is not installed."""
    try:
        yield
    except ImportError as error:
        raise UsageError(
            f"{setting}: the package {error.name} is not installed; install the extra `{extra}`:"
            f" pip install '{DISTRIBUTION}[{extra}]'"
        ) from error


@contextmanager
def _reviewing(runtime: Runtime, daemon: Daemon, forge: Forge) -> Iterator[None]:
    with (
        closing(forge),
        closing(PullRequestPlanner.of(runtime)) as planner,
        reviewing(PullRequestReviews.of(runtime, daemon, forge, planner)),
    ):
        yield


def _exporting() -> AbstractContextManager[None]:
    try:
        from gitops_connect.tracing.export import exporting  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"the package {error.name} is not installed; pip install '{DISTRIBUTION}[tracing]'"
        events.say(logging.WARNING, "traces_not_exported", message=message)
        return nullcontext()
    return exporting()


def _serving(runtime: Runtime, daemon: Daemon, listen: str) -> AbstractContextManager[ListenAddress]:
    with _extra("[server] listen", "server"):
        from gitops_connect.server.listen_address import address_of  # noqa: PLC0415 - an extra
        from gitops_connect.server.serving import serving  # noqa: PLC0415 - an extra
    return serving(runtime, daemon, address_of(listen))


def _exit_code(daemon: Daemon) -> ExitCode:
    """The worst exit code of all clusters; a repository that could not be read is a failure in any case."""
    if daemon.abandoned:
        return ExitCode.FAILED
    if daemon.stop_requested:
        return ExitCode.INTERRUPTED
    ends = daemon.ended if daemon.repository_error is None else [daemon.repository_error, *daemon.ended]
    return worst_code({outcome_code(end) for end in ends if end is not None})


def _leave(code: ExitCode) -> None:
    """End the process at once. Python would wait for threads that wait for a server, and that change nothing now."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
