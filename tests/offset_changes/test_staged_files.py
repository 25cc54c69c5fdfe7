"""Staged files are compared with the small engine's reader: the same entries, positions and messages."""

from __future__ import annotations

import gzip
import json
import os
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows
from support.spark.large_engine import PACK

from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import LargeFile
from gitops_connect.offset_changes.staged_files import KEPT_FOR, blob_key, opened, remove_unused, stage
from gitops_connect.offsets.formats.content import MAX_COUNTED
from gitops_connect.offsets.formats.manifest_parser import parse, read_lines

pytestmark = pytest.mark.slow

BODY = b"""\xef\xbb\xbf{"offsets": [\r
  {"partition": {"f": "\xc3\xa9 {}[],\\"x"}, "offset": {"position": 20, "t": [1.50, -0, null, true]}},\r
  {"partition": {"f": "b"}, "offset": {"position": NaN, "position": 1e400}}, 5, [[]],
  {"partition": {"a": "\\ud800"}}], "more": {"x": 1, "x": 2}}
"""
TABLE = b"""partition.topic,partition.n,offset.position
orders,0,1500\r
"a ""b""
c",1,
007,0,1e400
"\"\"\"7\"\"\"",1,12,13

x,2,"{""a"": 1}"
"""
YAML = b"""# by hand
offsets:
  - {partition: {f: a}, offset: {position: 0777}}
  - partition: {f: b, f: c}
    offset: null
  - [1, .inf]
"""


def cut(content: bytes, size: int = 1000) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


def staged(name: str, content: bytes, directory: Path) -> LargeFile:
    directory.mkdir(parents=True)
    return stage(name, cut(content), directory)


def read(file: LargeFile) -> tuple[list[Any], list[Any]]:
    """Read it as the engine on Spark does: entries and faults, each with its position in the original file."""
    assert file.places is not None
    content = Path(file.path).read_bytes()
    places = list(struct.iter_unpack("<II", Path(file.places).read_bytes()))
    assert content.count(b"\n") == len(places)
    assert not content or content.endswith(b"\n")
    lines = read_lines(content.decode())
    entries = [(repr(value), places[line - 1]) for value, line, _ in lines.entries]
    faults = [(one.rule, one.found, places[one.line - 1]) for one in lines.faults]
    return entries, [*faults, *((one.rule, one.found, (one.line, one.column)) for one in file.faults)]


def by_small(name: str, content: bytes) -> tuple[list[Any], list[Any]]:
    manifest = parse(Blob(name, "", content))
    entries = [(repr(one.value), (one.location.line, one.location.column)) for one in manifest.entries]
    faults = [(one.rule, one.found, (one.location.line, one.location.column)) for one in manifest.faults]
    return entries, [one for one in faults if one[0] != "manifest/empty"]


def hold(name: str, content: bytes, directory: Path) -> None:
    entries, faults = read(staged(name, content, directory))
    expected, expected_faults = by_small(name, content)
    assert sorted(faults) == sorted(expected_faults)
    if {"manifest/encoding", "manifest/compression"}.isdisjoint(one[0] for one in faults) or expected:
        assert entries == expected
    else:
        assert entries == []


CONTENTS = [
    *((name, content.encode("latin-1")) for name, content in rows(__file__, "contents")),
    *(("a.json", content) for content in (BODY, BODY + b"x", BODY[:-20], gzip.compress(BODY), b"[" * 100_000)),
    ("a.json", json.dumps([{"partition": {"a": number}, "offset": None} for number in range(3)], indent=2).encode()),
    ("a.json", b"[1, " + b"[" * 60 + b"]" * 60 + b", 2]"),
    ("a.json", b"[" + b"9" * 5000 + b", " + b"9" * 401 + b"]"),
    ("a.json", '{"offsets": []}'.encode("utf-16")),
    *(("a.csv", content) for content in (TABLE, TABLE[:-3])),
    ("a.csv", b"partition.a,offset.b\n" + b"x" * 200_000 + b",1\n"),
    ("a.csv", "partition.é\u2028,offset.b\nü\u2028\x0b,5".encode()),
    ("a.yaml", YAML),
]


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize(("name", "content"), CONTENTS)
def test_the_same_as_the_small_reader(name: str, content: bytes, packing: str, tmp_path: Path) -> None:
    hold(name + packing, PACK[packing](content), tmp_path / "x")


