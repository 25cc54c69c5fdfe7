"""The notifications of one replica: the product decides what is sent and when, in simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_connect.daemon.notifications import Notification, Outbox
from gitops_connect.settings.sections import NotificationSettings
from simulation.timeline import Life, SimulatedClock, Timeline

_HOUR = 3600.0


class Alarms:
    def __init__(self, timeline: Timeline, life: Life) -> None:
        self._timeline, self._life = timeline, life
        self._outbox = Outbox(NotificationSettings(), SimulatedClock(timeline, life))
        self.sent: list[Notification] = []

    def add(self, event: str, level: int, fields: Mapping[str, Any]) -> None:
        self._outbox.add(event, level, fields)
        self._send()

    def _send(self) -> None:
        while isinstance(found := self._outbox.next(), Notification):
            self.sent.append(found)
        if found < _HOUR:
            self._timeline.at(found, self._life, self._send)

    def count(self, title: str, name: str) -> int:
        """How many notifications with these words in their title are about the connector."""
        return sum(title in one.title and name in f"{one.title}\n{one.body}" for one in self.sent)
