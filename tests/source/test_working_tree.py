from __future__ import annotations

import os
from pathlib import Path

import pytest
from git_parts.upstream import run_git

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.source import directory_listing
from gitops_connect.source.checkout import Source
from gitops_connect.source.working_tree import WorkingTree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "clusters" / "a").mkdir(parents=True)
    (folder / "clusters" / "a" / "x.yaml").write_text("kind: Connector\n")
    (folder / "y.json").write_bytes(b"\xff{}")
    return folder


def test_every_file_is_listed_with_the_id_that_git_would_give_it(folder: Path) -> None:
    source: Source = WorkingTree(folder)
    checkout = source.fetch()
    assert [entry.path for entry in checkout.entries] == ["clusters/a/x.yaml", "y.json"]
    assert [entry.size for entry in checkout.entries] == [16, 3]
    assert checkout.entries[1].blob_id == run_git("hash-object", str(folder / "y.json"))
    assert [blob.content for blob in checkout.blobs(checkout.entries)] == [b"kind: Connector\n", b"\xff{}"]
    assert checkout.read(checkout.entries[1]) == b"\xff{}"
    assert checkout.complete
    assert source.last_good is checkout


def test_the_revision_is_a_digest_of_what_is_there(folder: Path) -> None:
    source = WorkingTree(folder)
    first = source.fetch().revision
    assert first.startswith("worktree-")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("x")
    assert WorkingTree(folder).fetch().revision == first
    (folder / "y.json").write_bytes(b"{}")
    second = source.fetch().revision
    (folder / "y.json").rename(folder / "z.json")
    assert len({first, second, source.fetch().revision}) == 3


def test_of_a_long_file_only_as_much_is_read_as_is_asked_for(folder: Path) -> None:
    checkout = WorkingTree(folder).fetch()
    assert [blob.content for blob in checkout.blobs(checkout.entries, at_most=4)] == [b"kind", b"\xff{}"]


def test_a_file_that_changes_meanwhile_is_not_given_out(folder: Path) -> None:
    checkout = WorkingTree(folder).fetch()
    (folder / "y.json").write_bytes(b"other")
    with pytest.raises(SourceUnavailable, match=r"'y\.json' changed"):
        checkout.read(checkout.entries[1])
    (folder / "y.json").unlink()
    with pytest.raises(SourceUnavailable, match=r"'y\.json' changed"):
        checkout.read(checkout.entries[1])
    os.mkfifo(folder / "y.json")
    with pytest.raises(SourceUnavailable, match=r"'y\.json' changed"):
        checkout.read(checkout.entries[1])


def test_links_stay_inside_and_pipes_are_not_opened(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("s3cret")
    (folder / "in.yaml").symlink_to("clusters/a/x.yaml")
    (folder / "out.yaml").symlink_to("../secret.yaml")
    os.mkfifo(folder / "pipe.yaml")
    checkout = WorkingTree(folder).fetch()
    assert checkout.read(checkout.entries[1]) == b"kind: Connector\n"
    assert [(item.rule, item.location.file) for item in checkout.diagnostics] == [
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


def test_a_name_in_no_encoding_is_refused_by_name(folder: Path) -> None:
    (folder / os.fsdecode(b"\xff.yaml")).touch()
    assert [item.rule for item in WorkingTree(folder).fetch().diagnostics] == ["source/file-name"]


def test_no_folder_is_a_mistake_in_the_command(folder: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        WorkingTree(folder / "none").fetch()
    with pytest.raises(UsageError, match="is a file"):
        WorkingTree(folder / "y.json").fetch()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    (folder / "y.json").chmod(0)
    with pytest.raises(SourceRefused, match=r"cannot read the file 'y\.json'"):
        WorkingTree(folder).fetch()


def test_a_file_of_any_size_comes_piece_by_piece(folder: Path) -> None:
    content = os.urandom(3_000_000)
    (folder / "z.jsonl").write_bytes(content)
    checkout = WorkingTree(folder).fetch()
    pieces = list(checkout.stream(checkout.entries[-1]))
    assert b"".join(pieces) == content
    assert len(pieces) > 1
    (folder / "empty").write_bytes(b"")
    checkout = WorkingTree(folder).fetch()
    assert list(checkout.stream(next(entry for entry in checkout.entries if entry.path == "empty"))) == []


def test_a_file_that_has_changed_does_not_come_to_its_end(folder: Path) -> None:
    checkout = WorkingTree(folder).fetch()
    (folder / "y.json").write_bytes(b"\xff{!")
    with pytest.raises(SourceUnavailable, match="changed while"):
        list(checkout.stream(checkout.entries[1]))
    (folder / "y.json").unlink()
    with pytest.raises(SourceUnavailable, match="changed while"):
        list(checkout.stream(checkout.entries[1]))


@pytest.mark.parametrize("name", ["disk.img", "offsets.jsonl", "a.yaml"])
def test_a_huge_file_is_not_opened(folder: Path, name: str) -> None:
    """A sparse file takes no room on the disk, and an hour to read."""
    with (folder / name).open("wb") as file:
        os.truncate(file.fileno(), 200 * 1024**3)
    checkout = WorkingTree(folder).fetch()
    assert [entry.path for entry in checkout.entries] == ["clusters/a/x.yaml", "y.json"]
    (problem,) = checkout.diagnostics
    assert (problem.location.file, problem.rule) == (name, "source/file-too-large")
    assert "larger than 4 GiB" in problem.summary


def test_directories_count_towards_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_listing, "MOST_FILES", 3)
    with pytest.raises(SourceRefused, match="more than 3 files and directories"):
        WorkingTree(folder).fetch()
