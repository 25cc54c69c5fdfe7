"""Comments and commit statuses on the forge, of which nothing is written twice, and the commands in comments.

People with write access use the commands `plan`, `approve DIGEST`, `revoke DIGEST` and `help`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from logging import WARNING

from gitops_connect.daemon import events
from gitops_connect.errors import ForgeRefused, GitopsConnectError
from gitops_connect.forge.forge import Forge
from gitops_connect.ledger.status_store import ReviewStore
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Digest, Revision
from gitops_connect.model.pull_requests import Comment, CommentOptions, CommitStatus, PullRequest, Reaction
from gitops_connect.model.reviewed_plans import Approval
from gitops_connect.report.comment_writer import (
    APPROVE,
    HELP,
    PLAN,
    REVOKE,
    AnsweredCommand,
    CommentKind,
    answer_comment,
    answered_command,
    find_marker,
    help_comment,
    outdated_comment,
)
from gitops_connect.report.printable import Sentence, one_line


@dataclass(slots=True)
class ForgeWriter:
    """Writes what has changed. `status_page` is the URL of the server, if any."""

    forge: Forge
    status_page: str | None
    _statuses: dict[tuple[int | Revision, str], tuple[Revision, CommitStatus]] = field(default_factory=dict)

    def options(self, pull_request: PullRequest, page: str | None) -> CommentOptions:
        """How a comment is rendered. `page` has the whole plan."""
        return CommentOptions(pull_request.files_url, page, self.forge.longest_comment)

    def set_status(self, pull_request: PullRequest | None, commit: Revision, status: CommitStatus) -> None:
        """Set a status, unless it is the last one that this process has set for the pull request, or for the commit."""
        key = commit if pull_request is None else pull_request.number, status.context
        if self._statuses.get(key) != (commit, status):
            self.forge.set_status(commit, replace(status, description=one_line(status.description)))
            self._statuses[key] = commit, status

    def write(
        self,
        pull_request: PullRequest,
        kind: CommentKind,
        body: str,
        comments: Sequence[Comment],
        *,
        afresh: bool = False,
    ) -> bool:
        """Write the comment of this kind, or replace it. Returns False if it is there already.

        `afresh`: if its plan is another one, write a new comment. A forge sends no notification of an edited one. A
        process that was frozen may have written a second comment: a forge knows no lease. The earlier one is outdated.
        """
        own = self.own_comment(kind, comments)
        for one in self._own_comments(kind, comments)[:-1]:
            self.forge.write_comment(pull_request.number, outdated_comment(), one.id)
        if own is not None and own.body == body:
            return False
        before, after = (find_marker(one) for one in (own.body if own else "", body))
        if own is not None and afresh and before and after and before.digest != after.digest:
            self.forge.write_comment(pull_request.number, outdated_comment(), own.id)
            self.forge.write_comment(pull_request.number, body, None)
        else:
            self.forge.write_comment(pull_request.number, body, own.id if own else None)
        return True

    def own_comment(self, kind: CommentKind, comments: Sequence[Comment]) -> Comment | None:
        """The comment of this kind by our own account: others can write the same marker."""
        return next(reversed(self._own_comments(kind, comments)), None)

    def _own_comments(self, kind: CommentKind, comments: Sequence[Comment]) -> list[Comment]:
        user = self.forge.user()
        markers = ((one, find_marker(one.body)) for one in comments if one.author == user)
        return [one for one, marker in markers if marker is not None and marker.kind is kind]


_COMMAND = re.compile(rf"{PLAN}|{HELP}|(?P<verb>{APPROVE}|{REVOKE}) (?P<digest>[0-9a-f]{{64}})")
_MEANT = re.compile(r"gitops-connect .*", re.IGNORECASE)
"""A comment of one line that is meant as a command."""
_MOST_ANSWERS = 50
"""Refusals and unknown commands are answered up to so many answers: everyone who may comment can cause them."""


@dataclass(slots=True)
class ReviewCommands:
    """Carries out each command once, and answers it in a comment, which says what was done or why not.

    After a restart, the answers show what was done. If a process was killed before its answer, the command is carried
    out again, which changes nothing. A comment that was edited since its answer is read again. `author_may_approve`:
    also a plan of the author's own pull request. `needed`: how many people have to approve a plan.
    """

    forge: Forge
    store: ReviewStore
    clock: Clock
    author_may_approve: bool = True
    needed: int = 1
    _done: dict[int, set[AnsweredCommand]] = field(default_factory=dict)
    """By the number of the pull request: the ids of a forge may only differ within one."""

    def carry_out(self, pull_request: PullRequest, comments: Sequence[Comment], authors: Collection[str] = ()) -> bool:
        """Carry out new commands. Returns whether approvals have changed. Raises the errors of forge and ledger.

        `authors`: those of other pull requests whose changes are approved here.
        """
        is_changed, own = False, {pull_request.author, *authors}
        meant = {AnsweredCommand.of(one): one for one in comments if _MEANT.fullmatch(one.body.strip())}
        done = self._done.setdefault(pull_request.number, set())
        if meant.keys() <= done:
            return False
        user = self.forge.user()
        answered = {answered_command(one.body) for one in comments if one.author == user} - {None}
        for command, comment in meant.items():
            if command not in done and not answered & {command, replace(command, text=None)}:
                found = _COMMAND.fullmatch(comment.body.strip())
                reaction, answer = self._answer(pull_request, comment, found, own)
                is_done = reaction is Reaction.DONE
                is_changed |= is_done and found is not None and found["digest"] is not None
                if is_done or len(answered) < _MOST_ANSWERS:
                    self.forge.write_comment(pull_request.number, answer_comment(comment, answer), None)
                    answered.add(command)
                    self._react(pull_request, comment, reaction)
            done.add(command)
        return is_changed

    def _react(self, pull_request: PullRequest, comment: Comment, reaction: Reaction) -> None:
        """A comment has the answer already, so a forge that accepts no reaction changes nothing."""
        try:
            self.forge.react(pull_request.number, comment.id, reaction)
        except GitopsConnectError as error:
            events.say_error("reaction_failed", error, WARNING, pull_request=pull_request.number)

    def _answer(
        self, pull_request: PullRequest, comment: Comment, found: re.Match[str] | None, authors: Collection[str]
    ) -> tuple[Reaction, Sentence]:
        """What became of the command, and the answer."""
        why_not = self._why_not(pull_request, comment)
        is_approval = found is not None and found["verb"] == APPROVE
        if not why_not and is_approval and not self.author_may_approve and comment.author in authors:
            why_not = "[forge] author_may_approve is false, and the author of a pull request cannot approve its plan"
        if why_not:
            events.command_rejected(pull_request, comment, why_not)
            return Reaction.REFUSED, Sentence(f"Refused: {why_not}.")
        if found is None:
            return Reaction.UNKNOWN, Sentence(
                f"Unknown command. Known are: {PLAN}, {APPROVE} DIGEST, {REVOKE} DIGEST, {HELP}."
            )
        if found["digest"] is not None:
            change = self._approve if is_approval else self._revoke
            return change(pull_request, comment, Digest(found["digest"]))
        if comment.body.strip() == HELP:
            body, user = help_comment(pull_request.number), self.forge.user()
            written = self.forge.comments(pull_request.number)
            if not any(one.author == user and one.body == body for one in written):
                self.forge.write_comment(pull_request.number, body, None)
            return Reaction.DONE, Sentence("Done: a comment lists the commands.")
        return Reaction.DONE, Sentence(
            "Done: the pull request is planned again. If nothing has changed, its comment is the same."
        )

    def _why_not(self, pull_request: PullRequest, comment: Comment) -> str:
        """Never the author of a pull request from a fork, and otherwise everyone who may push.

        Others with write access can edit a comment, and it still has its author.
        """
        is_author_of_fork = pull_request.is_fork and comment.author == pull_request.author
        if is_author_of_fork or not self.forge.can_write(comment.author):
            return "only people with write access can use commands"
        if comment.is_edited and not self._is_edited_by_author(pull_request, comment):
            return "the comment was edited, and the forge does not say that its author has edited it; write a new one"
        return ""

    def _is_edited_by_author(self, pull_request: PullRequest, comment: Comment) -> bool:
        try:
            return self.forge.is_edited_by_author(pull_request.number, comment)
        except ForgeRefused:  # a forge or a token without GraphQL
            return False

    def _approve(self, pull_request: PullRequest, comment: Comment, digest: Digest) -> tuple[Reaction, Sentence]:
        known = self.store.approve(self._decision(pull_request, comment, digest))
        events.approved(pull_request, comment, digest, is_known=known)
        if known:
            people = {one.who for one in self.store.approvals(pull_request.number) if one.digest == digest}
            missing = self.needed - len(people)
            others = "Another person has" if missing == 1 else f"{missing} other people have"
            more = f" {others} to approve it, too." if missing > 0 else ""
            return Reaction.DONE, Sentence(f"Approved: the plan with this digest, and no other.{more}")
        return Reaction.REFUSED, Sentence(
            "Refused: the pull request shows no plan with this digest. Copy it from the newest comment."
        )

    def _decision(self, pull_request: PullRequest, comment: Comment, digest: Digest) -> Approval:
        place = f"comment {comment.id} on pull request {pull_request.number}"
        return Approval(pull_request.number, digest, comment.author, self.clock.now(), place)

    def _revoke(self, pull_request: PullRequest, comment: Comment, digest: Digest) -> tuple[Reaction, Sentence]:
        """Everyone with write access may: it only blocks more."""
        if not self.store.revoke(self._decision(pull_request, comment, digest)):
            return Reaction.REFUSED, Sentence("Refused: the plan with this digest is not approved.")
        events.say(WARNING, "approval_revoked", pull_request=pull_request.number, author=comment.author, digest=digest)
        return Reaction.DONE, Sentence("Revoked: the plan with this digest is not approved. What is applied stays so.")
