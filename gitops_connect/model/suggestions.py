"""Suggestions for a misspelt word: the most similar known word, or none if no known word is similar."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100
"""Nobody mistypes a longer word, and the time of a comparison is the product of both lengths."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The most similar of `known`, with at most about one typo in three letters. Case and separators do not count."""
    if len(word) > _LONGEST:
        return None
    plain, found = _plain(word), []
    for candidate in known:
        other = _plain(candidate)
        most = max(len(plain), len(other)) // 3
        # A typo changes the length by at most one, and the set of letters by at most two: this is quicker to compare.
        is_near = abs(len(plain) - len(other)) <= most and len(set(plain) ^ set(other)) <= 2 * most
        if is_near and (distance := _distance(plain, other)) <= most:
            found.append((distance, candidate))
    return min(found)[1] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` to append to a message, or the empty string."""
    candidate = closest(word, known)
    return f"; did you mean {candidate!r}?" if candidate is not None else ""


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "")


def _distance(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment)."""
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
    return row[-1]
