"""The places of ascending positions in a text, and the lines of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitops_connect.model.entry_texts import MAX_ENTRY
from gitops_connect.model.unreadable import TOO_LARGE, Place, Unreadable


class Lines:
    """Counts line breaks up to the last position, so that many places cost one pass."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted_to = 0
        self._line = 1
        self._line_starts = 0

    def place(self, position: int) -> Place:
        """Line and column of a position, which must not be before the previous position."""
        last = self._text.rfind("\n", self._counted_to, position)
        if last >= 0:
            self._line += self._text.count("\n", self._counted_to, position)
            self._line_starts = last + 1
        self._counted_to = position
        return Place(self._line, position - self._line_starts + 1)


def lines_of(text: str) -> Iterator[str]:
    """Each line with its line feed. Only a line feed ends a line: JSON allows U+2028 and the like in a string."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def joined_lines(texts: Iterable[str]) -> Iterator[str]:
    """Each line of a text that is given in pieces. Raises Unreadable if a line is longer than any entry."""
    held: list[str] = []
    length, line = 0, 1
    for text in texts:
        *whole, rest = _lines_and_rest(text)
        if whole:
            yield "".join((*held, whole[0]))
            yield from whole[1:]
            line += len(whole)
            held, length = [], 0
        held.append(rest)
        length += len(rest)
        if length > MAX_ENTRY:
            raise Unreadable(TOO_LARGE, f"a line of more than {MAX_ENTRY // 1024**2} MiB", (line, 1))
    if length:
        yield "".join(held)


def _lines_and_rest(text: str) -> list[str]:
    """Each line with its line feed, and the text after the last one."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), rest]
