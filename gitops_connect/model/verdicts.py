"""The verdict on a connector: the one thing that a person should know of it first, its cause, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from gitops_connect.model.diagnostics import Location


class VerdictKind(Enum):
    """The verdicts, the most urgent first. A connector has the first one that applies."""

    UNKNOWN = "unknown"
    """Connect did not tell its state in the last reconciliation."""
    GIVEN_UP = "given up"
    """It has failed, and the limit of its automatic restarts is reached."""
    FAILED = "failed"
    """The connector or one of its tasks is FAILED."""
    DEGRADED = "degraded"
    """It does not work for another reason: it has no tasks, tasks without a worker, or offsets that do not move."""
    CHANGE_FAILED = "change failed"
    """A step of its last reconciliation, or its offset change, has failed. It is tried again."""
    BLOCKED = "blocked"
    """A part of what Git declares is not applied until someone acts, or until other connectors have it."""
    ROLLED_BACK = "rolled back"
    """It did not work with the declared config, and has the one before."""
    MISSING = "missing"
    """It is declared, is not on the cluster, and is not created now."""
    DRIFT = "drift"
    """It differs from Git, and gitops-connect does not correct that."""
    PROGRESSING = "progressing"
    """Steps are applied, or its tasks start."""
    SUSPENDED = "suspended"
    PAUSED = "paused"
    """As declared."""
    STOPPED = "stopped"
    """As declared."""
    UNMANAGED = "unmanaged"
    """It is neither declared nor managed."""
    OK = "ok"

    @property
    def severity(self) -> int:
        """0 for the most urgent one."""
        return _SEVERITY[self]

    @property
    def needs_attention(self) -> bool:
        return self.severity <= _SEVERITY[VerdictKind.DRIFT]


_SEVERITY = {kind: number for number, kind in enumerate(VerdictKind)}


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a person does next: `text` is an imperative, or says what happens by itself.

    `command` is the command in it, to be typed as it is, and `add` the line to add to `spec` of the document; both may
    be empty. `location` is the place in the repository.
    """

    text: str
    command: str = ""
    add: str = ""
    location: Location | None = None

    @property
    def without_command(self) -> str:
        """The text for a page that shows the command on a line of its own."""
        return self.text.removesuffix(self.command)

    def value(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "command": self.command or None,
            "add": self.add or None,
            "location": None if self.location is None else str(self.location),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict. `cause` is the same text for all connectors with the same cause; `detail` is about this one alone.

    `blocked_by` says in a few words what blocks a blocked connector, as in `missing review`. `is_overdue`: it needs
    attention because it lasts for too long.
    """

    kind: VerdictKind
    cause: str = ""
    detail: str = ""
    blocked_by: str = ""
    next: NextStep | None = None
    is_overdue: bool = False

    @property
    def needs_attention(self) -> bool:
        return self.kind.needs_attention or self.is_overdue

    @property
    def words(self) -> str:
        """The cause and the detail on one line."""
        return "; ".join(part for part in (self.cause, self.detail) if part)

    def value(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "cause": self.cause,
            "detail": self.detail,
            "blocked_by": self.blocked_by or None,
            "next": None if self.next is None else self.next.value(),
        }


IS_OK = Verdict(VerdictKind.OK)
