"""The sandbox commands as a user runs them: as processes, with their output and exit codes."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest

RUN = "from gitops_connect.cli.sandbox import app; app()"


def run(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_down_without_a_sandbox_is_nothing_to_do(tmp_path: Path) -> None:
    result = run("down", directory=tmp_path)
    assert (result.returncode, result.stdout) == (0, "")
    assert "There is no sandbox" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.e2e
def test_up_status_down(tmp_path: Path) -> None:
    up = run("up", "--workers", "1", "--heap", "512", directory=tmp_path)
    assert (up.returncode, up.stdout) == (0, ""), up.stderr
    assert not (tmp_path / "gitops-connect.toml").exists()
    try:
        status = json.loads(run("status", "-o", "json", directory=tmp_path).stdout)
        assert [(part["part"], part["state"]) for part in status] == [("broker", "up"), ("worker-1", "up")]
        snippet = up.stderr.partition("gitops-connect.toml:")[2].partition("To stop the sandbox")[0]
        assert tomllib.loads(snippet)["clusters"]["local"]["url"] == [status[1]["address"]]
        table = run("status", directory=tmp_path)
        assert table.returncode == 0
        assert table.stdout.splitlines()[0].split() == ["PART", "STATE", "ADDRESS", "PID", "LOG"]
        psutil.Process(status[1]["pid"]).kill()
        assert run("status", directory=tmp_path).returncode == 1
    finally:
        down = run("down", "--purge", directory=tmp_path)
    assert (down.returncode, down.stdout) == (0, "")
    assert not [part["pid"] for part in status if psutil.pid_exists(part["pid"])]
    assert not (tmp_path / ".sandbox").exists()
