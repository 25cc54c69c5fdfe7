"""A reader who follows a page of the docs, command by command, on a real cluster.

The blocks of a page are followed in their order:

- `sh` is run. It must succeed, unless the page shows what it prints.
- `text` is the output of the last command, or a part of it. `…` matches any words, and as a whole line any lines.
- `FILES` are files. The first line names the file (`# clusters/local/orders.yaml`), or a comment before the block does:
  `<!-- file: offsets/orders.json -->`.
- Blocks after `<!-- not run: REASON -->` are skipped; so is inline code.
- `<!-- meanwhile: EVENT -->` before a block names an event that happens before the reader continues.
- After `<!-- until: TEXT -->` a command runs until it prints the text; then the reader stops it with SIGTERM.

The reader answers every question with `yes`.

pytest-codeblocks 0.17 also runs shell blocks, but each in another directory, and it compares their complete output.
A guide needs a directory that lasts, files, and outputs of which only a part is shown.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from acceptance.workplace import PROGRESS
from support.docs.docs_pages import Code

FILES = ("yaml", "toml", "json", "ini", "hcl", "sql")
"""The languages of blocks that are written to a file."""
ADDRESS = re.compile(r"https?://(?:127\.0\.0\.1|connect-\d):8083")
BROKER = re.compile(r"(?:east|west)-kafka:9092")
"""The addresses of Connect and Kafka on the pages. In the tests they listen on any free port."""
DIRECTORIES = {"/data": "data", "/run/secrets": "secrets", "/tmp/tutorial": "tutorial"}
"""Directories on the pages. In the tests they are below the reader's directory."""
FILE_NAME = re.compile(r"[\w./-]+\.\w+")
COMMENT = re.compile(r"<!-- (?P<kind>[a-z ]+): (?P<text>.*?) -->", re.DOTALL)
VARIABLE = (
    (re.compile(r"https?://(?:127\.0\.0\.1:\d+|connect-\d:8083)"), "URL"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|\.\d{3}\+00:00)"), "TIME"),
    (re.compile(r"\d+\.\d s\b"), "N s"),
    (re.compile(r"\b[0-9a-f]{7}\b"), "COMMIT"),
    (re.compile(r"(Enter a value: )(?!yes)"), r"\1yes\n"),
    (re.compile(r" {2,}"), "  "),
)
"""Text that differs between runs, including spaces: the width of a column depends on its values."""


@dataclass
class Reader:
    """Types what a page shows, in a separate directory."""

    home: Path
    address: str = ""
    """The URL of Connect's REST API."""
    bootstrap: str = ""
    """The address of the broker."""
    happen: Callable[[str], None] = print
    """Makes an event happen."""
    directory: Path = field(init=False)
    output: str = ""
    failed: str = ""
    """The last command and its output, if it failed and no `text` block has shown that output yet."""

    def __post_init__(self) -> None:
        self.directory = self.home

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this process, with `gitops-connect` on the PATH."""
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def follow(self, block: Code) -> None:
        kind, text = comment(block)
        if kind == "meanwhile":
            self.finish()
            self.happen(text)
        match block.language:
            case _ if kind == "not run":
                return
            case "sh":
                self.run(self._here(block.text), until=text if kind == "until" else None)
            case language if language in FILES:
                self._write(block)
            case "text":
                self.failed = ""
                assert_printed(block, self._here(block.text), self.output)

    def _here(self, text: str) -> str:
        """Replace the addresses and directories of the page with those of this machine."""
        for there, here in DIRECTORIES.items():
            text = text.replace(there, str(self.home / here))
        return BROKER.sub(self.bootstrap, ADDRESS.sub(self.address, text))

    def _write(self, block: Code) -> None:
        file = self.directory / file_name(block)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._here(block.text))

    def run(self, commands: str, until: str | None = None) -> None:
        """Run commands in a shell that starts in the directory where the last shell ended."""
        self.finish()
        script = f"set -e\ncd '{self.directory}'\ntrap 'pwd > \"{self.home}/directory\"' EXIT\n{commands}"
        keyboard, stdin = pty.openpty()
        os.write(keyboard, b"yes\n" * 4)
        with subprocess.Popen(
            ["bash", "-c", script],
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as shell:
            self.output = "".join(_read(shell, until))
        os.close(keyboard)
        os.close(stdin)
        self.directory = Path((self.home / "directory").read_text().strip())
        stopped = -signal.SIGTERM if until is not None and until in self.output else 0
        has_failed = shell.returncode not in (0, stopped)
        self.failed = f"{commands}ended with {shell.returncode}:\n{self.output}" if has_failed else ""
        if found := re.search(r"Connect at (http://[\d.:]+)", self.output):
            self.address = found[1].rstrip(".")

    def finish(self) -> None:
        """Fail if the last command failed. Called before each command and at the end of a page."""
        assert not self.failed, self.failed


def comment(block: Code) -> tuple[str, str]:
    """The kind and the text of the comment before a block."""
    found = COMMENT.match(block.comment)
    return (found["kind"], found["text"]) if found else ("", "")


def file_name(block: Code) -> str:
    """The file to which the block is written: named in its comment, or in its first line."""
    kind, text = comment(block)
    return text if kind == "file" else block.text.partition("\n")[0].removeprefix("# ")


def _read(shell: subprocess.Popen[str], until: str | None) -> Iterator[str]:
    """The lines that the shell prints. After a line with `until`, its programs get SIGTERM."""
    assert shell.stdout is not None
    for line in shell.stdout:
        yield line
        if until is not None and until in line:
            until = None
            os.killpg(shell.pid, signal.SIGTERM)


def assert_printed(block: Code, expected: str, output: str) -> None:
    """Assert that the lines of the block are in the output, one after another."""
    pattern = "".join(_pattern(line) for line in lines(expected))
    printed = "".join(f"{line}\n" for line in lines(output))
    found = re.search(f"^{pattern}", printed, re.MULTILINE)
    assert found, f"{block.page}:{block.line} shows\n{block.text}\nbut the program printed\n{output}"


def _pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"\n"


def lines(text: str) -> list[str]:
    """The non-empty lines. Steps of different connectors end in any order, so their lines are sorted.

    What takes more than two seconds says how far it is: that is no part of what a guide shows.
    """
    text = PROGRESS.sub("", text)
    for pattern, name in VARIABLE:
        text = pattern.sub(name, text)
    printed = (line.strip() for line in text.splitlines() if line.strip())
    groups = groupby(printed, lambda line: line.endswith("applied after N s"))
    return [line for is_step, group in groups for line in (sorted(group) if is_step else group)]
