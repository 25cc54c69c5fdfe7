"""Decodes chunks of bytes to text, and accepts only UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from gitops_connect.model.unreadable import ENCODING, Place, Unreadable

MARK = "\ufeff"
"""The byte order mark, which is ignored at the beginning of a file."""
NUL = "a NUL character, as in UTF-16 or in a binary file"


def not_utf8(byte: int) -> str:
    """The message for a byte that is not valid UTF-8."""
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
