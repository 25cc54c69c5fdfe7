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
def test_the_word_that_is_meant(word: str, known: tuple[str, ...], meant: str | None) -> None:
    assert closest(word, known) == meant


def test_two_that_are_as_near_are_told_apart_by_the_alphabet() -> None:
    assert closest("aab", ["aac", "aaa"]) == closest("aab", ["aaa", "aac"]) == "aaa"


def test_behind_a_message() -> None:
    assert did_you_mean("stoped", STATES) == "; did you mean 'stopped'?"
    assert did_you_mean("elsewhere", STATES) == ""
