"""A manifest as CSV (RFC 4180): a column for each field of partition and offset, a line for each entry.

A cell is read as JSON if it is a number, a string in double quotes, true, false or null; otherwise it is a string with
its whitespace. An empty cell is a missing field. If all cells of the offset are empty, the offset is null.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitops_connect.connect import unreadable
from gitops_connect.connect.entry_texts import MAX_ENTRY
from gitops_connect.connect.unreadable import Place, Unreadable, shown, stray_in
from gitops_connect.offsets.formats.content import Faults
from gitops_connect.offsets.formats.json_entries import Doubt, JsonValues, Misread

_PARTS = ("partition", "offset")
_BLANK = " \t\r\n"
_SMALL_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}

Column = tuple[str, str]


def read(texts: Iterable[str], faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entry of each row below the header, from a text in pieces; one row is in memory. Raises Unreadable."""
    rows = _CsvRows(texts).each()
    header, place, stray = next(rows, ([], Place(), None))
    if not header:
        return
    if stray is not None:
        raise stray
    columns = _columns(header, place)
    values = JsonValues()
    for cells, at, stray in rows:
        if stray is not None:
            faults.add(stray.rule, stray.found, stray.place)
            continue
        if len(cells) != len(columns):
            faults.add(unreadable.SYNTAX, f"the row has {len(cells)} cells, but the header has {len(columns)}", at)
            continue
        entry, doubts = _entry(columns, cells, values)
        faults.add_doubts(doubts, at)
        if not doubts:
            yield entry, at


class _CsvRows:
    """The rows of a text. Cells in quotes may extend a row over any number of lines."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self._length = 0
        self._line = 1
        self._stray: Unreadable | None = None

    def each(self) -> Iterator[tuple[list[str], Place, Unreadable | None]]:
        """Each row with its first line, and why it is not text, if so."""
        reader = csv.reader(self._lines(), strict=True)
        try:
            for cells in reader:
                if cells:
                    yield cells, Place(self._line), self._stray
                self._line, self._stray, self._length = reader.line_num + 1, None, 0
        except csv.Error as error:
            raise Unreadable(unreadable.SYNTAX, f"invalid CSV: {error}", (self._line, 1)) from error

    def _lines(self) -> Iterator[str]:
        for number, line in enumerate(lines_of(self._texts), 1):
            self._length += len(line)
            if self._length > MAX_ENTRY:
                raise Unreadable(
                    unreadable.TOO_LARGE, f"a row of more than {MAX_ENTRY // 1024**2} MiB", (self._line, 1)
                )
            if self._stray is None and (stray := stray_in(line)):
                self._stray = Unreadable(unreadable.ENCODING, stray[1], (number, stray[0] + 1))
            yield line


def _columns(header: Sequence[str], place: Place) -> list[Column]:
    columns = [_column(name.strip(_BLANK), place) for name in header]
    twice = next((column for column, count in Counter(columns).items() if count > 1), None)
    if twice is not None:
        raise Unreadable(unreadable.DUPLICATE_KEY, f"the column {shown('.'.join(twice))} appears twice", place)
    for part in _PARTS:
        if not any(column[0] == part for column in columns):
            raise Unreadable(unreadable.FORMAT, f"it has no column {part}.FIELD{_other_separator(header)}", place)
    return columns


def _column(name: str, place: Place) -> Column:
    part, _, field = name.partition(".")
    if part not in _PARTS or not field:
        found = f"unknown column {shown(name)}; name the columns partition.FIELD and offset.FIELD in the first line"
        raise Unreadable(unreadable.FORMAT, found, place)
    return part, field


def _other_separator(header: Sequence[str]) -> str:
    other = next((mark for mark in ";\t|" if any(mark in name for name in header)), None)
    return f"; separate the columns with commas, not with {shown(other)}" if other is not None else ""


def _entry(
    columns: Sequence[Column], cells: Sequence[str], values: JsonValues
) -> tuple[Mapping[str, Any], list[Doubt]]:
    """The entry as in a JSON body. If all cells of the partition are empty, the entry has no partition."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    doubts: list[Doubt] = []
    for (part, field), cell in zip(columns, cells, strict=True):
        if cell:
            parts[part][field], found = _value(cell, values)
            doubts += found
    entry: dict[str, Any] = {"partition": parts["partition"]} if parts["partition"] else {}
    return {**entry, "offset": parts["offset"] or None}, doubts


def _value(cell: str, values: JsonValues) -> tuple[Any, list[Doubt]]:
    content = cell.strip(_BLANK)
    if content in _WORDS:
        return _WORDS[content], []
    if _SMALL_INTEGER.fullmatch(content):
        return int(content), []
    if not (_NUMBER.fullmatch(content) or content.startswith('"')):
        return cell, []
    try:
        value, end, doubts = values.read(content, 0)
    except Misread:
        return cell, []
    return (value, doubts) if end == len(content) else (cell, [])


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Each line of a text in pieces, with its line feed. Raises Unreadable if a line is longer than any entry.

    Only a line feed ends a line: JSON allows U+2028 and the like in a string.
    """
    held: list[str] = []
    length, number = 0, 1
    for text in texts:
        start = 0
        while end := text.find("\n", start) + 1:
            yield "".join((*held, text[start:end])) if held else text[start:end]
            held, length, start = [], 0, end
            number += 1
        if start < len(text):
            held.append(text[start:])
            length += len(held[-1])
        if length > MAX_ENTRY:
            raise Unreadable(unreadable.TOO_LARGE, f"a line of more than {MAX_ENTRY // 1024**2} MiB", (number, 1))
    if held:
        yield "".join(held)
