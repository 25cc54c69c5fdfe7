"""A user's directory with two clusters, one of which is hostile, and its commands as processes with limits."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

MIB = 1024 * 1024
MEASURED = Path(__file__).with_name("measured.py")
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SECRETS = {"DB_PIN": "hunter2hunter2", "CONNECT_PASSWORD": "swordfish-41", "STATE_KEY": "k3y-of-the-ledger-0123456789"}
"""Environment variables that documents and settings name; no value is ever printed."""


@dataclass(frozen=True)
class Bounds:
    """The limits of a command: `memory` in MiB for each of its processes, and `seconds`."""

    memory: int = 256
    seconds: int = 60


BOUNDS = Bounds()


@dataclass(frozen=True)
class Ran:
    """One command: exit code (negative: a signal), peak memory in bytes, and what it wrote."""

    code: int
    peak: int
    ended: bool
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@dataclass
class Place:
    """Settings, a directory of documents, and further environment variables."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def repository(self) -> Path:
        return self.directory / "repository"

    def settings(self, text: str) -> None:
        (self.directory / "gitops-connect.toml").write_text(text)

    def write(self, file: str, content: str | bytes) -> Path:
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self) -> None:
        """Make a Git repository of the directory of documents."""
        for command in ("init --initial-branch=main", "add --all", "commit --message=all"):
            subprocess.run(["git", *command.split()], cwd=self.repository, check=True, capture_output=True)

    def run(self, *arguments: str, bounds: Bounds) -> Ran:
        """Run `gitops-connect`, and assert its limits, UTF-8, and no signal, bug, secret or escape sequence."""
        out, err = self.directory / "out", self.directory / "err"
        program = [sys.executable, "-m", "gitops_connect.cli.main", *arguments]
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(MEASURED), str(bounds.seconds), str(out), str(err), *program],
            cwd=self.directory,
            env={**os.environ, **SECRETS, **self.environment},
            check=True,
            capture_output=True,
        )
        ran = Ran(**json.loads(done.stdout), out=out.read_text("utf-8"), err=err.read_text("utf-8"))
        assert not ran.ended, f"not done after {bounds.seconds} s\n{ran.said[-2000:]}"
        assert ran.code >= 0, f"ended by signal {-ran.code}\n{ran.said[-2000:]}"
        assert ran.code != 70, ran.said
        assert ran.peak <= bounds.memory * MIB, f"{ran.peak // MIB} MiB, expected at most {bounds.memory}"
        assert "\x1b" not in ran.said, "no sequence that drives a terminal, as nothing here is one"
        for secret in SECRETS.values():
            assert secret not in ran.said
        return ran


def document(name: str = "orders", spec: str = "", file: str = "/tmp/in.txt", kind: str = SOURCE) -> str:
    """The document of a connector that the stand-in accepts; `spec` contains further lines of its spec."""
    more = "".join(f"  {line}\n" for line in spec.splitlines())
    return (
        f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\n"
        f"spec:\n  class: {kind}\n{more}  config: {{file: {file}, topic: lines}}\n"
    )


def graded(rows: Iterable[Any] | Mapping[str, Any]) -> list[Any]:
    """The first row for `make test`, the others for `make test-thorough`; each is a text, or has an `id` or a name."""
    marks = itertools.chain([pytest.mark.slow], itertools.repeat(pytest.mark.thorough))
    named = rows.items() if isinstance(rows, Mapping) else ((getattr(row, "id", row), row) for row in rows)
    return [pytest.param(row, id=name, marks=mark) for (name, row), mark in zip(named, marks, strict=False)]
