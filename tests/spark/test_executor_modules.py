"""All modules that remote executors import are sent to them, under the names that pickled functions have."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import gitops_connect
from gitops_connect.spark.executor_modules import packed

PACKAGE = Path(gitops_connect.__file__).parent


def test_every_module_of_the_package_is_packed_under_its_own_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as archive:
        names = set(archive.namelist())
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    assert names == {f"gitops_connect/{path.relative_to(PACKAGE).as_posix()}" for path in paths}


def test_the_rules_are_read_from_the_zip_file(tmp_path: Path) -> None:
    file = str(packed(tmp_path))
    command = [sys.executable, "-c", "from gitops_connect.offsets.rules import rules; print(rules.__file__)"]
    printed = subprocess.check_output(command, env={"PYTHONPATH": file}, cwd=tmp_path, text=True)
    assert printed.strip() == f"{file}/gitops_connect/offsets/rules/rules.py"
