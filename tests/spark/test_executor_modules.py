"""All modules that remote executors import are sent to them, under the names that pickled functions have."""

from __future__ import annotations

import zipfile
from pathlib import Path

import gitops_connect
from gitops_connect.spark.executor_modules import packed

PACKAGE = Path(gitops_connect.__file__).parent


def test_every_module_of_the_package_is_packed_under_its_own_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as archive:
        names = set(archive.namelist())
    assert names == {f"gitops_connect/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*.py")}
