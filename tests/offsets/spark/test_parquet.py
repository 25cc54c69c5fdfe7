"""A manifest in Parquet gets the same verdict as the same manifest in JSON Lines."""

from __future__ import annotations

import datetime
import decimal
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.manifests import MIRROR, OTHER, SINK, entry, mirrored, offsets, sunk
from support.spark.large_engine import DEBEZIUM, PATTERN_SINK, Case, by_small, filed, in_process, jsonl, said_by_large

from gitops_connect.model.manifests import LargeFile, LargeVerdict
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.spark.check import prepare
from gitops_connect.offsets.spark.input_splits import blocks_of
from gitops_connect.offsets.spark.layouts import LineBuffer
from gitops_connect.offsets.spark.line_formats import match_lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def columns(entries: list[Any], *, flat: bool, types: dict[str, Any] | None = None) -> pa.Table:
    """The entries as structs, as Spark writes them, or, if `flat`, with a column for each field."""
    names = {
        half: sorted({name for one in entries for name in one.get(half) or ()}) for half in ("partition", "offset")
    }
    arrays = {}
    for half, fields in names.items():
        listed = [one.get(half) or {} for one in entries]
        inner = {
            name: pa.array([one.get(name) for one in listed], (types or {}).get(f"{half}.{name}")) for name in fields
        }
        if flat:
            arrays |= {f"{half}.{name}": array for name, array in inner.items()}
        elif inner:
            nothing = pa.array([not one.get(half) for one in entries])
            arrays[half] = pa.StructArray.from_arrays(list(inner.values()), names=list(inner), mask=nothing)
    return pa.table(arrays)


def verdict_of(table: pa.Table | bytes, case: Case, groups: int = 1000, split_size: int = 1 << 20) -> LargeVerdict:
    with TemporaryDirectory() as directory:
        manifest = filed(case, Path(directory) / "m")
        path = Path(directory, "m.parquet")
        if isinstance(table, bytes):
            path.write_bytes(table)
        else:
            pq.write_table(table, path, row_group_size=groups)
        (verdict,) = in_process([replace(manifest, files=(LargeFile(case.name, str(path)),))], split_size=split_size)
    return verdict


def held_alike(table: pa.Table, case: Case, groups: int = 1000, split_size: int = 1 << 20) -> None:
    expected, found = by_small(case), said_by_large(verdict_of(table, case, groups, split_size))
    assert [replace(one, location=replace(one.location, column=1)) for one in found.diagnostics] == [
        replace(one, location=replace(one.location, column=1)) for one in expected.diagnostics
    ]
    assert (found.counts, found.errors, found.unread) == (expected.counts, expected.errors, expected.unread)
    assert (found.moves, found.distances) == (expected.moves, expected.distances)


small = st.none() | st.integers(0, 3) | st.integers(-(2**63), 2**63 - 1)
texts = st.none() | st.text(max_size=3) | st.sampled_from(["orders", "invoices", "source", 'a"b', "a\\b", "a\tb", "\0"])
maker = st.sampled_from(
    [
        (MIRROR, lambda a, n, m: mirrored(n, m, topic=a)),
        (MIRROR, lambda a, n, m: mirrored(n, m, cluster=a)),
        (SINK, sunk),
        (PATTERN_SINK, sunk),
        (DEBEZIUM, lambda a, n, m: entry({"server": "a"}, {"lsn": n, "ts_usec": m, "snapshot": a})),
        (OTHER, lambda a, n, m: entry({"z": a, "a": n}, {"m": m, 'say "\u00e9"': a})),
        (
            OTHER,
            lambda a, n, m: entry({"z": a, "a": None if n is None else n % 2 > 0}, {"m": None if m is None else m / 3}),
        ),
        (None, lambda a, n, m: entry({"a.b": n}, {"m": a} if m else None)),
    ]
)
lives = [
    None,
    offsets(mirrored(), sunk(), mirrored(2, topic="x"), sunk("other")),
    offsets(entry({"a": 1, "z": "orders"}, {"m": 1}), entry({"a": 2}, {"m": 5})),
]


def kept(entry_: Any) -> Any:
    """The entry without the fields that are null, because a column cannot tell null from absent."""
    parts = {half: {k: v for k, v in (entry_[half] or {}).items() if v is not None} for half in entry_}
    return ({"partition": parts["partition"]} if parts["partition"] else {}) | {"offset": parts["offset"] or None}


