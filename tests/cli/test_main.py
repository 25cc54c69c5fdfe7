"""Exit codes, usage errors, versions, bugs, and readers of the output that go away."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Ran, Workplace
from acceptance.workplace import run_here as run
from support.files.tables import rows

import gitops_connect
from gitops_connect import secret_values
from gitops_connect.cli import main
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.errors import ConnectUnavailable, LedgerBusy, StalePlan, UsageError
from gitops_connect.settings.settings_file import load_settings


@pytest.mark.parametrize(("arguments", "expected"), rows(__file__, "invalid_command_lines"))
def test_an_invalid_command_line_exits_with_64_and_refers_to_the_help(arguments: list[str], expected: str) -> None:
    ran = run(*arguments).expect(64, out="")
    assert ran.err.startswith("error: ")
    assert expected in ran.err
    assert "See gitops-connect --help." in ran.err


@pytest.mark.parametrize("arguments", [[], ["get"], ["describe"], ["sandbox"]])
def test_without_a_command_the_help_is_shown(arguments: list[str]) -> None:
    ran = run(*arguments).expect(64, out="")
    assert ran.err.startswith("Usage: gitops-connect")
    assert "Commands:" in ran.err


@pytest.mark.parametrize(("settings", "expected"), rows(__file__, "unusable_settings"))
def test_unusable_settings_exit_with_64_and_are_named(tmp_path: Path, settings: str | None, expected: str) -> None:
    file = tmp_path / "gitops-connect.toml"
    if settings is not None:
        file.write_text(settings)
    run("--config", str(file), "plan").expect(64, out="", err=expected)


@pytest.mark.parametrize("command", ["plan", "validate", "status", "run"])
def test_without_settings_the_files_and_a_minimal_one_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delenv("GITOPS_CONNECT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    ran = run(command).expect(
        64, out="", err=f"no settings were found: {tmp_path / 'gitops-connect.toml'} does not exist"
    )
    (tmp_path / "gitops-connect.toml").write_text(ran.err.partition(":\n\n")[2])
    settings = load_settings(None, {})
    assert settings.repository.url
    assert [*settings.clusters] == ["local"]


def test_a_command_that_takes_no_directory_does_not_ask_for_one(tmp_path: Path) -> None:
    file = tmp_path / "gitops-connect.toml"
    file.write_text('[clusters.a]\nurl = "http://127.0.0.1:1"\n')
    ran = run("run", "--config", str(file))
    assert ran == Ran(64, "", "error: no repository is configured; add [repository] with url = … to the settings\n")


@pytest.mark.slow
def test_no_help_is_cut_off_or_has_marks_of_another_language() -> None:
    names = [[], ["get"], ["describe"], ["ledger"], ["offsets"], ["sandbox"]]
    groups = [run(*group, "--help").out for group in names]
    for text in groups:
        lines = text.partition("Commands:\n")[2].splitlines()
        assert lines
        assert all(line.endswith(".") and not line.endswith("...") for line in lines), lines
    for group, text in zip(names, groups, strict=True):
        commands = [line.split()[0] for line in text.partition("Commands:\n")[2].splitlines()]
        helps = [run(*group, command, "--help") for command in commands]
        assert all(one.code == 0 and "[[" not in one.out and "\\[" not in one.out for one in helps)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 64),
        (StalePlan("x"), 5),
        (LedgerBusy("x"), 5),
        (ConnectUnavailable("x"), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("x"), 70),
    ],
)
def test_each_error_has_its_code(error: BaseException, code: int, failing: list[BaseException]) -> None:
    failing.append(error)
    assert run("fail").code == code == ExitCode(code)


def test_a_bug_is_reported_ready_for_an_issue_and_without_private_values(
    failing: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_values, "_values_read", {"hunter2-of-orders"})
    failing.append(ZeroDivisionError("hunter2-of-orders at http://me:pass@connect:8083"))
    ran = run("--config=/srv/me/private.toml", "fail", "--name", "private-name", "--cluster=payments-prod").expect(
        70,
        out="",
        err=(
            "This is a bug in gitops-connect. Please report it",
            f"gitops-connect {gitops_connect.__version__}, Python 3.",
            "command: gitops-connect fail --config --name --cluster\n",
            "Traceback (most recent call last):",
            "ZeroDivisionError: *** at http://me:***@connect:8083",
        ),
    )
    for private in ("hunter2", "private", "payments", "me:pass"):
        assert private not in ran.err


@pytest.fixture
def failing() -> Iterator[list[BaseException]]:
    """An additional command, which raises the error that the test adds to this list."""
    errors: list[BaseException] = []

    def fail(name: str = "", cluster: str = "") -> None:
        raise errors[0]

    main.app.command()(fail)
    main.command_line.cache_clear()
    yield errors
    main.app.registered_commands.pop()
    main.command_line.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(("command", "deaf", "code", "states"), rows(__file__, "closed_pipes"))
def test_a_reader_that_closes_the_pipe_is_not_a_bug(
    at: Workplace, command: list[str], deaf: str, code: int, states: dict[str, str]
) -> None:
    at.commit("orders.yaml", at.source("orders"))
    reader, writer = os.pipe()
    os.close(reader)
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, deaf: writer}
    process = subprocess.Popen(at.command(*command), text=True, **streams)  # type: ignore[call-overload]  # streams by name
    os.close(writer)
    out, err = process.communicate()
    assert process.returncode == code
    assert not {"Traceback", "bug"} & set(f"{out} {err}".split())
    assert at.states() == states
