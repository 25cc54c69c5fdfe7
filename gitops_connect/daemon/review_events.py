"""The log events about pull requests."""

from __future__ import annotations

import logging

from gitops_connect.daemon.events import say
from gitops_connect.model.reviews import PullRequest
from gitops_connect.report.pull_request_plan import PullRequestPlan


def commented(pull_request: PullRequest, plan: PullRequestPlan) -> None:
    """The comment on a pull request shows another plan."""
    say(
        logging.INFO,
        "pull_request_reviewed",
        pull_request=pull_request.number,
        commit=pull_request.head,
        planned=sum(len(one.steps) for one in plan.plans),
        errors=len(plan.diagnostics.errors),
        digest=plan.digest,
    )


def failed(message: str) -> None:
    """A pull request could not be reviewed. One event for each reason, even if it lasts."""
    say(logging.ERROR, "review_failed", message=message)