@settings(max_examples=max(40, settings().max_examples // 2))
@given(
    maker,
    st.lists(st.tuples(texts, small, small), min_size=1, max_size=12),
    st.sampled_from(lives),
    st.sampled_from([OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE]),
    st.tuples(st.booleans(), st.booleans(), st.sampled_from([1, 3, 1000]), st.sampled_from([1, 1 << 20])),
)
def test_the_same_verdict(made: Any, cells: Any, current: Any, kind: Any, way: Any) -> None:
    config, make = made
    flat, packed, groups, split_size = way
    entries = [kept(make(*one)) for one in cells]
    entries[0] = kept(make("orders", 1, 2))
    table = columns(entries, flat=flat)
    if packed:
        table = pa.table(
            {
                name: column.dictionary_encode() if pa.types.is_string(column.type) else column
                for name, column in zip(table.column_names, table.columns, strict=True)
            }
        )
    held_alike(table, Case(jsonl(entries), config, current, kind), groups, split_size)


@pytest.mark.parametrize("flat", [True, False])
def test_integers_and_texts_of_other_widths(flat: bool) -> None:
    entries = [mirrored(n, n * 3) for n in range(9)]
    case = Case(jsonl(entries), MIRROR, offsets(mirrored(3, 1)))
    for number in (pa.int8(), pa.int32(), pa.uint16(), pa.uint64(), pa.float64()):
        for text in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
            types = {"partition.partition": number, "partition.topic": text}
            values = [
                kept(mirrored(float(n), n * 3)) if number == pa.float64() else mirrored(n, n * 3) for n in range(9)
            ]
            held_alike(columns(entries, flat=flat, types=types), replace(case, content=jsonl(values)))
    huge = [mirrored(1, 2**64 - 1), mirrored(2, 7)]
    table = columns(huge, flat=flat, types={"offset.offset": pa.uint64()})
    held_alike(table, Case(jsonl(huge), MIRROR))


def test_nothing_in_it_is_empty() -> None:
    table = columns([mirrored()], flat=False)
    assert verdict_of(table.slice(0, 0), Case(b"", MIRROR)).counts == {"manifest/empty": 1}


def test_lines_and_columns_in_one_manifest(tmp_path: Path) -> None:
    """The line number of a Parquet entry is its row number, and a repeat names its file."""
    case = Case(jsonl([mirrored(1), mirrored(2), mirrored(3, -1)]), MIRROR, name="a.jsonl")
    manifest = filed(case, tmp_path / "m")
    pq.write_table(columns([mirrored(4), mirrored(5, -1), mirrored(2, 5)], flat=False), tmp_path / "b.parquet")
    files = (*manifest.files, LargeFile("b.parquet", str(tmp_path / "b.parquet")))
    (verdict,) = in_process([replace(manifest, files=files)])
    assert [(one.rule, one.location.file, one.location.line) for one in verdict.diagnostics] == [
        ("manifest/negative", "a.jsonl", 3),
        ("manifest/negative", "b.parquet", 2),
        ("manifest/duplicate", "b.parquet", 3),
    ]


def test_the_short_way_is_taken(tmp_path: Path) -> None:
    entries = [mirrored(n, n) if n % 5 else entry(mirrored(n)["partition"], None) for n in range(50)]
    pq.write_table(columns(entries, flat=False), tmp_path / "m.parquet")
    manifest = replace(filed(Case(b"", MIRROR), tmp_path / "m"), files=(LargeFile("m", str(tmp_path / "m.parquet")),))
    job = prepare([manifest], 2)
    (block,) = (block for split in job.splits for block in blocks_of(split))
    found, left = match_lines(LineBuffer(block.text), job.manifests[0].line_format)
    assert not len(left)
    assert sum(len(one.rows) for one in found) == 50
    assert all(one.form.is_canonical for one in found)
    assert [json.loads(line) for line in block.text.splitlines()] == entries


DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
UNFIT = {
    "a timestamp": (pa.table({"partition.a": [1], "offset.at": [DAY]}), "the column 'offset.at' of the type timestamp"),
    "a decimal": (
        pa.table({"partition.a": [decimal.Decimal(1)], "offset.b": [1]}),
        "the column 'partition.a' of the type dec",
    ),
    "bytes": (pa.table({"partition.a": [b"a"], "offset.b": [1]}), "the column 'partition.a' of the type binary"),
    "a list": (pa.table({"partition": [{"a": [1]}], "offset.b": [1]}), "the column 'partition.a' of the type list"),
    "another column": (pa.table({"partition": [{"a": 1}], "offset.b": [1], "note": ["x"]}), "the column 'note'"),
    "no offset": (pa.table({"partition": [{"a": 1}]}), "without the column offset"),
    "a text for a struct": (pa.table({"partition": ["{}"], "offset.b": [1]}), "the column 'partition' (string)"),
    "a field twice": (pa.table({"partition": [{"a": 1}], "partition.a": [1], "offset.b": [1]}), "'partition.a' twice"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_is_no_manifest_is_named(name: str) -> None:
    table, words = UNFIT[name]
    verdict = verdict_of(table, Case(b"", OTHER))
    assert verdict.counts == {"manifest/format": 1}
    (found,) = verdict.diagnostics
    assert words in found.summary


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Parquet files of Spark and of other programs have checksums."""
    table = columns([mirrored(n, n) for n in range(5000)], flat=False)
    pq.write_table(table, tmp_path / "m", compression="zstd", write_page_checksum=True)
    whole = (tmp_path / "m").read_bytes()
    damaged = whole[:2000] + b"damage!!" * 200 + whole[3600:]
    for content in (b"", b"PAR1", whole[:-100], whole[100:], damaged):
        verdict = verdict_of(content, Case(b"", MIRROR))
        assert set(verdict.counts) <= {"manifest/format", "manifest/encoding"}
        assert verdict.errors == 1


def test_a_text_that_is_no_utf8_is_named_at_its_row() -> None:
    texts = pa.array([b"a", b"b", b"\xff", b"c"]).view(pa.string())
    verdict = verdict_of(pa.table({"partition.a": texts, "offset.b": [1, 2, 3, 4]}), Case(b"", OTHER))
    assert [(one.rule, one.location.line) for one in verdict.diagnostics] == [("manifest/encoding", 3)]
