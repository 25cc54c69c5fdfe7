"""Makes texts from files and servers safe for terminals, editors and pages, and keeps them separate from our own words.

What `str.isprintable` calls not printable is escaped or replaced: control characters, what changes the direction of
the text or is invisible (U+202E, U+200B, U+FEFF, tags), line ends of Unicode, and halves of surrogate pairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, cycle, zip_longest

LONGEST = 400
"""Characters of one value that are shown."""
_TAB = " " * 4
COLOUR = re.compile("(\x1b\\[[0-9;]*m)")
"""A colour in a text, with a group: `split` returns it, too."""


def one_line(text: str) -> str:
    """A message on one line: each character that is not printable becomes a space."""
    return "".join(character if character.isprintable() else " " for character in text)


def escaped(text: str) -> str:
    """JSON text in which each character that is not printable is written as `\\uXXXX`; its value is unchanged."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def escaped_lines(text: str) -> str:
    """Text of several lines: line feeds stay, tabs become spaces, other unprintable characters are escaped."""
    return "\n".join(escaped(line.replace("\t", _TAB)) for line in text.split("\n"))


def output(text: str, *, coloured: bool = False) -> str:
    """A part of a report or of a file: what `escaped_lines` returns. `coloured`: the colours of the report stay."""
    if text.replace("\n", "").isprintable():
        return text
    parts = COLOUR.split(text) if coloured else [text]
    is_colour = cycle((False, True))
    return "".join(part if colour else escaped_lines(part) for part, colour in zip(parts, is_colour, strict=False))


def shortened(text: str, most: int = LONGEST) -> str:
    """The text; if it has more than `most` characters, its end is replaced by its length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[start] << 8 | units[start + 1]:04x}" for start in range(0, len(units), 2))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report: words of this project, and the values from outside that it quotes.

    Values are names, config values, messages of Connect, and any string that contains one of these, such as a refusal.
    They are kept separate from the words, because each format of a report shows values in its own way. `words` has
    `{}` for each value; a value that is a tuple is a list, shown with commas.
    """

    words: str
    values: tuple[str | tuple[str, ...], ...] = ()

    @staticmethod
    def of(words: str, *values: str | tuple[str, ...]) -> Sentence:
        """The words, which are a literal, with their values."""
        return Sentence(words, values)

    @staticmethod
    def joined(parts: Iterable[Sentence], separator: str = " ") -> Sentence:
        listed = list(parts)
        return Sentence(separator.join(one.words for one in listed), tuple(v for one in listed for v in one.values))

    def with_values(self, change: Callable[[str], str]) -> Sentence:
        """The sentence with every value changed by `change`."""
        values = (change(one) if isinstance(one, str) else tuple(map(change, one)) for one in self.values)
        return Sentence(self.words, tuple(values))

    def render(self, show: Callable[[str], str]) -> str:
        """The whole sentence; `show` escapes or quotes a value for the format of the report."""
        shown = [one if isinstance(one, str) else ", ".join(one) for one in self.with_values(show).values]
        return "".join(chain.from_iterable(zip_longest(self.words.split("{}"), shown, fillvalue="")))
