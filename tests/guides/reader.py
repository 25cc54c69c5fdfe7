"""Somebody who follows a page of the docs, command by command, on a real cluster.

The blocks of a page are followed in their order:

- `sh` is run. It must succeed, unless the page shows what it prints.
- `text` is what the last command printed, or a part of it. `…` stands for words, and in a line of its own for lines.
- `yaml`, `toml` and `json` are files. The first line names the file (`# clusters/local/orders.yaml`), or a comment
  before the block does: `<!-- file: offsets/orders.json -->`.
- Blocks after `<!-- not run: REASON -->` are left out; so is inline code.
- `<!-- meanwhile: EVENT -->` before a block is what happens before the reader goes on.
- After `<!-- until: TEXT -->` a command runs until it prints the text; then the reader stops it with SIGTERM.

Questions are answered with `yes`.

pytest-codeblocks 0.17 also runs shell blocks, each in a directory of its own choice, and compares all that they print,
word by word. A guide needs a directory that lasts, files, and outputs of which a part is shown.
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

from docs_pages import Code

ADDRESS = re.compile(r"https?://(?:127\.0\.0\.1|connect-\d):8083")
BROKER = re.compile(r"(?:east|west)-kafka:9092")
"""Where Connect and Kafka of the pages are. Here they take any free port."""
DIRECTORIES = {"/data": "data", "/run/secrets": "secrets", "/tmp/tutorial": "tutorial"}
"""Directories of the pages. Here they are below the reader's own."""
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
"""What differs from run to run. Columns are as wide as what is in them."""


@dataclass
class Reader:
    """Types what a page shows, in a directory of their own."""

    home: Path
    address: str = ""
    """Of Connect's REST API."""
    bootstrap: str = ""
    """Of the broker."""
    happen: Callable[[str], None] = print
    """Lets an event happen."""
    directory: Path = field(init=False)
    output: str = ""
    failed: str = ""
    """The last command if it failed, and nothing has shown yet what it prints."""

    def __post_init__(self) -> None:
        self.directory = self.home

    @property
    def environment(self) -> dict[str, str]:
        """With `gitops-connect` on the path."""
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
            case "yaml" | "toml" | "json" | "ini":
                self._write(block)
            case "text":
                self.failed = ""
                assert_printed(block, self._here(block.text), self.output)

    def _here(self, text: str) -> str:
        """As it is on this machine."""
        for there, here in DIRECTORIES.items():
            text = text.replace(there, str(self.home / here))
        return BROKER.sub(self.bootstrap, ADDRESS.sub(self.address, text))

    def _write(self, block: Code) -> None:
        file = self.directory / file_name(block)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._here(block.text))

    def run(self, commands: str, until: str | None = None) -> None:
        """In a shell that begins in the directory where the last one ended."""
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
        self.failed = f"{commands}ended with {shell.returncode}:\n{self.output}" if shell.returncode else ""
        if found := re.search(r"Connect at (http://[\d.:]+)", self.output):
            self.address = found[1].rstrip(".")

    def finish(self) -> None:
        """At the end of a page, and before each command."""
        assert not self.failed, self.failed


def comment(block: Code) -> tuple[str, str]:
    """The kind and the text of the comment before a block."""
    found = COMMENT.match(block.comment)
    return (found["kind"], found["text"]) if found else ("", "")


def file_name(block: Code) -> str:
    """Where the block is written to: what its comment says, or its first line."""
    kind, text = comment(block)
    return text if kind == "file" else block.text.partition("\n")[0].removeprefix("# ")


def _read(shell: subprocess.Popen[str], until: str | None) -> Iterator[str]:
    """What the shell prints. If it prints `until`, the programs in it are told to end."""
    assert shell.stdout is not None
    for line in shell.stdout:
        yield line
        if until is not None and until in line:
            until = None
            os.killpg(shell.pid, signal.SIGTERM)


def assert_printed(block: Code, expected: str, output: str) -> None:
    """The lines of the block are in the output, one after another."""
    pattern = "".join(_pattern(line) for line in lines(expected))
    printed = "".join(f"{line}\n" for line in lines(output))
    found = re.search(f"^{pattern}", printed, re.MULTILINE)
    assert found, f"{block.page}:{block.line} shows\n{block.text}\nbut the program printed\n{output}"


def _pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"\n"


def lines(text: str) -> list[str]:
    """The lines that are not empty. Steps of different connectors end in any order, so their lines are sorted."""
    for pattern, name in VARIABLE:
        text = pattern.sub(name, text)
    printed = (line.strip() for line in text.splitlines() if line.strip())
    groups = groupby(printed, lambda line: line.endswith("applied after N s"))
    return [line for is_step, group in groups for line in (sorted(group) if is_step else group)]
