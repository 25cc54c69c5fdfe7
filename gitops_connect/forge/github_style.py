"""What the REST APIs of GitHub and Gitea have in common, and comments at a line of the diff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import quote

from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.forge import Forge, utc
from gitops_connect.forge.forge_api import AnswerValue
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Annotation, Comment, CommentChange, CommitState, PullRequest

MARK = "<!-- gitops-connect annotation -->"
"""The end of each of these comments. The pages of a forge do not show it."""
_MOST = 50
"""Comments in one pull request. The comment with the plan lists all problems."""
_LONGEST = 4000
"""Characters of one message."""
_HUNK = re.compile(r"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_TICKS = re.compile("`+")
_LAST_NUMBER = re.compile(r"\S{1,2000}/([0-9]{1,18})")


class GithubStyleForge(Forge, Protocol):
    roles: tuple[str, ...] = ("write", "admin")
    """The permissions of those who may push."""
    list_parameters: Mapping[str, str] = {}
    commit_parameters: Mapping[str, str] = {}
    """What is asked with a list of pull requests, and with a commit."""

    state_field: str = "state"
    """The field of a status with its state, in an answer."""

    def pull_request(self, found: AnswerValue) -> PullRequest:
        """The pull request of an answer."""

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._api.named("list the open pull requests"):
            listed = self._api.pages(f"{self._path}/pulls", state="open", **self.list_parameters)
            found = map(self.pull_request, listed)
            return sorted((one for one in found if one.target == self._target), key=lambda one: one.number)

    def is_open(self, number: int) -> bool:
        with self._api.named(f"read pull request {number}"):
            found = self._api.ask("GET", f"{self._path}/pulls/{number}")
            return found["state"].text() == "open" and found["base"]["ref"].text() == self._target

    def first_parent(self, commit: Revision) -> Revision | None:
        with self._api.named(f"read commit {commit}"):
            found = self._api.ask("GET", f"{self._path}/git/commits/{commit}", **self.commit_parameters)
            parents = found["parents"].items()
            return parents[0]["sha"].commit() if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._api.named(f"read the comments of pull request {number}"):
            return [_comment(one) for one in self._api.pages(self.comments_path(number))]

    def changed_comments(self, since: datetime) -> Sequence[CommentChange]:
        with self._api.named("read which comments are new"):
            return [_comment_change(one) for one in self._api.pages(f"{self._path}/issues/comments", since=utc(since))]

    def comments_path(self, number: int) -> str:
        return f"{self._path}/issues/{number}/comments"

    def comment_path(self, number: int, comment: int) -> str:
        return f"{self._path}/issues/comments/{comment}"

    def status(self, commit: Revision, context: str) -> CommitState | None:
        name, most = self._api.size
        with self._api.named(f"read the status {context} of commit {commit}"):
            found = self._api.ask("GET", f"{self._path}/commits/{commit}/status", **{name: str(most)})["statuses"]
            listed = () if found.is_null else found.items()
            words = [one[self.state_field].text() for one in listed if one["context"].text() == context]
            return self._state(words[0] if words else None)

    def can_write(self, user: str) -> bool:
        try:
            with self._api.named(f"read the permission of {user}"):
                found = self._api.ask("GET", f"{self._path}/collaborators/{quote(user, safe='')}/permission")
                return found["permission"].text() in self.roles
        except ForgeNotFound:
            return False


def login(user: AnswerValue) -> str:
    """The name of an account; that of an account that was deleted is not shown."""
    return "ghost" if user.is_null else user["login"].text()


def _comment(found: AnswerValue) -> Comment:
    body = "" if found["body"].is_null else found["body"].text()
    is_edited = found["updated_at"].time() != found["created_at"].time()
    return Comment(found["id"].number(), login(found["user"]), body, is_edited)


def _comment_change(found: AnswerValue) -> CommentChange:
    """GitHub names the issue, which every pull request is. Gitea names the one or the other. Number 0: neither."""
    page = found["pull_request_url"].value or found["issue_url"].value
    number = _LAST_NUMBER.fullmatch(page) if isinstance(page, str) else None
    return CommentChange(int(number[1]) if number else 0, found["updated_at"].time(), found["id"].number())


def pull_request(found: AnswerValue, page: str, files: str, *, is_fork: bool) -> PullRequest:
    """The pull request of an answer. `page` is in its URL, `files` in those of files at a commit."""
    number, url, commit = found["number"].number(), found["html_url"].url(), found["head"]["sha"].commit()
    return PullRequest(
        number=number,
        title=found["title"].text(),
        author=login(found["user"]),
        head=commit,
        head_ref=f"refs/pull/{number}/head",
        target=found["base"]["ref"].text(),
        url=url,
        files_url=f"{url.rpartition(page)[0]}{files}{commit}/",
        is_fork=is_fork,
        is_draft=not found["draft"].is_null and found["draft"].flag(),
    )


# Annotations as review comments, for forges that show a comment at a line of the diff.


@dataclass(frozen=True, slots=True, order=True)
class LineComment:
    file: str
    line: int
    body: str


def line_comments(annotations: Iterable[Annotation], diff: Mapping[str, frozenset[int]]) -> frozenset[LineComment]:
    """The comments for the annotations in the diff. If there are too many, errors come first."""
    shown = [one for one in annotations if one.line in diff.get(one.file, ())]
    shown.sort(key=lambda one: (not one.is_error, one.file, one.line, one.message))
    return frozenset(LineComment(one.file, one.line, _body(one)) for one in shown[:_MOST])


def is_line_comment(body: str) -> bool:
    return body.rstrip().endswith(MARK)


def _body(annotation: Annotation) -> str:
    """The message in a fence: in it, nothing is Markdown, HTML or a mention."""
    message = annotation.message[:_LONGEST]
    lines = ("".join(one if one.isprintable() else " " for one in line) for line in message.splitlines())
    text = _TICKS.sub(lambda run: run[0][:8], "\n".join(lines))
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    title = "Error" if annotation.is_error else "Warning"
    return f"**gitops-connect: {title}**\n\n{fence}text\n{text}\n{fence}\n\n{MARK}"


def lines_in_diff(diff: str, file: str = "") -> Mapping[str, frozenset[int]]:
    """The lines of new files in a diff, by path; `file` is the path without one. Paths in quotes are left out."""
    found: dict[str, set[int]] = {}
    old = new = line = 0
    for text in diff.split("\n"):
        if old > 0 or new > 0:
            is_shown = text[:1] not in ("-", "\\")
            old -= text[:1] not in ("+", "\\")
            new -= is_shown
            if is_shown:
                found.setdefault(file, set()).add(line)
                line += 1
        elif text.startswith("+++ "):
            file = text[4:].rstrip("\t").removeprefix("b/")
        elif hunk := _HUNK.match(text):
            old, line, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
    return {path: frozenset(lines) for path, lines in found.items() if not path.startswith('"')}
