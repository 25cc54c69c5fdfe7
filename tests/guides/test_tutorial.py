"""The tutorial, command by command, on a separate sandbox: each command prints what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.docs.docs_pages import DOCS, code

from guides.reader import Reader

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    if (tmp_path / "tutorial" / ".sandbox").exists():
        one.run("gitops-connect sandbox down --purge")


def test_every_command_of_the_tutorial_prints_what_it_shows(reader: Reader) -> None:
    install, *blocks = [block for block in code(DOCS / "tutorial.md") if block.language != "inline"]
    assert "make setup" in install.text
    for block in blocks:
        reader.follow(block)
    reader.finish()
    assert "sandbox down" in blocks[-1].text
    assert (reader.directory / "copy.txt").read_text().count("order 2") == 2
