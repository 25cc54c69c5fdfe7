"""The words that users read are plain technical English. The test finds the words that readers had to decode."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tokenize import COMMENT, generate_tokens
from typing import Any

import pytest
from support.docs.package_source import MODULES, PACKAGE, nodes
from support.files.tables import table

HERE = Path(__file__)
ROOT = HERE.parents[2]
CODE = ("tests", "benchmarks")

BANNED: Mapping[str, str] = table(__file__, "banned")
"""Words and phrases as regular expressions, and what to write instead."""
PATTERN = re.compile(rf"(?<![\w./-])(?:{'|'.join(BANNED)})(?![\w/-])")
"""For a text in lower case: to ignore the case takes three times as long."""
NOT_PROSE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|^\[[^]]*\]:.*?$", re.MULTILINE | re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/**/*.md")])
DATA = sorted(file for ending in ("html", "toml", "yaml") for file in PACKAGE.rglob(f"*.{ending}"))
GOLDEN = sorted((ROOT / "tests" / "golden").iterdir())
SCHEMAS = sorted((ROOT / "schemas").glob("*.json"))
OLD_NAMES = re.compile(r"^### Changed$.*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)
"""The part of the changelog that names what there was before."""


def banned(text: str) -> list[str]:
    return [f"{found[0]!r} in: {_around(text, found)}" for found in PATTERN.finditer(text.lower())]


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(0, found.start() - 40) : found.end() + 40].split())


def strings(module: Path) -> Iterator[str]:
    """The string literals with more than one word, without docstrings."""
    apart: set[ast.expr] = set()
    for node in nodes(module):
        if isinstance(node, ast.Expr):
            apart.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            apart.update(node.values)
        is_string = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()
        if is_string and node not in apart:
            yield node.value


def docstrings(module: Path) -> Iterator[str]:
    for node in nodes(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield text


def comments(module: Path) -> Iterator[str]:
    with module.open() as file:
        yield from (token.string for token in generate_tokens(file.readline) if token.type == COMMENT)


def descriptions(value: Any) -> Iterator[str]:
    """The titles and descriptions anywhere in a schema."""
    match value:
        case dict():
            for key, inner in value.items():
                if key in ("title", "description", "$comment") and isinstance(inner, str):
                    yield inner
                yield from descriptions(inner)
        case list():
            for inner in value:
                yield from descriptions(inner)


def problems(texts: Iterable[tuple[Path, str]]) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {problem}" for path, text in texts for problem in banned(text)]


def user_texts() -> Iterator[tuple[Path, str]]:
    """The docs, messages, data, descriptions in schemas and reports, with their files."""
    yield from ((page, NOT_PROSE.sub(" ", OLD_NAMES.sub("", page.read_text()))) for page in PAGES)
    yield from ((module, text) for module in MODULES for text in strings(module))
    yield from ((file, file.read_text()) for file in (*DATA, *GOLDEN))
    yield from ((file, text) for file in SCHEMAS for text in descriptions(json.loads(file.read_text())))


def test_what_users_read_is_in_plain_words() -> None:
    assert len(DATA) > 10
    assert problems(user_texts()) == []


@pytest.mark.slow
def test_docstrings_and_comments_are_in_plain_words() -> None:
    modules = [*MODULES, *(file for directory in CODE for file in (ROOT / directory).rglob("*.py") if file != HERE)]
    suspects = [module for module in modules if banned(module.read_text())]  # to find the comments of all takes 3 s
    assert problems((module, text) for module in suspects for text in [*docstrings(module), *comments(module)]) == []


def test_banned_words_are_found() -> None:
    assert banned("what stands there comes again")
    assert not banned("an understanding of standalone workers")
