"""Rows of a Parquet file, by their columns: which of them are certain to be well, and all of them as lines."""

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
from gitops_connect.checks.large.certifying import Certain, read_topics
from gitops_connect.checks.large.layouts import Field, LineForm
from gitops_connect.checks.large.templates import TOPIC, Template
from gitops_connect.checks.large.texts import Texts, assembled
from gitops_connect.model.shape_fields import FieldType

HALVES = ("partition", "offset")
Key = tuple[str, str]
"""A half of an entry, and a field of it."""
Rows = NDArray[np.intp]
Which = NDArray[np.bool_]

_ESCAPED = r'["\\\x00-\x1f]'
_QUOTE, _BACKSLASH, _BLANK = b'"\\ '
_WAYS = 8
"""Sets of fields, for each of which lines are written at once; those of further ones are written one by one."""
_RANGES: Mapping[FieldType, tuple[int | None, int | None]] = {
    FieldType.NUMBER: (0, None),
    FieldType.SMALL: (0, INT),
    FieldType.ZERO: (0, 0),
    FieldType.SIGNED: (None, None),
    FieldType.SERVER: (None, None),
}


@dataclass(frozen=True, slots=True)
class Table:
    """So many rows. The columns are of texts, whole numbers of 64 bits, flags, or of what is looked at one by one; a
    null is a field that is not there.
    """

    columns: Mapping[Key, Any]
    count: int

    def taken(self, rows: Rows) -> Table:
        """Those rows."""
        chosen = pa.array(rows)
        return Table({key: array.take(chosen) for key, array in self.columns.items()}, len(rows))

    def lines(self) -> bytes:
        """An entry a line, as JSON; those that are well are canonical."""
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
            if pa.types.is_string(array.type):
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
    """As in a CSV: a row without anything of the partition has none, and one without an offset has a null."""
    parts: dict[str, dict[str, Any]] = {half: {} for half in HALVES}
    for (half, name), value in cells.items():
        if value is not None:
            parts[half][name] = value
    entry: dict[str, Any] = {"partition": parts["partition"]} if parts["partition"] else {}
    return json.dumps({**entry, "offset": parts["offset"] or None}, ensure_ascii=False) + "\n"


def certify_table(table: Table, template: Template | None) -> tuple[list[Certain], Rows]:
    """The rows that are certain to be well, and the numbers of the others."""
    found = []
    left = np.ones(table.count, np.bool_)
    for form in () if template is None else template.forms:
        if not left.any():
            break
        which = _fitting(table, form, template)
        rows = np.flatnonzero(left & which) if which is not None else np.zeros(0, np.intp)
        if len(rows):
            found.append(_certain(table, form, rows))
            left[rows] = False
    return found, np.flatnonzero(left)


def _fitting(table: Table, form: LineForm, template: Template | None) -> Which | None:
    """The rows that have exactly these fields, each certain to be well."""
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
        if key == ("partition", TOPIC) and template is not None and template.topics is not None:
            which[which] = read_topics(array.filter(pa.array(which)), template.topics)
    return which


def _certain_values(array: Any, field: Field) -> Which | None:
    """None where no value of the column is."""
    if pa.types.is_string(array.type) and field.kind in (FieldType.TEXT, FieldType.GTIDS, FieldType.TOKEN):
        if field.texts is None:
            return plain_texts(array)
        return _flags(pc.is_in(array, pa.array(sorted(field.texts), pa.string()))) & plain_texts(array)
    if pa.types.is_int64(array.type) and field.kind in _RANGES:
        return _within(array, *_RANGES[field.kind])
    if pa.types.is_boolean(array.type) and field.kind is FieldType.FLAG:
        return _flags(array.is_valid())
    return None


def _within(array: Any, least: int | None, most: int | None) -> Which:
    """A null is not."""
    which = _flags(array.is_valid())
    for bound, fails in ((least, np.less), (most, np.greater)):
        if bound is not None:
            which &= ~fails(array.fill_null(bound).to_numpy(zero_copy_only=False), bound)
    return which


def plain_texts(array: Any) -> Which:
    """Those that stand in JSON as they are; a null is none. One look at all their bytes is nearly always enough."""
    _, offsets, data = array.buffers()
    valid = _flags(array.is_valid())
    if data is None or not len(array):
        return valid
    ends = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4)
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    if not ((content < _BLANK) | (content == _QUOTE) | (content == _BACKSLASH)).any():
        return valid
    return valid & ~_flags(pc.fill_null(pc.match_substring_regex(array, _ESCAPED), fill_value=True))


def _certain(table: Table, form: LineForm, rows: Rows) -> Certain:
    partition = _texts(table, form, "partition", rows)
    if form.number is not None:
        (field,) = (one for one in form.fields if one.half == "offset")
        numbers = table.columns["offset", field.name].to_numpy(zero_copy_only=False)[rows]
        return Certain(rows, partition, numbers=numbers.astype(np.int64))
    return Certain(rows, partition, _texts(table, form, "offset", rows) if form.offset else None)


def _texts(table: Table, form: LineForm, half: str, rows: Rows) -> Texts:
    """The canonical ones."""
    fields: dict[str, Any] = {}
    for field in form.fields:
        if field.half == half:
            one = field.texts is not None and len(field.texts) == 1
            fields[field.name] = next(iter(field.texts or ())) if one else table.columns[half, field.name]
    return assembled(_object(fields, rows), len(rows))


def _object(fields: Mapping[str, Any], rows: Rows) -> list[bytes | Any]:
    """The pieces of a JSON object: a field's value is a column, or a text that all rows have."""
    pieces: list[bytes | Any] = []
    constant = "{"
    for name in sorted(fields):
        value = fields[name]
        constant += f"{'' if constant == '{' and not pieces else ','}{_json(name)}:"
        if isinstance(value, str):
            constant += _json(value)
            continue
        quote = '"' if pa.types.is_string(value.type) else ""
        array = value if len(rows) == len(value) else value.take(pa.array(rows))
        pieces += [f"{constant}{quote}".encode(), array if quote else array.cast(pa.string())]
        constant = quote
    return [*pieces, f"{constant}}}".encode()]


def _flags(array: Any) -> Which:
    return np.array(array.to_numpy(zero_copy_only=False), np.bool_)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