@pytest.mark.parametrize("name", ["a.json.gz", "a.json.zst", "a.csv.gz", "a.csv.zst", "a.yaml.gz"])
def test_compressed_content_that_is_cut_off_is_nothing(name: str, tmp_path: Path) -> None:
    content = PACK[name[name.rfind(".") :]]({"j": BODY, "c": TABLE, "y": YAML}[name[2]] * 50)
    for length in (0, 1, 10, len(content) // 2, len(content) - 1):
        hold(name, content[:length], tmp_path / str(length))
    hold(name, content + b"x", tmp_path / "behind")


@given(kind=st.sampled_from([("a.json", BODY), ("a.csv", TABLE), ("a.yaml", YAML)]), data=st.data())
def test_whatever_is_wrong_in_the_file_both_readers_say_the_same(
    kind: tuple[str, bytes], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name, content = kind
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 5, 100]))
        text = st.sampled_from(
            [b"", b'"', b"{", b"]", b",", b"\n", b"\r\n", b"\\", b"\0", b"\xff", b"\xc3\xa9", b"x", b"1"]
        )
        content = content[:at] + data.draw(text) + content[at + length :]
    hold(name, content, tmp_path_factory.mktemp("x") / "x")


def test_faults_without_end_are_not_all_kept(tmp_path: Path) -> None:
    file = staged("a.csv", b"partition.a,offset.b\n" + b"1\n" * 3000, tmp_path / "x")
    assert len(file.faults) == MAX_COUNTED + 1


@pytest.mark.parametrize("name", ["o/a.jsonl", "o/A.NDJSON.GZ", "b.jsonl.zst", "c.parquet"])
def test_what_spark_reads_is_staged_as_it_is(name: str, tmp_path: Path) -> None:
    content = b"anything \xff\0" * 500
    file = staged(name, content, tmp_path / "x")
    assert (file.name, file.places, file.faults) == (name, None, ())
    assert Path(file.path).read_bytes() == content
    assert Path(file.path).name == f"content{name[name.index('.') :].lower()}"


@pytest.mark.parametrize(
    ("name", "rule", "found"),
    [
        ("a.txt", "manifest/format", "the suffix of its name is '.txt', expected one of .json"),
        ("a.parquet.gz", "manifest/format", "it is Parquet in .gz"),
    ],
)
def test_what_is_no_manifest_by_its_name(name: str, rule: str, found: str, tmp_path: Path) -> None:
    file = staged(name, b"x", tmp_path / "x")
    (fault,) = file.faults
    assert fault.rule == rule
    assert fault.found.startswith(found)
    assert Path(file.path).read_bytes() == b""


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"- 12345678\n" * 1_600_000, b"- 1\n" * 100_001])
def test_yaml_is_for_what_is_written_by_hand(content: bytes, tmp_path: Path) -> None:
    (fault,) = staged("a.yaml", content, tmp_path / "x").faults
    assert fault.rule == "manifest/too-large"
    assert fault.found.endswith("use JSON Lines, which has no size limit")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", b'[1, "' + b"x" * (17 << 20) + b'"]'), ("a.csv", b"partition.a,offset.b\n1,2\n" + b"x" * (17 << 20))],
)
def test_an_entry_longer_than_any_is_refused_by_name(name: str, content: bytes, tmp_path: Path) -> None:
    file = staged(name, content, tmp_path / "x")
    (fault,) = file.faults
    assert fault.rule == "manifest/too-large"
    assert "more than 16 MiB" in fault.found
    assert Path(file.path).read_bytes().count(b"\n") == 1


def test_one_row_over_lines_without_end_is_refused(tmp_path: Path) -> None:
    row = b",".join([b'"' + (b"x" * 999 + b"\n") * 100 + b'"'] * 200)
    (fault,) = staged("a.csv", b"partition.a,offset.b\n" + row, tmp_path / "x").faults
    assert (fault.rule, fault.line) == ("manifest/too-large", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head", "entry"),
    [
        ("a.json", b"[", b'{"partition":{"f":"' + b"x" * 1000 + b'%d"},"offset":null},'),
        ("a.csv", b"partition.a,offset.b\n", b"x" * 1000 + b"%d,5\n"),
    ],
)
def test_the_memory_is_flat(name: str, head: bytes, entry: bytes, tmp_path: Path) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield head
        for start in range(0, count, 100):
            yield b"".join(entry % number for number in range(start, start + 100))
        yield b"5]" if name == "a.json" else b""

    peaks = []
    for count in (4000, 16_000):
        directory = tmp_path / str(count)
        directory.mkdir()
        tracemalloc.start()
        file = stage(name, chunks(count), directory)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert Path(file.path).read_bytes().count(b"\n") == count + (name == "a.json")
    assert peaks[1] < 1.5 * peaks[0]


# Staged files are kept for later reconciliations.

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

    def chunks() -> Iterator[bytes]:
        yield b"[1"
        both.wait()
        yield b"]"

    def work(_: int) -> LargeFile:
        with opened(tmp_path) as store:
            return store.blob(ENTRY, chunks())

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, range(2))
    assert first == second
    assert names(tmp_path) == [blob_key(ENTRY)]
