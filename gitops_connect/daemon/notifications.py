"""Sends some log events to people, with apprise: to Slack, Teams, mail, a webhook and many others.

A handler of the daemon's log decides what is sent; a thread of its own sends it, so that a slow service delays nothing.
Event names are those of docs/reference/log-events.md.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from logging import INFO
from threading import Condition, Thread
from typing import Any

from gitops_connect.daemon.events import log, say
from gitops_connect.model.clock import Clock
from gitops_connect.model.masking import mask
from gitops_connect.report.printable import one_line
from gitops_connect.secret_values import values_read
from gitops_connect.settings.sections import NotificationSettings

_HOUR = 3600.0
_END = 5.0
"""Seconds that the notifications in progress have when the daemon ends."""
_LONGEST = 60
"""Seconds that one notification may take."""
_TYPES = {logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "failure"}
"""The types of apprise."""
_SHOWN = ("message", "reason", "revision", "keys", "applied", "failed", "hint")
"""The fields that are shown, in this order."""
_WITH_MESSAGE = 10
"""Events of a group that are shown with their messages. The others are named."""
_NAMED = 500
"""How many others. Further ones are counted."""
_ENDS = {
    "cluster_resumed": ("cluster_suspended",),
    "connector_recovered": ("connector_unhealthy", "connector_given_up", "config_rolled_back"),
    "connector_resumed": ("connector_suspended",),
    "leader_elected": ("leader_lost", "leader_unknown"),
    "leader_followed": ("leader_lost", "leader_unknown"),
    "reconciliation_recovered": ("reconciliation_failed",),
    "repository_recovered": ("repository_unreachable",),
    "rollout_continued": ("rollout_stopped",),
    "step_applied": ("step_failed",),
}
"""Ends of failures: events that say that others are over for the same cluster, connector and action."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What is sent. `level` is that of the log."""

    title: str
    body: str
    level: int


Send = Callable[[Notification], bool]
"""Sends a notification, and returns whether the service has accepted it."""


_Subject = tuple[str, ...]
"""The cluster, the connector and the action that an event is about, as far as it is about one."""


@dataclass(frozen=True, slots=True)
class _Event:
    """An event that waits to be sent. `name` is its connector and its cluster, `lines` are its other fields."""

    event: str
    level: int
    subject: _Subject
    name: str
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"gitops-connect: {self.event.replace('_', ' ')}"


