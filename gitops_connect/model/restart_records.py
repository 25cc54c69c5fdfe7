"""Restarts of connectors: what a document allows and requests, what the ledger records, and what happens next.

The schedule of automatic restarts is that of Strimzi's proposal 007.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

_STEP = timedelta(minutes=2)
_LONGEST_PAUSE = timedelta(minutes=60)


def pause_after(count: int) -> timedelta:
    """The least time between restart `count` and the next: 2, 4, 6, … minutes, and 60 minutes at most."""
    return min(count * _STEP, _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class AutoRestart:
    """`spec.autoRestart` of a document.

    The patterns are globs for a part of a stack trace. With `only_on`, the trace of every failed part must match one
    of them. If the trace of a failed part matches one of `never_on`, the connector is not restarted.
    """

    enabled: bool = True
    max_restarts: int = 6
    only_on: tuple[str, ...] = ()
    never_on: tuple[str, ...] = ()


DEFAULT_AUTO_RESTART = AutoRestart()


class RequestKind(Enum):
    """The field of a document that requests something once for each id: a restart, or a reset of active topics."""

    CONNECTOR = "restart"
    TASKS = "restartTasks"
    SECRETS = "secretVersion"
    """The worker reads the values of config providers (`${file:…}`) again when a connector and its tasks start."""
    TOPICS = "resetTopics"


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """`spec.restart`, `spec.restartTasks` or `spec.secretVersion` of a document. It is carried out once for each `id`.

    The `id` of a `secretVersion` is the version itself. `tasks` are numbers of tasks. If there are none, the connector
    is restarted: with its tasks (`include_tasks`), or only what has failed (`only_failed`). `annotation` is the one of
    a Strimzi resource that requests it, as in `strimzi.io/restart-task: 0`.
    """

    kind: RequestKind
    id: str
    include_tasks: bool = True
    only_failed: bool = False
    tasks: tuple[int, ...] = ()
    annotation: str = ""


@dataclass(frozen=True, slots=True)
class Restart:
    """What a restart step sends: one request for the connector, or one for each of the `parts`.

    A part is the number of a task, or None for the connector without its tasks. `request` is the request of the
    document; None if the restart is automatic. `also` are other requests of the document that the restart covers.
    """

    include_tasks: bool = True
    only_failed: bool = True
    parts: tuple[int | None, ...] = ()
    request: RestartRequest | None = None
    also: tuple[RestartRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """What the ledger records: the number of restarts since the connector last worked for some time, and the last."""

    count: int
    last: datetime


@dataclass(frozen=True, slots=True)
class RestartOutlook:
    """The automatic restarts of a connector that has failed.

    `count` of at most `limit` restarts were done, the last one at `last`. The next one is due at `next`. It is None if
    there will be none; then `why_not` has the reason. `gave_up`: the reason is the limit.
    """

    count: int
    limit: int
    last: datetime | None = None
    next: datetime | None = None
    why_not: str = ""
    gave_up: bool = False
