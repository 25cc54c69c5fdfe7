"""Makes texts from files and servers safe for a terminal: without control characters and additional lines."""

from __future__ import annotations

LONGEST = 400
"""Characters of one value that are shown."""
_TAB = " " * 4


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


def shortened(text: str) -> str:
    """The text; if it is very long, its end is replaced by its length."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[start] << 8 | units[start + 1]:04x}" for start in range(0, len(units), 2))
