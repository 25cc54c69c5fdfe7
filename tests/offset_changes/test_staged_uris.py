"""Manifests outside the repository: accepted if they have the SHA-256 that was reviewed, an error if not."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import rows

from gitops_connect.errors import SparkFailed
from gitops_connect.model.desired import ManifestUri
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import LargeFile
from gitops_connect.offset_changes.staged_files import LocalFiles, UriRefused, opened, stage_uri
from gitops_connect.spark.file_copy import CopiedFile

pytestmark = pytest.mark.slow

PLACE = Location("orders.yaml", 9, 5)
FILES = {
    "a.jsonl": b'{"partition":{},"offset":null}\n',
    "B.json": b"[1,\n2]",
    "deep/er/c.csv": b"partition.a,offset.b\n1,2\n",
    "deep/d e.jsonl.zst": b"x",
    "deep/ü'.jsonl": b"",
    "_SUCCESS": b"",
    "deep/_old/x.jsonl": b"old",
    ".x.jsonl": b"hidden",
    "README.md": b"read me",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    directory = tmp_path / "elsewhere"
    for name, content in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


def no_spark(_uri: str, _takes: Callable[[str], bool], _directory: str) -> Sequence[CopiedFile]:
    raise AssertionError("Spark is not needed for that")


def staged(
    tmp_path: Path,
    uri: str,
    sha256: str,
    copy: Callable[..., Sequence[CopiedFile]] = no_spark,
    local: LocalFiles = LocalFiles(["*"], frozenset()),  # noqa: B008 - a value
) -> tuple[LargeFile, ...]:
    with opened(tmp_path / "store") as store:
        return stage_uri(store, ManifestUri(uri, sha256, PLACE), copy, local)


def refused(tmp_path: Path, uri: str, *others: Any, **more: Any) -> UriRefused:
    """The error of a URI that is not staged."""
    with pytest.raises(UriRefused) as caught:
        staged(tmp_path, uri, "0" * 64, *others, **more)
    return caught.value


def printed(command: str, directory: Path) -> str:
    shell = subprocess.run(["bash", "-c", command], cwd=directory, check=True, capture_output=True, text=True)
    return shell.stdout.split()[0]


@pytest.mark.parametrize(("what", "command", "names"), rows(__file__, "digests"))
def test_several_files_are_known_by_what_sha256sum_prints_for_all(
    directory: Path, tmp_path: Path, what: str, command: str, names: list[str]
) -> None:
    for root in ("file:", "file://"):
        found = staged(tmp_path, f"{root}{directory}{what}", printed(command, directory))
        assert [file.name for file in found] == [f"{root}{directory}/{name}" for name in names]
        as_it_is = [Path(file.path).read_bytes() for file in found if "jsonl" in file.name]
        assert as_it_is == [FILES[name] for name in names if "jsonl" in name]
        assert all(Path(file.path).is_file() for file in found)


@pytest.mark.parametrize("what", ["/a.jsonl", "", "/*.jsonl", "/many", "/many/*.csv", "/many/**/1*.csv"])
def test_another_content_is_not_staged_and_the_message_computes_the_digest(
    directory: Path, tmp_path: Path, what: str
) -> None:
    (directory / "many").mkdir()
    for number in range(12):
        (directory / "many" / f"{number} x.csv").write_text(str(number))
    problem = refused(tmp_path, f"file:{directory}{what}")
    assert problem.rule == "offsets/sha256"
    assert f"expected {'0' * 64}" in str(problem)
    found = printed(problem.hint.partition("from a copy, run: ")[2], directory)
    assert f" at the URI is {found}, expected" in str(problem)
    assert not [path for path in (tmp_path / "store").rglob("*") if path.name != "lock"]
    assert staged(tmp_path, f"file:{directory}{what}", found)


def test_what_is_not_there_is_named(directory: Path, tmp_path: Path) -> None:
    os.mkfifo(directory / "pipe")
    os.mkfifo(directory / "pipe.json")
    for uri, said in rows(__file__, "not_there"):
        problem = refused(tmp_path, uri.format(directory))
        assert problem.rule == "offsets/uri"
        assert said in str(problem)


def test_other_schemes_are_copied_by_spark_and_then_kept(directory: Path, tmp_path: Path) -> None:
    asked = []

    def copy(uri: str, takes: Callable[[str], bool], target: str) -> Sequence[CopiedFile]:
        asked.append(uri)
        assert takes("/orders/{x}/1.jsonl")
        assert not takes("/orders/{x}/_1.jsonl")
        copied = Path(target, "copied")
        copied.write_bytes(FILES["a.jsonl"])
        return [CopiedFile("/orders/{x}/1.jsonl", str(copied), hashlib.sha256(FILES["a.jsonl"]).hexdigest())]

    content = hashlib.sha256(FILES["a.jsonl"]).hexdigest()
    sha256 = hashlib.sha256(f"{content}  1.jsonl\n".encode()).hexdigest()
    uri = "s3a://bucket/orders/{x}/"
    first = staged(tmp_path, uri, sha256, copy)
    assert [file.name for file in first] == ["s3a://bucket/orders/{x}/1.jsonl"]
    assert asked == ["s3a://bucket/orders/\\{x\\}"]
    assert staged(tmp_path, uri, sha256) == first


def test_what_spark_cannot_copy_holds_up_nothing_else(tmp_path: Path) -> None:
    def copy(_uri: str, _takes: Callable[[str], bool], _directory: str) -> Sequence[CopiedFile]:
        raise SparkFailed("s3b://x could not be copied because Spark failed: No FileSystem for scheme s3b")

    problem = refused(tmp_path, "s3b://x/y", copy)
    assert problem.rule == "offsets/uri"
    assert "No FileSystem for scheme" in str(problem)


@pytest.mark.parametrize(
    "path",
    ["/proc/self/environ", "/proc/self/cmdline", "/sys/kernel/mm/*", "/dev/stdin", "/proc/self/root/proc/self/environ"],
)
def test_files_of_the_system_are_never_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "link.json").symlink_to(path)
    for uri in (f"file:{path}", f"file:{tmp_path}/link.json"):
        problem = refused(tmp_path, uri)
        assert problem.rule == "offsets/uri", problem
        assert "SHA-256" not in str(problem)


def test_own_files_are_never_read(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "hard.json").hardlink_to(directory / "B.json")
    (tmp_path / "soft.json").symlink_to(directory / "B.json")
    own = LocalFiles(["*"], frozenset({directory / "B.json", tmp_path / "no"}))
    for path in (directory / "B.json", tmp_path / "hard.json", tmp_path / "soft.json"):
        problem = refused(tmp_path, f"file:{path}", local=own)
        assert "belongs to gitops-connect or to the system" in str(problem)


def test_a_link_must_lead_to_an_allowed_file(directory: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out.json").symlink_to(directory / "B.json")
    (inside / "in.json").symlink_to(inside / "real.json")
    (inside / "real.json").write_bytes(FILES["B.json"])
    (tmp_path / "mounted").symlink_to(inside)
    sha256 = hashlib.sha256(FILES["B.json"]).hexdigest()
    for pattern in (f"file:{inside}/*", f"file:{inside}/*.json"):
        local = LocalFiles([pattern], frozenset())
        problem = refused(tmp_path, f"file:{inside}/out.json", local=local)
        assert "is a link to a file that [spark] uris does not allow" in str(problem)
        assert staged(tmp_path, f"file:{inside}/in.json", sha256, local=local)
    mounted = LocalFiles([f"file:{tmp_path}/mounted/*"], frozenset())
    assert staged(tmp_path, f"file:{tmp_path}/mounted/real.json", sha256, local=mounted)
