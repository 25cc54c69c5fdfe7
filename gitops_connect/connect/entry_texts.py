"""Reads the entries of a JSON body one by one from its bytes, and never has the whole body in memory.

A body is that of GET and PATCH `/connectors/NAME/offsets`, or only its list (KIP-875), often all of it in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gitops_connect.connect.unreadable import (
    DUPLICATE_KEY,
    ENTRIES,
    FORMAT,
    MAX_DEPTH,
    MAX_FIELDS,
    SYNTAX,
    TOO_DEEP,
    TOO_LARGE,
    Place,
    Unreadable,
    check_fields,
    explain,
    is_too_deep,
    no_list,
    shown,
    texts,
)

MAX_ENTRY = 16 * 1024 * 1024
"""Characters. A Kafka record has at most 1 MiB, unless brokers are configured otherwise: no offset is that long."""
_WINDOW = 64 * 1024
"""Characters of the smallest window over the text, so that its end cuts few entries."""
_UNSURE = 16
"""Characters before the end of the window in which an error may be due to that end: `-Infinity` is cut there."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_NEXT_ENTRY = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?=\{)")
"""The separator between nearly all entries. One match finds it, because this search takes most of the time."""

Scan = Callable[[str, int], tuple[Any, int]]
"""Text and position -> the value that begins there, and the position of its end.

Raises JSONDecodeError if the text there is no JSON, and RecursionError if the value has too many levels.
"""


class EntryText(NamedTuple):
    """One entry: its source text after `in_one_line`, line and column of its beginning, and its parsed value."""

    text: str
    line: int
    column: int
    value: Any


def entry_texts(chunks: Iterable[bytes]) -> Iterator[EntryText]:
    """The entries of a body in UTF-8. Raises Unreadable after all entries before the fault.

    Like Python's parser, it accepts more than JSON: NaN, and a key that appears twice. Other fields than the list of
    entries are ignored.
    """
    return Body(texts(chunks)).entries()


def in_one_line(text: str) -> str:
    """JSON with a carriage return for each line feed, and a space for each carriage return; strings contain neither."""
    if "\r" in text:
        text = text.replace("\r", " ")
    return text.replace("\n", "\r") if "\n" in text else text


