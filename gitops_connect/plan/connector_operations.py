"""The offset changes of one connector: those of this reconciliation in order, and what blocks the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gitops_connect.connect.worker_heap import LARGEST_CHUNK, estimate, heap_refusal
from gitops_connect.model.desired import DesiredConnector, DesiredOperation, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.names import OperationName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.offsets import Offsets, merged
from gitops_connect.model.operations import Operation, OperationKind, OperationState
from gitops_connect.model.plans import Action, HeapEstimate, OperationStatus, PlannedOperation, Step
from gitops_connect.model.strimzi import RULE
from gitops_connect.plan.offset_review import described, find_difference, refusals, review, review_unfinished, unchecked
from gitops_connect.plan.operation_status import Assessment, assess, history_unknown, only_warns, started_since
from gitops_connect.plan.situation import Situation, Unfinished

_HINTS = {
    "offsets/rewritten": "restore the document as it was applied, and declare the new change under another name",
    "offsets/unknown": "check the current offsets first: gitops-connect offsets get",
    "offsets/failed": "fix the cause, or change the document",
    RULE: "fix what the message names, or remove the annotation",
}
_WARNINGS = {"offsets/unknown", RULE}
_ACTIONS = {OperationKind.RESET: Action.RESET, OperationKind.CLEAR: Action.RESET}


@dataclass(frozen=True, slots=True)
class OperationsPlan:
    """The plan for one connector's operations.

    `steps` run while the connector is stopped. `seed` is the first of them if the ledger must record it before the
    connector is created. `blocked` says why nothing may start the connector, or is empty. `changes_nothing`: there are
    steps, and each finds every partition at the declared offset.
    """

    steps: tuple[Step, ...] = ()
    planned: tuple[PlannedOperation, ...] = ()
    applied: tuple[PlannedOperation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    seed: Operation | None = None
    blocked: str = ""
    notes: tuple[str, ...] = ()
    changes_nothing: bool = False


def plan_operations(situation: Situation, connector: DesiredConnector) -> OperationsPlan:
    """Plan every operation of a declared connector, unfinished ones of earlier reconciliations first."""
    draft = _OperationsDraft(situation, connector)
    for unfinished in _unfinished(situation, connector):
        draft.finish(unfinished)
    for operation in situation.desired.operations_of(connector.name):
        draft.add(operation)
    return draft.done()


def action_of(operation: Operation) -> Action:
    """The action of the step that carries out the operation."""
    return _ACTIONS.get(operation.kind, Action.ALTER)


def _unfinished(situation: Situation, connector: DesiredConnector) -> Iterator[Unfinished]:
    for _, one in sorted(situation.offsets.unfinished.items()):
        if one.operation.connector == connector.name and one.operation.kind is not OperationKind.CLEAR:
            yield one


@dataclass(slots=True)
class _OperationsDraft:
    """The operations of one connector while they are ordered. `current`: the offsets after those planned so far."""

    situation: Situation
    connector: DesiredConnector
    current: Offsets | None = None
    first_waiting: OperationName | None = None
    steps: list[Step] = field(default_factory=list)
    planned: list[PlannedOperation] = field(default_factory=list)
    applied: list[PlannedOperation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    seed: Operation | None = None
    blocked: str = ""
    notes: list[str] = field(default_factory=list)
    changes_nothing: bool = True

    def __post_init__(self) -> None:
        there = self.connector.name in self.situation.observed.connectors
        self.current = self.situation.offsets.current.get(self.connector.name) if there else {}

    def done(self) -> OperationsPlan:
        return OperationsPlan(
            tuple(self.steps),
            tuple(self.planned),
            tuple(self.applied),
            tuple(self.diagnostics),
            self.seed,
            self.blocked,
            tuple(self.notes),
            self.changes_nothing and bool(self.steps),
        )

    def finish(self, unfinished: Unfinished) -> None:
        """Finish an operation that was begun, from the copy in the ledger, whatever its document says now."""
        operation = unfinished.operation
        declared = self._declared(operation.name)
        shown = PlannedOperation(
            operation.name, operation.connector, operation.kind, OperationStatus.UNFINISHED, digest=operation.digest
        )
        if declared is None:
            shown = replace(shown, message="removed from Git: it is finished from the copy in the ledger")
        else:
            shown = replace(shown, location=declared.locate(), reason=declared.reason)
        if self.connector.state is TargetState.ABSENT:
            self._wait_because(shown, "its connector is declared absent")
            return
        if started := started_since(self.situation, operation):
            self._wait(replace(shown, status=OperationStatus.UNKNOWN, message=started))
            self._report(declared, "offsets/unfinished", f"offset change {operation.name}: {started}", "")
            return
        review_at_size = unfinished.review
        if self.current is None and review_at_size is None:
            self._wait_because(shown, self._unread())
            self._block(f"offset change {operation.name} is in progress and must finish first")
            return
        # The offsets of a connector that someone deleted meanwhile can be read only once it exists again.
        there = self.connector.name in self.situation.observed.connectors
        shape = self.situation.offsets.shapes.get(self.connector.name)
        current = self.current if there and self.current is not None else unfinished.before
        seen = review_at_size or review_unfinished(operation, unfinished.before, current, shape)
        self._decide(operation, replace(shown, difference=seen.difference), seen, "offsets/unfinished", declared)

    def add(self, operation: DesiredOperation) -> None:
        """Add a declared operation."""
        history = history_unknown(self.situation, operation)
        assessed = history or assess(self.situation, self.connector, operation)
        shown = show(operation, assessed)
        self._diagnose(operation, assessed)
        match assessed.status:
            case OperationStatus.APPLIED:
                self.applied.append(shown)
            case OperationStatus.IDLE:
                self.notes.append(assessed.message)
            case OperationStatus.WAITING | OperationStatus.UNKNOWN:
                self._wait(shown, blocks_later=self._holds_later(operation))
                if operation.kind is OperationKind.SEED and assessed.rule == "offsets/failed":
                    self._block("its initialOffsets could not be applied, and the connector has never run")
            case OperationStatus.PLANNED:
                self._plan(operation, shown)
            case OperationStatus.UNFINISHED:
                if operation.name not in self.situation.offsets.unfinished:
                    self._wait_because(shown, "it is already in progress")

    def _plan(self, operation: DesiredOperation, shown: PlannedOperation) -> None:
        if self.first_waiting is not None:
            self._wait_because(shown, f"{self.first_waiting} must be applied first")
            return
        if is_large(self.situation, operation):
            self._plan_large(operation, shown)
            return
        offsets = self.situation.offsets.manifests.get(operation.name) if operation.manifest else {}
        if offsets is None:
            self._has_errors(shown)
            return
        if self.current is None:
            self._wait_for_offsets(shown)
            return
        complete = replace(complete_operation(self.situation, operation), offsets=offsets)
        shape = self.situation.offsets.shapes.get(self.connector.name)
        seen = review(complete, self.current, shape, self.situation.policy.max_skip)
        exact = self.connector.name in self.situation.observed.connectors
        difference = seen.difference if exact else find_difference(self.current, seen.patch, shape, exact=False)
        self._decide(complete, replace(shown, difference=difference), seen, "offsets/unacknowledged", operation)

    def _plan_large(self, operation: DesiredOperation, shown: PlannedOperation) -> None:
        """Plan a large operation alone, as it was compared with the current offsets: others wait until later."""
        if self.steps:
            self._wait_because(shown, f"{self.planned[-1].name} must be applied first")
            return
        verdict = self.situation.offsets.large.get(operation.name)
        if operation.manifest is not None and (verdict is None or verdict.errors):
            self._has_errors(shown)
            return
        complete = replace(complete_operation(self.situation, operation), is_large=True)
        seen, heap = review_large(self.situation, complete)
        if seen is None:
            self._wait_for_offsets(shown)
            return
        shown = replace(shown, difference=seen.difference, heap=heap)
        self._decide(complete, shown, seen, "offsets/unacknowledged", operation)

    def _has_errors(self, shown: PlannedOperation) -> None:
        self._wait_because(shown, "its offsets have errors")
        self._block(f"offset change {shown.name} has errors")

    def _decide(
        self,
        operation: Operation,
        shown: PlannedOperation,
        seen: Review,
        rule: str,
        declared: DesiredOperation | None,
    ) -> None:
        """Plan the operation, unless its effect is refused."""
        for refusal in seen.refusals:
            hint = f"if this is intended, add `acknowledge: [{refusal.missing.value}]`" if refusal.missing else ""
            self._report(declared, rule, f"offset change {operation.name}: {refusal.message}", hint)
        if seen.refusals:
            self._wait_because(shown, seen.refusals[0].message)
            self._block(f"offset change {operation.name} is blocked")
            return
        self.planned.append(shown)
        is_same = seen.difference.changes_nothing and shown.status is OperationStatus.PLANNED
        self.changes_nothing = self.changes_nothing and is_same
        self.steps.append(Step(self.connector.name, action_of(operation), _reason(shown), operation=operation))
        if operation.is_large:
            self.current, self.first_waiting = None, self.first_waiting or operation.name
        else:
            self.current = merged(self.current or {}, seen.patch)
        if operation.kind is OperationKind.SEED and shown.status is OperationStatus.PLANNED:
            self.seed = operation

    def _holds_later(self, operation: DesiredOperation) -> bool:
        """Whether the operation blocks later ones: not if it was applied, nor if it is a seed."""
        record = self.situation.offsets.records.get(operation.name)
        done = record is not None and record.state is OperationState.SETTLED
        return not done and operation.kind is not OperationKind.SEED and operation.annotation is None

    def _wait(self, shown: PlannedOperation, *, blocks_later: bool = True) -> None:
        self.planned.append(shown)
        if blocks_later and self.first_waiting is None:
            self.first_waiting = shown.name

    def _wait_because(self, shown: PlannedOperation, why: str) -> None:
        self._wait(replace(shown, status=OperationStatus.WAITING, message=why))

    def _wait_for_offsets(self, shown: PlannedOperation) -> None:
        self._wait_because(shown, self._unread())
        self._block(f"offset change {shown.name} must be applied first, but the current offsets could not be read")

    def _block(self, why: str) -> None:
        self.blocked = self.blocked or why

    def _unread(self) -> str:
        unread = self.situation.offsets.unread
        return unread.get(self.connector.name, "the current offsets of its connector could not be read")

    def _declared(self, name: OperationName) -> DesiredOperation | None:
        declared = self.situation.desired.operations_of(self.connector.name)
        return next((one for one in declared if one.name == name), None)

    def _diagnose(self, operation: DesiredOperation, assessed: Assessment) -> None:
        if assessed.rule:
            of = "" if assessed.rule == RULE else f"offset change {operation.name}: "
            self._report(operation, assessed.rule, of + assessed.message, _HINTS.get(assessed.rule, ""))

    def _report(self, declared: DesiredOperation | None, rule: str, summary: str, hint: str) -> None:
        warns = rule in _WARNINGS or (declared is not None and only_warns(self.situation, declared))
        place = declared.locate() if declared else self.connector.locate(("metadata", "name"))
        severity = Severity.WARNING if warns else Severity.ERROR
        self.diagnostics.append(Diagnostic(severity, rule, summary, place, hint, self.connector.name))


def complete_operation(situation: Situation, operation: DesiredOperation) -> Operation:
    """A declared operation as it is executed, without its offsets."""
    return Operation(
        operation.name,
        operation.connector,
        operation.kind,
        operation.digest,
        situation.revision,
        acknowledged=operation.acknowledged,
    )


def show(operation: DesiredOperation, assessed: Assessment) -> PlannedOperation:
    """A declared operation as a plan shows it."""
    return PlannedOperation(
        operation.name,
        operation.connector,
        operation.kind,
        assessed.status,
        assessed.message,
        operation.reason,
        location=operation.locate(),
        digest=operation.digest,
        annotation=operation.annotation,
    )


def _reason(shown: PlannedOperation) -> str:
    """The part that is equal in every plan: offsets move, and that must not make a plan stale."""
    what = "initialOffsets" if shown.kind is OperationKind.SEED else f"offset change {shown.name}"
    return f"{what} (in progress)" if shown.status is OperationStatus.UNFINISHED else what


# Operations whose declared or current offsets are too many for memory: decided by counts alone.

_FRAME = len('{"partition":,"offset":}\n')


def is_large(situation: Situation, operation: DesiredOperation) -> bool:
    """Whether the operation's offsets, or the current offsets of its connector, are too many for memory."""
    offsets = situation.offsets
    return operation.name in offsets.large or operation.connector in offsets.large_current


