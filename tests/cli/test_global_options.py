"""The options of every command, before and after its name, and `version`."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest
from acceptance.workplace import Ran, Workplace
from acceptance.workplace import run_here as run

import gitops_connect
from gitops_connect.cli import main


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

    main.app.command()(show)
    main.command_line.cache_clear()
    try:
        assert (run("show").code, run("show", "--no-color").code, run("--no-color", "show").code) == (0, 0, 0)
    finally:
        main.app.registered_commands.pop()
        main.command_line.cache_clear()
    assert seen == [None, "1", "1"]
    assert "NO_COLOR" not in os.environ


def test_the_version_as_text_and_as_json() -> None:
    assert run("--version") == Ran(0, f"gitops-connect {gitops_connect.__version__}\n", "")
    assert run("version").out.startswith(f"gitops-connect {gitops_connect.__version__}\nPython 3.")
    assert json.loads(run("version", "-o", "json").out)["version"] == gitops_connect.__version__


@pytest.mark.slow
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
