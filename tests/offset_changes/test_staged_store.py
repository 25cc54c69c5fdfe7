from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_connect.model.documents import Entry
from gitops_connect.offset_changes.staged_files import KEPT_FOR, blob_key, opened, remove_unused

ENTRY = Entry("offsets/a.json", "ab12", 6)


def never() -> Iterator[bytes]:
    raise AssertionError("what is kept is not asked for again")
    yield b""


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.is_dir())


def test_what_was_staged_is_kept_with_its_places_and_faults(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        first = store.blob(ENTRY, [b"[1,\n", b" 2 3]"])
        again = store.blob(Entry("moved/b.json", "ab12", 6), never())
    assert [(one.rule, one.line, one.column) for one in first.faults] == [("manifest/syntax", 2, 4)]
    assert Path(first.path).read_text() == "1\n2\n"
    assert (again.path, again.places, again.faults) == (first.path, first.places, first.faults)
    assert again.name == "moved/b.json"


def test_the_same_content_under_another_suffix_is_another_thing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        body = store.blob(ENTRY, [b"[1]"])
        lines = store.blob(Entry("a.jsonl", "ab12", 6), [b"[1]"])
    assert Path(body.path).read_bytes() == b"1\n"
    assert Path(lines.path).read_bytes() == b"[1]"


def test_what_does_not_come_to_its_end_is_not_kept(tmp_path: Path) -> None:
    def cut_off() -> Iterator[bytes]:
        yield b"[1,"
        raise ConnectionError

    with opened(tmp_path) as store:
        with pytest.raises(ConnectionError):
            store.blob(ENTRY, cut_off())
        assert names(tmp_path) == []
        assert store.blob(ENTRY, [b"[1]"]).faults == ()


def test_what_was_not_used_for_long_is_removed(tmp_path: Path) -> None:
    other = Entry("b.csv.gz", "cd34", 1)
    with opened(tmp_path) as store:
        store.blob(ENTRY, [b"[1]"])
        store.blob(other, [b""])
        (tmp_path / "left.partial").mkdir()
        for name in names(tmp_path):
            os.utime(tmp_path / name, (0, time.time() - KEPT_FOR - 60))
        remove_unused(tmp_path)
        assert len(names(tmp_path)) == 3
        assert store.kept(blob_key(other))
    remove_unused(tmp_path)
    assert names(tmp_path) == [blob_key(other)]


def test_two_that_stage_the_same_at_the_same_time_have_the_same(tmp_path: Path) -> None:
    both = threading.Barrier(2)
    found = []

    def chunks() -> Iterator[bytes]:
        yield b"[1"
        both.wait()
        yield b"]"

    def work() -> None:
        with opened(tmp_path) as store:
            found.append(store.blob(ENTRY, chunks()))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert names(tmp_path) == [blob_key(ENTRY)]
