"""Suggestions for a misspelt word: the most similar known word, or none if no known word is similar.

A suggestion is a courtesy, and words come from outside. So the work is limited: after that, nothing is suggested.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

_LONGEST = 100
"""Nobody mistypes a longer word, and the time of a comparison is the product of both lengths."""
_MOST_WORK = 1_000_000
"""Pairs of words and pairs of letters that are compared for one vocabulary: less than a second."""


class Vocabulary:
    """Known words, of which one is suggested for each misspelt word as long as the limit of work is not reached."""

    def __init__(self, known: Iterable[str], work: int = _MOST_WORK) -> None:
        self._known = known
        self.work = work
        """How many more pairs of words and pairs of letters are compared."""

    @cached_property
    def _words(self) -> list[tuple[str, frozenset[str], str]]:
        """Each known word that is not too long, in order: its plain form, the letters of that, and the word."""
        plain = ((_plain(word), word) for word in sorted(self._known) if len(word) <= _LONGEST)
        return [(one, frozenset(one), word) for one, word in plain]

    def closest(self, word: str) -> str | None:
        """The most similar word, with at most about one typo in three letters. Case and separators do not count."""
        if len(word) > _LONGEST or self.work <= 0:
            return None
        plain, nearest, found = _plain(word), _LONGEST, None
        letters = frozenset(plain)
        self.work -= len(self._words)
        for other, others, candidate in self._words:
            most = min(max(len(plain), len(other)) // 3, nearest - 1)
            # A typo changes the length by at most one, and the set of letters by at most two: this is quicker to see.
            if abs(len(plain) - len(other)) > most or len(letters ^ others) > 2 * most or self.work <= 0:
                continue
            distance, compared = _distance(plain, other, most)
            self.work -= compared
            if distance <= most:
                nearest, found = distance, candidate
        return found

    def did_you_mean(self, word: str) -> str:
        """`; did you mean 'x'?` to append to a message, or the empty string."""
        candidate = self.closest(word)
        return f"; did you mean {candidate!r}?" if candidate is not None else ""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The word of a small vocabulary that is most similar, see `Vocabulary.closest`."""
    return Vocabulary(known).closest(word)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` to append to a message, or the empty string."""
    return Vocabulary(known).did_you_mean(word)


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "")


def _distance(left: str, right: str, most: int) -> tuple[int, int]:
    """Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).

    A distance larger than `most` may be too small. The second value is the number of compared pairs of letters.
    """
    for _ in range(2):  # a common beginning, and then a common end, do not change the distance
        differ = (at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1])
        common = next(differ, min(len(left), len(right)))
        left, right = left[common:][::-1], right[common:][::-1]
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, above, row = row, before, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most <= min(before):  # a swap continues from the row before
            return most + 1, i * len(right)
    return row[-1], len(left) * len(right)
