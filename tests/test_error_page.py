"""docs/reference/errors.md explains every error, and shows messages that the program prints."""

from __future__ import annotations

import ast
from functools import cache

import error_page
import pytest
from test_words import MODULES

from gitops_connect import errors

RAISED = sorted(
    (
        one
        for one in vars(errors).values()
        if isinstance(one, type)
        and issubclass(one, errors.GitopsConnectError)
        and one not in (errors.GitopsConnectError, errors.Waiting, errors.Stalled)
    ),
    key=lambda one: one.__name__,
)
SECTIONS = [section for sections in error_page.situations().values() for section in sections]
SHORTEST_FRAGMENT = 15
"""Characters of a string literal that identify a message."""


@cache
def fragments() -> set[str]:
    """The constant parts of all string literals of the package."""
    trees = (ast.parse(module.read_text()) for module in MODULES if module.name != "errors.py")
    found = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = {one.strip() for one in found if isinstance(one, str)}
    return {one for one in texts if len(one) >= SHORTEST_FRAGMENT and " " in one}


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
def test_every_error_says_what_it_means_what_is_retried_and_what_to_do(error: type[errors.GitopsConnectError]) -> None:
    meaning, retry, fix = error_page.explanation(error)
    for part in (meaning, retry, fix):
        assert part.endswith("."), (error, part)
        assert len(part.split()) >= (1 if part is retry else 4), (error, part)


def test_every_error_has_one_section() -> None:
    assert sorted(section.error.__name__ for section in SECTIONS) == [one.__name__ for one in RAISED]


def test_the_tree_of_contributors_has_every_class() -> None:
    tree = (errors.__doc__ or "").split("\n\n")[2]
    named = [line.split()[0] for line in tree.splitlines()]
    assert sorted(named) == sorted([*(one.__name__ for one in RAISED), "GitopsConnectError", "Waiting", "Stalled"])


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.error.__name__)
def test_the_examples_are_messages_of_the_program(section: error_page.ErrorSection) -> None:
    known = fragments()
    for message in section.examples.splitlines():
        assert any(fragment in message for fragment in known), message
