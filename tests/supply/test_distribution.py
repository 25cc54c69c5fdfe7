"""What users install: the files of a release, each in an empty environment, and what they can do there."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from release import build

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]

LARGEST_LEAN = 60_000_000
"""Bytes of the lean installation, without the bytecode that Python writes."""
DOCUMENT = """apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: mirror, cluster: local}
spec:
  class: org.apache.kafka.connect.mirror.MirrorSourceConnector
  config: {source.cluster.alias: east, target.cluster.alias: west, topics: orders}
"""
ENTRIES = 210_000
CHECK = ("offsets", "check", "large.jsonl.gz", "--connector", "mirror", "--directory", "repository", "--offline")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a document and a large manifest."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "mirror.yaml").write_text(DOCUMENT)
    with gzip.open(tmp_path / "large.jsonl.gz", "wt") as file:
        for number in range(ENTRIES):
            partition = f'{{"cluster": "east", "topic": "orders", "partition": {number}}}'
            file.write(f'{{"partition": {partition}, "offset": {{"offset": {number}}}}}\n')
    return tmp_path


class Installed:
    """An environment with one wheel, as a user makes it."""

    def __init__(self, wheel: Path, directory: Path) -> None:
        self.directory = directory
        environment = directory / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        before = size(environment)
        pip = [environment / "bin" / "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, wheel], check=True)
        self.size = size(environment) - before

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = self.directory / "environment" / "bin" / "gitops-connect"
        own = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [program, *arguments], cwd=self.directory, env=own, capture_output=True, text=True, check=False
        )

    def works(self) -> None:
        assert self.run("--version").stdout.startswith("gitops-connect ")
        assert self.run("validate", "repository").returncode == 0
        assert "Kafka" in self.run("sandbox", "--help").stdout


def size(directory: Path) -> int:
    return sum(one.lstat().st_size for one in directory.rglob("*") if one.suffix != ".pyc" and not one.is_symlink())


def test_two_builds_are_equal(built: list[Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert [one.name for one in again] == [one.name for one in built]
    assert len(built) == 3
    assert [one.name for one, other in zip(built, again, strict=True) if one.read_bytes() != other.read_bytes()] == []


def test_the_default_installation_checks_a_large_manifest_on_spark(built: list[Path], work: Path) -> None:
    installed = Installed(
        next(one for one in built if one.name.startswith("gitops_connect-") and "whl" in one.name), work
    )
    installed.works()
    checked = installed.run(*CHECK)
    assert checked.returncode == 0, checked.stderr
    assert f"{ENTRIES:,} entries" in checked.stdout
    print("bytes of the default installation:", installed.size)


def test_the_lean_installation_is_small_and_names_the_command_for_spark(built: list[Path], work: Path) -> None:
    installed = Installed(next(one for one in built if one.name.startswith("gitops_connect_lean")), work)
    installed.works()
    assert installed.size < LARGEST_LEAN
    checked = installed.run(*CHECK)
    assert checked.returncode == 64
    assert "run pip install 'gitops-connect-lean[spark]'" in checked.stderr
    print("bytes of the lean installation:", installed.size)
