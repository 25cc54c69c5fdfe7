"""Exit codes, usage errors, options of every command, bugs, signals, and readers of the output that go away."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from acceptance.workplace import Ran, Workplace, run_apart
from acceptance.workplace import run_here as run
from support.files.tables import rows

import gitops_connect
from gitops_connect import secret_values
from gitops_connect.cli import main
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.interrupts import interruptible
from gitops_connect.errors import ConnectUnavailable, LedgerBusy, StalePlan, UsageError
from gitops_connect.settings.settings_file import load_settings

pytestmark = pytest.mark.slow


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

    with one_more(fail):
        yield errors


@contextmanager
def one_more(command: Callable[..., None]) -> Iterator[None]:
    """Add a command to the program."""
    main.app.command()(command)
    main.command_line.cache_clear()
    try:
        yield
    finally:
        main.app.registered_commands.pop()
        main.command_line.cache_clear()


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


def test_every_command_takes_them_and_says_so() -> None:
    for words in ([], ["plan"], ["ledger"], ["ledger", "show"], ["sandbox", "up"], ["version"]):
        ran = run(*words, "--help").expect(0)
        for option in ("--config FILE", "-C, --chdir DIR", "-v, --verbose", "--debug", "--no-color"):
            assert ran.out.count(f"  {option} ") == 1, (words, option)


def test_the_settings_file_may_be_named_anywhere() -> None:
    for line in ("--config no.toml ledger show", "ledger --config=no.toml show", "plan --config no.toml"):
        assert run(*line.split()) == Ran(64, "", "error: the settings file no.toml does not exist\n"), line


def test_a_directory_to_start_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITOPS_CONNECT_CONFIG", raising=False)
    (tmp_path / "gitops-connect.toml").write_text("[repositry]\n")
    here = Path.cwd()
    for arguments in (["-C", str(tmp_path), "plan"], ["plan", "-C", str(tmp_path)]):
        run(*arguments).expect(64, err="unknown section [repositry]")
        assert Path.cwd() == here
    run("plan", "--chdir", str(tmp_path / "no")).expect(
        64, out="", err=f"cannot change to the directory {tmp_path / 'no'}: No such file or directory"
    )


def test_colors_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    seen: list[str | None] = []

    def show() -> None:
        seen.append(os.environ.get("NO_COLOR"))

    with one_more(show):
        for words in (["show"], ["show", "--no-color"], ["--no-color", "show"]):
            run(*words).expect(0)
    assert seen == [None, "1", "1"]
    assert "NO_COLOR" not in os.environ


def test_the_version_as_text_and_as_json() -> None:
    assert run("--version") == Ran(0, f"gitops-connect {gitops_connect.__version__}\n", "")
    assert run("version").out.startswith(f"gitops-connect {gitops_connect.__version__}\nPython 3.")
    assert json.loads(run("version", "-o", "json").out)["version"] == gitops_connect.__version__


def test_requests_are_logged_without_credentials(at: Workplace) -> None:
    at.settings('username = "me"\npassword = "hunter2"\nheaders = {"X-Key" = "hunter3"}')
    at.commit("orders.yaml", at.source("orders", password="hunter4"))
    ran = at.run("apply", "--yes", "--debug").expect(0, err=f"debug: POST {at.urls[0]}/connectors: HTTP 201 after ")
    assert "hunter" not in ran.err
    assert "debug: " not in at.run("plan").err, "of one command only"
    assert not logging.getLogger("gitops_connect.requests").handlers
    at.urls = ("http://127.0.0.1:1",)
    at.settings()
    at.run("--debug", "get", "connectors").expect(1, err=("debug: GET http://127.0.0.1:1/", ": no answer after "))


def test_requests_of_the_daemon_are_lines_of_its_log(at: Workplace) -> None:
    ran = at.run("--debug", "run", "--once").expect(0)
    lines = [json.loads(line) for line in ran.err.splitlines()]
    requests = [line for line in lines if line.get("logger") == "gitops_connect.requests"]
    assert requests[0]["level"] == "debug"
    assert requests[0]["message"].startswith(f"GET {at.urls[0]}/")


def test_validate_lists_the_files_that_it_ignores(at: Workplace) -> None:
    at.write("clusters/local/orders.yaml", at.source("orders"))
    at.write("clusters/local/values.yml", "image: {tag: 1}\n")
    at.write("charts/values.yaml", "image: {tag: 1}\n")
    quiet, ran = at.run("validate", str(at.repository)), at.run("validate", "-v", str(at.repository))
    assert (quiet.code, quiet.err, ran.code) == (0, "", 0)
    (line,) = ran.err.splitlines()
    assert line.startswith("ignored: ")
    assert line.endswith("/clusters/local/values.yml: no document in it has `apiVersion: gitops-connect/v1`")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_one_asks_for_an_end_and_afterwards_all_is_as_before(number: int) -> None:
    asked: list[int] = []
    before = signal.getsignal(number)
    with interruptible(lambda: asked.append(1)):
        signal.raise_signal(number)
        assert asked == [1]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("then", ["", "raise ValueError"])
def test_the_second_one_says_what_it_has_to_say_before_it_ends_the_process(number: int, then: str) -> None:
    program = f"""
import signal
from gitops_connect.cli.interrupts import interruptible, tell_at_once
def second():
    tell_at_once("left")
    {then}
with interruptible(lambda: None, second):
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal({int(number)})
    print("still there")
"""
    assert run_apart([sys.executable, "-c", program]) == Ran(-number, "", "left\n")
