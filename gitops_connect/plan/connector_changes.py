"""The offset changes of each connector: those of this reconciliation in order, and what blocks the others."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace

from gitops_connect.connect.worker_heap import LARGEST_CHUNK, estimate, heap_refusal
from gitops_connect.model.desired import DesiredConnector, DesiredOffsetChange, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.differences import Difference, Direction, Refusal, Review, missing
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.observed_state import ConnectorType, WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeState
from gitops_connect.model.offsets import merged
from gitops_connect.model.plans import (
    Action,
    ConnectorPlan,
    HeapEstimate,
    OffsetChangeStatus,
    PlannedOffsetChange,
    Step,
)
from gitops_connect.model.strimzi import RULE
from gitops_connect.model.suggestions import Vocabulary
from gitops_connect.plan.holds import suspension_of
from gitops_connect.plan.offset_change_status import (
    Assessment,
    assess,
    history_unknown,
    only_warns,
    started_since,
    status_by_record,
)
from gitops_connect.plan.offset_review import described, find_difference, refusals, review, review_unfinished, unchecked
from gitops_connect.plan.offset_stores import with_store
from gitops_connect.plan.situation import Situation, Unfinished

_HINTS = {
    "offsets/rewritten": "restore the document as it was applied, and declare the new change under another name",
    "offsets/unknown": "check the current offsets first: gitops-connect offsets get",
    "offsets/failed": "fix the cause, or change the document, or run: gitops-connect ledger resolve NAME --not-applied",
    RULE: "fix what the message names, or remove the annotation",
}
_ACKNOWLEDGE = "if this is intended, add `acknowledge: [{}]`"
_WARNINGS = {"offsets/unknown", RULE}
_REMOVES_ALL = (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR)


@dataclass(slots=True)
class OffsetChangesPlan:
    """The plan for one connector's offset changes.

    `steps` run while the connector is stopped. `seed` is the first of them if the ledger must record it before the
    connector is created. `blocked` says why nothing may start the connector, or is empty. `changes_nothing`: there are
    steps, and each finds every partition at the declared offset.
    """

    steps: list[Step] = field(default_factory=list)
    planned: list[PlannedOffsetChange] = field(default_factory=list)
    applied: list[PlannedOffsetChange] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seed: OffsetChange | None = None
    blocked: str = ""
    changes_nothing: bool = False


def plan_offset_changes(situation: Situation, connector: DesiredConnector) -> OffsetChangesPlan:
    """Plan every offset change of a declared connector, unfinished ones of earlier reconciliations first."""
    planner = _OffsetChangesPlanner(situation, connector)
    for _, one in sorted(situation.offsets.unfinished.items()):
        if one.offset_change.connector == connector.name and one.offset_change.kind is not OffsetChangeKind.CLEAR:
            planner.finish(one)
    for offset_change in situation.desired.offset_changes_of(connector.name):
        planner.add(offset_change)
    return planner.plan


class _OffsetChangesPlanner:
    """Orders the offset changes of one connector. `_current`: the offsets after those planned so far; None: unknown."""

    def __init__(self, situation: Situation, connector: DesiredConnector) -> None:
        self.plan = OffsetChangesPlan()
        self._situation = situation
        self._connector = connector
        self._exists = connector.name in situation.observed.connectors
        self._current = situation.offsets.current.get(connector.name) if self._exists else {}
        self._shape = situation.offsets.shapes.get(connector.name)
        self._declared = {one.name: one for one in situation.desired.offset_changes_of(connector.name)}
        self._first_waiting: OffsetChangeName | None = None

    def finish(self, unfinished: Unfinished) -> None:
        """Finish an offset change that was begun, from the copy in the ledger, whatever its document says now."""
        offset_change, declared = unfinished.offset_change, self._declared.get(unfinished.offset_change.name)
        shown = _show_begun(offset_change, OffsetChangeStatus.UNFINISHED)
        if declared is None:
            shown = replace(shown, message="removed from Git: it is finished from the copy in the ledger")
        else:
            shown = replace(
                shown, location=declared.locate(), reason=declared.reason, acknowledged=declared.acknowledged
            )
        if self._connector.state is TargetState.ABSENT:
            self._wait_because(shown, "its connector is declared absent")
        elif started := started_since(self._situation, offset_change):
            self._wait(replace(shown, status=OffsetChangeStatus.UNKNOWN, message=started))
            self._report(declared, "offsets/unfinished", f"offset change {offset_change.name}: {started}", "")
        elif self._current is None and unfinished.review is None:
            self._wait_because(shown, self._unread())
            self._block(f"offset change {offset_change.name} is in progress and must finish first")
        else:
            # The offsets of a connector that someone deleted meanwhile can be read only once it exists again.
            current = self._current if self._exists and self._current is not None else unfinished.before
            seen = unfinished.review or review_unfinished(
                self._situation.observed.cluster, offset_change, unfinished.before, current, self._shape
            )
            seen = with_store(self._situation, offset_change, seen)
            self._decide(
                offset_change, replace(shown, difference=seen.difference), seen, "offsets/unfinished", declared
            )

    def add(self, offset_change: DesiredOffsetChange) -> None:
        assessed = history_unknown(self._situation, offset_change) or assess(
            self._situation, self._connector, offset_change
        )
        shown = _show(offset_change, assessed)
        self._diagnose(offset_change, assessed)
        match assessed.status:
            case OffsetChangeStatus.APPLIED:
                self.plan.applied.append(shown)
            case OffsetChangeStatus.IDLE | OffsetChangeStatus.WITHDRAWN:
                self.plan.notes.append(assessed.message)
            case OffsetChangeStatus.WAITING | OffsetChangeStatus.FAILED | OffsetChangeStatus.UNKNOWN:
                self._wait(shown, blocks_later=self._blocks_later(offset_change))
                has_failed = assessed.rule in ("offsets/failed", "offsets/unacknowledged")
                if offset_change.kind is OffsetChangeKind.SEED and has_failed:
                    self._block("its initialOffsets could not be applied, and the connector has never run")
            case OffsetChangeStatus.PLANNED:
                self._plan(offset_change, shown)
            case OffsetChangeStatus.UNFINISHED:
                if offset_change.name not in self._situation.offsets.unfinished:
                    self._wait_because(shown, "it is already in progress")

    def _plan(self, offset_change: DesiredOffsetChange, shown: PlannedOffsetChange) -> None:
        offsets = self._situation.offsets
        if self._first_waiting is not None:
            self._wait_because(shown, f"{self._first_waiting} must be applied first")
        elif offset_change.name in offsets.large or offset_change.connector in offsets.large_current:
            self._plan_large(offset_change, shown)
        elif (declared := offsets.manifests.get(offset_change.name) if offset_change.manifest else {}) is None:
            self._has_errors(shown)
        elif self._current is None:
            self._wait_for_offsets(shown)
        else:
            complete = replace(self._complete(offset_change), offsets=declared)
            seen = review(complete, self._current, self._shape, self._situation.policy.max_skip)
            seen = with_store(self._situation, complete, seen)
            difference = seen.difference
            if not self._exists:
                difference = find_difference(self._current, seen.patch, self._shape, exact=False)
            shown = replace(shown, difference=difference, may_move=self._may_move(offset_change))
            if (resolved := offsets.resolved.get(offset_change.name)) is not None:
                shown = replace(shown, targets=resolved.words, notes=resolved.notes)
            self._decide(complete, shown, seen, "offsets/unacknowledged", offset_change)

    def _plan_large(self, offset_change: DesiredOffsetChange, shown: PlannedOffsetChange) -> None:
        """Plan a large offset change alone, as it was compared with the current offsets: others wait until later."""
        if self.plan.steps:
            self._wait_because(shown, f"{self.plan.planned[-1].name} must be applied first")
            return
        verdict = self._situation.offsets.large.get(offset_change.name)
        if offset_change.manifest is not None and (verdict is None or verdict.errors):
            self._has_errors(shown)
            return
        complete = replace(self._complete(offset_change), is_large=True)
        seen, heap = review_large(self._situation, complete)
        if seen is None:
            self._wait_for_offsets(shown)
            return
        shown = replace(shown, difference=seen.difference, heap=heap, may_move=self._may_move(offset_change))
        self._decide(complete, shown, seen, "offsets/unacknowledged", offset_change)

    def _may_move(self, offset_change: DesiredOffsetChange) -> bool:
        """Whether the current offsets may be others when the change is sent. A seed is for a connector without offsets.

        Connect keeps the offsets of a deleted connector: one that was managed, or had an offset change, may have some.
        """
        name, situation = self._connector.name, self._situation
        if offset_change.kind is OffsetChangeKind.SEED:
            return False
        if self._exists:
            return situation.observed.connectors[name].state not in (WorkerState.STOPPED, WorkerState.PAUSED)
        return name in situation.ownership or any(
            one.connector == name and one.state is not OffsetChangeState.INTENDED
            for one in situation.offsets.records.values()
        )

    def _complete(self, offset_change: DesiredOffsetChange) -> OffsetChange:
        """With the commit with which it was tried first."""
        tried = self._situation.offsets.records.get(offset_change.name)
        is_same = tried is not None and tried.digest == offset_change.digest
        return OffsetChange(
            offset_change.name,
            offset_change.connector,
            offset_change.kind,
            offset_change.digest,
            tried.revision if tried is not None and is_same else self._situation.revision,
            acknowledged=offset_change.acknowledged,
        )

    def _decide(
        self,
        offset_change: OffsetChange,
        shown: PlannedOffsetChange,
        seen: Review,
        rule: str,
        declared: DesiredOffsetChange | None,
    ) -> None:
        for refusal in seen.refusals:
            hint = _ACKNOWLEDGE.format(refusal.missing.value) if refusal.missing else refusal.hint
            self._report(declared, refusal.rule or rule, f"offset change {offset_change.name}: {refusal.message}", hint)
        if seen.refusals:
            shown = replace(shown, lacks=missing(seen.refusals), hint=seen.refusals[0].hint)
            self._wait_because(shown, seen.refusals[0].message)
            self._block(f"offset change {offset_change.name} is blocked")
            return
        is_new = shown.status is OffsetChangeStatus.PLANNED
        no_others = self.plan.changes_nothing or not self.plan.steps
        self.plan.changes_nothing = no_others and is_new and seen.difference.changes_nothing
        what = (
            "initialOffsets" if offset_change.kind is OffsetChangeKind.SEED else f"offset change {offset_change.name}"
        )
        self.plan.planned.append(shown)
        self.plan.steps.append(_step(offset_change, what, shown.status))
        if offset_change.is_large:
            self._current, self._first_waiting = None, self._first_waiting or offset_change.name
        else:
            self._current = merged(self._current or {}, seen.patch)
        if offset_change.kind is OffsetChangeKind.SEED and is_new:
            self.plan.seed = offset_change

    def _blocks_later(self, offset_change: DesiredOffsetChange) -> bool:
        """Whether the offset change blocks later ones: not if it was applied, nor if it is a seed."""
        record = self._situation.offsets.records.get(offset_change.name)
        done = record is not None and record.state is OffsetChangeState.SETTLED
        return not done and offset_change.kind is not OffsetChangeKind.SEED and offset_change.annotation is None

    def _wait(self, shown: PlannedOffsetChange, *, blocks_later: bool = True) -> None:
        self.plan.planned.append(shown)
        if blocks_later and self._first_waiting is None:
            self._first_waiting = shown.name

    def _wait_because(self, shown: PlannedOffsetChange, why: str) -> None:
        self._wait(replace(shown, status=OffsetChangeStatus.WAITING, message=why))

    def _wait_for_offsets(self, shown: PlannedOffsetChange) -> None:
        self._wait_because(shown, self._unread())
        self._block(f"offset change {shown.name} must be applied first, but the current offsets could not be read")

    def _has_errors(self, shown: PlannedOffsetChange) -> None:
        self._wait_because(shown, "its offsets have errors")
        self._block(f"offset change {shown.name} has errors")

    def _block(self, why: str) -> None:
        self.plan.blocked = self.plan.blocked or why

    def _unread(self) -> str:
        why = "the current offsets of its connector could not be read"
        return self._situation.offsets.unread.get(self._connector.name, why)

    def _diagnose(self, offset_change: DesiredOffsetChange, assessed: Assessment) -> None:
        if assessed.rule:
            of = "" if assessed.rule == RULE else f"offset change {offset_change.name}: "
            lacks = ", ".join(sorted(one.value for one in assessed.lacks))
            hint = _ACKNOWLEDGE.format(lacks) if lacks else _HINTS.get(assessed.rule, "")
            self._report(offset_change, assessed.rule, of + assessed.message, hint)

    def _report(self, declared: DesiredOffsetChange | None, rule: str, summary: str, hint: str) -> None:
        warns = rule in _WARNINGS or (declared is not None and only_warns(self._situation, declared))
        place = declared.locate() if declared else self._connector.locate(("metadata", "name"))
        severity = Severity.WARNING if warns else Severity.ERROR
        self.plan.diagnostics.append(Diagnostic(severity, rule, summary, place, hint, self._connector.name))


def _show(offset_change: DesiredOffsetChange, assessed: Assessment) -> PlannedOffsetChange:
    return PlannedOffsetChange(
        offset_change.name,
        offset_change.connector,
        offset_change.kind,
        assessed.status,
        assessed.message,
        offset_change.reason,
        location=offset_change.locate(),
        digest=offset_change.digest,
        annotation=offset_change.annotation,
        acknowledged=offset_change.acknowledged,
        lacks=assessed.lacks,
        hint=_HINTS.get(assessed.rule, ""),
    )


def _show_begun(offset_change: OffsetChange, status: OffsetChangeStatus) -> PlannedOffsetChange:
    return PlannedOffsetChange(
        offset_change.name, offset_change.connector, offset_change.kind, status, digest=offset_change.digest
    )


def _step(offset_change: OffsetChange, what: str, status: OffsetChangeStatus) -> Step:
    """The step of an offset change. Its reason is the same in every plan: offsets move, and must not make a plan
    stale."""
    reason = f"{what} (in progress)" if status is OffsetChangeStatus.UNFINISHED else what
    action = Action.RESET if offset_change.kind in _REMOVES_ALL else Action.ALTER
    return Step(offset_change.connector, action, reason, offset_change=offset_change)


# Offset changes without a declared connector: none of them is begun, and those in progress are finished.


def plan_strays(situation: Situation, leaving: Set[ConnectorName]) -> tuple[list[ConnectorPlan], OffsetChangesPlan]:
    """The connectors with an offset change to finish, and the status of all other offset changes.

    Nothing is finished on connectors that are `leaving`: a deletion needs no offsets.
    """
    declared = {connector.name for connector in situation.desired.connectors}
    names, others = Vocabulary(declared), OffsetChangesPlan()
    for offset_change in situation.desired.offset_changes:
        if offset_change.connector not in declared:
            assessed = _assess_stray(situation, offset_change, names)
            is_applied = assessed.status is OffsetChangeStatus.APPLIED
            (others.applied if is_applied else others.planned).append(_show(offset_change, assessed))
            if assessed.rule:
                others.diagnostics.append(_diagnose_stray(offset_change, assessed))
    finished = [
        replace(plan, suspension=suspension_of(situation, plan.name, None))
        for _, one in sorted(situation.offsets.unfinished.items())
        if one.offset_change.connector not in declared | leaving and (plan := _finish_stray(situation, one)) is not None
    ]
    return finished, others


def _assess_stray(situation: Situation, offset_change: DesiredOffsetChange, declared: Vocabulary) -> Assessment:
    known = history_unknown(situation, offset_change) or status_by_record(situation, offset_change)
    is_begun = known is not None and known.status is OffsetChangeStatus.UNFINISHED
    is_there = offset_change.connector in situation.observed.connectors
    if known is not None and (is_there or not is_begun):
        return known
    if offset_change.connector in situation.desired.held:
        return Assessment(OffsetChangeStatus.WAITING, "the document of its connector has errors")
    begun, there = "in progress, but " if is_begun else "", "is on the cluster, but " if is_there else ""
    did_you_mean = declared.did_you_mean(offset_change.connector)
    message = f"{begun}connector {offset_change.connector!r} {there}is not declared{did_you_mean}"
    return Assessment(OffsetChangeStatus.WAITING, message, "offsets/no-connector")


def _diagnose_stray(offset_change: DesiredOffsetChange, assessed: Assessment) -> Diagnostic:
    severity = Severity.WARNING if assessed.status is OffsetChangeStatus.UNKNOWN else Severity.ERROR
    hint = "declare the connector for the same cluster: offsets are changed only for declared connectors"
    return Diagnostic(
        severity,
        assessed.rule,
        f"offset change {offset_change.name}: {assessed.message}",
        offset_change.locate("connector"),
        hint if assessed.rule == "offsets/no-connector" else "",
        offset_change.connector,
    )


def _finish_stray(situation: Situation, unfinished: Unfinished) -> ConnectorPlan | None:
    """Finish the offset change if its connector is STOPPED. The connector stays STOPPED: no document declares a
    state."""
    offset_change, name = unfinished.offset_change, unfinished.offset_change.connector
    observed, current = situation.observed.connectors.get(name), situation.offsets.current.get(name)
    if observed is None or offset_change.kind is OffsetChangeKind.CLEAR:
        return None
    if started := started_since(situation, offset_change):
        unknown = replace(_show_begun(offset_change, OffsetChangeStatus.UNKNOWN), message=started)
        return ConnectorPlan(name, offset_changes=(unknown,))
    is_stopped = observed.state is WorkerState.STOPPED
    if not is_stopped or (current is None and unfinished.review is None):
        why = "its offsets could not be read" if is_stopped else "is not stopped"
        note = f"offset change {offset_change.name}: in progress, but its connector is no longer declared and {why}"
        return ConnectorPlan(name, notes=(note,))
    shape = situation.offsets.shapes.get(name)
    seen = unfinished.review or review_unfinished(
        situation.observed.cluster, offset_change, unfinished.before, current or {}, shape
    )
    seen = with_store(situation, offset_change, seen)
    if seen.refusals:
        return ConnectorPlan(name, notes=(f"offset change {offset_change.name}: {seen.refusals[0].message}",))
    note = "no longer declared: the offset change in progress is finished, and the connector stays stopped"
    shown = replace(_show_begun(offset_change, OffsetChangeStatus.UNFINISHED), difference=seen.difference)
    step = _step(offset_change, f"offset change {offset_change.name}", OffsetChangeStatus.UNFINISHED)
    return ConnectorPlan(name, (step,), (note,), applicable=situation.policy.enforce, offset_changes=(shown,))


# Offset changes whose declared or current offsets are too many for memory: decided by counts alone.


def review_large(situation: Situation, offset_change: OffsetChange) -> tuple[Review | None, HeapEstimate | None]:
    """The effect on the current offsets, whether it is allowed, and its memory; None if the offsets are unknown.

    The review contains no patch.
    """
    difference: Difference | None
    if offset_change.kind is OffsetChangeKind.RESET:
        current = situation.offsets.large_current.get(offset_change.connector)
        difference = Difference({Direction.REMOVED: current.entries}) if current is not None else None
    else:
        difference = situation.offsets.large[offset_change.name].difference
    if difference is None:
        return None, None
    shape = situation.offsets.shapes.get(offset_change.connector)
    difference = described(difference, shape)
    if offset_change.connector not in situation.observed.connectors:
        difference = replace(difference, exact=False)
    refused = list(refusals(offset_change, difference, situation.policy.max_skip))
    heap = _heap(situation, offset_change, difference)
    if heap is not None and (too_much := heap_refusal(heap, situation.policy.worker_heap)):
        refused.append(Refusal(too_much))
    seen = Review({}, difference, tuple(refused), unchecked=unchecked(shape))
    return with_store(situation, offset_change, seen), heap


def declared_partitions(situation: Situation) -> tuple[int, int]:
    """How many partitions each worker holds once all changes are made, and about how many bytes they have as lines."""
    offsets = situation.offsets
    known = [offsets.size, *[*offsets.added.values()][-1:], *_unsent(situation)]
    return sum(count for count, _ in known), sum(size for _, size in known)


def _heap(situation: Situation, offset_change: OffsetChange, difference: Difference) -> HeapEstimate | None:
    """None if the offset change adds nothing to the offsets that the workers hold already: they have room for those."""
    verdict, new = situation.offsets.large.get(offset_change.name), difference.counts.get(Direction.NEW)
    observed = situation.observed.connectors.get(offset_change.connector)
    if verdict is None or not new or (observed is not None and observed.type is ConnectorType.SINK):
        return None
    (count, size), (more, larger) = situation.offsets.size, situation.offsets.added[offset_change.name]
    copies = situation.offsets.copies.get(offset_change.connector, 1)
    return estimate(count + more, size + larger, min(LARGEST_CHUNK, verdict.size), copies)


def _unsent(situation: Situation) -> Iterator[tuple[int, int]]:
    """What offset changes in progress still add; their entries are about as long as the current ones of their
    connector."""
    for one in situation.offsets.unfinished.values():
        current = situation.offsets.large_current.get(one.offset_change.connector)
        new = one.review.difference.counts.get(Direction.NEW, 0) if one.review else 0
        yield new, current.size * new // max(1, current.entries) if current else 0
