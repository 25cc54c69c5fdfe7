"""Why a connector is as it is: what Git says, what is live, what blocks it, what is done next, and since when.

All of it comes from the plan, the status and the conditions: nothing is judged a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_connect.model.desired import DesiredConnector, DesiredState, Mode, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.plans import ConnectorPlan, Plan, PlannedOffsetChange
from gitops_connect.model.revisions import origin
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType, ConnectorStatus
from gitops_connect.report import offset_lines
from gitops_connect.report.plan_view import view_connector
from gitops_connect.report.printable import one_line
from gitops_connect.report.text import TextReport


@dataclass(frozen=True, slots=True)
class ExplainedConnector:
    """What is known of one connector on one cluster.

    `conditions` are those that the daemon has recorded. `when` says when the next steps are applied. `directory` is the
    prefix of the paths of documents.
    """

    status: ConnectorStatus
    plan: Plan
    desired: DesiredState
    ownership: Ownership | None
    conditions: Sequence[Condition]
    problems: Sequence[Diagnostic]
    when: str
    directory: str

    @property
    def planned(self) -> ConnectorPlan:
        name = self.status.name
        return next((one for one in self.plan.connectors if one.name == name), ConnectorPlan(name))

    @property
    def declared(self) -> DesiredConnector | None:
        return self.desired.by_name.get(self.status.name)

    def value(self) -> dict[str, Any]:
        """All of it in the order in which a person asks."""
        status, planned, following = self.status, self.planned, self.status.verdict.next
        return _filled(
            {
                "Connector": status.name,
                "Cluster": status.cluster,
                "Verdict": status.verdict.kind.value,
                "Because": status.verdict.words or status.message or "-",
                "To do": "" if following is None else f"{one_line(following.text)}{self._at(following.location)}",
                "Sync": status.sync.value,
                "Health": status.health.value,
                "Git": self._git(),
                "Live": _filled({"State": status.state, "Tasks": status.tasks, "Problem": status.problem}),
                "Last applied": self._applied(),
                "Errors": [f"{one.location}: {one_line(one.summary)} [{one.rule}]" for one in self.problems],
                "Blocked by": self._holds(),
                "Next": next_steps(planned),
                "When": self.when if planned.applicable and planned.steps else "",
                "Since": {
                    f"{one.type.value}={one.status.value} ({one.reason})": _time(one.since)
                    for one in sorted(self.conditions, key=lambda one: one.since)
                },
            }
        )

    def plan_lines(self) -> str:
        """The connector's part of the plan, as `plan` prints it; empty if there is none."""
        planned = self.planned
        if not (planned.steps or planned.offset_changes or planned.notes):
            return ""
        return TextReport(coloured=False).offsets(view_connector(planned, offset_lines.MOST_MOVES).lines)

    def state_advice(self) -> str:
        """What to write in a document that keeps its connector from running; empty if it does not."""
        declared = self.declared
        if declared is None or (declared.state is TargetState.RUNNING and not declared.suspend):
            return ""
        where = declared.locate(("spec", "suspend" if declared.suspend else "state")).under(self.directory)
        if declared.suspend:
            return f"its document suspends it; to end that, remove `suspend: true`: {where}"
        advice = f"to let it run, write in {where}:\n  spec:\n    state: running"
        return f"its document declares `state: {declared.state.value}`, so that it does not run; {advice}"

    def _git(self) -> Any:
        declared, commit = self.declared, origin(self.plan.revision)
        if declared is None:
            return f"{self._why_undeclared()} ({commit})"
        words = (declared.state.value, *(["mode observe"] if declared.mode is not Mode.ENFORCE else []))
        changes = [one for one in self.plan.offset_changes if one.connector == declared.name]
        return _filled(
            {
                "Document": str(declared.document.location.under(self.directory)),
                "Revision": commit,
                "State": ", ".join([*words, *(["suspend: true"] if declared.suspend else [])]),
                "Offset changes": [self._change(one) for one in changes],
            }
        )

    def _why_undeclared(self) -> str:
        if self.status.name in self.desired.held:
            return "its document has errors"
        some = "" if self.desired.complete else "some documents could not be read, and "
        return f"{some}no document declares it"

    def _change(self, one: PlannedOffsetChange) -> str:
        return f"{offset_lines.label(one)}{self._at(one.location)}: {one.status.value}"

    def _at(self, location: Location | None) -> str:
        return "" if location is None else f" ({location.under(self.directory)})"

    def _applied(self) -> str:
        if self.ownership is None:
            return "never: it is not managed"
        return f"{origin(self.ownership.revision)} ({self.ownership.origin.value} at {_time(self.ownership.since)})"

    def _holds(self) -> list[dict[str, str]]:
        """The holds of the plan, and the one that the daemon has recorded: a command plans without reviews."""
        holds = self.planned.holds
        recorded = [
            (f"{one.reason} (recorded by the daemon)", one.message, "", one.since)
            for one in self.conditions
            if one.type is ConditionType.BLOCKED and one.status is ConditionStatus.TRUE
            if one.reason not in {hold.kind.reason for hold in holds}
        ]
        every = [*((one.kind.value, one.message, one.release, one.since) for one in holds), *recorded]
        return [
            _filled(
                {
                    "Hold": name,
                    "Message": one_line(message),
                    "Release": one_line(release),
                    "Since": "" if since is None else _time(since),
                }
            )
            for name, message, release, since in every
        ]


def next_steps(planned: ConnectorPlan) -> list[str]:
    """What the next reconciliation does with a connector, and what it leaves out, with what releases that."""
    steps, shown = (planned.steps, ()) if planned.applicable else ((), planned.steps)
    left_out = ", ".join(step.action.value for step in (*shown, *planned.held))
    return [
        *(f"{step.action.value}: {one_line(step.reason)}" for step in steps),
        *([f"not done: {left_out}"] if left_out else []),
        *map(offset_lines.waits, offset_lines.waiting_of(planned)),
        *(f"to release it: {one_line(one.release)}" for one in planned.holds),
    ] or ["nothing is planned"]


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"
