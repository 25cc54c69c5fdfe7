"""The messages of a command on stderr."""

from __future__ import annotations

import pytest

from gitops_connect.cli.console import echo, echo_styled


def test_messages_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    echo("error: connector a\x1b[2J\u202eb: Boom\n\tat a.B")
    assert capsys.readouterr().err == "error: connector a\\u001b[2J\\u202eb: Boom\n    at a.B\n"


def test_the_colours_of_a_report_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    echo_styled("\x1b[31merror\x1b[0m")
    assert capsys.readouterr().err == "\x1b[31merror\x1b[0m\n"
