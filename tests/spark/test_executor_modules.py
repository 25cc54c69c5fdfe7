"""All modules that remote executors import are sent to them, under the names that pickled functions have."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

import gitops_connect
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.spark.executor_modules import PACKAGES, packed

pytestmark = pytest.mark.slow

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


def test_executors_need_no_other_package(tmp_path: Path) -> None:
    """docs/reference/spark.md lists what executors need: no other dependency is imported there."""
    ours = {re.match(r"[\w.-]+", one)[0].lower() for one in requires("gitops-connect") or () if "extra" not in one}
    modules = {name for name, projects in packages_distributions().items() if ours & {one.lower() for one in projects}}
    sent = {name.partition(".")[0] for name in PACKAGES}
    program = f"""
import pickle, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(modules - sent)!r}: raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
from gitops_connect.offsets.spark import check_job, join, patch_files, violations
import pytest
assert any(pickle.load(sys.stdin.buffer))
"""
    assert {"yaml", "sqlalchemy", "pyspark"} <= modules - sent
    environment = {"PYTHONPATH": str(packed(tmp_path))}
    shapes = pickle.dumps([BUILT_IN.shape({"connector.class": name}) for name in BUILT_IN.classes])
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path, input=shapes, check=True)
