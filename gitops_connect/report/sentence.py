"""A sentence of a report: words of this project, and the values from outside that it quotes.

Values are names, config values, messages of Connect, and any string that contains one of these, such as a refusal. They
are kept separate from the words, because each format of a report shows values in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest


@dataclass(frozen=True, slots=True)
class Sentence:
    """`words` has `{}` for each value; a value that is a tuple is a list, shown with commas."""

    words: str
    values: tuple[str | tuple[str, ...], ...] = ()

    @staticmethod
    def of(words: str, *values: str | tuple[str, ...]) -> Sentence:
        """The words, which are a literal, with their values."""
        return Sentence(words, values)

    @staticmethod
    def joined(parts: Iterable[Sentence], separator: str = " ") -> Sentence:
        """Several sentences as one."""
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
