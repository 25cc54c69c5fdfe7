"""The rows of Parquet files, as columns or as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.connect.unreadable import FORMAT, TOO_LARGE
from gitops_connect.families.field_kinds import NATURAL_PATTERN, WHOLE_PATTERN
from gitops_connect.model.manifests import LineFault
from gitops_connect.offsets.spark.keys import PAD, Texts, Values, padded
from gitops_connect.offsets.spark.layouts import LineForm, MatchedLines, Span, bytes_of, is_utf8

HALVES = ("partition", "offset")
_ROWS = 64 * 1024
"""Rows of a block: columns of these rows fit into a processor's cache."""
_EXPECTED = "partition and offset as structs, or partition.FIELD and offset.FIELD for each field"
_LONGEST_SHOWN = 200
_ESCAPED = r'["\\\x00-\x1f]'
_LONG: Final = 10**18 - 1
_BOUNDS = {NATURAL_PATTERN: (0, _LONG), WHOLE_PATTERN: (-_LONG, _LONG)}
"""The numbers that match these patterns: an offset has too many different values for regular expressions."""
_PLAIN = 4
"""Bytes that Parquet stores for a string at least, its length, unless it stores strings once in a dictionary."""
_MOST = 2**31 // _ROWS
"""Bytes of a row of columns at most: the lines of a block have less than 2 GiB, and none of them is too long."""
_EMPTY_LINE = b'{"partition":{},"offset":{}}\n'


def _is_text(kind: Any) -> bool:
    """Whether the values are strings, also those of a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


_TYPES = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, _is_text)


class _Unfit(Exception):
    """The file is not a manifest."""


def rows_in(path: str) -> int:
    """The number of rows; 0 for a damaged file. Raises OSError if the file cannot be read."""
    try:
        with _opened(path) as file:
            return int(file.metadata.num_rows)
    except _Unfit:
        return 0


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


def rows_of(path: str, start: int, end: int, longest: int) -> Iterator[bytes | ColumnBuffer | LineFault]:
    """The rows of those row groups, in blocks: plain ones as columns, others as lines. Valid rows are canonical lines.

    A fault that ends them comes last, with its line in its block. `longest`: bytes of a line at most.
    """
    try:
        for batch in _batches(path, range(start, end)):
            columns = _columns(batch)
            if _are_plain(columns):
                yield ColumnBuffer(columns)
                continue
            lines = _lines(columns)
            lengths = pc.binary_length(lines)
            if (pc.max(lengths).as_py() or 0) > longest:
                row = pc.index(pc.greater(lengths, longest), value=True).as_py()
                found = f"a row of more than {longest // 1024**2} MiB"
                yield LineFault(TOO_LARGE, found, row + 1)
                return
            yield bytes_of(lines)
    except _Unfit as error:
        yield LineFault(FORMAT, str(error))


def _batches(path: str, groups: range) -> Iterator[Any]:
    """The rows of those row groups. Strings that the file stores in dictionaries stay in them: that is much faster."""
    with _opened(path) as file:
        _refuse_columns(file.schema_arrow)
        in_dictionaries = _in_dictionaries(file.metadata, groups)
        # Arrow cannot read dictionaries in structs from several row groups at once.
        alone = in_dictionaries or any(map(_has_dictionary, file.schema_arrow.types))
    with _opened(path, in_dictionaries) as file:
        for part in [[group] for group in groups] if alone else [groups]:
            yield from file.iter_batches(_ROWS, row_groups=part, use_threads=False)


def _in_dictionaries(metadata: Any, groups: range) -> list[str]:
    """The columns of strings that the row groups store in dictionaries; none if the groups are smaller than a block."""
    found = [metadata.row_group(number) for number in groups]
    if sum(group.num_rows for group in found) < _ROWS * len(found):
        return []
    small = [
        {
            column.path_in_schema
            for column in map(group.column, range(group.num_columns))
            if column.physical_type == "BYTE_ARRAY" and column.total_uncompressed_size < _PLAIN * column.num_values
        }
        for group in found
    ]
    return sorted(set.intersection(*small)) if small else []


def _has_dictionary(kind: Any) -> bool:
    return pa.types.is_struct(kind) and any(pa.types.is_dictionary(field.type) for field in kind)


@contextmanager
def _opened(path: str, in_dictionaries: Sequence[str] = ()) -> Iterator[Any]:
    """Raises _Unfit if Arrow cannot read the file. Errors of the system have a number, those of Arrow have none."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - most manifests are lines, which start faster without it

    Path(path).stat()
    try:
        options = {"page_checksum_verification": True, "read_dictionary": in_dictionaries}
        with pa.OSFile(path) as stream, pq.ParquetFile(stream, **options) as file:
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


