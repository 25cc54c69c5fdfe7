"""Rows of a Parquet file by columns: which rows are certainly valid, and all rows as lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.checks.field_types import INT
from gitops_connect.checks.large.keys.partition_keys import Values, constant
from gitops_connect.checks.large.keys.text_columns import Texts, assembled, of_array
from gitops_connect.checks.large.line_formats.fast_path import ValidRows, read_topics
from gitops_connect.checks.large.line_formats.layouts import Field, LineForm
from gitops_connect.checks.large.line_formats.line_format import TEXTS, LineFormat
from gitops_connect.model.shape_fields import FieldType

HALVES = ("partition", "offset")
Key = tuple[str, str]
"""A half of an entry, and a field of it."""
Rows = NDArray[np.intp]
Which = NDArray[np.bool_]

_ESCAPED = r'["\\\x00-\x1f]'
_QUOTE, _BACKSLASH, _BLANK = b'"\\ '
_WAYS = 8
"""Combinations of present fields whose lines are written in bulk; lines of further combinations are written singly."""
_RANGES: Mapping[FieldType, tuple[int | None, int | None]] = {
    FieldType.NUMBER: (0, None),
    FieldType.SMALL: (0, INT),
    FieldType.ZERO: (0, 0),
    FieldType.SIGNED: (None, None),
    FieldType.SERVER: (None, None),
    FieldType.PG_LSN: (0, None),
    FieldType.MILLISECONDS: (None, None),
}


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows.

    A column contains strings, 64-bit integers, booleans, or values that are checked singly; a null is a missing field.
    """

    columns: Mapping[Key, Any]
    count: int

    def taken(self, rows: Rows) -> Table:
        """The table with those rows only."""
        chosen = pa.array(rows)
        return Table({key: array.take(chosen) for key, array in self.columns.items()}, len(rows))

    def lines(self) -> bytes:
        """One entry per line, as JSON; valid entries are canonical."""
        left = np.arange(self.count)
        arrays, orders = [], []
        there = np.array([_flags(array.is_valid()) for array in self.columns.values()]).reshape(-1, self.count)
        ways, ways_of = np.unique(there, axis=1, return_inverse=True)
        simple = self._are_simple()
        for number, way in list(enumerate(ways.T))[:_WAYS]:
            rows = np.flatnonzero((ways_of.reshape(-1) == number) & simple)
            present = [key for key, is_there in zip(self.columns, way, strict=True) if is_there]
            if len(rows) and any(half == "partition" for half, _ in present):
                arrays.append(self._written(present, rows))
                orders.append(rows)
                left = np.setdiff1d(left, rows, assume_unique=True)
        arrays.append(pa.array(self._one_by_one(left), pa.string()))
        order = np.argsort(np.concatenate([*orders, left]), kind="stable")
        texts = pa.concat_arrays(arrays).take(pa.array(order))
        return "".join(texts.to_pylist()).encode()

    def _are_simple(self) -> Which:
        simple = np.ones(self.count, np.bool_)
        for array in self.columns.values():
            if is_text(array.type):
                array = _as_texts(array)  # noqa: PLW2901 - the same texts
                simple &= plain_texts(array) | _flags(array.is_null())
            elif not (pa.types.is_int64(array.type) or pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
                simple &= _flags(array.is_null())
        return simple

    def _written(self, present: Sequence[Key], rows: Rows) -> Any:
        pieces: list[bytes | Any] = []
        for half in HALVES:
            pieces.append(b'{"partition":' if half == "partition" else b',"offset":')
            fields = {name: self.columns[half, name] for of, name in present if of == half}
            pieces += _object(fields, rows) if fields else [b"null"]
        joined = [one.decode() if isinstance(one, bytes) else one for one in (*pieces, b"}\n")]
        return pc.binary_join_element_wise(*joined, "")

    def _one_by_one(self, rows: Rows) -> list[str]:
        chosen = self.taken(rows)
        values = {key: array.to_pylist() for key, array in chosen.columns.items()}
        return [_line({key: column[row] for key, column in values.items()}) for row in range(len(rows))]


def _line(cells: Mapping[Key, Any]) -> str:
    """An entry as in a CSV: without partition fields it has no partition, without offset fields a null offset."""
    parts: dict[str, dict[str, Any]] = {half: {} for half in HALVES}
    for (half, name), value in cells.items():
        if value is not None:
            parts[half][name] = value
    entry: dict[str, Any] = {"partition": parts["partition"]} if parts["partition"] else {}
    return json.dumps({**entry, "offset": parts["offset"] or None}, ensure_ascii=False) + "\n"


def certify_table(table: Table, line_format: LineFormat | None) -> tuple[list[ValidRows], Rows]:
    """The rows that are certainly valid, and the numbers of the other rows."""
    found = []
    left = np.ones(table.count, np.bool_)
    for form in () if line_format is None else line_format.forms:
        if not left.any():
            break
        which = _fitting(table, form, line_format)
        rows = np.flatnonzero(left & which) if which is not None else np.zeros(0, np.intp)
        if len(rows):
            found.append(_certain(table, form, rows))
            left[rows] = False
    return found, np.flatnonzero(left)


def _fitting(table: Table, form: LineForm, line_format: LineFormat | None) -> Which | None:
    """The rows that have exactly these fields, each certainly valid."""
    fields = {(field.half, field.name): field for field in form.fields}
    if fields.keys() - table.columns.keys():
        return None
    which = np.ones(table.count, np.bool_)
    for key, array in table.columns.items():
        if key not in fields:
            which &= _flags(array.is_null())
            continue
        certain = _certain_values(array, fields[key])
        if certain is None:
            return None
        which &= certain
        if (
            line_format is not None
            and line_format.topics is not None
            and key == ("partition", line_format.topics.field)
        ):
            which[which] = read_topics(array.filter(pa.array(which)), line_format.topics)
    return which


def _certain_values(array: Any, field: Field) -> Which | None:
    """The certain values of a column; None if it has none.

    Strings of an offset must need no escapes, as they are copied.
    """
    if is_text(array.type) and field.kind in TEXTS:
        values = array.dictionary if pa.types.is_dictionary(array.type) else array
        which = _flags(values.is_valid()) if field.half == "partition" else plain_texts(values)
        if field.texts is not None:
            which &= _flags(pc.is_in(values, pa.array(sorted(field.texts), pa.string())))
        return which if values is array else which[_indices(array)] & _flags(array.is_valid())
    if pa.types.is_int64(array.type) and field.kind in _RANGES:
        return _within(array, *_RANGES[field.kind])
    if pa.types.is_boolean(array.type) and field.kind is FieldType.FLAG:
        return _flags(array.is_valid())
    return None


def is_text(kind: Any) -> bool:
    """Strings, or their numbers in a dictionary."""
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def _indices(array: Any) -> NDArray[Any]:
    """The dictionary indices. A null also has one."""
    return np.asarray(pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False))


