"""Revisions in the form in which people quote them, and those with which a cluster was last reconciled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_connect.model.names import Revision


@dataclass(frozen=True, slots=True)
class RevisionMark:
    """One revision, when it was recorded, and its result as a line of text (possibly empty)."""

    revision: Revision
    at: datetime
    result: str = ""


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revision that was last attempted and the one that was last applied; they differ while something fails."""

    attempted: RevisionMark | None = None
    applied: RevisionMark | None = None


def is_commit(revision: Revision) -> bool:
    """False for a directory that was read without Git."""
    return not revision.startswith("worktree-")


def short(revision: Revision) -> str:
    """The first seven digits of a commit; `no commit` for a directory."""
    return revision[:7] if is_commit(revision) else "no commit"


def origin(revision: Revision) -> str:
    """`commit 1a2b3c4`, or `no commit (a directory)`."""
    return f"commit {short(revision)}" if is_commit(revision) else "no commit (a directory)"
