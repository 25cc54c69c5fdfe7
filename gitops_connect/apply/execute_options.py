"""How a plan is executed: its limits, and who is asked and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitops_connect.apply.changes import OffsetChanges
from gitops_connect.apply.journal import Journal
from gitops_connect.apply.stopped import StoppedConnectors
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.outcomes import SendingProgress, StepOutcome


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """How to execute a plan. All callbacks run in the caller's thread; others call `journal` and `changes`.

    `clock.sleep` must really wait. `parallelism`: concurrent requests. `settle_timeout` (seconds): how long a step may
    take to show its effect. `min_running` (seconds): how long a connector must run after its last step; 0: its tasks
    are not checked. `before`: what the plan was made from. `stopped` records which connectors are stopped and resumed.
    `interrupted`: True once nothing more may begin. `before_effect` is called before each effect and every few seconds
    in between, so that it can keep a lease alive; a GitopsConnectError that it raises also means that nothing more
    begins. `on_outcome` receives each step as it ends; `on_progress` sometimes receives the progress of a large offset
    change.
    """

    clock: Clock
    journal: Journal
    changes: OffsetChanges
    parallelism: int
    settle_timeout: float
    min_running: float
    before: Mapping[ConnectorName, ObservedConnector]
    stopped: StoppedConnectors
    interrupted: Callable[[], bool]
    before_effect: Callable[[], object]
    on_outcome: Callable[[StepOutcome], None]
    on_progress: Callable[[SendingProgress], None]
