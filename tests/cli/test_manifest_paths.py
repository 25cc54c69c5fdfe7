"""A manifest is a regular file of the repository, whatever its path says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.files.tables import rows, table

from gitops_connect.cli.main import run_command


@pytest.mark.parametrize(("path", "problem"), rows(__file__, "paths"))
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
    (repository / "change.yaml").write_text(table(__file__, "change").replace("PATH", path))
    assert run_command(["validate", "repository"]) == 4
    said = "".join(capsys.readouterr())
    assert f"repository/{problem}" in said
    assert "private" not in said
