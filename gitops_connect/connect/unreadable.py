"""Why a text is not a manifest: rule, message and position. Also translates the errors of Python's parser."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from gitops_connect.model.findings import kind_of

ENCODING = "manifest/encoding"
COMPRESSION = "manifest/compression"
SYNTAX = "manifest/syntax"
DUPLICATE_KEY = "manifest/duplicate-key"
NUMBER = "manifest/number"
FORMAT = "manifest/format"
EMPTY = "manifest/empty"
TOO_LARGE = "manifest/too-large"

ENTRIES = "offsets"
MAX_DEPTH = 50
"""Levels of lists and objects in one value: an entry has three."""
MAX_FIELDS = 1000
"""Fields of one object: a partition or an offset has a handful."""
TOO_DEEP = f"a value with more than {MAX_DEPTH} nested levels"

_LONGEST_SHOWN = 40
_EXPECTED = f'expected a list, or an object with the list "{ENTRIES}"'
_WHERE = {
    "Expecting value": ", expected a value",
    "Expecting property name": ", expected a field name in double quotes",
    "Expecting ':' delimiter": ", expected ':'",
    "Expecting ',' delimiter": ", expected ',' or the end of the list or object",
    "Invalid control character": " inside a string; write it as an escape sequence",
    "Illegal trailing comma": " after the last value",
}
_WHOLE = {
    "Unterminated string": "a string that starts here and never ends",
    "Invalid \\escape": "a backslash that is not the start of an escape sequence",
    "Invalid \\uXXXX escape": "a \\u that is not followed by four hexadecimal digits",
}


class Place(NamedTuple):
    line: int = 1
    column: int = 1


START = Place()


class Unreadable(Exception):
    """A fault after which nothing more can be read: the id of the rule, the value found, and its position."""

    def __init__(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        super().__init__(found)
        self.rule = rule
        self.found = found
        self.place = Place(*place)


def shown(text: str) -> str:
    """A piece of the file in the form in which a message quotes it."""
    if "\udc80" <= text[:1] <= "\udcff":
        return f"the byte 0x{ord(text[0]) - 0xDC00:02x}, which is not UTF-8"
    return ascii(text) if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]!a}..."


def explain(error: json.JSONDecodeError) -> str:
    """The message for an error of Python's JSON parser: what was found, and what was expected."""
    for known, words in _WHOLE.items():
        if error.msg.startswith(known):
            return words
    at = error.doc[error.pos : error.pos + 1]
    found = shown(at) if at else "end"
    for known, words in _WHERE.items():
        if error.msg.startswith(known):
            return f"unexpected {found}{words}"
    return f"unexpected {found} ({error.msg})"


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        collections = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [inner for collection in collections for inner in collection]
    return any(isinstance(one, dict | list) for one in level)


def check_fields(fields: Collection[str], place: tuple[int, int]) -> str:
    """The message about other fields, which Connect rejects; may be empty. Raises Unreadable without the field."""
    others = ", ".join(shown(field) for field in list(fields)[:5] if field != ENTRIES)
    if ENTRIES not in fields:
        found = f"an object with the fields {others}" if others else "an object without fields"
        raise Unreadable(
            FORMAT,
            f"{found} and without {ENTRIES!r}; if each line is an entry, the file name must end in .jsonl",
            place,
        )
    return f"fields other than {ENTRIES!r}: {others}" if others else ""


def no_list(value: Any, place: tuple[int, int]) -> Unreadable:
    return Unreadable(FORMAT, f"{kind_of(value, 'null', 'an object')}, {_EXPECTED}", place)


# Decodes chunks of bytes to text, and accepts only UTF-8.

MARK = "\ufeff"
"""The byte order mark, which is ignored at the beginning of a file."""
NUL = "a NUL character, as in UTF-16 or in a binary file"


def not_utf8(byte: int) -> str:
    return f"byte 0x{byte:02x}"


def stray_in(text: str) -> tuple[int, str] | None:
    """The position of the first NUL or byte that is not UTF-8, and the message; None if there is none.

    The text was decoded with `surrogateescape`, so that each such byte is a lone surrogate (PEP 383).
    """
    end = len(text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        end = error.start
    if (at := text.find("\0", 0, end)) >= 0:
        return at, NUL
    return None if end == len(text) else (end, not_utf8(ord(text[end]) - 0xDC00))


def texts(chunks: Iterable[bytes], errors: str = "strict") -> Iterator[str]:
    """The text of each chunk, up to its last whole character, without a byte order mark.

    Raises Unreadable for a NUL character, and for a byte that is not UTF-8 unless `errors` keeps it.
    """
    reader = _Texts(errors)
    for chunk in chunks:
        yield reader.read(chunk)
    yield reader.read(b"", is_last=True)


class _Texts:
    """Decodes chunks, and counts lines and columns, so that an error has the position of the invalid byte."""

    def __init__(self, errors: str) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._is_first = True
        self._line = 1
        self._column = 1

    def read(self, chunk: bytes, *, is_last: bool = False) -> str:
        try:
            text = self._decoder.decode(chunk, is_last)
        except UnicodeDecodeError as error:
            before = self._unmarked(error.object[: error.start].decode())
            raise Unreadable(ENCODING, not_utf8(error.object[error.start]), self._place_after(before)) from error
        text = self._unmarked(text)
        if (at := text.find("\0")) >= 0:
            raise Unreadable(ENCODING, NUL, self._place_after(text[:at]))
        self._line, self._column = self._place_after(text)
        return text

    def _unmarked(self, text: str) -> str:
        if not self._is_first or not text:
            return text
        self._is_first = False
        return text.removeprefix(MARK)

    def _place_after(self, text: str) -> Place:
        lines = text.count("\n")
        column = len(text) - text.rfind("\n") - 1
        return Place(self._line + lines, column + (1 if lines else self._column))
