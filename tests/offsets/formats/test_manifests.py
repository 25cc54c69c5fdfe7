"""Parsing of manifests: every format, compressed or not, gives the same entries with their lines, or faults."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import yaml
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows, table

from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.content import MAX_COUNTED
from gitops_connect.offsets.formats.manifest_parser import MAX_SIZE, parse

COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}
GOOD = '{"partition": {"filename": "a"}, "offset": {"position": 1}}'
ENTRY = {"partition": {"filename": "a"}, "offset": {"position": 1}}


def manifest(name: str, content: str | bytes) -> Manifest:
    return parse(Blob(f"offsets/{name}", "0", content.encode() if isinstance(content, str) else content))


def entries(name: str, content: str | bytes) -> list[tuple[int, Any]]:
    found = manifest(name, content)
    assert not found.faults, found.faults
    assert {entry.location.file for entry in found.entries} <= {f"offsets/{name}"}
    return [(entry.location.line, entry.value) for entry in found.entries]


def fault(name: str, content: str | bytes) -> tuple[str, str, int, int]:
    (found,) = manifest(name, content).faults
    assert found.location.file == f"offsets/{name}"
    return found.rule, found.found, found.location.line, found.location.column


def as_json(values: Sequence[Any]) -> str:
    return '{"offsets": [\n' + ",\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "\n]}"


def as_list(values: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(map(json.dumps, values)) + "\n]\n"


def as_lines(values: Sequence[Any]) -> str:
    return "\n\r\n".join(json.dumps(value, ensure_ascii=False) for value in values)


class Quoting(yaml.SafeDumper):
    """Writes every string in quotes: PyYAML writes YAML 1.1, in which `1e5` without quotes is a string."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def as_yaml(values: Sequence[Any]) -> str:
    return "offsets:\n" + "".join(
        "- " + yaml.dump(value, Dumper=Quoting, default_flow_style=True, width=10**9) for value in values
    )


def as_csv(values: Sequence[Any]) -> str:
    columns = sorted({(part, field) for value in values for part in value for field in value[part] or ()})
    columns += [("offset", "unused")] if not any(part == "offset" for part, _ in columns) else []
    rows = [
        [json.dumps((value[part] or {})[field]) if field in (value[part] or {}) else "" for part, field in columns]
        for value in values
    ]
    lines: list[str] = []

    class Sink:
        def write(self, line: str) -> None:
            lines.append(line)

    csv.writer(Sink()).writerows([[".".join(column) for column in columns], *rows])
    return "".join(lines)


FORMATS: Mapping[str, tuple[Callable[[Sequence[Any]], str], Callable[[int], int]]] = {
    "a.json": (as_json, lambda index: 2 + index),
    "b.json": (as_list, lambda index: 2 + index),
    "a.jsonl": (as_lines, lambda index: 1 + 2 * index),
    "a.ndjson": (as_lines, lambda index: 1 + 2 * index),
    "a.yaml": (as_yaml, lambda index: 2 + index),
    "a.yml": (as_yaml, lambda index: 2 + index),
    "a.csv": (as_csv, lambda index: 2 + index),
}

_NAMES = st.text("abcxyz_.-é\U0001f600", min_size=1, max_size=5)
_TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85\ufeff"), max_size=8
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
    | st.sampled_from(["007", "7", "1e3", "true", "null", '"', "NaN", " 5", "-", "a,b", "2026-11-21", "{}", "[1]"])
)
_PARTS = st.dictionaries(_NAMES, _SCALARS, min_size=1, max_size=3)
_ENTRIES = st.lists(st.fixed_dictionaries({"partition": _PARTS, "offset": st.none() | _PARTS}), min_size=1, max_size=5)


def typed(value: Any) -> Any:
    """The value with its type, because 1, 1.0 and True are equal in Python."""
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    return (type(value), value)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@given(compression=st.sampled_from(list(COMPRESSIONS)), values=_ENTRIES)
def test_what_is_written_comes_back_at_its_line(name: str, compression: str, values: list[Any]) -> None:
    write, line = FORMATS[name]
    found = entries(name + compression, COMPRESSIONS[compression](write(values).encode()))
    assert [typed(value) for _, value in found] == [typed(value) for value in values]
    assert [at for at, _ in found] == [line(index) for index in range(len(values))]


