"""What import-linter cannot check: forbidden names, sizes of modules and functions, and a core without effects."""

from __future__ import annotations

import ast

import shared_services
from package_source import MODULES, PACKAGE, nodes, tree

REFUSED = {"utils", "util", "helpers", "common", "misc", "manager", "base", "core"}
PURE = ("model", "desired", "plan", "report")
LONGEST_MODULE = 400
LONGEST_FUNCTION = 50


def test_a_module_has_a_name_and_a_reason() -> None:
    assert [path for path in MODULES if path.stem in REFUSED] == []
    without = [module for module in MODULES if not ast.get_docstring(tree(module))]
    assert without == [], "every module opens with a sentence saying what it is"


def test_modules_are_short() -> None:
    assert [path for path in MODULES if len(path.read_text().splitlines()) > LONGEST_MODULE] == []


def test_functions_are_short() -> None:
    long = [
        f"{module}: {node.name}"
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_the_core_opens_no_file_and_reads_no_clock() -> None:
    effects = {"open", "print", "now", "utcnow", "today", "input"}
    found = [
        f"{module}:{node.lineno}"
        for module in MODULES
        if module.relative_to(PACKAGE).parts[0] in PURE
        for node in nodes(module)
        if isinstance(node, ast.Call) and called(node) in effects
    ]
    assert found == []


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


def test_the_tests_that_share_a_service_exist() -> None:
    named = [test.partition("::")[0] for test in (*shared_services.SANDBOX, *shared_services.SPARK)]
    assert [name for name in named if not (PACKAGE.parent / name).exists()] == []
