"""The hidden first line of each comment that gitops-connect writes: by it, a comment is found again and replaced.

Everyone who may comment can write such a line. So a marker counts only in a comment of gitops-connect's own account.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from gitops_connect.model.names import Digest, Revision
from gitops_connect.report.markdown_blocks import Markdown


class CommentKind(Enum):
    """What a comment is for. There is at most one comment of each kind in a pull request."""

    REVIEW = "review"
    """What merging would do. Replaced after each push."""
    BLOCKED = "blocked"
    """Why the merged commit is not applied."""
    HELP = "help"
    """The commands."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The kind of a comment, the pull request and its head commit, and the digest of the plan if there is one."""

    kind: CommentKind
    pull_request: int
    commit: Revision | None = None
    digest: Digest | None = None

    @property
    def line(self) -> Markdown:
        """The line, which readers do not see. Raises ValueError for a commit or digest that is not in hexadecimal."""
        commit = f" commit={self.commit}" if self.commit is not None else ""
        digest = f" digest={self.digest}" if self.digest is not None else ""
        line = f"<!-- gitops-connect {self.kind.value} pull-request={self.pull_request}{commit}{digest} -->"
        if _LINE.fullmatch(line) is None:
            raise ValueError(f"not a commit or not a digest: {self!r}")
        return Markdown(f"{line}\n")


_KINDS = "|".join(kind.value for kind in CommentKind)
_LINE = re.compile(
    rf"<!-- gitops-connect (?P<kind>{_KINDS}) pull-request=(?P<number>[1-9][0-9]{{0,17}})"
    r"(?: commit=(?P<commit>[0-9a-f]{40}|[0-9a-f]{64}))?(?: digest=(?P<digest>[0-9a-f]{64}))? -->"
)
_LONGEST = 256


def find_marker(body: str) -> Marker | None:
    """The marker in the first line of a comment; None if the line is anything else. The author is not known here."""
    line = body[:_LONGEST].partition("\n")[0].removesuffix("\r")
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    commit, digest = found["commit"], found["digest"]
    return Marker(
        CommentKind(found["kind"]),
        int(found["number"]),
        Revision(commit) if commit else None,
        Digest(digest) if digest else None,
    )
