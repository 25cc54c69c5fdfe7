"""Which revision a cluster was last worked on with, and which one it last reached."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_connect.model.names import Revision


@dataclass(frozen=True, slots=True)
class RevisionMark:
    """One revision, when it was recorded, and what became of it in a line of text (empty where nothing is to say)."""

    revision: Revision
    at: datetime
    result: str = ""


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revision that was last attempted and the one that was last applied; they differ while something fails."""

    attempted: RevisionMark | None = None
    applied: RevisionMark | None = None