@pytest.mark.parametrize(("name", "content"), rows(__file__, "well"))
def test_blanks_line_ends_and_a_byte_order_mark_do_no_harm(name: str, content: str) -> None:
    assert [value for _, value in entries(name, content.replace("GOOD", GOOD))] == [ENTRY]


@pytest.mark.parametrize(("name", "content", "entries", "faults"), rows(__file__, "read"))
def test_entries_and_faults_have_their_lines(name: str, content: str, entries: Any, faults: Any) -> None:
    found = manifest(name, content)
    assert [[entry.location.line, entry.value] for entry in found.entries] == entries
    assert [[one.rule.removeprefix("manifest/"), one.location.line] for one in found.faults] == faults


@pytest.mark.parametrize(("cell", "value"), rows(__file__, "cells"))
def test_what_a_cell_means(cell: str, value: Any) -> None:
    """An empty cell is no field."""
    ((_, entry),) = entries("a.csv", f"partition.a,partition.b,offset.c\nx,{cell},1\n")
    wanted = {"a": "x"} if cell == '""' else {"a": "x", "b": value}
    assert typed(entry["partition"]) == typed(wanted)


UNREADABLE = [
    *((*row[:2], rule, *row[2:]) for rule, listed in table(__file__, "unreadable").items() for row in listed),
    ("a.json", b"\xff\xfe[\0]\0", "encoding", [1, 1], "UTF-16"),
    ("a.jsonl", GOOD.encode("utf-16-le"), "encoding", [1, 2], "NUL"),
    ("a.csv", b"partition.a,offset.b\nx\xe9,1\n", "encoding", [2, 2], "0xe9"),
    ("a.json", gzip.compress(b"[]"), "compression", [1, 1], "does not end in .gz"),
    ("a.json", zstandard.compress(b"[]"), "compression", [1, 1], "does not end in .zst"),
    ("a.json.zst", gzip.compress(b"[]"), "compression", [1, 1], "does not begin like"),
    ("a.json", f"[{'9' * 5000}]", "number", [1, 2], "5000 digits"),
    ("a.yaml", "- 1\n" + "---\n" * 2000, "format", [1, 1], "more than 1000"),
    ("a.yaml", "- 1\n" * 100_001, "too-large", [100_000, 3], "100,000 values"),
    ("a.json.gz", gzip.compress(b""), "empty", [1, 1], "no entries"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "rule", "place", "part"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read(name: str, content: str | bytes, rule: str, place: list[int], part: str) -> None:
    found = fault(name, content.replace("GOOD", GOOD) if isinstance(content, str) else content)
    assert (found[0], [*found[2:]]) == (f"manifest/{rule}", place), found
    assert part in found[1]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damage_to_what_is_compressed(suffix: str) -> None:
    packed = COMPRESSIONS[suffix](as_lines([{"partition": {"a": index}} for index in range(1000)]).encode())
    for broken in (packed[:-1], packed[: len(packed) // 2], packed + b"x", packed + packed[:20], packed + b"\0" * 600):
        assert fault(f"a.jsonl{suffix}", broken)[0] == "manifest/compression"


def test_a_changed_byte_is_found_by_the_checksum() -> None:
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(GOOD.encode())
    for name, packed in (("a.jsonl.gz", gzip.compress(GOOD.encode())), ("a.jsonl.zst", checked)):
        broken = bytearray(packed)
        broken[-6 if name.endswith("gz") else -1] ^= 1
        assert fault(name, bytes(broken))[0] == "manifest/compression"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_one_behind_the_other_are_one(suffix: str) -> None:
    pack = COMPRESSIONS[suffix]
    packed = b"".join(pack(f"{GOOD}\n".encode()) for _ in range(100))
    assert [line for line, _ in entries(f"a.jsonl{suffix}", packed)] == list(range(1, 101))
    many = pack(b"") * 1001
    assert fault(f"a.jsonl{suffix}", many)[:2] == ("manifest/compression", "it has more than 1000 compressed members")


def test_a_frame_of_zstd_that_is_to_be_passed_over_is() -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0note"
    packed = zstandard.compress(f"{GOOD}\n".encode())
    assert [line for line, _ in entries("a.jsonl.zst", skipped + packed + skipped + packed)] == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_bomb_is_not_unpacked(suffix: str) -> None:
    bomb = COMPRESSIONS[suffix](b"\n" * (4 * MAX_SIZE))
    assert len(bomb) < MAX_SIZE // 100
    rule, found = fault(f"a.jsonl{suffix}", bomb)[:2]
    assert rule == "manifest/compression"
    assert found.startswith("its content is more than 1,000 times larger than the file")


@pytest.mark.slow
def test_a_file_has_at_most_its_size() -> None:
    padded = f"[{GOOD}".encode().ljust(MAX_SIZE - 1) + b"]"
    assert len(entries("a.json", padded)) == 1
    assert fault("a.json", padded + b" ")[:2] == ("manifest/too-large", "the file has more than 16 MiB")


def test_entries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_parser, "MAX_ENTRIES", 2)
    assert len(entries("a.json", "[1, 2]")) == 2
    found = manifest("a.json", "[1,\n2,\n3,\n4]")
    assert [(one.rule, one.location.line) for one in found.faults] == [("manifest/too-large", 3)]
    assert len(found.entries) == 2


@pytest.mark.usefixtures("without_collection")
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".yaml", ".csv"])
@pytest.mark.parametrize("piece", ["{", "[", '{"a":', "[{", "[[],", "- ", '"', ",", "a\n"])
def test_a_million_of_anything_is_refused_and_ends(piece: str, suffix: str) -> None:
    """Neither RecursionError nor MemoryError, whatever is repeated."""
    found = manifest(f"a{suffix}", piece * 1_000_000)
    assert 1 <= len(found.faults) <= MAX_COUNTED + 1


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize(("depth", "faults"), [(50, 0), (51, 1), (900, 1), (100_000, 1)])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth(depth: int, faults: int, opening: str, closing: str) -> None:
    nested = opening * depth + ("1" if closing == "}" else "") + closing * depth
    found = manifest("a.jsonl", f"{GOOD}\n{nested}\n{GOOD}")
    assert [(one.rule, one.location.line) for one in found.faults] == [("manifest/syntax", 2)] * faults
    assert len(found.entries) == 3 - faults
    assert all("more than 50 nested levels" in one.found for one in found.faults)


def test_a_long_entry_is_not_a_deep_one() -> None:
    ((_, value),) = entries("a.jsonl", json.dumps({"partition": {"a": [[]] * 1000}}))
    assert len(value["partition"]["a"]) == 1000


def test_reading_is_given_up_where_nothing_fits() -> None:
    found = manifest("a.jsonl", "oops\n" * 100_000)
    assert [one.location.line for one in found.faults[:-1]] == list(range(1, MAX_COUNTED + 1))
    assert found.faults[-1].rule == "manifest/format"
    assert found.faults[-1].found == f"{MAX_COUNTED} places in it cannot be read, and the rest was skipped"


@pytest.mark.parametrize(("name", "frame"), [("a.json", '{{"offsets": [{}]}}'), ("a.jsonl", "{}")])
def test_an_object_with_very_many_fields_is_refused(name: str, frame: str) -> None:
    fields = ", ".join(f'"k{number}": 1' for number in range(60_000))
    entry = f'{{"partition": {{"a": 1}}, "offset": {{{fields}, "k59999": 2}}}}'
    found = {one.rule: one.found for one in manifest(name, frame.format(entry)).faults}
    assert found["manifest/format"].startswith("an object with 60,000 fields")
    assert found["manifest/duplicate-key"] == "the field 'k59999' appears twice in one object"


@pytest.mark.parametrize("pack", [".gz", ".zst"])
def test_what_is_no_text_is_not_unpacked_to_its_end(pack: str) -> None:
    zeros = COMPRESSIONS[pack](b"{}\n\xc3\xa4" + bytes(MAX_SIZE))
    assert fault(f"a.jsonl{pack}", zeros)[0] == "manifest/compression"