def _within(array: Any, least: int | None, most: int | None) -> Which:
    """Whether each value is within the bounds. A null is not."""
    which = _flags(array.is_valid())
    for bound, fails in ((least, np.less), (most, np.greater)):
        if bound is not None:
            which &= ~fails(array.fill_null(bound).to_numpy(zero_copy_only=False), bound)
    return which


def plain_texts(array: Any) -> Which:
    """The strings that need no escapes in JSON; nulls do not count.

    One pass over all their bytes is nearly always enough.
    """
    _, offsets, data = array.buffers()
    valid = _flags(array.is_valid())
    if data is None or not len(array):
        return valid
    ends = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4)
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    if not ((content < _BLANK) | (content == _QUOTE) | (content == _BACKSLASH)).any():
        return valid
    return valid & ~_flags(pc.fill_null(pc.match_substring_regex(array, _ESCAPED), fill_value=True))


def _certain(table: Table, form: LineForm, rows: Rows) -> ValidRows:
    partition = [_values(table, field, rows) for field in form.fields if field.half == "partition"]
    if form.number is not None:
        (field,) = (one for one in form.fields if one.half == "offset")
        numbers = table.columns["offset", field.name].to_numpy(zero_copy_only=False)[rows]
        return ValidRows(form, rows, partition, numbers=numbers.astype(np.int64))
    return ValidRows(form, rows, partition, _offsets(table, form, rows) if form.offset else None)


def _values(table: Table, field: Field, rows: Rows) -> Values:
    name = field.name
    if field.constant is not None:
        return constant(name, field.constant)
    array = _chosen(table.columns["partition", name], rows)
    if pa.types.is_dictionary(array.type):
        return Values(name, of_array(array.dictionary), which=_indices(array))
    if pa.types.is_int64(array.type):
        return Values(name, numbers=array.to_numpy(zero_copy_only=False))
    is_flag = pa.types.is_boolean(array.type)
    return Values(name, of_array(array.cast(pa.string()) if is_flag else array), is_json=is_flag)


def _chosen(array: Any, rows: Rows) -> Any:
    return array if len(rows) == len(array) else array.take(pa.array(rows))


def _offsets(table: Table, form: LineForm, rows: Rows) -> Texts:
    """The canonical texts of the offsets."""
    fields = {field.name: table.columns["offset", field.name] for field in form.fields if field.half == "offset"}
    return assembled(_object(fields, rows), len(rows))


def _object(columns: Mapping[str, Any], rows: Rows) -> list[bytes | Any]:
    """The pieces of a JSON object with those fields."""
    pieces: list[bytes | Any] = []
    constant_ = "{"
    for name in sorted(columns):
        array = _chosen(columns[name], rows)
        quote = '"' if is_text(array.type) else ""
        pieces += [f"{constant_}{_json(name)}:{quote}".encode(), _as_texts(array)]
        constant_ = f"{quote},"
    return [*pieces, f"{constant_.rstrip(',')}}}".encode()]


def _as_texts(array: Any) -> Any:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array.cast(pa.string())


def _flags(array: Any) -> Which:
    return np.array(array.to_numpy(zero_copy_only=False), np.bool_)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
