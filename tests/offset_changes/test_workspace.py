"""A workspace removes its files at its end, and those of a killed process at the start of the next one."""

import subprocess
import sys
from pathlib import Path

import pytest

from gitops_connect.errors import SparkUnusable
from gitops_connect.offset_changes.manifest_source import workspace

PROGRAM = """
import os, sys
from pathlib import Path
from gitops_connect.offset_changes.manifest_source import workspace
with workspace(Path(sys.argv[1])) as directory:
    directory.mkdir(parents=True)
    (directory / "live.jsonl").touch()
    os._exit(9)
"""


def test_nothing_is_left(tmp_path: Path):
    with workspace(tmp_path / "spark") as directory:
        (directory / "a" / "b").mkdir(parents=True)
        with workspace(tmp_path / "spark") as other:
            other.mkdir()
            assert other != directory
        assert directory.is_dir()
        assert not other.exists()
    assert not list((tmp_path / "spark").iterdir())


def test_what_a_killed_process_left_is_removed(tmp_path: Path):
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=False, timeout=60)
    assert [one.name for directory in tmp_path.iterdir() for one in directory.iterdir()] == ["live.jsonl"]
    with workspace(tmp_path):
        assert not list(tmp_path.iterdir())


def test_a_disk_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = r"cannot be written to .*file.*check \[spark\] directory"
    with pytest.raises(SparkUnusable, match=said), workspace(tmp_path / "file") as directory:
        directory.mkdir()
