"""The README and the tutorial, command by command, on a separate sandbox: each command prints what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.docs.docs_pages import DOCS, ROOT, code

from guides.reader import Reader

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    one.failed = ""
    for sandbox in tmp_path.glob("*/.sandbox"):
        one.run(f"gitops-connect sandbox down --purge --dir '{sandbox}'")


def follow(reader: Reader, page: Path) -> None:
    """Do what the page shows after the installation."""
    install, *blocks = [block for block in code(page) if block.language not in ("", "inline")]
    assert "make setup" in install.text
    for block in blocks:
        reader.follow(block)
    reader.finish()


def test_every_command_of_the_readme_works_in_an_empty_directory(reader: Reader) -> None:
    follow(reader, ROOT / "README.md")
    reader.run("gitops-connect ledger show")
    assert "2026-11-22-read-again   orders      alter   applied" in reader.output


def test_every_command_of_the_tutorial_prints_what_it_shows(reader: Reader) -> None:
    follow(reader, DOCS / "tutorial.md")
    assert (reader.directory / "copy.txt").read_text().count("order 2") == 2
