"""The edges of the command line: exit codes, usage, versions, bugs, and readers that go away."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Ran, Workplace

import gitops_connect
from gitops_connect import secrets
from gitops_connect.cli import main
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.errors import ConnectUnavailable, LedgerBusy, StalePlan, UsageError

PROGRAM = (sys.executable, "-m", "gitops_connect.cli.main")


def run(*arguments: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run_command([*arguments])
    return Ran(code, out.getvalue(), err.getvalue())


def test_the_version_is_data() -> None:
    assert run("--version") == Ran(0, f"gitops-connect {gitops_connect.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--bogus"], "No such option: --bogus"),
        (["plan", "--bogus"], "No such option: --bogus"),
        (["nosuch"], "No such command 'nosuch'"),
        (["describe", "connector"], "Missing argument 'name'"),
        (["plan", "-o", "xml"], "'xml' is not one of 'text', 'json', 'markdown'"),
    ],
)
def test_what_cannot_be_understood_is_64_with_the_way_to_help(arguments: list[str], told: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith("error: ")
    assert told in ran.err
    assert "See gitops-connect --help." in ran.err


@pytest.mark.parametrize("arguments", [[], ["get"], ["describe"], ["sandbox"]])
def test_nothing_asked_for_shows_the_help(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith("Usage: gitops-connect")
    assert "Commands:" in ran.err


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (None, "gitops-connect.toml does not exist"),
        ("[repository\n", "cannot read the settings file"),
        ("[repositry]\n", "unknown section [repositry]; known sections: repository, state"),
        ('[repository]\nurl = "repository"\n', "no Connect cluster is set"),
        ('[clusters.a]\nurl = "http://127.0.0.1:1"\n', "no repository is set"),
        (
            '[clusters.a]\nurl = "http://127.0.0.1:1"\n[clusters.b]\nurl = "http://127.0.0.1:1/"\n',
            "[clusters.a] and [clusters.b] both list the worker http://127.0.0.1:1",
        ),
        ('[clusters.a]\nurl = "http://127.0.0.1:1"\n[clusters.a]\n', "cannot read the settings file"),
    ],
)
def test_settings_that_cannot_be_used_are_64_and_named(tmp_path: Path, settings: str | None, told: str) -> None:
    file = tmp_path / "gitops-connect.toml"
    if settings is not None:
        file.write_text(settings)
    ran = run("--config", str(file), "plan")
    assert (ran.code, ran.out) == (64, "")
    assert told in ran.err


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
    monkeypatch.setattr(secrets, "_values_read", {"hunter2-of-orders"})
    failing.append(ZeroDivisionError("hunter2-of-orders at http://me:pass@connect:8083"))
    ran = run("--config=/srv/me/private.toml", "fail", "--name", "private-name", "--cluster=payments-prod")
    assert (ran.code, ran.out) == (70, "")
    assert "This is a bug in gitops-connect. Please report it" in ran.err
    assert f"gitops-connect {gitops_connect.__version__}, Python 3." in ran.err
    assert "command: gitops-connect fail --config --name --cluster\n" in ran.err
    assert "Traceback (most recent call last):" in ran.err
    assert "ZeroDivisionError: *** at http://me:***@connect:8083" in ran.err
    for private in ("hunter2", "private", "payments", "me:pass"):
        assert private not in ran.err


@pytest.fixture
def failing() -> Iterator[list[BaseException]]:
    """A further command, which raises what the test puts here."""
    errors: list[BaseException] = []

    def fail(name: str = "", cluster: str = "") -> None:
        raise errors[0]

    main.app.command()(fail)
    yield errors
    main.app.registered_commands.pop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "deaf", "code", "states"),
    [
        (["apply", "--yes"], "stdout", 1, {}),  # nobody has seen the plan
        (["apply", "--yes"], "stderr", 0, {"orders": "RUNNING"}),
        (["run", "--once"], "stderr", 0, {"orders": "RUNNING"}),
    ],
)
def test_a_reader_that_goes_away_is_no_bug(
    at: Workplace, command: list[str], deaf: str, code: int, states: dict[str, str]
) -> None:
    at.commit("orders.yaml", at.source("orders"))
    reader, writer = os.pipe()
    os.close(reader)
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, deaf: writer}
    arguments = [*PROGRAM, "--config", str(at.folder / "gitops-connect.toml"), *command]
    process = subprocess.Popen(arguments, text=True, **streams)  # type: ignore[call-overload]  # streams by name
    os.close(writer)
    out, err = process.communicate()
    assert process.returncode == code
    assert not {"Traceback", "bug"} & set(f"{out} {err}".split())
    assert at.states() == states
