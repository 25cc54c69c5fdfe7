"""The effect of each action: the one request that a step sends."""

from __future__ import annotations

from typing import assert_never

from gitops_connect.apply.cluster import Cluster
from gitops_connect.model.plans import Action, Step


def send(step: Step, cluster: Cluster) -> None:
    """Send the step's request. Returns when the cluster has accepted it; raises what `Cluster` raises."""
    match step.action:
        case Action.CREATE:
            cluster.create(step.connector, step.config, step.initial_state, sensitive=sensitive_keys(step))
        case Action.CONFIGURE:
            cluster.configure(step.connector, step.config, sensitive=sensitive_keys(step))
        case Action.STOP:
            cluster.stop(step.connector)
        case Action.PAUSE:
            cluster.pause(step.connector)
        case Action.RESUME:
            cluster.resume(step.connector)
        case Action.DELETE:
            cluster.delete(step.connector)
        case _:
            assert_never(step.action)


def sensitive_keys(step: Step) -> frozenset[str]:
    """The config keys that the plan keeps hidden, those that the step takes away too."""
    return step.sensitive | frozenset(change.key for change in step.changes if change.sensitive)
