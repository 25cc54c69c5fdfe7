"""What import-linter cannot say: names that are refused, and sizes that mean a file has become two things."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gitops_connect

PACKAGE = Path(gitops_connect.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
REFUSED = {"utils", "util", "helpers", "common", "misc", "manager", "base", "core"}
PURE = ("model", "desired", "plan", "report")
LONGEST_MODULE = 300
LONGEST_FUNCTION = 50


def identify(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=identify)
def test_a_module_has_a_name_and_a_reason(path: Path) -> None:
    assert path.stem not in REFUSED
    assert ast.get_docstring(ast.parse(path.read_text())), "every module opens with a sentence saying what it is"


@pytest.mark.parametrize("path", MODULES, ids=identify)
def test_sizes(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


@pytest.mark.parametrize("path", [m for m in MODULES if m.relative_to(PACKAGE).parts[0] in PURE], ids=identify)
def test_the_core_opens_no_file_and_reads_no_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert name not in {"open", "print", "now", "utcnow", "today", "input"}, f"line {node.lineno}"