def review_large(situation: Situation, operation: Operation) -> tuple[Review | None, HeapEstimate | None]:
    """The effect on the current offsets, whether it is allowed, and its memory; None if the offsets are unknown.

    The review contains no patch.
    """
    difference = _difference(situation, operation)
    if difference is None:
        return None, None
    if operation.connector not in situation.observed.connectors:
        difference = replace(difference, exact=False)
    refused = list(refusals(operation, difference, situation.policy.max_skip))
    heap = _heap(situation, operation, difference)
    if heap is not None and (too_much := heap_refusal(heap, situation.policy.worker_heap)):
        refused.append(Refusal(too_much))
    shape = situation.offsets.shapes.get(operation.connector)
    return Review({}, difference, tuple(refused), unchecked=unchecked(shape)), heap


def declared_partitions(situation: Situation) -> tuple[int, int]:
    """How many partitions each worker holds once all changes are made, and about how many bytes they have as lines."""
    return _sum([*_current(situation), *_added(situation), *_unsent(situation)])


def _heap(situation: Situation, operation: Operation, difference: Difference) -> HeapEstimate | None:
    """None if the operation adds nothing to the offsets that the workers hold already: they have room for those."""
    verdict, new = situation.offsets.large.get(operation.name), difference.counts.get(Direction.NEW, 0)
    observed = situation.observed.connectors.get(operation.connector)
    if verdict is None or not new or (observed is not None and observed.type is ConnectorType.SINK):
        return None
    count, size = _sum([*_current(situation), *_added(situation, operation.name)])
    copies = situation.offsets.copies.get(operation.connector, 1)
    return estimate(count, size, min(LARGEST_CHUNK, verdict.size), copies)


