"""Repositories with any number of connectors, in the two layouts that teams use, and their settings."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_AUTHOR = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org")


class Layout(Enum):
    """The number of documents in one file."""

    FILE_EACH = 1
    HUNDRED_A_FILE = 100


def config(number: int) -> dict[str, str]:
    """The config of one connector, as Connect keeps it: ten keys, as many as usual."""
    return {
        "connector.class": PLUGIN,
        "tasks.max": "1",
        "file": "/dev/null",
        "topic": f"lines-{number}",
        "batch.size": "1000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "none",
        "errors.retry.timeout": "0",
    }


def name(number: int, prefix: str = "orders") -> str:
    """The name of the connector with that number."""
    return f"{prefix}-{number:05}"


def document(number: int, prefix: str = "orders", state: str = "running", **changed: str) -> str:
    """The document of that connector; `changed` keys have other values."""
    settings = config(number) | changed
    plugin, tasks = settings.pop("connector.class"), settings.pop("tasks.max")
    lines = "".join(f"    {key}: {value}\n" for key, value in settings.items())
    return (
        "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata:\n"
        f"  name: {name(number, prefix)}\n  labels: {{team: payments}}\n"
        f"spec:\n  class: {plugin}\n  tasksMax: {tasks}\n  state: {state}\n  config:\n{lines}"
    )


@dataclass(frozen=True)
class Workplace:
    """A directory with a repository of `count` connectors and the settings for one cluster."""

    directory: Path
    count: int
    layout: Layout
    state: str = "running"

    @property
    def repository(self) -> Path:
        """The git repository, with a work tree."""
        return self.directory / "repository"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.directory / "gitops-connect.toml"

    def create(self, url: str, prefix: str = "orders") -> None:
        """Write everything, and commit it."""
        self.repository.mkdir(parents=True)
        self.settings.write_text(
            f'[repository]\nurl = "{self.repository}"\n[clusters.local]\nurl = ["{url}"]\nmin_running = "0s"\n',
            encoding="utf-8",
        )
        self.git("init", "--quiet", "--initial-branch=main")
        self.declare(prefix)

    def declare(self, prefix: str = "orders", **changed: str) -> None:
        """Write and commit all documents; `changed` keys have other values than those of `config`."""
        for start in range(0, self.count, self.layout.value):
            numbers = range(start, start + self.layout.value)
            text = "---\n".join(document(number, prefix, self.state, **changed) for number in numbers)
            self._file(start).write_text(text, encoding="utf-8")
        self._commit()

    def change(self, turn: int) -> None:
        """Change one connector of the first file to another value each turn, and commit."""
        file = self._file(0)
        first, *rest = file.read_text(encoding="utf-8").split("---\n")
        lines = [f"    batch.size: {2000 + turn}" if "batch.size" in line else line for line in first.splitlines()]
        file.write_text("---\n".join(["\n".join(lines) + "\n", *rest]), encoding="utf-8")
        self._commit()

    def git(self, *arguments: str) -> None:
        """Run Git in the repository."""
        subprocess.run(["git", *_AUTHOR, *arguments], cwd=self.repository, check=True)

    def _commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def _file(self, start: int) -> Path:
        return self.repository / f"{name(start)}.yaml"
