"""The syntax of Java's properties files, as `java.util.Properties.load(InputStream)` reads them (Java 17)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
_BLANKS = " \t\f"
_KEY = re.compile(r"([^\\=: \t\f]*+(?:\\.[^\\=: \t\f]*+)*+)[ \t\f]*+(?:[=:][ \t\f]*+)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}


class Property(NamedTuple):
    """One key with its value, and the number of its first line, from 1.

    `has_separator`: the line contains a `=` or `:`, which most keys have behind them.
    """

    key: str
    value: str
    line: int
    has_separator: bool = True


class MalformedEscape(ValueError):
    r"""`\u` without four hexadecimal digits: Java rejects the whole file."""

    def __init__(self, line: int) -> None:
        super().__init__("\\u must be followed by four hexadecimal digits")
        self.line = line


def parse(content: bytes) -> Iterator[Property]:
    """Every property in the order of the file; a key may repeat. Raises MalformedEscape."""
    for text, line in _logical_lines(content.decode("latin-1")):
        match = _KEY.match(text)
        end = match.end() if match else 0
        key = match.group(1) if match else ""
        yield Property(_unescape(key, line), _unescape(text[end:], line), line, "=" in text or ":" in text)


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Lines without comments and empty lines. A backslash at the end of a line joins the next line."""
    pending, first, is_open = "", 1, False
    for number, found in enumerate(_LINE.finditer(text), start=1):
        line = found.group(1)
        content = line.lstrip(_BLANKS)
        if not pending and (not content or content[0] in "#!"):
            # Java finds an empty key there.
            is_open = is_open and found.start() == len(text) and not text.endswith("\r\n")
            continue
        first = first if pending else number
        is_open = (len(content) - len(content.rstrip("\\"))) % 2 == 1
        pending += content[:-1] if is_open else content
        if not is_open:
            yield pending, first
            pending = ""
    if pending or is_open:
        yield pending, first


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda found: _character(found.group(1), line), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: str, line: int) -> str:
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape == "u":
        raise MalformedEscape(line)
    return _LETTERS.get(escape, escape)
