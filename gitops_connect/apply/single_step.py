"""One step outside of a plan, for a command: sent by the caller's thread, and observed until it has had its effect."""

from __future__ import annotations

from gitops_connect.apply.actions import send_restart
from gitops_connect.apply.cluster_api import Cluster
from gitops_connect.apply.polling import SHORTEST_PAUSE, take_snapshot
from gitops_connect.apply.step_execution import SendAgain, StepExecution, StepResult
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.clock import Clock
from gitops_connect.model.restarts import Restart


def restart_alone(execution: StepExecution, restart: Restart, cluster: Cluster, clock: Clock) -> StepResult:
    """Send a restart, and wait for its effect. Raises nothing: errors of the cluster are in the result."""
    number, move = 0, execution.answered(_error_of(execution, restart, cluster), 0, clock.monotonic())
    while not isinstance(move, StepResult):
        if isinstance(move, SendAgain):
            clock.sleep(max(SHORTEST_PAUSE, move.at - clock.monotonic()))
            move = execution.answered(_error_of(execution, restart, cluster), number, clock.monotonic())
        else:
            clock.sleep(SHORTEST_PAUSE)
            number += 1
            move = execution.observe(take_snapshot(cluster, clock, number, frozenset()), clock.monotonic())
    return move


def _error_of(execution: StepExecution, restart: Restart, cluster: Cluster) -> GitopsConnectError | None:
    try:
        send_restart(execution.step.connector, restart, cluster)
    except GitopsConnectError as error:
        return error
    return None
