"""What import-linter cannot say: names that are refused, and sizes that mean a file has become two things."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import shared_services

import gitops_connect

PACKAGE = Path(gitops_connect.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
REFUSED = {"utils", "util", "helpers", "common", "misc", "manager", "base", "core"}
PURE = ("model", "desired", "plan", "report")
LONGEST_MODULE = 300
LONGEST_FUNCTION = 50


@cache
def trees() -> dict[str, ast.Module]:
    """Each module parsed, by its path in the package."""
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in MODULES}


def test_a_module_has_a_name_and_a_reason() -> None:
    assert [path for path in MODULES if path.stem in REFUSED] == []
    without = [name for name, tree in trees().items() if not ast.get_docstring(tree)]
    assert without == [], "every module opens with a sentence saying what it is"


def test_modules_are_short() -> None:
    assert [path for path in MODULES if len(path.read_text().splitlines()) > LONGEST_MODULE] == []


def test_functions_are_short() -> None:
    long = [
        f"{name}: {node.name}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_the_core_opens_no_file_and_reads_no_clock() -> None:
    effects = {"open", "print", "now", "utcnow", "today", "input"}
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        if Path(name).parts[0] in PURE
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in effects
    ]
    assert found == []


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


def test_the_tests_that_share_a_service_exist() -> None:
    named = [test.partition("::")[0] for test in (*shared_services.SANDBOX, *shared_services.SPARK)]
    assert [name for name in named if not (PACKAGE.parent / name).exists()] == []
