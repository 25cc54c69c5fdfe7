"""The log events about the daemon itself: start and end, the leader of several daemons, and its settings."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from gitops_connect.daemon.events import say, say_error
from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import Step


def started(clusters: Iterable[ClusterName], version: str) -> None:
    """The daemon has started."""
    say(logging.INFO, "daemon_started", version=version, clusters=list(clusters))


def server_started(url: str) -> None:
    """The HTTP server answers."""
    say(logging.INFO, "server_started", url=url)


def traces_not_exported(package: str) -> None:
    """The environment configures a collector for traces, but the extra is not installed. The daemon goes on."""
    message = f"the package {package} is not installed; pip install 'gitops-connect[tracing]'"
    say(logging.WARNING, "traces_not_exported", message=message)


def leader_elected(number: int) -> None:
    """This daemon is the leader now. `number` is the fencing number of its lease."""
    say(logging.INFO, "leader_elected", number=number)


def leader_followed(message: str) -> None:
    """Another daemon is the leader: this one changes nothing, and takes over if that one ends."""
    say(logging.INFO, "leader_followed", message=message)


def leader_lost(error: Exception) -> None:
    """This daemon could not renew its lease, and is no longer the leader."""
    say(logging.WARNING, "leader_lost", reason=type(error).__name__, message=str(error))


def leader_unknown(error: Exception) -> None:
    """The ledger cannot be reached: it is unknown which daemon is the leader, and this one changes nothing."""
    say_error("leader_unknown", error)


def stopping(in_progress: Iterable[ClusterName]) -> None:
    """The daemon was requested to stop; `in_progress` are the clusters on which steps are in progress."""
    say(logging.INFO, "daemon_stopping", in_progress=sorted(in_progress))


def abandoned(cluster: ClusterName, step: Step, timeout: float) -> None:
    """A step is still in progress when the time for the shutdown is over. The next start finds out how it ended."""
    say(
        logging.WARNING,
        "step_abandoned",
        cluster=cluster,
        connector=step.connector,
        action=step.action.value,
        offset_change=step.operation.name if step.operation is not None else None,
        reason=step.reason,
        message=f"still in progress after shutdown_timeout ({timeout:g}s); the next start finishes it",
    )


def settings_reloaded(changed: list[str]) -> None:
    """The settings were read again; `changed` are the names of those that are different from now on."""
    say(logging.INFO, "settings_reloaded", changed=changed)


def restart_needed(settings: list[str]) -> None:
    """Settings were changed that only a restart can apply. Until then, the earlier ones remain in effect."""
    say(logging.WARNING, "settings_need_restart", settings=settings)


def settings_rejected(error: Exception) -> None:
    """The settings were read again and have an error. The earlier ones remain in effect."""
    say_error("settings_rejected", error)


def stopped() -> None:
    """The daemon has ended its work."""
    say(logging.INFO, "daemon_stopped")
