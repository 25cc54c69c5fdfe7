"""The Markdown pages of the repository: their links, their anchors, and the code that they show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md")])


@dataclass(frozen=True)
class Code:
    """A fenced or indented block, or code within a sentence."""

    page: str
    line: int
    language: str
    text: str
    comment: str = ""
    """The HTML comment before the code, which readers do not see."""


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(page.read_text()))


def links(page: Path) -> list[str]:
    """The targets of the links and pictures of a page."""
    return [
        str(child.attrs["href" if child.type == "link_open" else "src"])
        for token in tokens(page)
        for child in token.children or ()
        if child.type in ("link_open", "image")
    ]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of the headings, as the Git forge and the docs site generate them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            words = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
            found.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
            seen[slug] += 1
    return frozenset(found)


def code(page: Path) -> Iterator[Code]:
    """Everything on a page that is shown as code."""
    name = page.relative_to(ROOT).as_posix()
    comment = ""
    for token in tokens(page):
        line = token.map[0] + 1 if token.map else 0
        if token.type in ("fence", "code_block"):
            language = token.info.split()[0] if token.info.split() else ""
            yield Code(name, line, language, token.content, comment)
            comment = ""
        if token.type == "html_block":
            comment = token.content.strip()
        for child in token.children or ():
            if child.type == "code_inline":
                yield Code(name, line, "inline", child.content)
