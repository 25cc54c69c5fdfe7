"""The how-to guides can be followed: each block is run, compared or written, or the page says why it is not."""

from __future__ import annotations

from inspect import signature
from itertools import chain
from pathlib import Path

import pytest
from support.docs.docs_pages import DOCS, Code, code

from guides.reader import FILE_NAME, FILES, comment, file_name
from guides.situations import EVENTS, SITUATIONS, Place

PAGES = sorted((DOCS / "how-to").glob("*.md"))


def test_every_guide_has_a_situation() -> None:
    assert {page.stem for page in PAGES} == set(SITUATIONS)
    for step in chain(*SITUATIONS.values(), *EVENTS.values()):
        for name, arguments in step.items():
            signature(getattr(Place, name)).bind(Place, **arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_guide_is_followed_or_says_why_not(page: Path) -> None:
    for block in code(page):
        if block.language != "inline":
            assert problem(block) == "", f"{block.page}:{block.line}"


def problem(block: Code) -> str:
    """Why a reader cannot follow the block; empty if they can."""
    kind, text = comment(block)
    if kind not in ("", "file", "meanwhile", "not run", "until"):
        return f"unknown comment {block.comment}"
    if kind == "meanwhile" and text not in EVENTS:
        return f"unknown event {text}"
    if kind == "not run" or block.language in ("sh", "text"):
        return ""
    if block.language not in FILES:
        return f"unknown language {block.language!r}"
    return "" if FILE_NAME.fullmatch(file_name(block)) else "name the file, or say why it is not run"
