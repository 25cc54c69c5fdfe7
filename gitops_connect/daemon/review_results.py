"""The result of a review: the commit status, and the annotations at lines."""

from __future__ import annotations

from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.reviews import Annotation, CommitState
from gitops_connect.report.printable import one_line
from gitops_connect.report.pull_request_plan import PullRequestPlan
from gitops_connect.report.summary import summary_line


def commit_state(plan: PullRequestPlan) -> CommitState:
    """A merge is prevented by errors, by a conflict, by what guards reject, and by a cluster that was not planned."""
    is_rejected = any(one.refusals for one in plan.plans)
    if plan.diagnostics.errors or plan.unread or plan.not_planned is not None or is_rejected:
        return CommitState.FAILURE
    return CommitState.SUCCESS


def description(plan: PullRequestPlan) -> str:
    """The description of the status."""
    if plan.not_planned is not None:
        return f"not planned: {plan.not_planned.value}"
    if plan.unread:
        return f"could not be planned for {', '.join(plan.unread)}"
    return summary_line(plan.plans, len(plan.diagnostics.errors))


def line_annotations(plan: PullRequestPlan) -> list[Annotation]:
    """All problems, each at its line."""
    return [
        Annotation(one.location.file, one.location.line, one_line(one.summary), one.severity is Severity.ERROR)
        for one in plan.diagnostics
    ]
