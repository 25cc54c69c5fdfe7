"""The page of the proposals names files and tests that exist, and gives a reason for what is not done."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

import proposals_page
from support.docs.docs_pages import DOCS, ROOT


@cache
def functions(file: str) -> set[str]:
    """The test functions of a file, as pytest names them."""

    def named(nodes: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{prefix}{node.name}"
            elif isinstance(node, ast.ClassDef):
                yield from named(node.body, f"{prefix}{node.name}::")

    return {*named(ast.parse((ROOT / file).read_text()).body, f"{file}::")}


def problems(one: dict[str, Any]) -> Iterator[str]:
    tests, state = one.get("tests", ()), one["state"]
    if state not in proposals_page.STATES:
        yield f"unknown state {state!r}"
    if unknown := one.keys() - {"says", "state", "where", "tests", "why"}:
        yield f"unknown fields: {unknown}"
    yield from (f"{path} does not exist" for path in one.get("where", ()) if not (ROOT / path).exists())
    yield from (f"{test} does not exist" for test in tests if test not in functions(test.partition("::")[0]))
    if state == "done" and not (tests and one.get("where")):
        yield "a statement that is done needs a file and a test"
    if (state == "done") == bool(one.get("why")):
        yield "each statement needs a reason, unless it is done"


def test_each_statement_names_files_and_tests_that_exist_or_a_reason() -> None:
    for proposal in proposals_page.proposals():
        for section, one in proposals_page.statements(proposal):
            assert [*problems(one)] == [], (proposal["name"], section, one["says"])


def test_the_page_is_the_generated_one() -> None:
    assert (DOCS / "reference" / "proposals.md").read_text() == proposals_page.page(), "run `make docs`"
