"""The words that users read are plain technical English. The test finds the words that readers had to decode."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tokenize import COMMENT, generate_tokens
from typing import Any

from support.docs.package_source import MODULES, PACKAGE, nodes

HERE = Path(__file__)
ROOT = HERE.parents[2]
CODE = ("tests", "benchmarks")

BANNED: Mapping[str, str] = {
    r"stands?|stood|standing": "is, exists, is stored; current offsets",
    r"(come|comes|came|coming) again": "reprocessed",
    r"(take|takes|taken|took) away": "remove",
    r"(put|puts) back": "restore",
    r"held up|holds? up": "blocked",
    r"mend|mends|mended": "fix",
    r"in hand": "in progress",
    r"declared no more|is no more|are no more": "no longer",
    r"so as (a|an|the|it|they|git)": "as",
    r"see to it|seen to be so|see to the cause": "fix the cause",
    r"likewise|amid|anew|unheard|thereof|whereof": "say it in full",
    r"folders?": "directory",
    r"not ours|of ours": "unmanaged, managed",
    r"patience": "timeout",
    r"blanks?": "whitespace",
    r"(is|are|was|were|be) told(?! to)": "reported",
    r"(nobody|nothing|none) (could|can) tell|cannot be told": "unknown",
    r"where (nobody|nothing|none|no|someone)": "if, when",
    r"offenders?": "violations",
    r"settled": "applied",
    r"as it says|as they say": "in sync with",
    r"history-unknown": "unknown",
    r"in place of": "instead of",
    r"beforehand|thereby|thereafter": "before the first request, so, then",
    r"held (to|against)": "checked with, compared with",
    r"(go|goes|going|gone|went) on with": "continue",
    r"(can|could|may|to) be had": "is available",
    r"(where|if|when) need be": "if necessary",
    r"(write|writes|written) down": "record",
    r"in good order": "an orderly shutdown",
    r"perhaps": "sometimes; or the condition",
    r"beside": "next to, in addition to",
    r"of no use": "does not help",
    r"such a one|such ones": "name the thing",
    r"where there (is|are|was|were)": "if there is",
    r"for ever": "always, without end",
    r"(one|ones|which|value|values|entry|entries|key|keys) (that )?(is|are) meant": "the correct one, named",
    r"for the moment|whichever|wherein|whereby|thereby|hitherto|albeit|thrice|hence": "now, any, then, so",
    r"in no case|comes? into question|amounts? to|by halves": "never, is possible, is, partly",
    r"(is|are) there twice": "appears twice",
    r"moved since": "changed since",
    r"where (it|they|this|that) (cannot|is not|are not|does not|do not|has no|have no|has not|have not)": "if",
    r"(do|does) the same again": "repeat",
    r"read through again|look again": "read again",
    r"not exact": "incomplete, approximate",
}
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


def test_the_pages_are_in_plain_words() -> None:
    assert problems((page, NOT_PROSE.sub(" ", OLD_NAMES.sub("", page.read_text()))) for page in PAGES) == []


def test_the_messages_are_in_plain_words() -> None:
    assert problems((module, text) for module in MODULES for text in strings(module)) == []


def test_the_data_of_the_package_is_in_plain_words() -> None:
    assert len(DATA) > 10
    assert problems((file, file.read_text()) for file in DATA) == []


def test_docstrings_and_comments_are_in_plain_words() -> None:
    modules = [*MODULES, *(file for directory in CODE for file in (ROOT / directory).rglob("*.py") if file != HERE)]
    suspects = [module for module in modules if banned(module.read_text())]  # to find the comments of all takes 3 s
    assert problems((module, text) for module in suspects for text in [*docstrings(module), *comments(module)]) == []


def test_the_schemas_are_described_in_plain_words() -> None:
    assert problems((file, text) for file in SCHEMAS for text in descriptions(json.loads(file.read_text()))) == []


def test_the_reports_are_in_plain_words() -> None:
    assert problems((golden, golden.read_text()) for golden in GOLDEN) == []


def test_banned_words_are_found() -> None:
    assert banned("what stands there comes again")
    assert not banned("an understanding of standalone workers")
