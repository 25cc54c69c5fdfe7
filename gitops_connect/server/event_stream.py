"""Server-sent events: tells each open page what has changed in the daemon's state.

One task waits for the next snapshot in a thread, and wakes all pages. So a page costs no thread, and a reconciliation
that finds nothing new costs no page anything.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice

from gitops_connect.daemon.state import ClusterView, DaemonState, Snapshot
from gitops_connect.model.names import ClusterName
from gitops_connect.report.words import time_value

_PAUSE = 1.0
"""Seconds between two events of changes, so that many changes are one event. Pages are read at most every 2 s."""
_POLL = 1.0
"""Seconds: how long a thread waits for a snapshot, and so how long the end of the server may take."""
_ALIVE = 10.0
"""Seconds between two events that say that the server is there. A page that hears nothing for 25 s says so."""
MOST_STREAMS = 200
"""Open pages. Each has a connection; further pages work without updates."""
_LATER = "retry: 60000\n\n"
_RETRY = 3000
"""Milliseconds until a browser connects again."""
_KEPT = 100
"""Changes that are kept for streams that have not sent them yet; a stream that is later tells of all clusters."""
_MOST_READ = 50
"""Clusters of which an event says when they were last read."""

Change = tuple[int, frozenset[ClusterName] | None]
"""The number of a snapshot, and the clusters that changed; None: something else changed, too."""


def news(before: Snapshot, now: Snapshot) -> Change | None:
    """What a page would show differently; None if only the times of the last and the next reconciliation changed."""
    if _of_all(before) != _of_all(now) or before.clusters.keys() != now.clusters.keys():
        return now.number, None
    changed = frozenset(name for name, view in now.clusters.items() if _shown(view) != _shown(before.clusters[name]))
    return (now.number, changed) if changed else None


def _of_all(snapshot: Snapshot) -> tuple[object, ...]:
    repository = replace(snapshot.repository, polled=None)
    was_polled = snapshot.repository.polled is not None
    return repository, was_polled, snapshot.is_leader, snapshot.has_ledger, snapshot.pull_requests


def _shown(view: ClusterView) -> tuple[object, ...]:
    """Everything but the times."""
    plan = view.plan
    of_plan = None if plan is None else (plan.revision, plan.digest, plan.connectors, plan.restarts, plan.suspension)
    lags = {name: (lag.records, lag.unread) for name, lag in view.lags.items()}
    of_cluster = (view.applied, view.error, view.observed is None)
    return (*of_cluster, view.connectors, of_plan, view.diagnostics, view.topics, lags)


class EventStream:
    """Wakes every stream when there is something new. Its other methods belong to the event loop of the server."""

    def __init__(self, state: DaemonState, pause: float = _PAUSE) -> None:
        self._state = state
        self._pause = pause
        self._changed = asyncio.Event()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._earliest = 0.0
        self._changes = deque[Change](maxlen=_KEPT)
        self._known = state.snapshot
        self.streams = 0

    async def watch(self) -> None:
        """Wait for snapshots until the task is cancelled."""
        loop = self._loop = asyncio.get_running_loop()
        try:
            while True:
                snapshot = await asyncio.to_thread(self._state.wait, self._known.number, _POLL)
                if snapshot.number > self._known.number:
                    change = await asyncio.to_thread(news, self._known, snapshot)
                    self._known = snapshot
                    if change is not None:
                        self._changes.append(change)
                        if self._timer is None:
                            self._timer = loop.call_at(self._earliest, self._wake_and_pause, loop)
        finally:
            self.close()

    def close_soon(self) -> None:
        """End every stream. Any thread may call it."""
        self._is_closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.close)

    @property
    def has_most_streams(self) -> bool:
        """Whether no other stream is possible."""
        return self.streams >= MOST_STREAMS

    def close(self) -> None:
        self._is_closed = True
        self._wake()

    def _wake_and_pause(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake every stream. Changes of the pause that begins are recorded, and wake the streams at its end."""
        self._timer, self._earliest = None, loop.time() + self._pause
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def stream(self) -> AsyncIterator[str]:
        """The events: one at the begin, one for the changes of each pause, and one from time to time.

        None has a value of Connect.
        """
        if self.has_most_streams:  # many requests arrived at once
            yield _LATER
            return
        self.streams += 1
        try:
            seen = self._state.snapshot.number
            yield f"retry: {_RETRY}\n{_event('change', {'number': seen})}"
            while not self._is_closed:
                changed = self._changed
                if found := [one for one in self._changes if one[0] > seen]:
                    yield _event("change", self._told(seen, found))
                    seen = found[-1][0]
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), _ALIVE)
                except TimeoutError:
                    yield _event("alive", {"read": dict(self._read())})
        finally:
            self.streams -= 1

    def _told(self, seen: int, found: list[Change]) -> dict[str, object]:
        """The changes in one event. It names no clusters if some changes are not known any more."""
        is_known = len(self._changes) < _KEPT or self._changes[0][0] <= seen
        clusters = [one for _, one in found if one is not None]
        if not is_known or len(clusters) < len(found):
            return {"number": found[-1][0]}
        return {"number": found[-1][0], "clusters": sorted(frozenset[ClusterName]().union(*clusters))}

    def _read(self) -> Iterator[tuple[str, str | None]]:
        """When each cluster was last read."""
        for name, view in islice(self._state.snapshot.clusters.items(), _MOST_READ):
            if view.observed is not None:
                yield name, time_value(view.observed)


def _event(kind: str, data: dict[str, object]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
