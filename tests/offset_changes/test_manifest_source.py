"""Sources of manifests: a small one is read from any allowed source, and one from another source never is."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.files.tables import rows
from support.planner.situations import change

from gitops_connect.errors import SparkUnusable
from gitops_connect.model.desired import ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import LargeFile, Manifest
from gitops_connect.offset_changes.manifest_source import ManifestSource, workspace
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.spark.session import SharedSession

Found = Manifest | tuple[LargeFile, ...] | Diagnostic | None
HERE = Location("clusters/local/x.yaml", 7, 5)
ENTRIES = [{"partition": {"filename": f"/{n}"}, "offset": {"position": n}} for n in range(3)]


def supply(tmp_path: Path, *uris: str) -> ManifestSource:
    (tmp_path / "repo").mkdir(exist_ok=True)
    sessions = SharedSession(SparkSettings(uris=uris), {}, tmp_path / "cache")
    return ManifestSource(WorkingTree(tmp_path / "repo").fetch(), sessions, lambda text: None, frozenset())


def at_uri(tmp_path: Path, uri: str, content: bytes, *allowed: str) -> Found:
    named = ManifestUri(uri, hashlib.sha256(content).hexdigest(), HERE)
    return supply(tmp_path, *allowed).manifest(replace(change("c", "a"), manifest=named))


def read(found: Found) -> Manifest:
    assert isinstance(found, Manifest), found
    return found


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("x.jsonl", "\n".join(map(json.dumps, ENTRIES)), [(1, 1), (2, 1), (3, 1)]),
        ("x.json", json.dumps({"offsets": ENTRIES}, indent=1), [(3, 3), (11, 3), (19, 3)]),
        ("x.csv", "partition.filename,offset.position\n/0,0\n/1,1\n/2,2\n", [(2, 1), (3, 1), (4, 1)]),
    ],
)
def test_a_small_one_elsewhere_is_read_here(
    tmp_path: Path, name: str, text: str, places: list[tuple[int, int]]
) -> None:
    (tmp_path / name).write_text(text)
    found = read(at_uri(tmp_path, f"file:{tmp_path}/{name}", text.encode(), f"file:{tmp_path}/*"))
    assert [entry.value for entry in found.entries] == ENTRIES
    assert [(one.location.line, one.location.column) for one in found.entries] == places
    assert not found.faults


def test_faults_have_their_places(tmp_path: Path) -> None:
    text = '{"offsets": [\n{"partition": {"a": 1, "a": 2}, "offset": null}\n], "more": 1}'
    (tmp_path / "x.json").write_text(text)
    found = read(at_uri(tmp_path, f"file:{tmp_path}/x.json", text.encode(), "file:*"))
    parsed = manifest_parser.parse(Blob("x.json", "", text.encode()))
    assert {(one.rule, one.found, one.location.line) for one in found.faults} == {
        (one.rule, one.found, one.location.line) for one in parsed.faults
    }


@pytest.mark.parametrize(("uri", "allowed"), rows(__file__, "not_allowed"))
def test_what_the_settings_do_not_allow_is_not_looked_at(tmp_path: Path, uri: str, allowed: list[str]) -> None:
    (tmp_path / "x.jsonl").write_text("secret")
    found = at_uri(tmp_path, uri.format(tmp_path), b"", *(one.format(tmp_path) for one in allowed))
    assert isinstance(found, Diagnostic)
    assert found.summary.startswith("the settings do not allow reading ")
    assert found.location == HERE
    assert not (tmp_path / "cache").exists()


def test_another_content_than_the_reviewed_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}")
    found = at_uri(tmp_path, f"file://{tmp_path}/x.jsonl", b"other", "file:*")
    assert isinstance(found, Diagnostic)
    assert hashlib.sha256(b"{}").hexdigest() in found.summary
    assert (found.rule, found.location, found.connector) == ("offsets/sha256", HERE, "a")


@pytest.mark.slow
def test_files_of_the_repository_and_elsewhere_are_read_or_staged_by_their_size(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "a.jsonl").write_text(json.dumps(ENTRIES[0]))
    (repo / "b.jsonl").write_text(json.dumps(ENTRIES[1]))
    (repo / "c.jsonl").write_text((json.dumps(ENTRIES[2]) + "\n") * 300_000)
    known = supply(tmp_path)
    entries = {entry.path: entry for entry in known.checkout.entries}
    small = ManifestFile((entries["a.jsonl"], entries["b.jsonl"]), HERE)
    found = read(known.manifest(replace(change("c", "a"), manifest=small)))
    assert [(one.value, one.location.file) for one in found.entries] == [
        (ENTRIES[0], "a.jsonl"),
        (ENTRIES[1], "b.jsonl"),
    ]
    both = ManifestFile((entries["a.jsonl"], entries["c.jsonl"]), HERE)
    large = known.manifest(replace(change("c", "a"), manifest=both))
    assert isinstance(large, tuple)
    assert all(isinstance(file, LargeFile) for file in large)
    assert [file.name for file in large] == ["a.jsonl", "c.jsonl"]
    content = (repo / "c.jsonl").read_bytes()
    elsewhere = at_uri(tmp_path, f"file:{repo}/c.jsonl", content, "file:*")
    assert isinstance(elsewhere, tuple)
    assert [Path(file.path).stat().st_size for file in elsewhere] == [len(content)]


SMALL = """
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
    command, tests = [sys.executable, "-c", SMALL, str(tmp_path)], {"PYTHONPATH": f"{Path(__file__).parents[1]}"}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=tests)
    assert ran.stdout.splitlines() == ["{'c': {'{\"filename\":\"/a\"}': '{\"position\":1}'}}", "[]"], ran.stderr
    assert not (tmp_path / "cache").exists()


KILLED = """
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


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed(tmp_path: Path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert [one.name for directory in tmp_path.iterdir() for one in directory.iterdir()] == ["live.jsonl"]
    with workspace(tmp_path):
        assert not list(tmp_path.iterdir())


def test_a_disk_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = r"cannot be written to .*file.*check \[spark\] directory"
    with pytest.raises(SparkUnusable, match=said), workspace(tmp_path / "file") as directory:
        directory.mkdir()


def test_a_full_disk_of_files_for_spark_is_named(tmp_path: Path) -> None:
    said = rf"check \[spark\] directory: no space left on {tmp_path} \(\d+ bytes free\)"
    with (
        pytest.raises(SparkUnusable, match=said),
        workspace(tmp_path),
        Path("/dev/full").open("wb", buffering=0) as full,
    ):
        full.write(b"x")


def test_without_pyspark_a_large_manifest_is_an_error_before_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo").mkdir()
    with (tmp_path / "repo" / "offsets.jsonl").open("wb") as file:
        file.truncate(manifest_parser.MAX_SIZE + 1)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    source = supply(tmp_path)
    named = ManifestFile(source.checkout.entries, HERE)
    found = source.manifest(replace(change("c", "a"), manifest=named))
    assert isinstance(found, Diagnostic)
    assert (found.rule, found.connector) == ("offsets/spark", "a")
    assert "needs pyspark: run pip install 'gitops-connect[spark]'" in found.summary
    assert not (tmp_path / "cache").exists()