def _columns(batch: Any) -> dict[str, Any]:
    """A column for each field, ascending."""
    table = pa.Table.from_batches([batch]).flatten()
    return {name: _column(table.column(name).combine_chunks()) for name in sorted(table.column_names)}


def _column(array: Any) -> Any:
    """The column with strings of one type, and with a dictionary only if it has strings and no null."""
    if not pa.types.is_dictionary(array.type):
        return array.cast(pa.string()) if _is_text(array.type) else array
    nulls = array.null_count + array.dictionary.null_count
    if nulls or not _is_text(array.type) or len(array.dictionary) > _ROWS:
        return _column(array.dictionary_decode())
    rows, is_used = array.indices.to_numpy(), np.zeros(len(array.dictionary), np.bool_)
    is_used[rows] = True
    numbers = np.cumsum(is_used, dtype=np.int32) - 1
    values = array.dictionary.filter(pa.array(is_used)).cast(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(numbers[rows]), values)


def _are_plain(columns: Mapping[str, Any]) -> bool:
    """Whether the rows have no null and no fraction, and none of them is long."""
    longest = 0
    for name, array in columns.items():
        is_text = _is_text(array.type)
        if array.null_count or not (is_text or _is_whole(array.type)):
            return False
        values = array.dictionary if pa.types.is_dictionary(array.type) else array
        length = (pc.max(pc.binary_length(values)).as_py() or 0) if is_text else 4
        longest += len(json.dumps(name)) + 6 * (length + 1)  # a control character is written in six bytes
    return longest <= _MOST


def _is_whole(kind: Any) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _lines(columns: Mapping[str, Any]) -> Any:
    """An entry for each row, as in a CSV: without partition fields it has no partition, without offset fields null."""
    if not any(array.null_count for array in columns.values()):
        partition, offset = (_object_parts(columns, half) for half in HALVES)
        return pc.binary_join_element_wise('{"partition":', *partition, ',"offset":', *offset, "}\n", "")
    partition, offset = (_objects(columns, half) for half in HALVES)
    partition = pc.binary_join_element_wise('"partition":', partition, ",", "")
    parts = ("{", pc.fill_null(partition, ""), '"offset":', pc.fill_null(offset, "null"), "}\n")
    return pc.binary_join_element_wise(*parts, "")


def _object_parts(columns: Mapping[str, Any], half: str) -> Sequence[Any]:
    """The parts of an object for each row, of which no field is null."""
    return ["{", *[part for member in _members(columns, half) for part in member][1:], "}"]


def _objects(columns: Mapping[str, Any], half: str) -> Any:
    """An object for each row, without the fields that are null; null if all are."""
    members = (pc.binary_join_element_wise(*member, "") for member in _members(columns, half))
    joined = pc.binary_join_element_wise("{", *members, "}", "", null_handling="replace")
    objects = pc.replace_substring(joined, "{,", "{", max_replacements=1)
    return pc.if_else(pc.equal(objects, "{}"), None, objects)


def _members(columns: Mapping[str, Any], half: str) -> Iterator[Sequence[Any]]:
    """The fields of that half for each row, in parts: a comma, the name, the value in JSON."""
    for name, array in columns.items():
        if name.startswith(f"{half}."):
            yield ",", _key(name), *_in_json(array)


def _key(column: str) -> str:
    return json.dumps(column.partition(".")[2], ensure_ascii=False) + ":"


def _in_json(array: Any) -> Sequence[Any]:
    """The values of a column in JSON, in parts. A byte that is not UTF-8 stays, for the reader of the lines."""
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if _is_whole(array.type):
        return (array.cast(pa.string()),)
    if _is_text(array.type):
        if not pc.any(pc.match_substring_regex(array, _ESCAPED), min_count=0).as_py():
            return '"', array, '"'
        array = array.cast(pa.binary())
    values = (one.decode(errors="surrogateescape") if isinstance(one, bytes) else one for one in array.to_pylist())
    texts = (None if one is None else json.dumps(one, ensure_ascii=False) for one in values)
    encoded = [None if one is None else one.encode(errors="surrogateescape") for one in texts]
    return (pa.array(encoded, pa.binary()).view(pa.string()),)


class _Distinct(NamedTuple):
    """The different values of a column, the same in JSON, and the number of its value for each row."""

    values: Any
    texts: Any
    rows: NDArray[np.int32]


