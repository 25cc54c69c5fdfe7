"""A text inside another text, such as a body in a shell script or a script in a YAML file, with all its places."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

from gitops_connect.exchange.readers.reading import LineStarts
from gitops_connect.exchange.readers.unknown_values import MARK
from gitops_connect.model.diagnostics import Location

PlaceOf = Callable[[int], tuple[int, int]]
"""The line and the column of an index, from 1."""
_BARE_MARK = re.compile(rf'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(?P<mark>{MARK.pattern})', re.DOTALL)
_HEAD = re.compile(r"(?:[&!][^\s]{0,200}\s{1,200})?(?P<style>[|>][^\n]{0,200}\n|['\"])?")
_KEY = re.compile(r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^']*+'|(?:[^:\n]|:(?!\s))++)\s{0,1000}:\s{0,1000}""", re.DOTALL)
_SPACES = re.compile(r"\s{0,1000}")
_SPACES_IN_QUOTES = re.compile(r"(?:\s|\\[ntr \t\n]){0,1000}")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


class Excerpt:
    """A text out of pieces of another one. `place` is that of the other text."""

    def __init__(self, place: PlaceOf) -> None:
        self._outer = place
        self._pieces: list[str] = []
        self._starts, self._origins = array("L"), array("L")
        self._length = self._next = 0

    def add(self, piece: str, at: int) -> None:
        """Add a piece, which is at that index of the other text."""
        if at != self._next or not self._starts:
            self._starts.append(self._length)
            self._origins.append(at)
        self._pieces.append(piece)
        self._length += len(piece)
        self._next = at + len(piece)

    @staticmethod
    def whole(text: str) -> Excerpt:
        """All of a file."""
        found = Excerpt(LineStarts(text).place)
        found.add(text, 0)
        return found

    @cached_property
    def text(self) -> str:
        """The whole text: nothing is added any more."""
        text = "".join(self._pieces)
        self._pieces = []
        return text

    @cached_property
    def _lines(self) -> LineStarts:
        return LineStarts(self.text)

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of the index, in the file."""
        piece = max(bisect_right(self._starts, at) - 1, 0)
        if not self._origins:
            return self._outer(0)
        return self._outer(self._origins[piece] + at - self._starts[piece])

    def locate(self, path: str, inside: Location) -> Location:
        """The location in the file at `path` of a location in this text."""
        return Location(path, *self.place(min(self._lines.index(inside.line, inside.column), len(self.text))))

    def part(self, start: int, end: int | None = None) -> Excerpt:
        """A part of this text."""
        found = Excerpt(self.place)
        found.add(self.text[start:end], start)
        return found

    def replaced(self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> Excerpt:
        """This text with a replacement for each match."""
        found, end = Excerpt(self.place), 0
        for match in pattern.finditer(self.text):
            found.add(self.text[end : match.start()], end)
            found.add(replacement(match), match.start())
            end = match.end()
        found.add(self.text[end:], end)
        return found

    def as_json(self) -> Excerpt:
        """This text with quotes around each mark that is outside a string, as in `{"tasks.max": $TASKS}`."""
        return self.replaced(_BARE_MARK, lambda one: f'"{one.group()}"' if one.group("mark") else one.group())


def excerpt_of_scalar(source: str, start: int, text: str, place: PlaceOf, *, is_field: bool) -> Excerpt:
    """The string of a YAML or JSON file that begins at an index of the source. Each word has its own place.

    `is_field`: the key of the string begins there. Whitespace is skipped, because YAML folds lines and removes their
    indentation. If a word is not found, as in a string that an alias repeats, the rest has the place of the string.
    """
    key = _KEY.match(source, start) if is_field else None
    start = key.end() if key else start
    head = _HEAD.match(source, start)
    style = (head.group("style") or "")[:1] if head else ""
    at = head.end() if head else start
    found = Excerpt(place)
    for run in re.finditer(r"(\s*+)(\S*+)", text):
        found.add(run.group(1), at)
        spaces = (_SPACES_IN_QUOTES if style == '"' else _SPACES).match(source, at)
        at = spaces.end() if spaces else at
        at = _add_word(found, run.group(2), source, at, style)
        if at < 0:
            found.add(text[run.start(2) :], start)
            return found
    return found


def _add_word(found: Excerpt, word: str, source: str, at: int, style: str) -> int:
    """Add the word, which begins at the index of the source. Returns the end of the word, or -1 if it is not there."""
    if source.startswith(word, at):
        found.add(word, at)
        return at + len(word)
    if style not in ("'", '"'):
        return -1
    ends, end = [at], at
    for character in word:
        escape = _ESCAPE.match(source, end) if style == '"' else None
        if escape is None and not source.startswith(character, end):
            return -1
        end = escape.end() if escape else end + 1 + (style == character)
        ends.append(end)
    for character, begin in zip(word, ends, strict=False):
        found.add(character, begin)
    return end
