"""The log events about pull requests."""

from __future__ import annotations

import logging

from gitops_connect.daemon.events import say
from gitops_connect.model.reviews import Comment, PullRequest
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


def approved(pull_request: PullRequest, comment: Comment, digest: str, *, is_known: bool) -> None:
    """Someone has approved a plan, or a digest that the pull request does not show."""
    fields = {"pull_request": pull_request.number, "author": comment.author, "digest": digest}
    if is_known:
        say(logging.INFO, "plan_approved", **fields)
    else:
        say(logging.WARNING, "approval_rejected", **fields, message="the pull request does not show this digest")


def command_rejected(pull_request: PullRequest, comment: Comment, message: str) -> None:
    """A comment has a command, and its author may not use it, or others may have edited it."""
    say(logging.WARNING, "command_rejected", pull_request=pull_request.number, author=comment.author, message=message)


def blocked(pull_request: PullRequest, changes: int) -> None:
    """The merged pull request makes destructive changes that nobody has reviewed."""
    say(logging.WARNING, "changes_not_reviewed", pull_request=pull_request.number, blocked=changes)
