"""Parquet files, cut into splits of whole row groups; and their rows in blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.large.input_splits.tables import HALVES, Key, Table, is_text
from gitops_connect.model.large_manifests import LineFault

FORMAT, ENCODING, TOO_LARGE = "manifest/format", "manifest/encoding", "manifest/too-large"
SUFFIX = ".parquet"
_ROWS = 64 * 1024
"""Rows of a block: as many as fit into a processor's cache."""
_EXPECTED = "partition and offset as structs, or partition.FIELD and offset.FIELD for each field"
_LONGEST_SHOWN = 200
_TIMES = 4
"""A dictionary helps if each of its strings appears this often."""


class Unfit(Exception):
    """The file is not a manifest. Never leaves this module."""


def groups_of(path: str, size: int) -> list[tuple[int, int]]:
    """Ranges of row groups, each of about `size` bytes. A damaged file is one split, which reports the damage.

    Raises OSError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            sizes = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
    except Unfit:
        return [(0, 0)]
    found, start, held = [], 0, 0
    for number, one in enumerate(sizes):
        if held and held + one > size:
            found.append((start, number))
            start, held = number, 0
        held += one
    return [*found, (start, len(sizes))]


def tables(path: str, start: int, end: int, longest: int) -> Iterator[Table | LineFault]:
    """The rows of those row groups; a fault that ends them early comes last. `longest`: bytes of a string at most."""
    try:
        with _opened(path) as file:
            keys = _keys(file.schema_arrow)
            for batch in chain.from_iterable(_batches(file, group) for group in range(start, end)):
                table = Table(_columns(batch, keys), batch.num_rows)
                fault = _fault(table, longest)
                if fault is not None:
                    yield fault
                    return
                yield table
    except Unfit as error:
        yield LineFault(FORMAT, str(error))


def _batches(file: Any, group: int) -> Iterator[Any]:
    """The batches of one row group: each row group has its own dictionaries."""
    yield from file.iter_batches(_ROWS, row_groups=[group], use_threads=False)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Raises Unfit if Arrow cannot read the file. Errors of the system have a number, those of Arrow have none."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - most manifests are lines, which start faster without it

    Path(path).stat()
    try:
        with pa.OSFile(path) as stream:
            metadata = pq.read_metadata(stream)
            with pq.ParquetFile(
                stream, metadata=metadata, read_dictionary=_packed(metadata), page_checksum_verification=True
            ) as file:
                yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Unfit(f"a Parquet file that cannot be read; write it again: {_short(error)}") from error


def _packed(metadata: Any) -> list[str]:
    """The string columns that are dictionary-encoded in the file: it is quicker to leave them so."""
    if not metadata.num_row_groups:
        return []
    first = metadata.row_group(0)
    columns = [first.column(number) for number in range(first.num_columns)]
    texts = [str(metadata.schema.column(number).logical_type) == "String" for number in range(first.num_columns)]
    return [
        column.path_in_schema
        for column, is_of_texts in zip(columns, texts, strict=True)
        if is_of_texts and any("DICTIONARY" in one for one in column.encodings)
    ]


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _keys(schema: Any) -> list[tuple[Key | None, Any]]:
    """The key of each column; None if the column is the struct of its name. Raises Unfit."""
    found: list[tuple[Key | None, Any]] = []
    names: list[Key] = []
    for column in schema:
        half, _, name = column.name.partition(".")
        is_struct = column.name in HALVES and pa.types.is_struct(column.type)
        if half not in HALVES or not (name or is_struct):
            raise Unfit(f"a Parquet file with the column {column.name!r} ({_of(column.type)}); expected {_EXPECTED}")
        found.append((None if is_struct else (half, name), column))
        names += [(half, field.name) for field in column.type] if is_struct else [(half, name)]
        for key, kind in (
            [((half, f.name), f.type) for f in column.type] if is_struct else [((half, name), column.type)]
        ):
            _refuse_type(".".join(key), kind)
    for half in HALVES:
        if not any(key[0] == half for key in names):
            raise Unfit(f"a Parquet file without the column {half}; expected {_EXPECTED}")
    twice = next((key for key, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise Unfit(f"a Parquet file with the column {'.'.join(twice)!r} twice")
    return found


def _refuse_type(name: str, kind: Any) -> None:
    of = _of(kind)
    tests = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, _is_text)
    if not any(test(of) for test in tests):
        raise Unfit(
            f"a Parquet file with the column {name!r} of the type {of}, which JSON does not have; "
            "convert it to whole numbers, strings or booleans, as the connector stores them"
        )


def _of(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _columns(batch: Any, keys: list[tuple[Key | None, Any]]) -> Mapping[Key, Any]:
    columns: dict[Key, Any] = {}
    for (key, column), array in zip(keys, batch.columns, strict=True):
        if key is not None:
            columns[key] = _simple(array)
        else:
            for field, inner in zip(column.type, array.flatten(), strict=True):
                columns[column.name, field.name] = _simple(inner)
    return columns


def _simple(array: Any) -> Any:
    """Convert to one of few types for each kind of value."""
    if pa.types.is_dictionary(array.type):
        is_small = _is_text(array.type.value_type) and 0 < len(array.dictionary) * _TIMES <= len(array)
        if is_small and not array.dictionary.null_count:
            indices, texts = array.indices.cast(pa.int32()), array.dictionary.cast(pa.string())
            return pa.DictionaryArray.from_arrays(indices, texts)
        array = array.dictionary_decode()
    if _is_text(array.type):
        return array.cast(pa.string())
    if pa.types.is_integer(array.type) and array.type != pa.uint64():
        return array.cast(pa.int64())
    return array


def _fault(table: Table, longest: int) -> LineFault | None:
    """A fault for strings that are not UTF-8 or too long: Parquet stores any bytes."""
    for (half, name), column in table.columns.items():
        if not is_text(column.type):
            continue
        array = column.dictionary if pa.types.is_dictionary(column.type) else column
        if array.nbytes > longest and (lengths := pc.binary_length(array).fill_null(0).to_pylist()):
            at = next((number for number, length in enumerate(lengths) if length > longest), None)
            if at is not None:
                found = f"a string of more than {longest // 1024**2} MiB in {half}.{name}"
                return LineFault(TOO_LARGE, found, _row(column, at) + 1)
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return LineFault(ENCODING, f"{half}.{name} is not UTF-8", _row(column, _first_broken(array)) + 1)
    return None


def _row(column: Any, at: int) -> int:
    """The first row with the value of that number."""
    return (
        pc.index(column.indices, pa.scalar(at, column.indices.type)).as_py()
        if pa.types.is_dictionary(column.type)
        else at
    )


def _first_broken(array: Any) -> int:
    for row, value in enumerate(array.cast(pa.binary())):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError:
            return row
    return 0
