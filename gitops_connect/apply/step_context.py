"""How a plan is executed: its limits, what steps are carried out with, and who is asked and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from gitops_connect.apply.ports import Journal, OffsetChanges
from gitops_connect.connect.client import ConnectClient
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.outcomes import SendingProgress, StepOutcome


class StoppedConnectors:
    """The connectors that a process has stopped and not resumed yet: reported if the process is ended at once.

    Several threads change this set, and a signal handler may read it at any time. Each change replaces the whole value,
    so that reading it takes no lock. A signal handler must not take one: the thread that it interrupts may hold it.
    """

    def __init__(self) -> None:
        self.now: frozenset[tuple[ClusterName, ConnectorName]] = frozenset()
        """The connectors that are stopped at this moment, or were requested to stop."""
        self._changing = Lock()

    def add(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector is about to be stopped, or to be created stopped."""
        with self._changing:
            self.now |= {(cluster, connector)}

    def discard(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector was resumed, paused or deleted, or was never stopped."""
        with self._changing:
            self.now -= {(cluster, connector)}


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """How to execute a plan. All callbacks run in the caller's thread; others call `journal` and `changes`.

    `clock.sleep` must really wait. `parallelism`: concurrent requests. `settle_timeout`: seconds that a step may take
    to show its effect, or an offset change to be accepted; for a large one, seconds without any progress. `min_running`
    (seconds): how long a connector must run after its last step; 0: its tasks are not checked. `before`: what the plan
    was made from. `stopped` records which connectors are stopped and resumed. `interrupted`: True once nothing more may
    begin. `before_effect` is called before each effect and every few seconds in between, so that it can keep a lease
    alive; a GitopsConnectError that it raises also means that nothing more begins. `on_outcomes` receives the steps
    that have ended, together, before the next step of any of their connectors; `on_progress` sometimes receives the
    progress of a large offset change. `families` are the known connector classes. `fence` fences the producers with
    these transactional ids: afterwards, they can write nothing more.
    `task_shutdown_timeout`: seconds after which the offsets of a source whose producers are not fenced are read again.
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
    on_outcomes: Callable[[Sequence[StepOutcome]], None]
    on_progress: Callable[[SendingProgress], None]
    families: Registry = BUILT_IN
    fence: Callable[[Sequence[str]], None] = field(kw_only=True)
    task_shutdown_timeout: float = 0


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step is carried out with.

    `tells_offsets`: the workers are new enough to return offsets. `interrupted`: True once nothing more may begin, not
    even the next chunk. `progress` is called after each chunk, in the thread that sends the chunk. The holder of
    `sending` sends a chunk: a worker's heap has room for one chunk, however many large changes there are.
    """

    cluster: ConnectClient
    options: ExecuteOptions
    tells_offsets: bool
    interrupted: Callable[[], bool]
    progress: Callable[[SendingProgress], None]
    sending: Lock = field(default_factory=Lock)
