"""How each connector stands, on two axes as Argo CD has them: sync (is it as declared?) and health (does it work?)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed import ObservedConnector, ObservedState, WorkerState
from gitops_connect.model.plans import ConnectorPlan, Plan, PlannedOperation
from gitops_connect.report import offsets


class Sync(Enum):
    """Whether a connector is as its document says."""

    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"
    UNMANAGED = "Unmanaged"


class Health(Enum):
    """Whether it does what it was asked to."""

    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    SUSPENDED = "Suspended"
    MISSING = "Missing"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One line of `status`."""

    cluster: ClusterName
    name: ConnectorName
    sync: Sync
    health: Health
    state: str
    tasks: str
    message: str = ""

    def value(self) -> dict[str, Any]:
        """For JSON and YAML."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "sync": self.sync.value,
            "health": self.health.value,
            "state": self.state,
            "tasks": self.tasks,
            "message": self.message,
        }

    def row(self) -> tuple[str, ...]:
        """For a table."""
        return tuple(str(value) or "-" for value in self.value().values())


HEADERS = ("CLUSTER", "NAME", "SYNC", "HEALTH", "STATE", "TASKS", "MESSAGE")


def connector_statuses(
    plan: Plan,
    desired: Mapping[ConnectorName, DesiredConnector],
    held: frozenset[ConnectorName],
    observed: ObservedState,
) -> list[ConnectorStatus]:
    """Every connector that is declared or on the cluster, sorted by name."""
    planned = {one.name: one for one in plan.connectors}
    names = desired.keys() | held | observed.connectors.keys() | observed.unknown | planned.keys()
    statuses = []
    for name in sorted(names):
        one = observed.connectors.get(name)
        wanted = desired.get(name)
        if wanted is not None and wanted.state is TargetState.ABSENT and one is None and name not in observed.unknown:
            continue
        sync = Sync.UNMANAGED if name in plan.unmanaged else _sync(name, planned.get(name), held, observed)
        health = Health.UNKNOWN if name in observed.unknown else connector_health(one)
        state = one.state.value if one else "-"
        strays = [stray for stray in offsets.strays_of(plan) if stray.connector == name]
        message = _message(planned.get(name), one, strays)
        statuses.append(ConnectorStatus(plan.cluster, name, sync, health, state, task_count(one), message))
    return statuses


def _sync(
    name: ConnectorName, planned: ConnectorPlan | None, held: frozenset[ConnectorName], observed: ObservedState
) -> Sync:
    if name in held or name in observed.unknown:
        return Sync.UNKNOWN
    return Sync.OUT_OF_SYNC if planned and (planned.steps or planned.operations) else Sync.SYNCED


def connector_health(observed: ObservedConnector | None) -> Health:
    """From the connector's and its tasks' states. RUNNING without any task is Progressing: it does nothing yet."""
    if observed is None:
        return Health.MISSING
    states = {observed.state, *(task.state for task in observed.tasks)}
    if WorkerState.FAILED in states:
        return Health.DEGRADED
    if observed.state in (WorkerState.PAUSED, WorkerState.STOPPED):
        return Health.SUSPENDED
    if states == {WorkerState.RUNNING} and observed.tasks:
        return Health.HEALTHY
    return Health.PROGRESSING


def task_count(observed: ObservedConnector | None) -> str:
    """Running tasks over all tasks."""
    if observed is None:
        return "-"
    running = sum(task.state is WorkerState.RUNNING for task in observed.tasks)
    return f"{running}/{len(observed.tasks)}"


def _message(
    planned: ConnectorPlan | None, observed: ObservedConnector | None, strays: Sequence[PlannedOperation]
) -> str:
    """The most telling sentence: what failed, else what is planned; and the offset changes that wait."""
    traces = [observed.trace, *(task.trace for task in observed.tasks)] if observed else []
    failed = next((trace.strip().splitlines()[0] for trace in traces if trace.strip()), "")
    waiting = [*(offsets.waiting_of(planned) if planned else ()), *strays]
    first = failed or _planned(planned)
    return "; ".join([*([first] if first else []), *(offsets.waits(one) for one in waiting)])


def _planned(planned: ConnectorPlan | None) -> str:
    if planned is None:
        return ""
    drift = "drift: " if planned.drifted else ""
    steps = ", ".join(step.action.value for step in planned.steps)
    done = [offsets.label(one) for one in planned.operations if one.name in offsets.carried_out(planned)]
    changes = f" ({', '.join(done)})" if done else ""
    return f"{drift}{steps}{changes}" if steps else "; ".join(planned.notes)


def unplaced(plan: Plan, statuses: Sequence[ConnectorStatus]) -> list[str]:
    """The offset changes that wait and whose connector has no line, in a sentence each."""
    shown = {status.name for status in statuses if status.cluster == plan.cluster}
    return [f"{plan.cluster}: {offsets.waits(one)}" for one in offsets.strays_of(plan) if one.connector not in shown]
