"""Holds: why gitops-connect leaves a connector as it is, since when, and what releases it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any


class HoldKind(Enum):
    """The holds, the strongest first. `plan/precedence.py` says what each lets pass."""

    UNREADABLE = "unreadable state"
    """The state of the connector could not be read."""
    OBSERVE = "mode observe"
    """Of the document or of the cluster."""
    SUSPENDED = "suspension"
    DELETION = "deletion in progress"
    GUARD = "guard"
    """The plan has too many deletions, or that of a protected connector: the commit may be of another branch."""
    INVALID = "invalid config"
    """Connect rejects the config, or a secret is missing."""
    MANUAL_PAUSE = "manual pause"
    """Someone has paused or stopped the connector, and `onManualPause` is `respect`."""
    UNREVIEWED = "missing review"
    UNACKNOWLEDGED = "missing acknowledgement"
    """The config of a commit weakens the delivery guarantee of a source, and its document does not acknowledge that."""
    ROLLOUT = "rollout"
    """The config of a commit waits for other connectors, or a command skipped it. Its offset changes wait, too."""
    STOPPED_ROLLOUT = "stopped rollout"
    """Connectors failed with the config of a commit, so that it is not applied to the others."""
    OFFSET_CHANGE = "offset change"
    """An offset change cannot be applied, and the connector must not start before it."""

    @property
    def reason(self) -> str:
        """The reason of the condition `Blocked`, as in `ManualPause`."""
        return self.value.title().replace(" ", "")


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold that is in force for a connector. `release` is an imperative, or says what ends the hold by itself.

    `since` is None until a reconciliation of the daemon has recorded it. `until` is when it may end by itself; None if
    that is not known.
    """

    kind: HoldKind
    message: str
    release: str
    since: datetime | None = None
    until: datetime | None = None

    @property
    def words(self) -> str:
        """The same in every output, as in `blocked by missing review: rewind of 2 partitions; merge a …`."""
        return f"blocked by {self.kind.value}: {self.message}; {self.release}"

    def value(self) -> dict[str, Any]:
        return {
            "blocked_by": self.kind.value,
            "message": self.message,
            "release": self.release,
            "since": None if self.since is None else self.since.isoformat(timespec="seconds"),
        }
