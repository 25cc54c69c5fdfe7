"""What a check has found in an entry of an offset manifest: the rule, the field, and the words of the message."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

VALUE, KNOWN = "value", "known"
"""Words of a finding for its hint only: the found value, and the possible values, one per line."""
_LONGEST_SHOWN = 60


class LazyWords(Mapping[str, str]):
    """The words of a finding, computed when it is explained: only 20 findings of each rule are explained."""

    def __init__(self, compute: Callable[[], Mapping[str, str]]) -> None:
        self._compute = compute

    @cached_property
    def _words(self) -> Mapping[str, str]:
        return self._compute()

    def __getitem__(self, key: str) -> str:
        return self._words[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[Mapping[str, str]]]:
        """Another process gets the words."""
        return dict, (self._words,)


class Finding(NamedTuple):
    """A violation of a rule: its field (`partition.topic`; empty: the whole entry), and the words of its message.

    `unread`: Connect accepts the partition, but the connector does not read it. If the document acknowledges that
    (`Acknowledgement.UNREAD`), the finding is a warning.
    """

    rule: str
    field: str
    words: Mapping[str, str]
    unread: bool = False

    def explained(self) -> Finding:
        """The finding with its words as a dict: for JSON and for other processes."""
        return self._replace(words=dict(self.words))

    def without_lazy_words(self) -> Finding:
        """The finding for another process, which can check the entry again if it needs the words."""
        return self._replace(words={}) if isinstance(self.words, LazyWords) else self


def show(value: Any) -> str:
    """A value in JSON, cut off if it is long; no value makes this fail."""
    if type(value) is int and value.bit_length() > _LONGEST_SHOWN * 4:
        return f"a number of {value.bit_length()} bits"
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return shorten(text)


def shorten(text: str) -> str:
    """A string, cut off if it is long."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def place_of(where: str, name: Any) -> str:
    """A field as messages name it: `partition.topic`; a long name, or a name with control characters, in JSON."""
    plain = isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST_SHOWN
    return f"{where}.{name if plain else show(name)}"


def describe(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return show(value)
    if isinstance(value, str):
        return f"the string {show(value)}"
    if isinstance(value, int | float):
        return f"the number {show(value)}"
    return (
        "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"a {type(value).__name__}"
    )


# How a message names a wrong value of a document. It may be a secret in the wrong place, so at most a word is repeated.

_WORD = re.compile(r"[A-Za-z_. /-]{1,60}(?:/v[0-9][a-z0-9]{0,9})?")
"""A misspelt option, or an API version."""


def word_or_kind(value: object) -> str:
    """A word in quotes, such as `'stoped'`; the kind of any other value, such as `a number`."""
    return repr(value) if isinstance(value, str) and _WORD.fullmatch(value) else kind_of(value)


def kind_of(value: object, empty: str = "empty", mapping: str = "a mapping") -> str:
    """The kind of a value, never the value. JSON has other words for two kinds than YAML."""
    match value:
        case None:
            return empty
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return mapping
