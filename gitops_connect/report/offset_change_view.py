"""The one state of an offset change, its cause, and what to do next, from the plan and the ledger.

Pages, API, metrics and commands show the same. A plan can be older than the record: it was made before its changes were
applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from gitops_connect.model.command_lines import command_line
from gitops_connect.model.hold import Hold
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
    lack_words,
    resolve_command,
    resolve_commands,
)
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange
from gitops_connect.report.printable import one_line

_DELETED = "its connector was deleted with its offsets; a new connector of that name gets these offsets again"
_WITHDRAWN = "its document was removed before the change had any effect"
_OLDER = "it may be older than the ledger, so it is unknown whether it was applied"
NOT_NOW = "its connector cannot be changed now"
_OF_DOCUMENTS = frozenset(
    {OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE, OffsetChangeKind.RESET, OffsetChangeKind.SEED}
)


@dataclass(frozen=True, slots=True)
class OffsetChangeView:
    """The state of an offset change, its cause in one sentence, and what to do next. Both texts may be empty.

    `next_step` is an imperative with an exact command, or the line to add and its place.
    """

    state: OffsetChangeStatus
    cause: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class PlannedView:
    """An offset change of a plan. `hold` is set if it is planned, and a hold keeps it from being applied.

    `directory` precedes the paths of documents.
    """

    one: PlannedOffsetChange
    hold: Hold | None = None
    directory: str = ""

    @property
    def state(self) -> OffsetChangeStatus:
        return OffsetChangeStatus.WAITING if self.hold is not None else self.one.status


@dataclass(frozen=True, slots=True)
class ChangeViews:
    """The states of the offset changes of one cluster. `planned` are those of the last plan, if there is one."""

    cluster: ClusterName
    planned: Mapping[OffsetChangeName, PlannedView] = field(default_factory=dict)
    is_complete: bool = False
    """Whether every declared change is among the planned ones: a plan was made, and every document was read."""

    @staticmethod
    def of(cluster: ClusterName, plan: Plan | None, directory: str = "") -> ChangeViews:
        if plan is None:
            return ChangeViews(cluster)
        strays = (PlannedView(one, None, directory) for one in (*plan.applied, *plan.strays))
        of_connectors = (
            PlannedView(one, _hold(connector, one), directory)
            for connector in plan.connectors
            for one in connector.offset_changes
        )
        planned = {one.one.name: one for one in (*strays, *of_connectors)}
        return ChangeViews(cluster, planned, plan.complete)

    def of_record(self, record: OffsetChangeRecord) -> OffsetChangeView:
        planned = self.planned.get(record.name)
        withdrawn = planned is None and self.is_complete and record.kind in _OF_DOCUMENTS
        return view_of(self.cluster, planned, record, withdrawn=withdrawn)


def _hold(connector: ConnectorPlan, one: PlannedOffsetChange) -> Hold | None:
    is_held = not connector.applicable and one.status is OffsetChangeStatus.PLANNED
    return connector.holds[0] if is_held and connector.holds else None


def view_of(
    cluster: ClusterName, planned: PlannedView | None, record: OffsetChangeRecord | None, *, withdrawn: bool = False
) -> OffsetChangeView:
    """The state by the plan, the record, or both. `withdrawn`: the plan is known, and does not contain the change."""
    found = _ChangeFacts(cluster, planned, record, withdrawn)
    return OffsetChangeView(found.state, one_line(found.cause), one_line(found.next_step))


@dataclass(frozen=True, slots=True)
class _ChangeFacts:
    """What is known of an offset change: at least one of `planned` and `record`."""

    cluster: ClusterName
    planned: PlannedView | None
    record: OffsetChangeRecord | None
    withdrawn: bool

    @property
    def _planned(self) -> PlannedOffsetChange | None:
        return self.planned.one if self.planned is not None else None

    @property
    def state(self) -> OffsetChangeStatus:
        record, by_plan = self.record, self.planned.state if self.planned is not None else None
        if record is None:
            return by_plan or OffsetChangeStatus.UNKNOWN
        found = OffsetChangeStatus.UNKNOWN
        match record.state:
            case OffsetChangeState.SETTLED:
                is_blocked = self._is_edited and by_plan is OffsetChangeStatus.WAITING
                found = OffsetChangeStatus.WAITING if is_blocked else OffsetChangeStatus.APPLIED
            case OffsetChangeState.OPEN:
                status = None if self._planned is None else self._planned.status
                is_stuck = status is OffsetChangeStatus.WAITING or status is OffsetChangeStatus.UNKNOWN
                found = status if status is not None and is_stuck else OffsetChangeStatus.UNFINISHED
            case OffsetChangeState.FAILED | OffsetChangeState.INTENDED:
                found = OffsetChangeStatus.WITHDRAWN if self.withdrawn else self._undone(record, by_plan)
            case OffsetChangeState.RELEASED:
                found = by_plan or OffsetChangeStatus.IDLE
            case OffsetChangeState.UNKNOWN:
                pass
            case _:
                assert_never(record.state)
        return found

    def _undone(self, record: OffsetChangeRecord, by_plan: OffsetChangeStatus | None) -> OffsetChangeStatus:
        if record.state is OffsetChangeState.INTENDED:
            return by_plan or OffsetChangeStatus.PLANNED
        has_all = bool(record.lacks) and not self.lacks  # the document has what the failed attempt lacked
        is_due = by_plan is OffsetChangeStatus.PLANNED and has_all
        if by_plan is not None and (by_plan is OffsetChangeStatus.WAITING or is_due or self._is_edited):
            return by_plan
        return OffsetChangeStatus.WAITING if self.lacks else OffsetChangeStatus.FAILED

    @property
    def _is_edited(self) -> bool:
        """Whether the document is another one than the ledger has recorded."""
        recorded, declared = (one.digest if one is not None else None for one in (self.record, self._planned))
        return None not in (recorded, declared) and recorded != declared

    @property
    def lacks(self) -> frozenset[Acknowledgement]:
        recorded = self.record.lacks if self.record is not None else frozenset[Acknowledgement]()
        if self.planned is None:
            return recorded
        is_older = self.planned.one.status is OffsetChangeStatus.PLANNED and not self._is_edited
        return self.planned.one.lacks or (recorded - self.planned.one.acknowledged if is_older else frozenset())

    @property
    def cause(self) -> str:
        planned = self.planned.one.message if self.planned is not None else ""
        record, recorded = self.record, self.record.message if self.record is not None else ""
        match self.state:
            case OffsetChangeStatus.WAITING:
                return self._why_blocked(planned)
            case OffsetChangeStatus.FAILED:
                is_fresh = self.planned is not None and self.planned.one.status is OffsetChangeStatus.FAILED
                return planned if record is None or is_fresh else record.failure
            case OffsetChangeStatus.UNKNOWN:
                return planned or recorded or _OLDER
            case OffsetChangeStatus.WITHDRAWN | OffsetChangeStatus.IDLE:
                withdrawn = "; ".join(filter(None, (_WITHDRAWN, recorded)))
                return planned or (withdrawn if self.withdrawn else _DELETED)
            case OffsetChangeStatus.UNFINISHED | OffsetChangeStatus.APPLIED if record is not None:
                return "; ".join(filter(None, (recorded, f"warning: {record.warning}" if record.warning else "")))
            case OffsetChangeStatus.PLANNED | OffsetChangeStatus.UNFINISHED | OffsetChangeStatus.APPLIED:
                return planned
            case _:
                assert_never(self.state)

    def _why_blocked(self, planned: str) -> str:
        """The last failure, if there was one, and what the change waits for."""
        lack, record = lack_words(self.lacks), self.record
        why = self.planned.hold.words if self.planned and self.planned.hold else planned
        if lack and why.endswith(lack):  # the plan has found that it failed
            return why
        if record is None or record.state is not OffsetChangeState.FAILED or self._is_edited:
            return ": ".join(filter(None, (lack, why))) or NOT_NOW
        if why in ("", record.failure):  # the plan has not compared it since
            return "; ".join(filter(None, (record.failure, lack)))
        return f"{record.tries}: {record.message}; {': '.join(filter(None, (lack, why)))}"

    @property
    def next_step(self) -> str:
        planned, record = self.planned, self.record
        name, connector = next((one.name, one.connector) for one in (self._planned, record) if one)
        abandon = resolve_command(self.cluster, name, "not-applied")
        found = ""
        match self.state:
            case OffsetChangeStatus.WAITING if self.lacks:
                found = acknowledge_words(planned, self.lacks)
            case OffsetChangeStatus.WAITING if planned is not None:
                found = planned.one.hint if planned.hold is None else planned.hold.release
            case OffsetChangeStatus.UNKNOWN:
                get = command_line("offsets get", connector, "--cluster", self.cluster)
                found = f"run `{get}`, then {resolve_commands(self.cluster, name)}"
            case OffsetChangeStatus.FAILED if record is not None and not record.final:
                found = f"fix the cause; the change is retried at {record.retry_at:%H:%M:%S} UTC"
            case OffsetChangeStatus.FAILED:
                found = f"fix the cause, then change the document, or run {abandon}"
            case OffsetChangeStatus.UNFINISHED if record is not None and record.message:
                found = f"fix the cause; to abandon the change, remove its document and run {abandon}"
            case _:
                pass
        return found


def acknowledge_words(planned: PlannedView | None, lacks: frozenset[Acknowledgement]) -> str:
    """The line that the document needs, and its place: as in ``add `acknowledge: [rewind]` in prod/skip.yaml:4``."""
    known = planned.one.acknowledged if planned is not None else frozenset[Acknowledgement]()
    line = f"acknowledge: [{', '.join(sorted(one.value for one in known | lacks))}]"
    place = planned.one.location.under(planned.directory) if planned is not None and planned.one.location else None
    where = f"{place.file}:{place.line}" if place is not None else "its document"
    return f"if the effect is intended, {'set' if known else 'add'} `{line}` in {where}"
