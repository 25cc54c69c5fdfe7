"""Every how-to guide, command by command, on a real cluster: each command prints what the page shows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.docs.docs_pages import DOCS, code

from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from guides.reader import Reader
from guides.situations import EVENTS, SITUATIONS, Place

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

IN_MAKE_TEST = (
    "reset-a-source",
    "rewind-a-sink",
    "rotate-a-secret",
    "run-as-a-daemon",
    "take-over-existing-connectors",
)
"""One guide for each kind of task. The others take a minute each, and are tested before a release."""
ALONE = ("check-a-very-large-manifest", "lose-a-region")
"""Guides with a first cluster of their own, because one is filled, and the other one is killed.

Each source task of an exactly-once worker holds a copy of all offsets of its cluster, also of deleted connectors. The
240,000 offsets of the first guide would fill the heap of the worker as soon as another guide starts four connectors.
Connect also cannot remove so many offsets in one request.
"""
GUIDES = [
    pytest.param(page.stem, marks=() if page.stem in IN_MAKE_TEST else pytest.mark.thorough)
    for page in sorted((DOCS / "how-to").glob("*.md"))
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, _no_machine_around: None) -> Iterator[Sandbox]:
    """A cluster that no other test uses: what a plan prints depends on all connectors of its cluster."""
    options = SandboxOptions(directory=tmp_path_factory.mktemp("guides") / "sandbox", heap=1024, tied=True)
    with Sandbox.up(options) as sandbox:
        yield sandbox


@pytest.fixture
def place(guide: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as others:

        def another(heap: int) -> Sandbox:
            directory = Path(tempfile.mkdtemp(prefix="another-", dir=tmp_path)) / "sandbox"
            return others.enter_context(Sandbox.up(SandboxOptions(directory, heap=heap, tied=True)))

        sandbox: Sandbox = another(1024) if guide in ALONE else request.getfixturevalue("own")
        reader = Reader(tmp_path, sandbox.worker_urls[0], sandbox.bootstrap, lambda event: at.prepare(EVENTS[event]))
        at = Place(reader, sandbox, lambda: another(512).worker_urls[0])
        yield at
        if guide not in ALONE:
            at.clean()
        if (tmp_path / ".sandbox").is_dir() and not (tmp_path / ".sandbox").is_symlink():
            reader.run("gitops-connect sandbox down --purge")


@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_of_the_guide_prints_what_it_shows(guide: str, place: Place) -> None:
    place.prepare(SITUATIONS[guide])
    for block in code(DOCS / "how-to" / f"{guide}.md"):
        place.reader.follow(block)
    place.reader.finish()
