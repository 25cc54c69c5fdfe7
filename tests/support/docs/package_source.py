"""The modules of the package, each parsed once per process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import gitops_connect

PACKAGE = Path(gitops_connect.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    """All nodes; parents come before their children."""
    return tuple(ast.walk(tree(module)))
