"""Rows of Parquet that are checked as columns get exactly the verdict of the same rows as lines."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.manifests import MIRROR, OTHER, SINK, entry, mirrored, offsets, sunk
from support.spark.large_engine import DEBEZIUM, PATTERN_SINK, Case, filed, in_process, jsonl, sent

from gitops_connect.families.field_kinds import NATURAL_PATTERN, WHOLE_PATTERN
from gitops_connect.model.manifests import LargeFile, LargeVerdict
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.spark import parquet_rows
from gitops_connect.offsets.spark.check import prepare
from gitops_connect.offsets.spark.input_splits import Block, blocks_of, input_splits
from gitops_connect.offsets.spark.layouts import LineBuffer, LineForm
from gitops_connect.offsets.spark.line_formats import match_lines
from gitops_connect.offsets.spark.parquet_rows import ColumnBuffer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOPICS = ["orders", "invoices", "ü\U0001f600", ""]
CURRENT = offsets(mirrored(0), mirrored(1), sunk(), sunk("invoices", 1), entry({"server": "a"}, {"lsn": 5}))
CASES: Sequence[tuple[Mapping[str, str] | None, Mapping[str, Sequence[Any]]]] = [
    (
        MIRROR,
        {
            "partition.cluster": ["source"],
            "partition.topic": TOPICS[:3],
            "partition.partition": [*range(40)],
            "offset.offset": [*range(9)],
        },
    ),
    (
        SINK,
        {"partition.kafka_topic": TOPICS[:2], "partition.kafka_partition": [*range(40)], "offset.kafka_offset": [5]},
    ),
    (PATTERN_SINK, {"partition.kafka_topic": TOPICS, "partition.kafka_partition": [0, 1], "offset.kafka_offset": [5]}),
    (DEBEZIUM, {"partition.server": ["a"], "offset.lsn": [0, 7], "offset.ts_usec": [8, 9]}),
    (OTHER, {"partition.a.b": [*range(40)], 'partition.say "é"': [True], "offset.é": TOPICS, "offset.n": [1, -1]}),
    (None, {"partition.a": TOPICS, "offset.b": [True, False]}),
]
TEXTS = [
    'a"b',
    "a\\b",
    "a\tb",
    "\n",
    "\0",
    "\x7f",
    "5",
    "null",
    "source",
    "other",
    "x" * 600,
    b"\xff",
    b"\xed\xa0\x80",
]
NUMBERS = [-1, 10**9, 10**18 - 1, 10**18, 1 - 10**18, -(10**18), 2**63 - 1, -(2**63)]


def table_of(fields: Mapping[str, Sequence[Any]], rows: int, rnd: random.Random, spoiled: float) -> pa.Table:
    """A table with these fields, most of whose values are valid."""
    columns = {}
    for name, right in fields.items():
        is_text = isinstance(right[0], str)
        others = TEXTS if is_text else [False] if isinstance(right[0], bool) else NUMBERS
        values = [rnd.choice(others if rnd.random() < spoiled else right) for _ in range(rows)]
        values = rnd.sample(right, rows) if not spoiled and len(right) >= rows else values  # no repeats
        if is_text:
            array = pa.array([one.encode() if isinstance(one, str) else one for one in values], pa.binary())
            array = rnd.choice([array, array, array.dictionary_encode()])
            kind = pa.dictionary(pa.int32(), pa.string()) if pa.types.is_dictionary(array.type) else pa.string()
            columns[name] = array.view(kind) if kind == pa.string() else _named(array)
        else:
            columns[name] = _narrow(pa.array(values), rnd)
    if rnd.random() < spoiled:
        name = rnd.choice([*columns])
        columns[name] = rnd.choice(_others(columns[name]))
    if rnd.random() < spoiled:
        columns[rnd.choice(["partition.z", "offset.more"])] = pa.array([1] * rows)
    return pa.table(columns)


def _named(encoded: Any) -> Any:
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.view(pa.string()))


def _narrow(array: Any, rnd: random.Random) -> Any:
    kind = rnd.choice([None, None, pa.int32(), pa.int8(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())])
    try:
        return array if kind is None or pa.types.is_boolean(array.type) else array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _others(array: Any) -> Iterator[Any]:
    """The column with values of another type, or with nulls."""
    count = len(array)
    numbers = pa.array([*range(count)])
    return [
        numbers.cast(pa.string()),
        numbers,
        numbers.cast(pa.float64()),
        pc.equal(numbers, 1),
        pa.array([2**64 - 1] * count, pa.uint64()),
        pa.array([2**32 - 1] * count, pa.uint32()),
        pa.nulls(count, pa.string()),
        pc.if_else(pc.equal(numbers, count // 2), None, numbers),
    ]


def as_structs(table: pa.Table) -> pa.Table:
    """The table with two columns."""
    halves = {}
    for half in ("partition", "offset"):
        names = [name for name in table.column_names if name.startswith(f"{half}.")]
        inner = [table.column(name).combine_chunks() for name in names]
        halves[half] = pa.StructArray.from_arrays(inner, [name.partition(".")[2] for name in names])
    return pa.table(halves)


def blocks(path: Path) -> list[Block]:
    return [block for split in input_splits([of_file(Case(b""), path)]) for block in blocks_of(split)]


def of_file(case: Case, path: Path) -> Any:
    with TemporaryDirectory() as directory:
        manifest = filed(replace(case, current=None), Path(directory) / "m")
    return replace(manifest, files=(LargeFile(case.name, str(path)),))


def everything(case: Case, path: Path, directory: Path) -> tuple[LargeVerdict, Any, Any]:
    """The verdict, what is sent, and all violations."""
    manifest = filed(case, directory / "m")
    manifest = replace(manifest, files=(LargeFile(case.name, str(path)),))
    (verdict,) = in_process([manifest], ready=directory / "ready", split_size=1 << 20)
    (worded,) = in_process([manifest], violations=directory / "violations", split_size=1 << 20)
    assert worded == replace(verdict, patch=None)
    violations = pq.read_table(directory / "violations" / "violations.parquet").to_pylist()
    return worded, sent(verdict), sorted(violations, key=lambda row: (row["line"], row["rule"], row["message"]))


def held_alike(table: pa.Table, case: Case, groups: int) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        pq.write_table(table, directory / "m.parquet", row_group_size=groups)
        read = blocks(directory / "m.parquet")
        assert [repr(block.size) for block in read] == [str(len(block.text)) for block in read]  # also no numpy number
        (directory / "m.jsonl").write_bytes(b"".join(block.text for block in read))
        found = everything(case, directory / "m.parquet", directory / "columns")
        assert found == everything(case, directory / "m.jsonl", directory / "lines")


@settings(max_examples=max(60, settings().max_examples // 2))
@given(
    st.sampled_from(CASES),
    st.integers(1, 40),
    st.sampled_from([0, 0.02, 0.2]),
    st.sampled_from([None, {}, CURRENT]),
    st.sampled_from([OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE]),
    st.randoms(use_true_random=False),
)
def test_the_verdict_is_that_of_the_lines(  # noqa: PLR0917 - hypothesis passes them
    made: Any, rows: int, spoiled: float, current: Any, kind: Any, rnd: random.Random
) -> None:
    config, fields = made
    table = table_of(fields, rows, rnd, spoiled)
    table = rnd.choice([table, as_structs(table)])
    # As if the blocks were small, and every dictionary worth it.
    small = {"_ROWS": rnd.choice([1, 5, 30]), "_PLAIN": 10**9}
    with rnd.choice([patch.multiple(parquet_rows, **small), nullcontext()]):
        held_alike(table, Case(b"", config, current, kind), rnd.choice([1, 7, 1000]))


@pytest.mark.parametrize(("config", "fields"), CASES)
def test_rows_have_the_forms_of_their_lines_and_become_none(config: Any, fields: Any, tmp_path: Path) -> None:
    pq.write_table(table_of(fields, 50, random.Random(1), 0), tmp_path / "m.parquet")  # noqa: S311 - the same each time
    manifest = of_file(Case(b"", config), tmp_path / "m.parquet")
    line_format = prepare([manifest]).manifests[0].line_format
    (block,) = blocks(tmp_path / "m.parquet")
    found, left = match_lines(block.buffer, line_format)
    assert isinstance(block.data, ColumnBuffer)
    assert "text" not in vars(block.data)
    expected, others = match_lines(LineBuffer(block.text), line_format)
    assert found
    assert [(one.form, one.rows.tolist()) for one in found] == [(one.form, one.rows.tolist()) for one in expected]
    assert left.tolist() == others.tolist()


@pytest.mark.parametrize("are_structs", [False, True])
def test_strings_stay_in_dictionaries_where_that_is_faster(are_structs: bool, tmp_path: Path) -> None:
    count = 3 * parquet_rows._ROWS
    columns = {
        "partition.few": [f"topic-{number // 10_000}" for number in range(count)],
        "partition.many": [f"file-{number}" for number in range(count)],
        "offset.position": [*range(count)],
    }
    table = as_structs(pa.table(columns)) if are_structs else pa.table(columns)
    for rows, expected in ((count // 2, {("partition.few", topics) for topics in (4, 7, 8)}), (1000, set())):
        pq.write_table(table, tmp_path / "m.parquet", row_group_size=rows)
        found = {name: list[Any]() for name in columns}
        dictionaries = set[tuple[str, int]]()
        for block in blocks(tmp_path / "m.parquet"):
            assert isinstance(block.data, ColumnBuffer)
            for name, column in block.data.columns.items():
                found[name] += column.to_pylist()
                if pa.types.is_dictionary(column.type):
                    dictionaries.add((name, len(column.dictionary)))
        assert found == columns
        assert dictionaries == expected


def test_the_bounds_of_numbers_are_those_of_their_patterns() -> None:
    numbers = pa.array([*NUMBERS, 0, 1, 10**17, -(10**17)])
    texts = numbers.cast(pa.string())
    buffer = ColumnBuffer({"offset.a": numbers})
    for pattern in (NATURAL_PATTERN, WHOLE_PATTERN):
        form = LineForm("", 0, (), (), columns=(("offset.a", pattern),))
        found = buffer.matches(form, np.arange(len(numbers)))
        assert found.tolist() == pc.match_substring_regex(texts, rf"\A{pattern}\z").to_pylist()


def test_a_long_row_is_a_fault_at_its_place(tmp_path: Path) -> None:
    """Rows of medium length are lines at once: only then is it known whether one is too long."""
    texts = ["a", "b" * 40_000, "\0" * 3_000_000]
    pq.write_table(pa.table({"partition.a": texts, "offset.b": [1, 2, 3]}), tmp_path / "m.parquet")
    (block,) = blocks(tmp_path / "m.parquet")
    assert (block.data, block.fault and block.fault.line) == (b"", 3)
    pq.write_table(pa.table({"partition.a": texts[:2], "offset.b": [1, 2]}), tmp_path / "m.parquet")
    (block,) = blocks(tmp_path / "m.parquet")
    assert block.data == jsonl(entry({"a": text}, {"b": n}) for n, text in enumerate(texts[:2], 1))
