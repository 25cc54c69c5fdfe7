"""Sends some log events to people, with apprise: to Slack, Teams, mail, a webhook and many others.

A handler of the daemon's log decides what is sent; a thread of its own sends it, so that a slow service delays nothing.
Event names are those of docs/reference/log-events.md.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from queue import Full, Queue
from threading import Thread
from typing import Any

from gitops_connect.daemon.events import log, say
from gitops_connect.model.clock import Clock
from gitops_connect.model.masking import mask
from gitops_connect.report.printable import one_line
from gitops_connect.secret_values import values_read
from gitops_connect.settings.sections import NotificationSettings

_HOUR = 3600.0
_WAITING = 100
"""Notifications that wait for a slow service. Further ones are left out, and counted."""
_END = 5.0
"""Seconds that the notifications in progress have when the daemon ends."""
_LONGEST = 60
"""Seconds that one notification may take."""
_TYPES = {logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "failure"}
"""The types of apprise."""
_SHOWN = ("message", "reason", "revision", "keys", "applied", "failed", "hint")
"""The fields that are shown, in this order."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What is sent. `level` is that of the log."""

    title: str
    body: str
    level: int


Send = Callable[[Notification], bool]
"""Sends a notification, and returns whether the service has accepted it."""


class NotificationFilter:
    """Decides which events are sent: by name, each only once in `repeat_after`, and at most so many in an hour."""

    def __init__(self, settings: NotificationSettings, clock: Clock, link: str = "") -> None:
        self._settings = settings
        self._clock = clock
        self._link = link
        self._sent: dict[tuple[str, ...], float] = {}
        self._times: deque[float] = deque()
        self.left_out = 0
        """Notifications that were not sent because there were too many, since the last one that was sent."""

    def notification(self, event: str, level: int, fields: Mapping[str, Any]) -> Notification | None:
        if event == "reconciliation_finished" and not (fields.get("applied") or fields.get("failed")):
            return None
        if not any(fnmatchcase(event, pattern) for pattern in self._settings.events):
            return None
        now = self._clock.monotonic()
        key = tuple(str(fields.get(name, "")) for name in ("cluster", "connector", "offset_change", "message"))
        key = (event, *key) if event != "reconciliation_finished" else (event, str(now))
        self._sent = {one: at for one, at in self._sent.items() if now - at < self._settings.repeat_after}
        if key in self._sent:
            return None
        while self._times and now - self._times[0] >= _HOUR:
            self._times.popleft()
        if len(self._times) >= self._settings.max_per_hour:
            self.left_out += 1
            return None
        self._sent[key] = now
        self._times.append(now)
        left_out, self.left_out = self.left_out, 0
        return _notification(event, level, fields, left_out, self._link)


def _notification(event: str, level: int, fields: Mapping[str, Any], left_out: int, link: str) -> Notification:
    subject = " on ".join(str(fields[name]) for name in ("connector", "cluster") if fields.get(name))
    title = f"gitops-connect: {event.replace('_', ' ')}{f': {subject}' if subject else ''}"
    lines = [f"{name}: {mask(_text(fields[name]), values_read())}" for name in _SHOWN if fields.get(name)]
    if left_out:
        lines.append(f"{left_out} earlier notifications were left out, because there were too many")
    lines = [one_line(line) for line in lines]
    return Notification(one_line(title), "\n".join([*lines, *([link] if link else [])]), level)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class NotificationHandler(logging.Handler):
    """Passes on the daemon's events. The thread that logs never waits for a service."""

    def __init__(self, chosen: NotificationFilter, send: Send) -> None:
        super().__init__(logging.INFO)
        self._filter = chosen
        self._send = send
        self._queue: Queue[Notification | None] = Queue(_WAITING)
        self._thread = Thread(target=self._run, name="notifications", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "notification_failed":
            return
        found = self._filter.notification(record.getMessage(), record.levelno, getattr(record, "fields", {}))
        if found is None:
            return
        try:
            self._queue.put_nowait(found)
        except Full:
            self._filter.left_out += 1

    def end(self) -> None:
        """Send what is queued, for some seconds."""
        try:
            self._queue.put(None, timeout=_END)
        except Full:
            return
        self._thread.join(_END)

    def _run(self) -> None:
        while (notification := self._queue.get()) is not None:
            try:
                is_sent = self._send(notification)
            except Exception as error:  # a service or its library: the next notification may succeed
                say(logging.ERROR, "notification_failed", reason=type(error).__name__, message=notification.title)
                continue
            if not is_sent:
                say(logging.ERROR, "notification_failed", message=notification.title)


@contextmanager
def notifying(settings: NotificationSettings, clock: Clock, link: str) -> Iterator[None]:
    """Send notifications while the block runs. Raises UsageError if the URL of a target cannot be used."""
    handler = NotificationHandler(NotificationFilter(settings, clock, link), sender(settings))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.end()


def sender(settings: NotificationSettings, seconds: int = _LONGEST) -> Send:
    """Sends to all targets of the settings. Raises UsageError; no message contains a URL.

    apprise runs in a process of its own, with limited memory, for at most so many seconds: a service is an outsider.
    """
    import apprise  # noqa: PLC0415 - an extra

    from gitops_connect.errors import UsageError  # noqa: PLC0415

    urls = {name: target.read() for name, target in settings.targets.items()}
    for name, url in urls.items():
        if not apprise.Apprise().add(url):
            raise UsageError(f"[notifications.targets] {name}: this is not a URL that apprise knows")

    def send(notification: Notification) -> bool:
        content = {
            "urls": [*urls.values()],
            "title": notification.title,
            "body": notification.body,
            "type": _TYPES.get(notification.level, "info"),
            "seconds": seconds,
        }
        command = [sys.executable, "-P", "-m", "gitops_connect.daemon.send_notification"]
        # Its output is dropped: it can contain the URLs.
        done = subprocess.run(command, input=json.dumps(content).encode(), capture_output=True, check=False)  # noqa: S603
        return done.returncode == 0

    return send
