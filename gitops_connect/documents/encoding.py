"""What a text file may contain: UTF-8, and no control characters.

Executors of Spark import this module, so it uses no library.
"""

from __future__ import annotations

import codecs
import re

from gitops_connect.connect.unreadable import MARK, not_utf8

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_OTHERS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_SAVE_AS_UTF8 = "save the file as UTF-8"


class Refused(Exception):
    """Why a file or a document is not read any further, with the place: line and column from 1, in the whole file."""

    def __init__(self, rule: str, summary: str, place: tuple[int, int], hint: str = "") -> None:
        super().__init__(summary)
        self.rule = rule
        self.summary = summary
        self.place = place
        self.hint = hint


def decode(content: bytes) -> str:
    """The text, without a byte order mark. Raises Refused."""
    refuse_others(content)
    try:
        return content.decode().removeprefix(MARK)
    except UnicodeDecodeError as error:
        place = place_after(content[: error.start].decode().removeprefix(MARK))
        summary = f"the file is not UTF-8: {not_utf8(content[error.start])}"
        raise Refused("yaml/encoding", summary, place, _SAVE_AS_UTF8) from error


def refuse_others(content: bytes) -> None:
    """Raise Refused if the file begins with the mark of another encoding."""
    for mark, encoding in _OTHERS.items():
        if content.startswith(mark):
            raise Refused("yaml/encoding", f"the file is encoded in {encoding}, expected UTF-8", (1, 1), _SAVE_AS_UTF8)


def refuse_control_characters(text: str) -> None:
    """Raise Refused for a character that YAML does not allow (section 5.1)."""
    if found := _CONTROL.search(text):
        summary = f"the character U+{ord(found.group()):04X} is not allowed in YAML"
        hint = "remove it, or write it as an escape in double quotes"
        raise Refused("yaml/character", summary, place_after(text[: found.start()]), hint)


def place_after(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - before.rfind("\n")
