"""Each record is one line, and no line contains a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool

from gitops_connect import secret_values
from gitops_connect.cli.logs import logging_to_stderr
from gitops_connect.settings.sections import LogFormat

log = logging.getLogger("gitops_connect")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def write(
        log_format: LogFormat, event: str = "step_applied", *, logger: logging.Logger = log, **fields: Any
    ) -> str:
        error = io.StringIO()
        monkeypatch.setattr("sys.stderr", error)
        with logging_to_stderr(log_format):
            logger.warning(event, extra={"fields": fields}, exc_info=fields.pop("exc_info", None))
        return error.getvalue()

    return write


def test_a_line_of_json_has_time_level_and_event_first(written: Callable[..., str]) -> None:
    text = written(LogFormat.JSON, cluster="local", seconds=0.5, message="two\nlines", hint="", before=None, steps=[])
    assert text.count("\n") == 1
    line = json.loads(text)
    assert list(line) == ["time", "level", "event", "cluster", "seconds", "message"]
    assert line["time"].endswith("+00:00")
    assert (line["level"], line["event"], line["message"]) == ("warning", "step_applied", "two\nlines")
    taken = json.loads(written(LogFormat.JSON, level="deep", time="now"))
    assert (list(taken), taken["level"]) == (["time", "level", "event"], "warning")
    assert taken["time"] != "now"
    assert json.loads(written(LogFormat.JSON, cluster={1, 2}))["cluster"] == "{1, 2}"


def test_a_line_of_text_quotes_what_could_be_misread(written: Callable[..., str]) -> None:
    text = written(LogFormat.TEXT, a="plain", b="two words", c='x="y"', d="two\nlines", e=False, f=0, g=["a", "b c"])
    assert text.count("\n") == 1
    expected = 'WARNING step_applied a=plain b="two words" c="x=\\"y\\"" d="two\\nlines" e=false f=0 g=a,"b c"\n'
    assert text.partition(" ")[2] == expected


def test_a_connection_above_the_size_of_its_pool_is_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = io.StringIO()
    monkeypatch.setattr("sys.stderr", error)
    with logging_to_stderr(LogFormat.JSON), HTTPConnectionPool("127.0.0.1", maxsize=1) as pool:
        for _ in range(2):
            pool._put_conn(pool._new_conn())
    assert "pool is full" in caplog.text
    assert error.getvalue() == ""


@pytest.mark.parametrize("log_format", LogFormat)
def test_a_secret_is_masked_wherever_it_comes_from(
    written: Callable[..., str], monkeypatch: pytest.MonkeyPatch, log_format: LogFormat
) -> None:
    monkeypatch.setattr(secret_values, "_values_read", {"hunter2", 'qu"ote'})
    error = ValueError('hunter2 in a bug, and qu"ote')
    text = written(log_format, message="rejects hunter2", hint='and qu"ote', exc_info=error)
    assert "hunter2" not in text
    assert "ote'" not in text.replace("\\", "")
    assert "rejects ***" in text
    assert "ValueError: *** in a bug, and ***" in text


def test_a_library_is_named_and_masked(written: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_values, "_values_read", {"hunter2"})
    line = json.loads(written(LogFormat.JSON, "retrying http://me:x@host/hunter2", logger=logging.getLogger("urllib3")))
    assert (line["event"], line["logger"]) == ("library", "urllib3")
    assert line["message"] == "retrying http://me:***@host/***"


def test_afterwards_logging_is_as_before(written: Callable[..., str]) -> None:
    handlers, level = logging.getLogger().handlers[:], log.level
    written(LogFormat.JSON)
    assert (logging.getLogger().handlers, log.level) == (handlers, level)
