"""The places of values in a line of a known form: by parsing one line, or by quotation marks in many lines at once.

No string in a line of such a form contains a quotation mark. So the mark with a given number has the same meaning in
all lines, and every constant part has a constant distance from it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.families.ties import RULES
from gitops_connect.model.findings import Finding
from gitops_connect.offsets.formats.field_places import members
from gitops_connect.offsets.spark.keys import PAD, Positions, Texts, Values, padded

_MARK = ord('"')


class Anchor(NamedTuple):
    """A place `distance` bytes after the mark of that number (from 0) of its line; None: after the end of the line."""

    mark: int | None
    distance: int


Span = tuple[Anchor, Anchor]
TYPE = "manifest/type"
Admits = Callable[[str], bool]


class Field(NamedTuple):
    """A field of the partition: its only value, a string, or the place of its values (strings without their marks)."""

    name: str
    is_text: bool
    value: str | Span


@dataclass(frozen=True, slots=True)
class LineForm:
    """A form of lines. `pattern` is for RE2 and matches whole lines of this form with their line feed, and no others.

    `partition` and `offset` are the parts of their canonical texts: constant bytes, and parts of the line. An empty
    `offset` means null. `number` is the number that alone decides the move. `is_canonical`: the line equals the line to
    send. `fields` are those of the partition. A line has the form only if each of the `filters` says so of its string.

    `findings` are the violations of each such line: without words if each line has words of its own. Those of `RULES`
    hold only if the partition has no current offset, all others always. `columns` are those of a Parquet file with such
    lines, ascending, each with the pattern of its values in JSON; none if the form is not canonical.
    """

    pattern: str
    marks: int
    partition: tuple[bytes | Span, ...]
    offset: tuple[bytes | Span, ...]
    number: Span | None = None
    is_canonical: bool = False
    fields: tuple[Field, ...] = ()
    filters: tuple[tuple[Span, Admits, bool], ...] = field(default=(), compare=False)
    findings: tuple[Finding, ...] = field(default=(), compare=False)
    columns: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def has_own_words(self) -> bool:
        """Whether the violations of each line have words of their own."""
        return any(not one.words for one in self.findings)

    @property
    def waits(self) -> bool:
        """Whether a current offset may change the findings."""
        return any(one.rule in RULES for one in self.findings)


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The forms, that of the most lines first; those whose lines have findings in words of their own come last."""

    forms: tuple[LineForm, ...]

    def in_words(self) -> LineFormat:
        """The forms whose findings are known in words."""
        return LineFormat(tuple(form for form in self.forms if not form.has_own_words))


class Member(NamedTuple):
    """A field with its value, and the place of the value in the line, in bytes."""

    name: str
    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """One line without its end. `halves` are the partition and the offset; `partition` and `offset` their members."""

    line: bytes
    halves: Mapping[str, Member]
    partition: Sequence[Member]
    offset: Sequence[Member]

    @property
    def value(self) -> dict[str, Any]:
        return {name: half.value for name, half in self.halves.items()}


