"""The commands in comments of people with write access: `plan`, `approve DIGEST` and `help`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gitops_connect.daemon import events
from gitops_connect.forge.forge import Forge
from gitops_connect.ledger.status_store import ReviewStore
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Digest
from gitops_connect.model.pull_requests import Comment, PullRequest
from gitops_connect.model.reviewed_plans import Approval
from gitops_connect.report.comment_writer import APPROVE, HELP, PLAN, find_marker, help_comment

_COMMAND = re.compile(rf"{PLAN}|{HELP}|{APPROVE} (?P<digest>[0-9a-f]{{64}})")


@dataclass(slots=True)
class ReviewCommands:
    """Carries out each command once. After a restart, a command may be carried out again, which changes nothing."""

    forge: Forge
    store: ReviewStore
    clock: Clock
    _done: set[int] = field(default_factory=set)

    def carry_out(self, pull_request: PullRequest, comments: Iterable[Comment]) -> bool:
        """Carry out new commands. Returns whether a plan was approved. Raises the errors of forge and ledger."""
        approved = False
        for comment in comments:
            found = _COMMAND.fullmatch(comment.body.strip())
            if found is None or comment.id in self._done or find_marker(comment.body) is not None:
                continue
            if self._may_command(pull_request, comment):
                approved |= self._carry_out(pull_request, comment, found["digest"])
            self._done.add(comment.id)
        return approved

    def _may_command(self, pull_request: PullRequest, comment: Comment) -> bool:
        """Never the author of a pull request from a fork, and otherwise everyone who may push.

        Others with write access can edit a comment, and it still has its author. So an edited comment is no command.
        """
        if comment.is_edited:
            events.command_rejected(pull_request, comment, "the comment was edited; write a new one")
            return False
        is_author_of_fork = pull_request.is_fork and comment.author == pull_request.author
        if not is_author_of_fork and self.forge.can_write(comment.author):
            return True
        events.command_rejected(pull_request, comment, "only people with write access can use commands")
        return False

    def _carry_out(self, pull_request: PullRequest, comment: Comment, digest: str | None) -> bool:
        if digest is not None:
            place = f"comment {comment.id} on pull request {pull_request.number}"
            approval = Approval(pull_request.number, Digest(digest), comment.author, self.clock.now(), place)
            known = self.store.approve(approval)
            events.approved(pull_request, comment, digest, is_known=known)
            return known
        if comment.body.strip() == HELP:
            self._help(pull_request.number)
        return False  # `plan`: every pull request is planned again at each review

    def _help(self, number: int) -> None:
        """Write the help, unless the pull request has it."""
        body, user = help_comment(number), self.forge.user()
        if not any(one.author == user and one.body == body for one in self.forge.comments(number)):
            self.forge.write_comment(number, body, None)
