from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.source.repository import locked


def test_a_second_one_waits_and_then_says_who_is_in_the_way(tmp_path: Path) -> None:
    file = tmp_path / "new" / "x.lock"
    with locked(file, 1), pytest.raises(SourceUnavailable, match=r"another process.*x\.lock"), locked(file, 0):
        pass
    with locked(file, 0):
        pass


def test_a_child_that_outlives_its_parent_keeps_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with locked(file, 0) as held:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(held,))
    with pytest.raises(SourceUnavailable), locked(file, 0):
        pass
    child.communicate()
    with locked(file, 0):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SourceRefused, match="GITOPS_CONNECT_CACHE"), locked(tmp_path / "a" / "x.lock", 0):
        pass


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(SourceRefused, match="cannot write a clone to"), locked(tmp_path / "a" / "b" / "x.lock", 0):
        pass
