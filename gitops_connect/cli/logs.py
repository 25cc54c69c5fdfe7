"""The daemon's log: one line for each event, as JSON for log collectors or as text for people."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from gitops_connect.cli.console import without_secrets
from gitops_connect.report.printable import escaped, escaped_lines
from gitops_connect.settings.sections import LogFormat
from gitops_connect.tracing.spans import current_trace_id

REQUESTS = "gitops_connect.requests"
"""The logger of `connect.transport`."""
_POOL = "urllib3.connectionpool"
"""Warns of each connection above the size of its pool, which is then closed. Errors are exceptions."""


class JsonFormatter(logging.Formatter):
    """`{"time": …, "level": …, "event": …, …fields}`; an empty field is left out."""

    def format(self, record: logging.LogRecord) -> str:
        time, event, fields = _parts(record)
        head = {"time": time, "level": record.levelname.lower(), "event": event}
        more = {"traceback": traceback} if (traceback := _traceback(self, record)) else {}
        return escaped(json.dumps({**head, **fields, **more, **head}, ensure_ascii=False, default=str))


class TextFormatter(logging.Formatter):
    """`time LEVEL event key=value …`; an empty field is left out."""

    def format(self, record: logging.LogRecord) -> str:
        time, event, fields = _parts(record)
        line = " ".join([time, record.levelname, event, *(f"{key}={_quoted(value)}" for key, value in fields.items())])
        return "\n".join(filter(None, [escaped(line), escaped_lines(_traceback(self, record))]))


class RequestFormatter(logging.Formatter):
    """`debug: METHOD URL: result`, with secrets masked."""

    def format(self, record: logging.LogRecord) -> str:
        return escaped(f"debug: {without_secrets(record.getMessage())}")


def requests_to_stderr() -> Callable[[], None]:
    """Log each request to Connect on stderr. Returns the function that ends this."""
    log = logging.getLogger(REQUESTS)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RequestFormatter())
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)

    def end() -> None:
        log.setLevel(logging.NOTSET)
        log.removeHandler(handler)

    return end


def formatter(log_format: LogFormat) -> logging.Formatter:
    return JsonFormatter() if log_format is LogFormat.JSON else TextFormatter()


@contextmanager
def logging_to_stderr(log_format: LogFormat) -> Iterator[None]:
    """Send log records to stderr, those of libraries from warnings on. Afterwards the loggers are restored."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    handler.addFilter(lambda record: record.name != _POOL)
    root, ours = logging.getLogger(), logging.getLogger("gitops_connect")
    before = ours.level
    requests = logging.getLogger(REQUESTS)
    of_requests, requests.handlers = requests.handlers, []  # of `--debug`: its lines go into the log
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        requests.handlers = of_requests
        ours.setLevel(before)
        root.removeHandler(handler)


def _parts(record: logging.LogRecord) -> tuple[str, str, dict[str, Any]]:
    """The time, the event, and the fields that are not empty, without secrets."""
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    if record.name == "gitops_connect":
        event, fields = record.getMessage(), {**getattr(record, "fields", {}), "trace_id": current_trace_id()}
    else:
        event, fields = "library", {"logger": record.name, "message": record.getMessage()}
    return time, event, {key: _masked(value) for key, value in fields.items() if not _is_empty(value)}


def _masked(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_masked(one) for one in value]
    return without_secrets(value) if isinstance(value, str) else value


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return without_secrets(formatter.formatException(record.exc_info)) if record.exc_info else ""


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [])


def _quoted(value: object) -> str:
    """The value unquoted if it is unambiguous, else as a JSON string."""
    if isinstance(value, list | tuple):
        return ",".join(map(_quoted, value))
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    plain = text.isprintable() and not set(text) & set(' "=')
    return text if plain else json.dumps(text, ensure_ascii=False)
