"""`gitops-connect run`: the reconciling daemon."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Annotated

import typer

from gitops_connect.cli import session
from gitops_connect.cli.exit_codes import ExitCode


def run(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="One cycle over each cluster, then end.")] = False,
) -> int:
    """Follow the repository, and keep the clusters as it says."""
    from gitops_connect.cli.logs import log_to_stderr
    from gitops_connect.daemon import Daemon
    from gitops_connect.world import open_source

    with session.opened(context) as world, closing(open_source(world.settings, path=None)) as source:
        log_to_stderr(world.settings.daemon.log_format)
        daemon = Daemon(world, source)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: daemon.stop())
        if once:
            return ExitCode.DONE if daemon.run_once() else ExitCode.FAILED
        daemon.run()
    return ExitCode.DONE