def layout_of(line: str) -> Layout | None:
    """The layout of an entry of two objects (the offset may be null); None for other lines, and for repeated keys."""
    try:
        value = json.loads(line, object_pairs_hook=_without_repeats)
        partition, offset = value["partition"], value["offset"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if len(value) > 2 or not isinstance(partition, dict) or not isinstance(offset, dict | None):
        return None
    content = line.encode()
    halves = {member.name: member for member in _members(content, content.index(b"{"), value)}
    inner = [_members(content, halves[half].start, value[half] or {}) for half in ("partition", "offset")]
    return Layout(content, halves, *inner)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _members(line: bytes, start: int, values: Mapping[str, Any]) -> list[Member]:
    """The members of the object that begins there. In Latin-1, each byte is a character."""
    places = members(line.decode("latin-1"), start) if values else ()
    return [Member(*item, at, end) for item, (_, _, at, end) in zip(values.items(), places, strict=True)]


class Anchors:
    """Places of one line that are valid for all lines of its form.

    Each value has the name of its field before it, and the next name or the end after it. So nothing varies between the
    beginning of a part and the last mark before it, nor between its end and the next mark.
    """

    def __init__(self, line: bytes) -> None:
        self._end = len(line)
        self._marks = [at for at, byte in enumerate(line) if byte == _MARK]

    def span(self, start: int, end: int) -> Span:
        """The place of a value or of a half of the entry, by its place in the line."""
        before, behind = bisect_left(self._marks, start) - 1, bisect_left(self._marks, end)
        is_last = behind == len(self._marks)
        last = Anchor(None, end - self._end) if is_last else Anchor(behind, end - self._marks[behind])
        return Anchor(before, start - self._marks[before]), last


def bytes_of(array: Any) -> bytes:
    """The texts of an Arrow array without nulls, joined as they are in memory."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4)
    return b"" if data is None else bytes(data[int(ends[0]) : int(ends[-1])])


def is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


class LineBuffer:
    """A text of complete lines, cut into lines, with all their marks."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._feeds = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
        self._offsets = np.concatenate(([0], self._feeds + 1)).astype(np.int32)
        self.array = pa.StringArray.from_buffers(len(self._feeds), pa.py_buffer(self._offsets), pa.py_buffer(content))
        """The lines with their line feeds, for Arrow."""

    def __len__(self) -> int:
        return len(self._feeds)

    @cached_property
    def _buffer(self) -> NDArray[np.uint8]:
        return padded(self._content)

    @cached_property
    def _marks(self) -> Positions:
        return np.flatnonzero(np.frombuffer(self._content, np.uint8) == _MARK)

    @cached_property
    def in_utf8(self) -> NDArray[np.intp]:
        """The numbers of the lines that are UTF-8: nearly always all of them."""
        if self._content.isascii() or is_utf8(self._content):
            return np.arange(len(self))
        return np.flatnonzero([is_utf8(line) for line in self._content.split(b"\n")[:-1]])

    def text_of(self, rows: NDArray[np.intp]) -> bytes:
        return bytes_of(self.array.take(pa.array(rows)))

    def matches(self, form: LineForm, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these lines match the pattern of the form."""
        array = self.array if len(rows) == len(self) else self.array.take(pa.array(rows))
        return np.asarray(pc.match_substring_regex(array, form.pattern))

    def of(self, form: LineForm, rows: NDArray[np.intp]) -> MatchedLines:
        if len(rows) == len(self) and len(self._marks) == len(rows) * form.marks:
            first = rows * form.marks
        else:
            first = np.searchsorted(self._marks, self._offsets[rows])
        ends = self._feeds[rows]
        ends = ends - (self._buffer[ends - 1 + PAD] == ord("\r"))
        return MatchedLines(form, rows, self._content, self._buffer, self._marks, first, ends)


class MatchedLines(NamedTuple):
    """Lines of one form: `rows` are their numbers, ascending, `first` is the index in `marks` of each line's first."""

    form: LineForm
    rows: NDArray[np.intp]
    content: bytes
    buffer: NDArray[np.uint8]
    marks: Positions
    first: Positions
    ends: Positions

    def partition(self) -> Iterator[Values]:
        """The values of each field of the partitions."""
        for name, is_text, value in self.form.fields:
            if isinstance(value, str):
                texts = Texts.of([value])
            else:
                start, end = self.places(value)
                texts = Texts(self.buffer, start + PAD, end - start)
            yield Values(name, texts, is_json=not is_text)

    def texts(self, parts: Sequence[bytes | Span]) -> Any:
        """Those parts of each line, joined, for Arrow."""
        arrays = [part.decode() if isinstance(part, bytes) else self.array(part) for part in parts]
        if all(isinstance(array, str) for array in arrays):
            return pa.array(["".join(arrays)] * len(self.rows), pa.string())
        return pc.binary_join_element_wise(*arrays, "")

    def array(self, span: Span) -> Any:
        """That part of each line, for Arrow."""
        offsets = np.empty(2 * len(self.ends) + 1, np.int32)
        offsets[0:-1:2], offsets[1::2] = self.places(span)
        offsets[-1] = len(self.content)
        parts = pa.StringArray.from_buffers(2 * len(self.ends), pa.py_buffer(offsets), pa.py_buffer(self.content))
        return parts.take(pa.array(np.arange(0, len(offsets) - 1, 2)))

    def numbers(self, span: Span) -> NDArray[np.int64]:
        """The whole number in that place of each line."""
        return np.asarray(self.array(span).cast(pa.int64()))

    def places(self, span: Span) -> tuple[Positions, Positions]:
        """The beginning and end of that part in the text."""
        start, end = (
            (self.ends if anchor.mark is None else self.marks[self.first + anchor.mark]) + anchor.distance
            for anchor in span
        )
        return start, end