def scan(text: str, start: int) -> tuple[Any, int]:
    """The `Scan` of Python's own parser, written in C."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python makes an integer of
        return _TEXTUAL.raw_decode(text, start)


_DECODER = json.JSONDecoder()
_TEXTUAL = json.JSONDecoder(parse_int=str)


def _ignore(_text: str, _place: Place) -> None:
    pass


def _ignore_fault(_rule: str, _found: str, _place: tuple[int, int]) -> None:
    pass


class Body:
    """One body. Its callbacks get each value that is not an entry, and each error that does not stop the parser."""

    def __init__(
        self,
        chunks: Iterable[str],
        read: Scan = scan,
        beside: Callable[[str, Place], None] = _ignore,
        note: Callable[[str, str, tuple[int, int]], None] = _ignore_fault,
    ) -> None:
        self._chunks = iter(chunks)
        self._scan = read
        self._beside = beside
        self._note = note
        self._text = ""
        self._at = 0
        self._ended = False
        self._counted_to = 0
        self._line = 1
        self._line_starts = 0

    def entries(self) -> Iterator[EntryText]:
        """The entries, one by one. It can be called once. Raises Unreadable at the first fault."""
        root = self._next()
        if not root:
            return
        if root == "[":
            yield from self._list()
        elif root == "{":
            yield from self._object()
        else:
            raise no_list(*self._other())
        if self._next():
            raise self._misplaced(
                " after the end of the list or object; if each line is an entry, the file name must end in .jsonl"
            )

    def _object(self) -> Iterator[EntryText]:
        start = self._place(self._at)
        fields: dict[str, None] = {}
        self._at += 1
        ended = self._next() == "}"
        self._at += ended
        while not ended:
            name, place = self._name()
            if name in fields:
                raise Unreadable(DUPLICATE_KEY, f"the field {shown(name)} appears twice in one object", place)
            if len(fields) == MAX_FIELDS:
                raise Unreadable(FORMAT, f"more than {MAX_FIELDS} fields other than {ENTRIES!r}", place)
            fields[name] = None
            if name != ENTRIES:
                self._other()
            elif self._next() == "[":
                yield from self._list()
            else:
                raise no_list(*self._other())
            ended = self._separator("}")
        if found := check_fields(fields, start):
            self._note(FORMAT, found, start)

    def _name(self) -> tuple[str, Place]:
        if self._next() != '"':
            raise self._misplaced(", expected a field name in double quotes")
        name, place = self._other()
        if self._next() != ":":
            raise self._misplaced(", expected ':'")
        self._at += 1
        return str(name), place

    def _list(self) -> Iterator[EntryText]:
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return
        while True:
            value, end = self._value()
            text, (line, column) = self._text[self._at : end], self._place(self._at)
            self._at = end
            yield EntryText(in_one_line(text), line, column, value)
            if between := _NEXT_ENTRY.match(self._text, end):
                self._at = between.end()
            elif self._separator("]"):
                return
            else:
                self._next()

    def _other(self) -> tuple[Any, Place]:
        """Read a value that is no entry, and pass it to the callback."""
        self._next()
        value, end = self._value()
        text, place = self._text[self._at : end], self._place(self._at)
        self._at = end
        self._beside(text, place)
        return value, place

    def _value(self) -> tuple[Any, int]:
        """The value at the current position, and the position of its end in the window."""
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_go_on(error) and self._extend():
                    continue
                raise Unreadable(SYNTAX, explain(error), self._place(error.pos)) from error
            except RecursionError as error:
                raise self._too_deep() from error
            # A value that is no list, object or string may be a number that continues: `1` of `1e+5`.
            if len(self._text) - end >= 3 or isinstance(value, dict | list | str) or not self._extend():
                break
        if end - self._at > MAX_ENTRY:
            raise self._too_large()
        opened = self._text.count("[", self._at, end) + self._text.count("{", self._at, end)
        if opened > MAX_DEPTH and is_too_deep(value):
            raise self._too_deep()
        return value, end

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos + _UNSURE > len(self._text)

    def _separator(self, end: str) -> bool:
        """Skip the separator after a value; True if it was the end of the list or object."""
        found = self._next()
        if found not in (",", end) or not found:
            raise self._misplaced(f", expected ',' or {end!r}")
        self._at += 1
        return found == end

    def _next(self) -> str:
        """The next character that is no whitespace; empty at the end of the body."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._text) or not self._extend():
                return self._text[self._at : self._at + 1]

    def _extend(self) -> bool:
        """Drop the text before the current position, and double the rest. False at the end of the body."""
        held = len(self._text) - self._at
        if held > MAX_ENTRY:
            raise self._too_large()
        self._place(self._at)
        parts, length = [self._text[self._at :]], held
        while length < max(_WINDOW, 2 * held):
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            parts.append(chunk)
            length += len(chunk)
        if length == held:
            return False
        self._text = "".join(parts)
        self._line_starts -= self._at
        self._counted_to = self._at = 0
        return True

    def _place(self, position: int) -> Place:
        """Line and column of a position in the window, which must not be before the previous position."""
        last = self._text.rfind("\n", self._counted_to, position)
        if last >= 0:
            self._line += self._text.count("\n", self._counted_to, position)
            self._line_starts = last + 1
        self._counted_to = position
        return Place(self._line, position - self._line_starts + 1)

    def _misplaced(self, words: str) -> Unreadable:
        found = self._next()
        unexpected = f"unexpected {shown(found) if found else 'end of the file'}"
        return Unreadable(SYNTAX, f"{unexpected}{words}", self._place(self._at))

    def _too_large(self) -> Unreadable:
        found = f"an entry of more than {MAX_ENTRY // 1024**2} MiB"
        return Unreadable(TOO_LARGE, found, self._place(self._at))

    def _too_deep(self) -> Unreadable:
        return Unreadable(SYNTAX, TOO_DEEP, self._place(self._at))
