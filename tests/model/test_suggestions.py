from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.model.suggestions import Vocabulary, _distance, closest, did_you_mean

FIELDS = ("class", "tasksMax", "state", "config", "secrets", "ignore", "mode", "suspend")
STATES = ("running", "paused", "stopped", "absent")


@pytest.mark.parametrize(("word", "known", "meant"), rows(__file__, "closest"))
def test_the_closest_word(word: str, known: str, meant: str | None) -> None:
    assert closest(word, {"fields": FIELDS, "states": STATES, "nothing": ()}[known]) == meant


def test_a_very_long_word_is_close_to_none() -> None:
    assert closest("y" * 1_000_000, FIELDS) is None


def test_of_two_equally_close_words_the_alphabetically_first_is_suggested() -> None:
    assert closest("aab", ["aac", "aaa"]) == closest("aab", ["aaa", "aac"]) == "aaa"


def test_a_suggestion_at_the_end_of_a_message() -> None:
    assert did_you_mean("stoped", STATES) == "; did you mean 'stopped'?"
    assert did_you_mean("elsewhere", STATES) == ""


words = st.text("abc", max_size=5)


@given(words, words, words, words, st.integers(0, 10))
def test_the_distance_is_the_number_of_typos(start: str, one: str, other: str, end: str, most: int) -> None:
    """The same as by its definition, with a common start and end or without."""

    @cache
    def distance(left: str, right: str) -> int:
        if not left or not right:
            return len(left) + len(right)
        costs = [distance(left[1:], right) + 1, distance(left, right[1:]) + 1]
        costs.append(distance(left[1:], right[1:]) + (left[0] != right[0]))
        if len(left) > 1 and left[:2] == right[1::-1]:
            costs.append(distance(left[2:], right[2:]) + 1)
        return min(costs)

    expected = distance(start + one + end, start + other + end)
    found, _ = _distance(start + one + end, start + other + end, most)
    assert found == expected or (expected > most and most < found)


def hostile_names(first: int) -> list[str]:
    """Names of 99 characters that differ at their beginning and at their end."""
    return [f"{number:05}{'abcdefghij' * 9}{number % 10_000:04}" for number in range(first, first + 1000)]


def test_the_work_for_one_vocabulary_is_limited() -> None:
    known = Vocabulary(hostile_names(0), work=200_000)
    suggestions = [known.closest(name) for name in hostile_names(50_000)]
    assert suggestions[0] is not None
    assert suggestions[-1] is None
    assert -20_000 < known.work <= 0, "the last comparison is at most as long as both words"


def test_a_long_known_word_is_not_compared() -> None:
    known = Vocabulary(["y" * 1_000_000])
    assert known.closest("y" * 90) is None
    assert known.work == Vocabulary([]).work
