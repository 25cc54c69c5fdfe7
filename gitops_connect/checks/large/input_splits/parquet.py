"""Parquet files, cut into splits of whole row groups; their rows as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.large.line_formats.layouts import bytes_of
from gitops_connect.model.large_manifests import LineFault

FORMAT, TOO_LARGE = "manifest/format", "manifest/too-large"
SUFFIX = ".parquet"
HALVES = ("partition", "offset")
_ROWS = 32 * 1024
"""Rows that are converted at a time: as many as fit into a processor's cache."""
_EXPECTED = "partition and offset as structs, or partition.FIELD and offset.FIELD for each field"
_LONGEST_SHOWN = 200
_ESCAPED = r'["\\\x00-\x1f]'


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


_TYPES = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, _is_text)


class _Unfit(Exception):
    """The file is not a manifest."""


def groups_of(path: str, size: int) -> list[tuple[int, int]]:
    """Ranges of row groups, each of about `size` bytes. A damaged file is one split, which reports the damage.

    Raises OSError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            sizes = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
    except _Unfit:
        return [(0, 0)]
    found, start, held = [], 0, 0
    for number, one in enumerate(sizes):
        if held and held + one > size:
            found.append((start, number))
            start, held = number, 0
        held += one
    return [*found, (start, len(sizes))]


def rows_as_lines(path: str, start: int, end: int, longest: int) -> Iterator[bytes | LineFault]:
    """The rows of those row groups as lines, in blocks; a fault that ends them comes last, with its line in its block.

    `longest`: bytes of a line at most. Valid rows become canonical lines.
    """
    try:
        with _opened(path) as file:
            _refuse_columns(file.schema_arrow)
            for batch in file.iter_batches(_ROWS, row_groups=range(start, end), use_threads=False):
                lines = _lines(batch)
                lengths = pc.binary_length(lines)
                if (pc.max(lengths).as_py() or 0) > longest:
                    row = pc.index(pc.greater(lengths, longest), value=True).as_py()
                    found = f"a row of more than {longest // 1024**2} MiB"
                    yield LineFault(TOO_LARGE, found, row + 1)
                    return
                yield bytes_of(lines)
    except _Unfit as error:
        yield LineFault(FORMAT, str(error))


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Raises _Unfit if Arrow cannot read the file. Errors of the system have a number, those of Arrow have none."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - most manifests are lines, which start faster without it

    Path(path).stat()
    try:
        with pa.OSFile(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = " ".join(str(error).split())
        short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise _Unfit(f"a Parquet file that cannot be read; write it again: {short}") from error


def _refuse_columns(schema: Any) -> None:
    """Raise _Unfit unless the columns are those of a manifest."""
    fields: list[Any] = []
    for column in schema:
        half, _, name = column.name.partition(".")
        is_struct = column.name in HALVES and pa.types.is_struct(column.type)
        if half not in HALVES or not (name or is_struct):
            raise _Unfit(f"a Parquet file with the column {column.name!r} ({column.type}); expected {_EXPECTED}")
        fields += (inner.with_name(f"{half}.{inner.name}") for inner in column.type) if is_struct else [column]
    for field in fields:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not any(test(kind) for test in _TYPES):
            raise _Unfit(
                f"a Parquet file with the column {field.name!r} of the type {kind}, which JSON does not have; "
                "convert it to whole numbers, strings or booleans, as the connector stores them"
            )
    names = [field.name for field in fields]
    for half in HALVES:
        if not any(name.startswith(f"{half}.") for name in names):
            raise _Unfit(f"a Parquet file without the column {half}; expected {_EXPECTED}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise _Unfit(f"a Parquet file with the column {twice[0]!r} twice")


def _lines(batch: Any) -> Any:
    """An entry for each row, as in a CSV: without partition fields it has no partition, without offset fields null."""
    table = pa.Table.from_batches([batch]).flatten().combine_chunks()
    if not any(column.null_count for column in table.columns):
        first, second = ([part for member in _members(table, half) for part in member] for half in HALVES)
        whole = ('{"partition":{', *first[1:], '},"offset":{', *second[1:], "}}\n")
        return pc.binary_join_element_wise(*whole, "")
    partition, offset = (_objects(table, half) for half in HALVES)
    partition = pc.binary_join_element_wise('"partition":', partition, ",", "")
    parts = ("{", pc.fill_null(partition, ""), '"offset":', pc.fill_null(offset, "null"), "}\n")
    return pc.binary_join_element_wise(*parts, "")


def _objects(table: Any, half: str) -> Any:
    """An object for each row, without the fields that are null; null if all are."""
    members = (pc.binary_join_element_wise(*member, "") for member in _members(table, half))
    joined = pc.binary_join_element_wise("{", *members, "}", "", null_handling="replace")
    objects = pc.replace_substring(joined, "{,", "{", max_replacements=1)
    return pc.if_else(pc.equal(objects, "{}"), None, objects)


def _members(table: Any, half: str) -> Iterator[Sequence[Any]]:
    """The fields of that half for each row, in parts: a comma, the name, the value in JSON."""
    for name in sorted(name for name in table.column_names if name.startswith(f"{half}.")):
        key = json.dumps(name.removeprefix(f"{half}."), ensure_ascii=False)
        yield ",", f"{key}:", *_in_json(table.column(name).combine_chunks())


def _in_json(array: Any) -> Sequence[Any]:
    """The values of a column in JSON, in parts. A byte that is not UTF-8 stays, for the reader of the lines."""
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if pa.types.is_boolean(array.type) or pa.types.is_integer(array.type):
        return (array.cast(pa.string()),)
    if _is_text(array.type):
        array = array.cast(pa.string())
        if not pc.any(pc.match_substring_regex(array, _ESCAPED), min_count=0).as_py():
            return '"', array, '"'
        array = array.cast(pa.binary())
    values = (one.decode(errors="surrogateescape") if isinstance(one, bytes) else one for one in array.to_pylist())
    texts = (None if one is None else json.dumps(one, ensure_ascii=False) for one in values)
    encoded = [None if one is None else one.encode(errors="surrogateescape") for one in texts]
    return (pa.array(encoded, pa.binary()).view(pa.string()),)