class _Budget:
    """At most so many in an hour: half of them at once, and the others evenly, so that none waits for long."""

    def __init__(self, per_hour: int) -> None:
        self._most, self._rate = (per_hour + 1) // 2, per_hour / 2 / _HOUR
        self._left, self._at = float(self._most), 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next one may be sent."""
        self._left, self._at = min(self._most, self._left + (now - self._at) * self._rate), now
        return max(0.0, (1 - self._left) / self._rate)

    def spend(self) -> None:
        self._left -= 1


class Outbox:
    """Decides which events are sent, and when: those that may not be sent yet are grouped by their name.

    An alarm is a warning, an error, or the end of an alarm that was sent. Alarms have a budget of their own. A failure
    that begins again replaces its end, if that was not sent yet; so what is sent last is true.
    """

    def __init__(self, settings: NotificationSettings, clock: Clock, link: str = "") -> None:
        self._settings = settings
        self._clock = clock
        self._link = link
        self._sent: dict[tuple[str, _Subject], dict[tuple[str, str], float]] = {}
        self._failing: set[tuple[str, _Subject]] = set()
        self._budgets = {is_alarm: _Budget(settings.max_per_hour) for is_alarm in (True, False)}
        self._waiting: dict[bool, dict[str, list[_Event]]] = {True: {}, False: {}}

    def add(self, event: str, level: int, fields: Mapping[str, Any]) -> None:
        subject = tuple(str(fields.get(name, "")) for name in ("cluster", "connector", "action"))
        ended = {(failure, subject) for failure in _ENDS.get(event, ())} & self._failing
        if not ended and (not self._is_chosen(event, fields) or self._is_repeated(event, subject, fields)):
            return
        self._failing -= ended
        for one in ended:
            self._sent.pop(one, None)
        if any(event in failures for failures in _ENDS.values()):
            self._failing.add((event, subject))
            self._drop_ends(event, subject)
        lines = tuple(f"{name}: {_shown(fields[name])}" for name in _SHOWN if fields.get(name))
        name = _shown(" on ".join(str(fields[name]) for name in ("connector", "cluster") if fields.get(name)))
        found, groups = _Event(event, level, subject, name, lines), self._waiting[bool(ended) or level > INFO]
        groups.setdefault(event, []).append(found)

    def next(self, *, at_end: bool = False) -> Notification | float:
        """The next notification, errors first, or the seconds until there may be one. `at_end`: without a limit."""
        waits = [_HOUR]
        for is_alarm, groups in self._waiting.items():
            if not groups:
                continue
            wait = self._budgets[is_alarm].wait(self._clock.monotonic())
            if at_end or wait == 0:
                self._budgets[is_alarm].spend()
                event = max(groups, key=lambda one: max(each.level for each in groups[one]))
                return _notification(groups.pop(event), self._link)
            waits.append(wait)
        return min(waits)

    def _is_chosen(self, event: str, fields: Mapping[str, Any]) -> bool:
        if event == "reconciliation_finished" and not (fields.get("applied") or fields.get("failed")):
            return False
        return any(fnmatchcase(event, pattern) for pattern in self._settings.events)

    def _is_repeated(self, event: str, subject: _Subject, fields: Mapping[str, Any]) -> bool:
        now = self._clock.monotonic()
        before = self._sent.get((event, subject), {})
        before = {one: at for one, at in before.items() if now - at < self._settings.repeat_after}
        key = (str(fields.get("offset_change", "")), str(fields.get("message", "")))
        self._sent[event, subject] = {key: now, **before}
        return key in before and event != "reconciliation_finished"

    def _drop_ends(self, failure: str, subject: _Subject) -> None:
        alarms = self._waiting[True]
        for event in [one for one, failures in _ENDS.items() if failure in failures and one in alarms]:
            alarms[event] = [one for one in alarms[event] if one.subject != subject or one.level > INFO]
            if not alarms[event]:
                del alarms[event]


def _notification(events: Sequence[_Event], link: str) -> Notification:
    """One event with all that is known of it; several with a line each, and the names of those above a number."""
    first = events[0]
    title, lines = f"{first.title}: {len(events)} events", [_line(one) for one in events[:_WITH_MESSAGE]]
    if len(events) == 1:
        title, lines = f"{first.title}{f': {first.name}' if first.name else ''}", [*first.lines]
    others = [*dict.fromkeys(one.name for one in events[_WITH_MESSAGE:])]
    if others:
        lines.append(f"also: {', '.join(others[:_NAMED])}")
    if others[_NAMED:]:
        lines.append(f"{len(others) - _NAMED} more are in the log")
    body = [*lines, *([link] if link else [])] or [title]  # some services reject a notification without a body
    return Notification(title, "\n".join(body), max(one.level for one in events))


def _line(event: _Event) -> str:
    return ": ".join(part for part in (event.name, "; ".join(event.lines)) if part)


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return one_line(mask(text, values_read()))


class NotificationHandler(logging.Handler):
    """Passes on the daemon's events. The thread that logs never waits for a service."""

    def __init__(self, outbox: Outbox, send: Send) -> None:
        super().__init__(logging.INFO)
        self._outbox = outbox
        self._send = send
        self._changed = Condition()  # for `_outbox` and `_is_ending`
        self._is_ending = False
        self._thread = Thread(target=self._run, name="notifications", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "notification_failed":
            return
        with self._changed:
            self._outbox.add(record.getMessage(), record.levelno, getattr(record, "fields", {}))
            self._changed.notify()

    def end(self) -> None:
        """Send what waits, for some seconds."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join(_END)
        with self._changed:
            while isinstance(left := self._outbox.next(at_end=True), Notification):
                say(logging.ERROR, "notification_failed", reason="the daemon has ended", message=left.title)

    def _next(self) -> Notification | None:
        with self._changed:
            while not isinstance(found := self._outbox.next(at_end=self._is_ending), Notification):
                if self._is_ending:
                    return None
                self._changed.wait(found)
            return found

    def _run(self) -> None:
        lost: list[str] = []
        while (notification := self._next()) is not None:
            reason = "the service did not accept it"
            try:
                is_sent = self._send(_with_lost(notification, lost))
            except Exception as error:  # a service or its library: the next notification may succeed
                is_sent, reason = False, type(error).__name__
            lost = [] if is_sent else [*lost, notification.title]
            if not is_sent:
                say(logging.ERROR, "notification_failed", reason=reason, message=notification.title)


def _with_lost(notification: Notification, lost: Sequence[str]) -> Notification:
    """The notification, which also says what a service did not accept before."""
    if not lost:
        return notification
    titles = "; ".join(lost[-_WITH_MESSAGE:])
    return replace(notification, body=f"{notification.body}\nnot delivered before ({len(lost)}): {titles}")


@contextmanager
def notifying(settings: NotificationSettings, clock: Clock, link: str) -> Iterator[None]:
    """Send notifications while the block runs. Raises UsageError if the URL of a target cannot be used."""
    handler = NotificationHandler(Outbox(settings, clock, link), sender(settings))
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
