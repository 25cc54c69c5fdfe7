"""Bytes as they come -> their text: UTF-8, and nothing else."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from gitops_connect.model.unreadable import ENCODING, Place, Unreadable

MARK = "\ufeff"
"""The byte order mark. At the beginning of a file it does no harm."""
NUL = "a NUL character, as in UTF-16 or in a binary file"


def not_utf8(byte: int) -> str:
    """What to say of a byte that stands where none like it may."""
    return f"byte 0x{byte:02x}"


def texts(chunks: Iterable[bytes]) -> Iterator[str]:
    """The text of each chunk, as far as its characters are whole, without a byte order mark. Raises Unreadable."""
    reader = _Texts()
    for chunk in chunks:
        yield reader.read(chunk)
    yield reader.read(b"", is_last=True)


class _Texts:
    """Remembers where it is, so that it can say where a byte stands that is none of UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
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