def _current(situation: Situation) -> Iterator[tuple[int, int]]:
    """The number of current offsets, as far as they were read, and about how many bytes they have as lines.

    Of all connectors: each worker holds the offsets of its whole cluster.
    """
    for large in situation.offsets.large_current.values():
        yield large.entries, large.size
    for current in situation.offsets.current.values():
        yield len(current), sum(len(partition) + len(offset) + _FRAME for partition, offset in current.items())


def _added(situation: Situation, last: OperationName | None = None) -> Iterator[tuple[int, int]]:
    """What the operations up to that name add to them (if not all fit, some do), or what all add."""
    for name, verdict in situation.offsets.large.items():
        new = 0 if verdict.difference is None else verdict.difference.counts.get(Direction.NEW, 0)
        if last is None or name <= last:
            yield new, verdict.size * new // max(1, verdict.entries)


def _unsent(situation: Situation) -> Iterator[tuple[int, int]]:
    """What operations in progress still add; their entries are about as long as the current ones of their connector."""
    for one in situation.offsets.unfinished.values():
        current = situation.offsets.large_current.get(one.operation.connector)
        new = one.review.difference.counts.get(Direction.NEW, 0) if one.review else 0
        yield new, current.size * new // max(1, current.entries) if current else 0


def _sum(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    counts, sizes = zip((0, 0), *parts, strict=True)
    return sum(counts), sum(sizes)


def _difference(situation: Situation, operation: Operation) -> Difference | None:
    if operation.kind is OperationKind.RESET:
        current = situation.offsets.large_current.get(operation.connector)
        found = Difference({Direction.REMOVED: current.entries}) if current is not None else None
    else:
        found = situation.offsets.large[operation.name].difference
    shape = situation.offsets.shapes.get(operation.connector)
    return None if found is None else described(found, shape)
