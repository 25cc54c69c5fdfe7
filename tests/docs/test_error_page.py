"""The pages of errors and rules explain every error, and show messages that the program prints."""

from __future__ import annotations

import ast
import re
from functools import cache

import error_page
import pytest
from support.docs.package_source import MODULES, nodes

from gitops_connect import errors
from gitops_connect.report.code_scanning import rule_explanations

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
PLACEHOLDER = re.compile(r"\{\w*\}")
EXPLANATIONS = {"errors"}
"""Packages that explain messages and do not print them."""
SHORTEST_FRAGMENT = 8
"""Characters of a string literal that identify a message."""


@cache
def fragments() -> set[str]:
    """The constant parts of all string literals of the package."""
    modules = (module for module in MODULES if not EXPLANATIONS & set(module.parts))
    found = (node.value for module in modules for node in nodes(module) if isinstance(node, ast.Constant))
    texts = {part.strip() for one in found if isinstance(one, str) for part in PLACEHOLDER.split(one)}
    return {one for one in texts if len(one) >= SHORTEST_FRAGMENT and " " in one}


def test_every_error_says_what_it_means_what_is_retried_and_what_to_do() -> None:
    for error in RAISED:
        meaning, retry, fix = errors.explanation(error)
        for part in (meaning, retry, fix):
            assert part.endswith("."), (error, part)
            assert len(part.split()) >= (1 if part is retry else 4), (error, part)


def test_every_error_has_one_section() -> None:
    assert sorted(section.error.__name__ for section in SECTIONS) == [one.__name__ for one in RAISED]


@pytest.mark.slow
def test_the_examples_are_messages_of_the_program() -> None:
    known = fragments()
    for message in (line for section in SECTIONS for line in section.examples.splitlines()):
        assert any(fragment in message for fragment in known), message


QUOTED = {"connect/invalid-config", "manifest/own-schema"}
"""Rules whose messages are those of a plugin or of a JSON Schema."""


@pytest.mark.slow
def test_the_message_in_the_example_of_a_rule_is_one_of_the_program() -> None:
    for rule in sorted(rule_explanations().keys() - QUOTED):
        example = rule_explanations()[rule].example
        if example.startswith(("error: ", "warning: ")):
            assert any(fragment in example for fragment in fragments()), example
