from __future__ import annotations

import pytest

from gitops_connect.model.suggestions import closest, did_you_mean

FIELDS = ("class", "tasksMax", "state", "config", "secrets", "ignore", "mode", "suspend")
STATES = ("running", "paused", "stopped", "absent")


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("taskMax", FIELDS, "tasksMax"),
        ("tasks.max", FIELDS, "tasksMax"),
        ("TASKS_MAX", FIELDS, "tasksMax"),
        ("sate", FIELDS, "state"),
        ("cofnig", FIELDS, "config"),
        ("RUNNING", STATES, "running"),
        ("pause", STATES, "paused"),
        ("restart", FIELDS, None),
        ("topics", FIELDS, None),
        ("started", STATES, None),
        ("x", FIELDS, None),
        ("", FIELDS, None),
        ("anything", (), None),
        ("y" * 1_000_000, FIELDS, None),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_the_closest_word(word: str, known: tuple[str, ...], meant: str | None) -> None:
    assert closest(word, known) == meant


def test_of_two_equally_close_words_the_alphabetically_first_is_suggested() -> None:
    assert closest("aab", ["aac", "aaa"]) == closest("aab", ["aaa", "aac"]) == "aaa"


def test_a_suggestion_at_the_end_of_a_message() -> None:
    assert did_you_mean("stoped", STATES) == "; did you mean 'stopped'?"
    assert did_you_mean("elsewhere", STATES) == ""
