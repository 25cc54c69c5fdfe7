"""A sentence of a report: words of this project, and the values from outside that it quotes.

Values are names, config values, messages of Connect, and any string that contains one of these, such as a refusal. They
are kept separate from the words, because each format of a report shows values in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """`words` is a format string with `{}` for each value; a value that is a tuple is a list, shown with commas."""

    words: str
    values: tuple[str | tuple[str, ...], ...] = ()

    @staticmethod
    def of(words: str, *values: str | tuple[str, ...]) -> Sentence:
        """The words, which are a literal, with their values."""
        return Sentence(words, values)

    def render(self, show: Callable[[str], str]) -> str:
        """The whole sentence; `show` escapes or quotes a value for the format of the report."""
        return self.words.format(
            *(show(value) if isinstance(value, str) else ", ".join(map(show, value)) for value in self.values)
        )
