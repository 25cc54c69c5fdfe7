"""A manifest is a regular file of the repository, whatever its path says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitops_connect.cli.main import run_command

CHANGE = """\
apiVersion: gitops-connect/v1
kind: OffsetChange
metadata: {name: change, cluster: local}
spec:
  connector: orders
  operation: alter
  manifest: {path: %s}
  reason: test
"""


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/proc/self/environ", "change.yaml:7:14: error: the path '/proc/self/environ' leads out of the repository"),
        ("../outside.json", "change.yaml:7:14: error: the path '../outside.json' leads out of the repository"),
        ("a/../../outside.json", "change.yaml:7:14: error: the path 'a/../../outside.json' leads out of the"),
        ("link.json", "link.json:1:1: error: the link points to ../outside.json, outside of the directory"),
        ("system.json", "system.json:1:1: error: the link points to /proc/self/environ, outside of the directory"),
        ("below/environ", "below:1:1: error: the link points to /proc/self, outside of the directory that is read"),
        ("pipe.json", "pipe.json:1:1: error: this is neither a file nor a directory, and is not read"),
        ("directory", "change.yaml:7:14: error: there is no file 'directory"),
    ],
)
def test_other_files_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outside.json").write_text("private")
    repository = tmp_path / "repository"
    (repository / "directory").mkdir(parents=True)
    (repository / "link.json").symlink_to("../outside.json")
    (repository / "system.json").symlink_to("/proc/self/environ")
    (repository / "below").symlink_to("/proc/self")
    os.mkfifo(repository / "pipe.json")
    (repository / "change.yaml").write_text(CHANGE % path)
    assert run_command(["validate", "repository"]) == 4
    said = "".join(capsys.readouterr())
    assert f"repository/{problem}" in said
    assert "private" not in said
