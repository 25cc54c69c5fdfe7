"""What steps are carried out with, and how an offset change that cannot continue is recorded and reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock

from gitops_connect.apply.ports import Journal, OffsetChanges
from gitops_connect.apply.step_execution import StepResult
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.wire import is_unchecked
from gitops_connect.errors import ConnectRefused, GitopsConnectError, GroupInUse
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Review
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.outcomes import Result, SendingProgress


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step is carried out with.

    `timeout`: seconds until this attempt at an offset change is given up; for a large change, seconds without any
    progress. `tells_offsets`: the workers are new enough to return offsets. `interrupted`: True once nothing more may
    begin, not even the next chunk. `progress` is called after each chunk, in the thread that sends the chunk. The
    holder of `sending` sends a chunk: a worker's heap has room for one chunk, however many large changes there are.
    """

    cluster: ConnectClient
    journal: Journal
    changes: OffsetChanges
    clock: Clock
    timeout: float
    tells_offsets: bool
    interrupted: Callable[[], bool]
    progress: Callable[[SendingProgress], None]
    sending: Lock = field(default_factory=Lock, repr=False)


MAY_BE_APPLIED = (
    "it may have been applied: the connector stays stopped, and the next reconciliation finishes the change"
)


class StepFailed(Exception):
    """The step cannot continue. `certain`: it had no effect. `final`: it never will have one."""

    def __init__(self, message: str, *, certain: bool, final: bool = False) -> None:
        super().__init__(message)
        self.certain = certain
        self.final = final


def may_run(operation: Operation) -> bool:
    """Whether the connector may continue: not if it was to be seeded before it runs, or to be deleted."""
    return operation.kind not in (OperationKind.SEED, OperationKind.CLEAR)


def block(operation: Operation, context: StepContext, review: Review, *, begun: bool) -> StepResult:
    """The offsets changed after the plan was made: a person must check that, and the connector continues as before."""
    reasons = "; ".join(refusal.message for refusal in review.refusals)
    failed = StepFailed(
        f"blocked, because the current offsets changed after the plan was made: {reasons}", certain=not begun
    )
    return replace(record_failure(operation, context, failed), harmless=may_run(operation))


def record_failure(operation: Operation, context: StepContext, failed: StepFailed) -> StepResult:
    """Record in the ledger how this attempt at the operation failed."""
    try:
        if failed.certain:
            context.journal.fail(operation, str(failed), final=failed.final)
        else:
            context.journal.note(operation, str(failed))
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, f"{failed}; the ledger could not record this: {error}")
    return StepResult(Result.FAILED, str(failed), harmless=failed.certain and may_run(operation))


def record_attempt(
    operation: Operation, context: StepContext, failed: StepFailed, state: str = MAY_BE_APPLIED
) -> StepResult:
    """Record a failed attempt. If its outcome is uncertain, the operation stays in `state`, and can be abandoned."""
    if not failed.certain:
        way_out = "to abandon it, remove the change from Git and run"
        command = f"gitops-connect ledger resolve {operation.name} --not-applied"
        failed = StepFailed(f"{failed}; {state}; {way_out} `{command}`", certain=False)
    return record_failure(operation, context, failed)


def warning_of(answer: str, review: Review) -> str:
    """Connect's warning after a change.

    If the class did not check the change, the review's own sentence, which is empty if that means nothing for the
    class.
    """
    return review.unchecked if is_unchecked(answer) else answer


def explain(error: GitopsConnectError, operation: Operation, context: StepContext) -> str:
    """Why the cluster did not accept the operation: its answer, or its last answer before the timeout."""
    if isinstance(error, ConnectRefused):
        return str(error)
    group = f" ({_group(operation.connector, context)})" if isinstance(error, GroupInUse) else ""
    return f"not applied after {context.timeout:g} s: {error}{group}"


def _group(name: ConnectorName, context: StepContext) -> str:
    """The consumer group of a sink (`SinkUtils.consumerGroupId`, or the group that its config sets)."""
    default = f"connect-{name}"
    try:
        seen = context.cluster.connectors()[0].get(name)
    except GitopsConnectError:
        seen = None
    if seen is None:
        return f"its consumer group is {default}, unless its config names another"
    return f"its consumer group is {seen.config.get('consumer.override.group.id', default)}"


# The connectors that a process has stopped and not resumed yet: reported if the process is ended at once.


class StoppedConnectors:
    """A set of connectors that several threads change, and that a signal handler may read at any time.

    Each change replaces the whole value, so that reading it takes no lock. A signal handler must not take one: the
    thread that it interrupts may hold it.
    """

    def __init__(self) -> None:
        self._now: frozenset[tuple[ClusterName, ConnectorName]] = frozenset()
        self._changing = Lock()

    @property
    def now(self) -> frozenset[tuple[ClusterName, ConnectorName]]:
        """The connectors that are stopped at this moment, or were requested to stop."""
        return self._now

    def add(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector is about to be stopped, or to be created stopped."""
        with self._changing:
            self._now |= {(cluster, connector)}

    def discard(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector was resumed, paused or deleted, or was never stopped."""
        with self._changing:
            self._now -= {(cluster, connector)}