class ColumnBuffer:
    """Rows without nulls as columns, with the methods of the `LineBuffer` of their lines."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns
        self._distinct: dict[str, _Distinct] = {}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def text(self) -> bytes:
        return bytes_of(_lines(self.columns))

    @property
    def size(self) -> int:
        """The number of bytes of the text."""
        keys = sum(len(f",{_key(name)}".encode()) for name in self.columns) - len(HALVES)
        return len(self) * (len(_EMPTY_LINE) + keys) + sum(map(self._length, self.columns))

    @cached_property
    def in_utf8(self) -> NDArray[np.intp]:
        """The numbers of the rows that are UTF-8, or none if one is not."""
        texts = [self.distinct(name).texts for name, array in self.columns.items() if _is_text(array.type)]
        return np.arange(len(self) if all(is_utf8(bytes_of(one)) for one in texts) else 0)

    def distinct(self, name: str) -> _Distinct:
        """The different values of a column."""
        if name not in self._distinct:
            array = self.columns[name]
            encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            texts = pc.binary_join_element_wise(*_in_json(encoded.dictionary), "")
            self._distinct[name] = _Distinct(encoded.dictionary, texts, encoded.indices.to_numpy())
        return self._distinct[name]

    def text_of(self, rows: NDArray[np.intp]) -> bytes:
        return bytes_of(_lines(self.taken(rows)))

    def taken(self, rows: NDArray[np.intp]) -> Mapping[str, Any]:
        """The columns of these rows."""
        return {name: array.take(pa.array(rows)) for name, array in self.columns.items()}

    def matches(self, form: LineForm, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these rows would match the pattern of the form as lines: each value matches its own part of it."""
        if [name for name, _ in form.columns] != [*self.columns]:
            return np.zeros(len(rows), np.bool_)
        well = np.ones(len(self), np.bool_)
        for name, pattern in form.columns:
            if pattern in _BOUNDS and pa.types.is_int64(self.columns[name].type):
                numbers, (least, most) = self.columns[name].to_numpy(), _BOUNDS[pattern]
                well &= (least <= numbers) & (numbers <= most)
            else:
                _, texts, own = self.distinct(name)
                well &= np.asarray(pc.match_substring_regex(texts, rf"\A(?:{pattern})\z"), np.bool_)[own]
        return well[rows]

    def of(self, form: LineForm, rows: NDArray[np.intp]) -> MatchedColumns:
        return MatchedColumns(form, rows, self)

    def _length(self, name: str) -> int:
        """The number of bytes of all values of a column in JSON."""
        if not pa.types.is_int64(self.columns[name].type):
            _, texts, rows = self.distinct(name)
            return int(np.asarray(pc.binary_length(texts))[rows].sum())
        numbers = self.columns[name].to_numpy()
        sizes = np.abs(numbers).view(np.uint64)  # the smallest number is its own absolute value
        digits = (np.count_nonzero(sizes >= 10**n) for n in range(1, len(str(sizes.max()))))
        return int(len(numbers) + np.count_nonzero(numbers < 0) + sum(digits))


class MatchedColumns(NamedTuple):
    """Rows of one form, with the methods of `MatchedLines`: `rows` are their numbers, ascending."""

    form: LineForm
    rows: NDArray[np.intp]
    buffer: ColumnBuffer

    def partition(self) -> Iterator[Values]:
        """The values of each field of the partitions."""
        for name, is_text, _ in self.form.fields:
            values, texts, rows = self.buffer.distinct(f"partition.{name}")
            quotes = int(_is_text(values.type))
            lengths = np.asarray(pc.binary_length(texts), np.int64)
            starts = np.cumsum(lengths) - lengths + PAD + quotes
            own = None if len(texts) == 1 else self._own(rows)
            yield Values(name, Texts(padded(bytes_of(texts)), starts, lengths - 2 * quotes), not is_text, own)

    def texts(self, _: Sequence[bytes | Span]) -> Any:
        """The offset of each row, for Arrow."""
        return pc.binary_join_element_wise(*_object_parts(self.buffer.taken(self.rows), "offset"), "")

    def array(self, span: Span) -> Any:
        """The strings in that place of a partition, for Arrow."""
        (name,) = (name for name, _, value in self.form.fields if value == span)
        values, _, rows = self.buffer.distinct(f"partition.{name}")
        return pa.DictionaryArray.from_arrays(pa.array(self._own(rows)), values.cast(pa.string()))

    def numbers(self, _: Span) -> NDArray[np.int64]:
        """The offset of each row, whose only field is a whole number."""
        (name,) = (name for name in self.buffer.columns if name.startswith("offset."))
        return self._own(np.asarray(self.buffer.columns[name].cast(pa.int64(), safe=False)))

    def _own(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if len(self.rows) == len(self.buffer) else values[self.rows]


Matched = MatchedLines | MatchedColumns
