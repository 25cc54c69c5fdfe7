"""The daemon's log: one line an event, as JSON for collectors or as text for people."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from gitops_connect.settings.sections import LogFormat


class JsonFormatter(logging.Formatter):
    """`{"time": …, "level": …, "event": …, …fields}`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback is a field."""
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """`time LEVEL event key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and a traceback below it."""
        pairs = [f"{key}={_quoted(value)}" for key, value in _fields(record).items() if value not in ("", None)]
        line = " ".join([_time(record), record.levelname, record.getMessage(), *pairs])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def log_to_stderr(log_format: LogFormat) -> None:
    """Send every log record to stderr, libraries' only from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format is LogFormat.JSON else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("gitops_connect").setLevel(logging.INFO)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields = getattr(record, "fields", {})
    return fields if record.name.startswith("gitops_connect") else {"logger": record.name}


def _quoted(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if any(character.isspace() for character in text) else text
