"""Random mutants of the rooms that decide and act: the changes are those of mutmut."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from libcst import Module, ensure_type, parse_module
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators, operator_string
from mutmut.mutation.pragma_handling import IgnoredCode

# A string is most often a message: other tests check the words that people read.
_OPERATORS = [one for one in mutation_operators if one[1] is not operator_string]
ROOMS = ("plan", "apply", "ledger", "daemon")


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    before: str
    after: str
    code: str
    """Of the whole file, with the change."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n  - {self.before.strip()}\n  + {self.after.strip()}"

    @property
    def room(self) -> str:
        return self.file.split("/")[1]


def sample(root: Path, size: int, seed: int) -> list[Callable[[], Mutant]]:
    """As many different mutants of all files. To make one takes a second."""
    # No migrations: slow tests, which are not tried here, compare the tables that they make with those of the code.
    files = sorted(file for room in ROOMS for file in (root / "gitops_connect" / room).glob("*.py"))
    drawn = Random(seed).sample([(file, *one) for file in files for one in _mutations(file.read_text())], size)
    return [partial(_mutant, file.relative_to(root), module, mutation) for file, module, mutation in drawn]


def _mutations(code: str) -> Iterator[tuple[Module, Mutation]]:
    visitor = MutationVisitor(_OPERATORS, IgnoredCode(set(), set(), set()))
    module = MetadataWrapper(parse_module(code)).visit(visitor)
    return ((module, mutation) for mutation in visitor.mutations)


def _mutant(file: Path, module: Module, mutation: Mutation) -> Mutant:
    changed = ensure_type(module.deep_replace(mutation.original_node, mutation.mutated_node), Module).code
    differences = enumerate(zip(module.code.splitlines(), changed.splitlines(), strict=False), 1)
    line, before, after = next((line, before, after) for line, (before, after) in differences if before != after)
    return Mutant(str(file), line, before, after, changed)


def lines_of_function(code: str, line: int) -> range:
    """The lines in the body of the innermost function around that line; all lines, if it is in none."""
    around = [
        range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return min(around, key=len, default=range(1, code.count("\n") + 2))
