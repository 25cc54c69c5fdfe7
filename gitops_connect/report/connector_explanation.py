"""Why a connector is as it is: what Git says, what is live, what blocks it, what is done next, and since when.

All of it comes from the plan, the status and the conditions: nothing is judged a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_connect.model.desired import DesiredConnector, Mode, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.plans import ConnectorPlan, PlannedOffsetChange
from gitops_connect.model.revisions import origin
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType, ConnectorStatus
from gitops_connect.report import offset_lines
from gitops_connect.report.plan_view import view_connector
from gitops_connect.report.printable import one_line
from gitops_connect.report.text import TextReport

_NOTHING = "nothing is planned"


@dataclass(frozen=True, slots=True)
class ExplainedConnector:
    """What is known of one connector on one cluster.

    `commit` is the revision that was read, in words. `changes` are the declared offset changes that were not applied.
    `conditions` are those that the daemon has recorded. `when` says when the next steps are applied. `directory` is the
    prefix of the paths of documents.
    """

    status: ConnectorStatus
    planned: ConnectorPlan
    commit: str
    declared: DesiredConnector | None = None
    changes: Sequence[PlannedOffsetChange] = ()
    ownership: Ownership | None = None
    conditions: Sequence[Condition] = ()
    problems: Sequence[Diagnostic] = ()
    when: str = ""
    directory: str = ""
    why_undeclared: str = "no document declares it"

    @property
    def declared_at(self) -> Location | None:
        """The state or the suspension in the document, or else the document."""
        if self.declared is None:
            return None
        field = "suspend" if self.declared.suspend else "state"
        return self.declared.locate(("spec", field)).under(self.directory)

    def value(self) -> dict[str, Any]:
        """All of it in the order in which a person asks."""
        status = self.status
        return {
            "Connector": status.name,
            "Cluster": status.cluster,
            "Verdict": status.verdict.kind.value,
            "Because": status.verdict.words or status.message or "-",
            **_filled("To do", self._to_do()),
            "Sync": status.sync.value,
            "Health": status.health.value,
            "Git": self._git(),
            "Live": {"State": status.state, "Tasks": status.tasks, **_filled("Problem", status.problem)},
            "Last applied": self._applied(),
            **_filled("Errors", [f"{one.location}: {one_line(one.summary)} [{one.rule}]" for one in self.problems]),
            **_filled("Blocked by", self._holds()),
            "Next": next_steps(self.planned),
            **_filled("When", self.when if self.planned.applicable and self.planned.steps else ""),
            **_filled("Since", self._since()),
        }

    def plan_lines(self) -> str:
        """The connector's part of the plan, as `plan` prints it; empty if there is none."""
        planned = self.planned
        if not (planned.steps or planned.offset_changes or planned.notes):
            return ""
        lines = view_connector(planned, offset_lines.MOST_MOVES).lines
        return TextReport(coloured=False).offsets(lines)

    def _to_do(self) -> str:
        """The next step of the verdict, as the pages have it."""
        following = self.status.verdict.next
        if following is None:
            return ""
        where = "" if following.location is None else f" ({following.location.under(self.directory)})"
        return f"{one_line(following.text)}{where}"

    def _git(self) -> Any:
        if self.declared is None:
            return f"{self.why_undeclared} ({self.commit})"
        declared = self.declared
        state = declared.state.value if declared.mode is Mode.ENFORCE else f"{declared.state.value}, mode observe"
        return {
            "Document": str(declared.document.location.under(self.directory)),
            "Revision": self.commit,
            "State": f"{state}, suspend: true" if declared.suspend else state,
            **_filled("Offset changes", [self._change(one) for one in self.changes]),
        }

    def _change(self, one: PlannedOffsetChange) -> str:
        where = f" ({one.location.under(self.directory)})" if one.location is not None else ""
        return f"{offset_lines.label(one)}{where}: {one.status.value}"

    def _applied(self) -> str:
        if self.ownership is None:
            return "never: it is not managed"
        return f"{origin(self.ownership.revision)} ({self.ownership.origin.value} at {_time(self.ownership.since)})"

    def _holds(self) -> list[dict[str, str]]:
        """The holds of the plan, and the one that the daemon has recorded: a command plans without reviews."""
        known = {one.kind.reason for one in self.planned.holds}
        found = [
            {
                "Hold": one.kind.value,
                "Message": one_line(one.message),
                "Release": one_line(one.release),
                **_filled("Since", one.since and _time(one.since)),
            }
            for one in self.planned.holds
        ]
        return found + [
            {
                "Hold": f"{one.reason} (recorded by the daemon)",
                "Message": one_line(one.message),
                "Since": _time(one.since),
            }
            for one in self._true(ConditionType.BLOCKED)
            if one.reason not in known
        ]

    def _since(self) -> dict[str, str]:
        """Since when the daemon sees the states that it has recorded."""
        return {
            f"{one.type.value}={one.status.value} ({one.reason})": _time(one.since)
            for one in sorted(self.conditions, key=lambda one: one.since)
        }

    def _true(self, kind: ConditionType) -> Iterable[Condition]:
        return (one for one in self.conditions if one.type is kind and one.status is ConditionStatus.TRUE)


def next_steps(planned: ConnectorPlan) -> list[str]:
    """What the next reconciliation does with a connector, and what it leaves out, with what releases that."""
    steps = planned.steps if planned.applicable else ()
    lines = [f"{step.action.value}: {one_line(step.reason)}" for step in steps]
    shown = () if planned.applicable else planned.steps
    left_out = ", ".join(step.action.value for step in (*shown, *planned.held))
    lines += [f"not done: {left_out}"] if left_out else []
    lines += [offset_lines.waits(one) for one in offset_lines.waiting_of(planned)]
    lines += [f"to release it: {one_line(one.release)}" for one in planned.holds]
    return lines or [_NOTHING]


def state_advice(declared: DesiredConnector, where: Location | None) -> str:
    """What to write in a document that keeps its connector from running; empty if it does not."""
    if declared.suspend:
        return f"its document suspends it; to end that, remove `suspend: true`: {where}"
    if declared.state is TargetState.RUNNING:
        return ""
    advice = f"to let it run, write in {where}:\n  spec:\n    state: running"
    return f"its document declares `state: {declared.state.value}`, so that it does not run; {advice}"


def _filled(key: str, value: Any) -> dict[str, Any]:
    return {key: value} if value else {}


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"
