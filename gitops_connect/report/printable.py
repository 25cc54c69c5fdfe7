"""Texts from files and servers as a terminal may get them: nothing in them drives it, or starts a line of its own."""

from __future__ import annotations

LONGEST = 400
"""Characters of one value that are shown."""
_TAB = " " * 4


def one_line(text: str) -> str:
    """A message on one line: whatever does not print becomes a blank."""
    return "".join(character if character.isprintable() else " " for character in text)


def escaped(text: str) -> str:
    """JSON text in which whatever does not print is written as `\\uXXXX`; it stays the same JSON."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def escaped_lines(text: str) -> str:
    """Text of several lines: line feeds stay, tabs become spaces, and whatever else does not print is escaped."""
    return "\n".join(escaped(line.replace("\t", _TAB)) for line in text.split("\n"))


def shortened(text: str) -> str:
    """The end of a very long text is left out, with its length."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[start] << 8 | units[start + 1]:04x}" for start in range(0, len(units), 2))
