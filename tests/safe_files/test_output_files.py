"""Links in the directory of an output are refused, also one that appears while the program writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from offset_changes.test_listed_offsets import LISTING, OFFSETS

from gitops_connect.cli.main import run_command
from gitops_connect.errors import UsageError
from gitops_connect.offset_changes.strimzi_requests import write_to_directory
from gitops_connect.safe_files import output_directory, write_new

CONNECTOR = '{"name": "orders", "config": {"connector.class": "x.Source", "tasks.max": "1"}}'
LINKS = ["out/clusters", "out/clusters/a", "out/clusters/a/orders.yaml", "out/clusters/a/.orders.yaml.partial"]


@pytest.fixture
def aside(tmp_path: Path) -> Path:
    """A directory with a file, to which nothing may be written."""
    directory = tmp_path / "aside"
    directory.mkdir()
    (directory / "file").write_text("unchanged")
    return directory


def link(path: Path, aside: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(aside / "file" if path.suffix else aside)


def content(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.parametrize("place", LINKS)
def test_convert_follows_no_link(tmp_path: Path, aside: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.json").write_text(CONNECTOR)
    link(tmp_path / place, aside)
    arguments = ["convert", "orders.json", "--cluster", "a", "--out", "out", "--force"]
    code = run_command(["--chdir", str(tmp_path), *arguments])
    is_left_over = place.endswith(".partial")
    assert ("is a symbolic link, which is not followed" in capsys.readouterr().err) is not is_left_over
    assert code == (0 if is_left_over else 64), "a file that a killed process has left is removed"
    assert content(aside) == {"file": "unchanged"}


@pytest.mark.parametrize("place", ["out/kafka", "out/kafka/found.yaml", "out/kafka/.found.yaml.partial"])
def test_listed_offsets_follow_no_link(tmp_path: Path, aside: Path, place: str) -> None:
    link(tmp_path / place, aside)
    if place.endswith(".partial"):
        write_to_directory(tmp_path / "out", LISTING, OFFSETS)
    else:
        with pytest.raises(UsageError, match="is a symbolic link, which is not followed"):
            write_to_directory(tmp_path / "out", LISTING, OFFSETS)
    assert content(aside) == {"file": "unchanged"}


def test_a_link_that_appears_while_a_file_is_written(tmp_path: Path, aside: Path) -> None:
    out = tmp_path / "out" / "a"

    def chunks() -> Iterator[bytes]:
        yield b"new"
        (tmp_path / "out" / "a").rename(tmp_path / "moved")
        out.symlink_to(aside)

    with output_directory(tmp_path / "out", out) as directory:
        directory.replace("file", chunks())
    assert content(aside) == {"file": "unchanged"}
    assert content(tmp_path / "moved") == {"file": "new"}


def test_a_named_file_may_be_below_a_link_but_be_no_link(tmp_path: Path, aside: Path) -> None:
    (tmp_path / "link").symlink_to(aside)
    write_new(tmp_path / "link" / "new", "text", force=False)
    assert content(aside) == {"file": "unchanged", "new": "text"}
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError, match="exists already"):
        write_new(tmp_path / "dangling", "text", force=False)
    with pytest.raises(UsageError, match="is a symbolic link, which is not followed; remove the link"):
        write_new(tmp_path / "dangling", "text", force=True)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    os.mkfifo(tmp_path / "kafka" / "found.yaml")
    with pytest.raises(UsageError, match="is not a regular file"):
        write_to_directory(tmp_path, LISTING, OFFSETS)
