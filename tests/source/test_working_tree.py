from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git.upstream import run_git

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.model.documents import Entry
from gitops_connect.source import directory_listing
from gitops_connect.source.checkout import Checkout, Source
from gitops_connect.source.working_tree import WorkingTree


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    directory = tmp_path / "repo"
    (directory / "clusters" / "a").mkdir(parents=True)
    (directory / "clusters" / "a" / "x.yaml").write_text("kind: Connector\n")
    (directory / "y.json").write_bytes(b"\xff{}")
    return directory


def test_every_file_is_listed_with_the_id_that_git_would_give_it(directory: Path) -> None:
    source: Source = WorkingTree(directory)
    checkout = source.fetch()
    assert [entry.path for entry in checkout.entries] == ["clusters/a/x.yaml", "y.json"]
    assert [entry.size for entry in checkout.entries] == [16, 3]
    assert checkout.entries[1].blob_id == run_git("hash-object", str(directory / "y.json"))
    assert [blob.content for blob in checkout.blobs(checkout.entries)] == [b"kind: Connector\n", b"\xff{}"]
    assert [blob.content for blob in checkout.blobs(checkout.entries, at_most=4)] == [b"kind", b"\xff{}"]
    assert checkout.read(checkout.entries[1]) == b"\xff{}"
    assert checkout.complete
    assert source.last_good is checkout


def test_the_revision_is_a_digest_of_what_is_there(directory: Path) -> None:
    source = WorkingTree(directory)
    first = source.fetch().revision
    assert first.startswith("worktree-")
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").write_text("x")
    assert WorkingTree(directory).fetch().revision == first
    (directory / "y.json").write_bytes(b"{}")
    second = source.fetch().revision
    (directory / "y.json").rename(directory / "z.json")
    assert len({first, second, source.fetch().revision}) == 3


@pytest.mark.parametrize("read", [Checkout.read, lambda checkout, entry: list(checkout.stream(entry))])
def test_a_file_that_changes_meanwhile_is_not_given_out(
    directory: Path, read: Callable[[Checkout, Entry], object]
) -> None:
    checkout, file = WorkingTree(directory).fetch(), directory / "y.json"
    for change in (lambda: file.write_bytes(b"\xff{!"), file.unlink, lambda: os.mkfifo(file)):
        change()
        with pytest.raises(SourceUnavailable, match=r"'y\.json' changed while"):
            read(checkout, checkout.entries[1])


def test_links_stay_inside_and_pipes_and_odd_names_are_not_opened(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("s3cret")
    (directory / "in.yaml").symlink_to("clusters/a/x.yaml")
    (directory / "out.yaml").symlink_to("../secret.yaml")
    os.mkfifo(directory / "pipe.yaml")
    (directory / os.fsdecode(b"\xff.yaml")).touch()
    checkout = WorkingTree(directory).fetch()
    assert checkout.read(checkout.entries[1]) == b"kind: Connector\n"
    assert [(item.rule, item.location.file) for item in checkout.diagnostics] == [
        ("source/file-name", "\\xff.yaml"),
        ("source/link-out-of-tree", "out.yaml"),
        ("source/special-file", "pipe.yaml"),
    ]
    assert not checkout.complete


def test_a_mounted_config_map_is_read(tmp_path: Path) -> None:
    (tmp_path / "..2026_11_21").mkdir()
    (tmp_path / "..2026_11_21" / "x.yaml").write_text("a: 1\n")
    (tmp_path / "..data").symlink_to("..2026_11_21")
    (tmp_path / "x.yaml").symlink_to("..data/x.yaml")
    checkout = WorkingTree(tmp_path).fetch()
    assert [(entry.path, checkout.read(entry)) for entry in checkout.entries] == [("x.yaml", b"a: 1\n")]
    assert checkout.complete


def test_no_directory_is_a_mistake_in_the_command(directory: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        WorkingTree(directory / "none").fetch()
    with pytest.raises(UsageError, match="is a file"):
        WorkingTree(directory / "y.json").fetch()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(directory: Path) -> None:
    (directory / "y.json").chmod(0)
    with pytest.raises(SourceRefused, match=r"cannot read the file 'y\.json'"):
        WorkingTree(directory).fetch()


def test_a_file_of_any_size_comes_piece_by_piece(directory: Path) -> None:
    content = os.urandom(3_000_000)
    (directory / "z.jsonl").write_bytes(content)
    checkout = WorkingTree(directory).fetch()
    pieces = list(checkout.stream(checkout.entries[-1]))
    assert b"".join(pieces) == content
    assert len(pieces) > 1
    (directory / "empty").write_bytes(b"")
    checkout = WorkingTree(directory).fetch()
    assert list(checkout.stream(next(entry for entry in checkout.entries if entry.path == "empty"))) == []


@pytest.mark.parametrize("name", ["disk.img", "offsets.jsonl", "a.yaml"])
def test_a_huge_file_is_not_opened(directory: Path, name: str) -> None:
    """A sparse file takes no space on the disk, but an hour to read."""
    with (directory / name).open("wb") as file:
        os.truncate(file.fileno(), 200 * 1024**3)
    checkout = WorkingTree(directory).fetch()
    assert [entry.path for entry in checkout.entries] == ["clusters/a/x.yaml", "y.json"]
    (problem,) = checkout.diagnostics
    assert (problem.location.file, problem.rule) == (name, "source/file-too-large")
    assert "larger than 4 GiB" in problem.summary


def test_directories_count_towards_the_limit(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_listing, "MOST_FILES", 3)
    with pytest.raises(SourceRefused, match="more than 3 files and directories"):
        WorkingTree(directory).fetch()
