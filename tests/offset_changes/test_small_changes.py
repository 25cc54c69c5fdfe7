"""A small change imports nothing of Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
import gitops_connect.reconcile
from gitops_connect.model.desired import ManifestFile
from gitops_connect.model.diagnostics import Location
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.model.names import ConnectorName
from gitops_connect.offset_changes.manifest_source import ManifestSource, ManifestVerdicts
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.spark.session import SharedSession
from support.planner.situations import change
directory = Path(sys.argv[1])
checkout = WorkingTree(directory / "repository").fetch()
sessions = SharedSession(SparkSettings(), {}, directory / "cache")
verdicts = ManifestVerdicts(ManifestSource(checkout, sessions, print, frozenset()), directory / "work")
operation = replace(change("c", "a"), manifest=ManifestFile(checkout.entries, Location("c.yaml")))
verdicts.add(operation, ManifestContext(ConnectorName("a")), {})
verdicts.check_large()
print(dict(verdicts.offsets))
unneeded = ("gitops_connect.offsets.spark.check", "numpy", "pyarrow", "pyspark")
found = [name for name in sys.modules if name.startswith(unneeded)]
print(found)
"""


@pytest.mark.slow
def test_a_small_manifest_in_git_imports_nothing_of_spark(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "offsets.jsonl").write_text('{"partition":{"filename":"/a"},"offset":{"position":1}}\n')
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    tests = Path(__file__).parents[1]
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": f"{tests}"}
    )
    assert ran.stdout.splitlines() == ["{'c': {'{\"filename\":\"/a\"}': '{\"position\":1}'}}", "[]"], ran.stderr
    assert not (tmp_path / "cache").exists()
