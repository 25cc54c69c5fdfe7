"""The tutorial, command by command, on a sandbox of its own: each command prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pytest
from docs_pages import DOCS, Code, code

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

TUTORIAL = DOCS / "tutorial.md"
CONNECT = "http://127.0.0.1:8083"
"""Where the sandbox of the page is. Here it takes any free port."""
NAMED = re.compile(r"# (?P<name>[\w./-]+)$", re.MULTILINE)
VARIABLE = (
    (re.compile(r"\b127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"after \d+\.\d s"), "after N s"),
)
"""What differs from run to run."""


@dataclass
class Reader:
    """Somebody who types what the page shows, in a directory of their own."""

    home: Path
    directory: Path = field(init=False)
    output: str = ""
    address: str = CONNECT

    def __post_init__(self) -> None:
        self.directory = self.home

    def follow(self, block: Code) -> None:
        match block.language:
            case "sh":
                self.run(block.text)
            case "yaml" | "toml":
                named = NAMED.match(block.text)
                assert named is not None, block
                file = self.directory / named["name"]
                file.write_text(block.text.replace(CONNECT, self.address))
            case "text":
                assert_printed(block, self.output)

    def run(self, commands: str) -> None:
        """In a shell that begins in the directory where the last one ended."""
        commands = commands.replace("/tmp/tutorial", str(self.home / "tutorial"))
        script = f"cd '{self.directory}'\n{commands}\npwd > '{self.home}/directory'\n"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output = ran.stdout
        self.directory = Path((self.home / "directory").read_text().strip())
        if found := re.search(r"Connect at (http://[\d.:]+)", self.output):
            self.address = found[1].rstrip(".")


def assert_printed(block: Code, output: str) -> None:
    """The lines of the block are in the output, one after another."""
    expected, printed = lines(block.text), lines(output)
    places = range(len(printed) - len(expected) + 1)
    found = any(printed[place : place + len(expected)] == expected for place in places)
    assert found, f"{block.page}:{block.line} shows\n{block.text}\nbut the program printed\n{output}"


def lines(text: str) -> list[str]:
    """The lines that are not empty. Steps of different connectors end in any order, so their lines are sorted."""
    for pattern, name in VARIABLE:
        text = pattern.sub(name, text)
    printed = (line.rstrip() for line in text.splitlines() if line.strip())
    groups = groupby(printed, lambda line: line.endswith("applied after N s"))
    return [line for is_step, group in groups for line in (sorted(group) if is_step else group)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    if (tmp_path / "tutorial" / ".sandbox").exists():
        one.run("gitops-connect sandbox down --purge")


def test_every_command_of_the_tutorial_prints_what_it_shows(reader: Reader) -> None:
    install, *blocks = [block for block in code(TUTORIAL) if block.language in ("sh", "yaml", "toml", "text")]
    assert "make setup" in install.text
    for block in blocks:
        reader.follow(block)
    assert "sandbox down" in blocks[-1].text
    assert (reader.directory / "copy.txt").read_text().count("order 2") == 2
