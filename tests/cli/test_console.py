"""The messages of a command on stderr."""

from __future__ import annotations

import sys

import pytest

from gitops_connect.cli.console import echo, echo_styled


def test_messages_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    echo("error: connector a\x1b[2J\u202eb: Boom\n\tat a.B")
    assert capsys.readouterr().err == "error: connector a\\u001b[2J\\u202eb: Boom\n    at a.B\n"


def test_the_colours_of_a_report_are_kept_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    both = ((True, "\x1b[31mA\x1b[0m\\u001b[2J\n"), (False, "\\u001b[31mA\\u001b[0m\\u001b[2J\n"))
    for is_terminal, expected in both:
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        echo_styled("\x1b[31mA\x1b[0m\x1b[2J")
        assert capsys.readouterr().err == expected
