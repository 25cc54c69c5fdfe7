"""How a message names a wrong value. The value may be a secret in the wrong place, so at most a word is repeated."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_. /-]{1,60}(?:/v[0-9][a-z0-9]{0,9})?")
"""A misspelt option, or an API version."""


def word_or_kind(value: object) -> str:
    """A word in quotes, such as `'stoped'`; the kind of any other value, such as `a number`."""
    return repr(value) if isinstance(value, str) and _WORD.fullmatch(value) else kind_of(value)


def kind_of(value: object) -> str:
    """The kind of a value, never the value."""
    match value:
        case None:
            return "empty"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"
