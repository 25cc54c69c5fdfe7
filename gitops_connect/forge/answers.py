"""Reads the JSON of a forge. Anything can be in it: every value is checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gitops_connect.model.names import Revision

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_URL = re.compile(r"https?://[!-~]+")
MOST = 10_000
"""Results of one list."""
_LARGEST = 2**63 - 1
"""What the ledger can store."""


class UnexpectedAnswer(Exception):
    """A success that cannot be read: something else has answered, such as the login page of a proxy."""


@dataclass(frozen=True, slots=True)
class AnswerValue:
    """A value in an answer. The methods raise UnexpectedAnswer, with its place, if it is of another type."""

    value: Any
    place: str = "it"

    def __getitem__(self, name: str) -> AnswerValue:
        """A member of an object; null if it is missing."""
        if not isinstance(self.value, dict):
            raise self._unlike("an object")
        return AnswerValue(self.value.get(name), f"{self.place}.{name}")

    @property
    def is_null(self) -> bool:
        return self.value is None

    def items(self) -> Sequence[AnswerValue]:
        if not isinstance(self.value, list):
            raise self._unlike("a list")
        if len(self.value) > MOST:
            raise UnexpectedAnswer(f"{self.place} has more than {MOST:,} results")
        return [AnswerValue(one, f"{self.place}[{index}]") for index, one in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._unlike("a string")
        return self.value

    def number(self) -> int:
        if type(self.value) is not int or not 0 <= self.value <= _LARGEST:
            raise self._unlike("a number from 0 to 2^63 - 1")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._unlike("true or false")
        return self.value

    def commit(self) -> Revision:
        """It becomes a part of URLs, and an argument of Git."""
        if not isinstance(self.value, str) or not _COMMIT.fullmatch(self.value):
            raise self._unlike("a commit")
        return Revision(self.value)

    def url(self) -> str:
        """It becomes a link."""
        if not isinstance(self.value, str) or not _URL.fullmatch(self.value):
            raise self._unlike("an http(s) URL")
        return self.value

    def time(self) -> datetime:
        """With a time zone. Only compared: near the years 1 and 9999, no other time zone can be used."""
        try:
            found = datetime.fromisoformat(self.text())
        except ValueError:
            raise self._unlike("a time") from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def _unlike(self, expected: str) -> UnexpectedAnswer:
        shown = "null" if self.value is None else f"a value of type {type(self.value).__name__}"
        return UnexpectedAnswer(f"{self.place}: expected {expected}, found {shown}")
