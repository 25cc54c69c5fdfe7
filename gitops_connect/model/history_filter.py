"""Which steps of the history are listed: the parameters of the page, of the API and of the command."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TypeVar

from gitops_connect.model.clock import parse_duration
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ActorKind, ManualAction, Result
from gitops_connect.model.plans import Action

ACTIONS: Mapping[str, Action | ManualAction] = {one.value: one for one in (*Action, *ManualAction)}
PARAMETERS = (
    "cluster",
    "connector",
    "actor",
    "person",
    "action",
    "result",
    "commit",
    "offset-change",
    "from",
    "to",
    "q",
)
"""A repeated parameter means one of its values, except `q`: its words must all match."""
_MOST = 100
"""Values of one parameter."""
_MOST_WORDS, _LONGEST_WORD = 5, 100
"""Of a search, which looks at the texts of all steps."""
_LONGEST = 1000
"""Characters of a value."""
_COMMIT = re.compile(r"[0-9a-f]{4,40}|worktree-[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which steps are listed; an empty value restricts nothing.

    `commits` are beginnings of commits. `since` is included, and `until` is not. All of `words` must be in the texts of
    a step, in upper or lower case; a word that begins with `-` must not.
    """

    clusters: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    actors: tuple[ActorKind, ...] = ()
    people: tuple[str, ...] = ()
    actions: tuple[Action | ManualAction, ...] = ()
    results: tuple[Result, ...] = ()
    commits: tuple[str, ...] = ()
    offset_changes: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    words: tuple[str, ...] = ()

    @staticmethod
    def of(given: Mapping[str, Sequence[str]], clusters: Collection[ClusterName], now: datetime) -> HistoryFilter:
        """The filter of these parameters. Raises ValueError, which says what is allowed, for an unknown value."""
        values = {name: tuple(filter(None, found)) for name, found in given.items()}
        for name, found in values.items():
            if len(found) > _MOST or not all(map(is_usable, found)):
                raise ValueError(f"{name}: expected at most {_MOST} values of at most {_LONGEST} characters")
        since, until = (_time(name, values.get(name, ()), now) for name in ("from", "to"))
        commits = tuple(one.lower() for one in values.get("commit", ()))
        for one in commits:
            if not _COMMIT.fullmatch(one):
                raise ValueError(f"commit: expected the first 4 to 40 hex digits of a commit, found {one!r}")
        words = tuple(dict.fromkeys(" ".join(values.get("q", ())).split()))
        if len(words) > _MOST_WORDS:
            raise ValueError(f"q: expected at most {_MOST_WORDS} words, found {len(words)}")
        if any(len(word) > _LONGEST_WORD for word in words):
            raise ValueError(f"q: expected words of at most {_LONGEST_WORD} characters")
        return HistoryFilter(
            clusters=_known("cluster", values, {one: one for one in clusters}),
            connectors=values.get("connector", ()),
            actors=_known("actor", values, _by_value(ActorKind)),
            people=values.get("person", ()),
            actions=_known("action", values, ACTIONS),
            results=_known("result", values, _by_value(Result)),
            commits=commits,
            offset_changes=values.get("offset-change", ()),
            since=since,
            until=until,
            words=words,
        )


E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def is_usable(value: str) -> bool:
    """Whether a database accepts the value: no zero character, and no half of a surrogate pair."""
    return len(value) <= _LONGEST and "\0" not in value and value == value.encode(errors="replace").decode()


def _by_value(kind: type[E]) -> Mapping[str, E]:
    return {str(one.value): one for one in kind}


def _known(name: str, given: Mapping[str, Sequence[str]], allowed: Mapping[str, T]) -> tuple[T, ...]:
    found = given.get(name, ())
    for one in found:
        if one not in allowed:
            raise ValueError(f"{name}: expected one of {', '.join(allowed)}, found {one!r}")
    return tuple(allowed[one] for one in found)


def _time(name: str, found: Sequence[str], now: datetime) -> datetime | None:
    """A time in UTC. A time without an offset is in UTC, a date as the end of a range includes that day."""
    if not found:
        return None
    text = found[-1].strip()
    try:
        if text[:1].isdigit() and text[-1] in "dhms":
            return now - timedelta(seconds=parse_duration(text))
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
        return at + timedelta(days=1) if name == "to" and len(text) <= len("2026-11-27") else at
    except (ValueError, OverflowError) as error:
        allowed = "a time such as 2026-11-27T10:00:00Z, a date, or how long ago, such as 90m or 7d"
        raise ValueError(f"{name}: expected {allowed}, found {text!r}") from error
