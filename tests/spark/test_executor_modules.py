"""All modules that remote executors import are sent to them, under the names that pickled functions have."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import gitops_connect
from gitops_connect.offsets.rules.rules import RULES
from gitops_connect.spark.executor_modules import packed

PACKAGE = Path(gitops_connect.__file__).parent


def test_every_module_of_the_package_is_packed_under_its_own_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as archive:
        names = set(archive.namelist())
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    assert names == {f"gitops_connect/{path.relative_to(PACKAGE).as_posix()}" for path in paths}


def test_the_rules_are_read_from_the_zip_file(tmp_path: Path) -> None:
    program = "from gitops_connect.offsets.rules import rules; print(rules.__file__, len(rules.RULES))"
    environment = {"PYTHONPATH": str(packed(tmp_path))}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, check=True
    )
    assert ran.stdout.decode().split() == [f"{packed(tmp_path)}/gitops_connect/offsets/rules/rules.py", str(len(RULES))]
