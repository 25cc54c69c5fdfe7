"""Unhealthy and stopped connectors in words that all reports share, with what to do about them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.report.printable import Sentence, one_line, shortened

_REMEDY = "fix the cause, then run: {}"


def problem_words(one: UnhealthyConnector) -> str:
    """The problems of the connector and its automatic restarts, on one line."""
    return "; ".join([*(shortened(one_line(problem)) for problem in one.problems), *_restart_words(one.restarts)])


def restarted_words(count: int, last: datetime) -> str:
    """The automatic restarts of a connector."""
    times = "once" if count == 1 else f"{count} times"
    return f"restarted {times}, last at {last:%Y-%m-%d %H:%M:%S} UTC"


def _restart_words(outlook: RestartOutlook | None) -> Iterator[str]:
    """Nothing if it was not restarted yet, and nothing prevents a restart."""
    if outlook is None:
        return
    if outlook.last is not None:
        yield restarted_words(outlook.count, outlook.last)
    if outlook.why_not:
        yield f"no automatic restart: {one_line(outlook.why_not)}"
    elif outlook.last is not None and outlook.next is not None:
        yield f"next automatic restart ({outlook.count + 1} of {outlook.limit}) at {outlook.next:%H:%M:%S} UTC"


def restart_request(connector: str) -> str:
    """The request that restarts the failed parts of a connector, and no others (KIP-745, Kafka 3.0 and newer)."""
    return f"POST /connectors/{quote(connector, safe='', errors='replace')}/restart?includeTasks=true&onlyFailed=true"


def remedy(connector: str) -> str:
    """How to fix failed parts."""
    return _REMEDY.format(_restart_command(connector))


def _restart_command(connector: str) -> str:
    return f"gitops-connect restart connector {shlex.quote(connector)} --failed"


def unhealthy_lines(unhealthy: Sequence[UnhealthyConnector]) -> Iterator[Sentence]:
    """A line for each connector, and a line with the fix."""
    for one in unhealthy:
        yield Sentence.of("unhealthy: {}: {}", one.name, problem_words(one))
    yield from hints(unhealthy)


def hints(unhealthy: Collection[UnhealthyConnector]) -> Iterator[Sentence]:
    """How to fix everything that has FAILED, on one line; nothing if no part has FAILED."""
    failed = [one.name for one in unhealthy if one.failures]
    if failed:
        yield Sentence.of(f"hint: {_REMEDY}", _restart_command(failed[0] if len(failed) == 1 else "NAME"))


def unhealthy_sentence(count: int) -> Iterator[str]:
    """The last sentence of a summary; nothing if all connectors work."""
    if count:
        yield "1 connector is unhealthy." if count == 1 else f"{count} connectors are unhealthy."


def unhealthy_value(one: UnhealthyConnector) -> dict[str, Any]:
    """The connector as a JSON value."""
    return {
        "connector": one.name,
        "failures": [{"task": failure.task, "reason": failure.reason} for failure in one.failures],
        "no_tasks": one.no_tasks or None,
        "restart": restart_request(one.name) if one.failures else None,
        "automatic_restarts": None if one.restarts is None else _outlook_value(one.restarts),
    }


def auto_restart_status(name: ConnectorName, record: RestartRecord | None) -> dict[str, Any] | None:
    """The automatic restarts in the words of Strimzi's status (proposal 007); None if there were none."""
    if record is None:
        return None
    last = record.last.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"count": record.count, "connectorName": name, "lastRestartTimestamp": last}


def _outlook_value(outlook: RestartOutlook) -> dict[str, Any]:
    return {
        "count": outlook.count,
        "limit": outlook.limit,
        "last": _time(outlook.last),
        "next": _time(outlook.next),
        "why_not": outlook.why_not or None,
    }


def _time(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="seconds")


def left_stopped(connector: ConnectorName, worker_url: str) -> str:
    """What to do about a connector that remains stopped, because the process was ended at once.

    `worker_url` is the address of any of its workers.
    """
    resume = f"{worker_url.rstrip('/')}/connectors/{quote(connector, safe='', errors='replace')}/resume"
    return (
        f"connector {connector} is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        f" curl -X PUT {resume}"
    )
