"""What steps are carried out with, and how an offset change ends that cannot go on: written down, and said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock

from gitops_connect.apply.cluster import Cluster
from gitops_connect.apply.journal import Journal
from gitops_connect.apply.step_execution import StepResult
from gitops_connect.connect.wire import is_unchecked
from gitops_connect.errors import ConnectRefused, GitopsConnectError, GroupInUse
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Review
from gitops_connect.model.names import ConnectorName, OperationName
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.outcomes import Result, SendingProgress


def never() -> bool:
    """For nobody who interrupts."""
    return False


def ignore(news: object) -> None:
    """For nobody who listens."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step is carried out with.

    `timeout`: seconds until an offset change is given up for this time; of a large one, without any progress.
    `tells_offsets`: the workers are new enough to be asked for offsets. `interrupted`: True once nothing more is to be
    begun, not even the next chunk. `progress` is told after each chunk, in the thread that sends it. Who has the `turn`
    sends a chunk: a worker's heap has room for one, however many large changes there are.
    """

    cluster: Cluster
    journal: Journal
    clock: Clock
    timeout: float
    tells_offsets: bool
    interrupted: Callable[[], bool] = never
    progress: Callable[[SendingProgress], None] = ignore
    turn: Lock = field(default_factory=Lock, repr=False)


class StepFailed(Exception):
    """It cannot go on. `certain`: without any effect; `final`: nor will it have one."""

    def __init__(self, message: str, *, certain: bool, final: bool = False) -> None:
        super().__init__(message)
        self.certain = certain
        self.final = final


def may_run(operation: Operation) -> bool:
    """A connector that was to be seeded before it runs, or to be deleted, does not go on."""
    return operation.kind not in (OperationKind.SEED, OperationKind.CLEAR)


def block(operation: Operation, context: StepContext, review: Review, *, begun: bool) -> StepResult:
    """What the plan had seen has moved: it is looked at by somebody, and the connector goes on as before."""
    told = "; ".join(refusal.message for refusal in review.refusals)
    failed = StepFailed(
        f"blocked, because the current offsets changed after the plan was made: {told}", certain=not begun
    )
    return replace(record_failure(operation, context, failed), harmless=may_run(operation))


def record_failure(operation: Operation, context: StepContext, failed: StepFailed) -> StepResult:
    """The ledger's last word on it, for this time."""
    try:
        if failed.certain:
            context.journal.fail(operation, str(failed), final=failed.final)
        else:
            context.journal.note(operation, str(failed))
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, f"{failed}; the ledger could not record this: {error}")
    return StepResult(Result.FAILED, str(failed), harmless=failed.certain and may_run(operation))


def warning_of(answer: str, review: Review) -> str:
    """What Connect warned of after a change, in one line of ours if the class did not check it; empty if that means
    nothing for the class."""
    return review.unchecked if is_unchecked(answer) else answer


def how_to_give_up(name: OperationName) -> str:
    """What to do with one that stays open and is not wanted any more."""
    return f"to abandon it, remove the change from Git and run `gitops-connect ledger resolve {name} --not-applied`"


def explain(error: GitopsConnectError, operation: Operation, context: StepContext) -> str:
    """Why the cluster did not take it: its own words, or the last ones before patience ended."""
    if isinstance(error, ConnectRefused):
        return str(error)
    group = f" ({_group(operation.connector, context)})" if isinstance(error, GroupInUse) else ""
    return f"not applied after {context.timeout:g} s: {error}{group}"


def _group(name: ConnectorName, context: StepContext) -> str:
    """The consumer group of a sink (`SinkUtils.consumerGroupId`, or what its config puts in the place)."""
    default = f"connect-{name}"
    try:
        seen = context.cluster.connectors()[0].get(name)
    except GitopsConnectError:
        seen = None
    if seen is None:
        return f"its consumer group is {default}, unless its config names another"
    return f"its consumer group is {seen.config.get('consumer.override.group.id', default)}"
