"""The law of precedence: which intents pass which holds. ARCHITECTURE.md shows the table, and a test compares both.

An intent is what the steps of a connector are for. A hold is a reason to leave a connector as it is. An intent is
carried out only if every hold that is in force for its connector lets it pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from gitops_connect.model.hold import HoldKind


class Intent(Enum):
    """What a step is for. Several steps may be for one intent, such as the stop and the alter of an offset change."""

    FINISH_DELETION = "finish a deletion"
    """Delete a connector whose offsets a deletion has reset."""
    FINISH = "finish an offset change"
    """Finish an offset change that was begun, of a connector that is STOPPED."""
    RETURN = "return after an offset change"
    """Bring a connector that gitops-connect has stopped for an offset change or a deletion to its desired state."""
    ROLL_BACK = "roll back a config"
    CORRECT = "correct a config"
    """Undo a change of the config on the cluster: the document was applied before."""
    HALT = "stop or pause again"
    """Stop or pause a connector that someone has started: its document was applied before."""
    RESUME = "resume"
    """Start a connector that someone has stopped or paused: its document was applied before."""
    CREATE = "create"
    CONFIGURE = "change the config"
    STOP = "stop or pause"
    """As a new document declares."""
    START = "start"
    """As a new document declares."""
    CHANGE_OFFSETS = "change offsets"
    """Begin an offset change, with the steps before and after it."""
    DELETE = "delete"
    RESTART = "restart on request"
    AUTO_RESTART = "automatic restart"
    RESET_TOPICS = "reset active topics"
    """It starts and stops nothing, and Connect records again what the connector uses: as a restart, without review."""
    ADOPT = "adopt"
    LIST = "list offsets"
    RECORD = "record an offset change"
    """Record an offset change as applied that would change nothing."""


_ALL = frozenset(Intent)
_STARTS = frozenset({Intent.RETURN, Intent.RESUME, Intent.START, Intent.CREATE})
_CONFIGS = frozenset({Intent.CONFIGURE, Intent.CORRECT, Intent.ROLL_BACK})
_NEW_OFFSETS = frozenset({Intent.CHANGE_OFFSETS, Intent.RECORD})
_WITH_A_CONFIG = frozenset({Intent.CONFIGURE, Intent.START}) | _NEW_OFFSETS
_BY_A_COMMIT = frozenset(
    {Intent.CREATE, Intent.CONFIGURE, Intent.STOP, Intent.START, Intent.CHANGE_OFFSETS, Intent.DELETE}
)

PASSES: Mapping[HoldKind, frozenset[Intent]] = {
    HoldKind.UNREADABLE: frozenset(),
    HoldKind.OBSERVE: frozenset(),
    HoldKind.SUSPENDED: frozenset({Intent.FINISH, Intent.RETURN}),
    HoldKind.DELETION: frozenset({Intent.FINISH_DELETION}),
    HoldKind.GUARD: _ALL - _BY_A_COMMIT - {Intent.FINISH_DELETION},
    HoldKind.INVALID: _ALL - _STARTS - _CONFIGS - _NEW_OFFSETS,
    HoldKind.MANUAL_PAUSE: _ALL - {Intent.RESUME, Intent.RESTART, Intent.AUTO_RESTART},
    HoldKind.UNREVIEWED: _ALL - _BY_A_COMMIT,
    HoldKind.UNACKNOWLEDGED: _ALL - _WITH_A_CONFIG,
    HoldKind.ROLLOUT: _ALL - _WITH_A_CONFIG,
    HoldKind.STOPPED_ROLLOUT: _ALL - _WITH_A_CONFIG,
    HoldKind.OFFSET_CHANGE: _ALL - _STARTS,
}
"""The intents that each hold lets pass."""


def denied_by(holds: Iterable[HoldKind]) -> frozenset[Intent]:
    """The intents that at least one of the holds does not let pass."""
    return _ALL - _ALL.intersection(*(PASSES[one] for one in holds))
