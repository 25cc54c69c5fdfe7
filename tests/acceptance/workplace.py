"""A user's directory: settings, a Git repository with documents, and the command line for a cluster."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests

from gitops_connect.cli.main import run_command
from gitops_connect.ledger.ledger import Ledger

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
DEADLINE = 60.0


PROGRESS = re.compile(
    r"^(?:Applying|Checking|Converting|Exporting|History|Importing|Opening|Planning|Reading|Reconciling|Repository"
    r"|Restarting|Reviewing|Validating|Offsets(?=: reading)): .*\n",
    re.MULTILINE,
)
"""What a command that takes more than two seconds says about its progress."""


@dataclass(frozen=True)
class Ran:
    """The exit code and the output of one command."""

    code: int
    out: str
    err: str

    def expect(
        self,
        code: int | None = None,
        *,
        out: str | Iterable[str] = (),
        err: str | Iterable[str] = (),
        said: str | Iterable[str] = (),
    ) -> Ran:
        """This result, if it has the exit code (None: any), and each text on stdout, on stderr, or on one of them.

        The stream of an empty text is empty, except for progress: a busy machine needs more than two seconds.
        """
        assert code in (None, self.code), self
        shown = PROGRESS.sub("", self.err)
        for stream, texts in ((self.out, out), (shown, err), (self.out + shown, said)):
            for text in [texts] if isinstance(texts, str) else texts:
                assert text in stream if text else not stream, (text, self)
        return self


def run_here(*arguments: str) -> Ran:
    """Run one command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command([*arguments])
    return Ran(code, out.getvalue(), err.getvalue())


def run_apart(command: Sequence[str], **how: Any) -> Ran:
    """Run one program in a new process; `how` are more arguments of `subprocess.run`."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    return Ran(done.returncode, done.stdout, done.stderr)


def change(name: str, connector: str, spec: str) -> str:
    """An OffsetChange document."""
    lines = "".join(f"  {line}\n" for line in spec.splitlines())
    return (
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\n"
        f"metadata: {{name: {name}}}\nspec:\n  connector: {json.dumps(connector)}\n{lines}"
    )


@dataclass
class Workplace:
    """The directory of one user. Connector names get a suffix, so that tests can share a cluster."""

    directory: Path
    urls: tuple[str, ...]
    suffix: str = field(default_factory=lambda: uuid4().hex[:6])
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.repository.mkdir()
        (self.directory / "in.txt").touch()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("commit", "--quiet", "--allow-empty", "--message", "nothing yet")
        self.settings()

    @property
    def repository(self) -> Path:
        return self.directory / "repository"

    def name(self, stem: str) -> str:
        return f"{stem}-{self.suffix}"

    def settings(self, cluster: str = "", more: str = "") -> None:
        """Write the settings file, with more lines for the cluster (`cluster`) and for other sections (`more`).

        `min_running` is 0.2s, and `task_shutdown_timeout` 0, unless `cluster` sets them.
        """
        urls = ", ".join(f'"{url}"' for url in self.urls)
        for name, value in (("min_running", '"0.2s"'), ("task_shutdown_timeout", "0")):
            cluster += "" if name in cluster else f"\n{name} = {value}"
        text = f'[repository]\nurl = "repository"\n[clusters.local]\nurl = [{urls}]\n{cluster}\n{more}\n'
        (self.directory / "gitops-connect.toml").write_text(text)

    def write(self, file: str, *documents: str) -> None:
        """Write documents to a file of the repository, without a commit."""
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n".join(documents))

    def commit(self, file: str, *documents: str) -> None:
        """Write and commit; without documents, the file is removed."""
        if documents:
            self.write(file, *documents)
        else:
            (self.repository / file).unlink()
        self.commit_all(f"change {file}")

    def commit_all(self, message: str = "changed") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def undo(self, change: str) -> Ran:
        """Write and commit the document that undoes the change."""
        ran = self.run("offsets", "undo", change, "--out", str(self.repository / "undo.yaml")).expect(0, out="")
        self.commit_all()
        return ran

    def apply_change(self, name: str, stem: str, spec: str) -> None:
        """Commit and apply an OffsetChange."""
        self.deploy(f"{name}.yaml", change(name, self.name(stem), spec))

    def ledger(self) -> Ledger:
        """The ledger of this directory; the caller closes it."""
        return Ledger.open("sqlite:///state.db", self.directory, None)

    def source(self, stem: str, spec: str = "", **config: str) -> str:
        """The document of a connector that works; `spec` contains more lines of its spec."""
        return self.document(stem, SOURCE, spec, {"file": str(self.directory / "in.txt"), "topic": "lines", **config})

    def mirror(self, stem: str, spec: str = "", **config: str) -> str:
        """The document of a connector with a valid config, which fails as soon as it starts."""
        return self.document(stem, MIRROR, spec, {"source.cluster.alias": "a", "target.cluster.alias": "b", **config})

    def document(self, stem: str, plugin: str, spec: str, config: dict[str, str]) -> str:
        lines = "".join(f"    {key}: {value}\n" for key, value in config.items())
        more = "".join(f"  {line}\n" for line in spec.splitlines())
        return (
            "apiVersion: gitops-connect/v1\nkind: Connector\n"
            f"metadata: {{name: {self.name(stem)}}}\nspec:\n  class: {plugin}\n{more}  config:\n{lines}"
        )

    def run(self, *arguments: str) -> Ran:
        """Run one command in this process."""
        return run_here("--config", str(self.directory / "gitops-connect.toml"), *arguments)

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs one command in a new process."""
        program = [sys.executable, "-m", "gitops_connect.cli.main"]
        return [*program, "--config", str(self.directory / "gitops-connect.toml"), *arguments]

    def apply(self) -> Ran:
        """Apply the last commit; the command must succeed."""
        return self.run("apply", "--yes").expect(0)

    def deploy(self, file: str, *documents: str) -> Ran:
        """Commit, and apply the commit."""
        self.commit(file, *documents)
        return self.apply()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.repository, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the REST API, without gitops-connect."""
        with self.session.request(method, self.urls[0] + path, json=body, timeout=60) as response:
            assert response.status_code < 400, response.text
            return response.json() if response.content else None

    def offsets(self, stem: str) -> Any:
        """The current offsets of a connector."""
        return self.rest("GET", f"/connectors/{self.name(stem)}/offsets")["offsets"]

    def set_offsets(self, stem: str, *entries: Any) -> None:
        """Change offsets over the REST API, without gitops-connect."""
        self.rest("PATCH", f"/connectors/{self.name(stem)}/offsets", {"offsets": entries})

    def by_hand(self, action: str, stem: str) -> None:
        """Send `pause`, `stop` or `resume` to the REST API, without a commit."""
        self.rest("PUT", f"/connectors/{self.name(stem)}/{action}")

    def states(self) -> dict[str, str]:
        """The state of each of this test's connectors, by its stem."""
        answer = self.rest("GET", "/connectors?expand=status")
        return {
            name.removesuffix(f"-{self.suffix}"): one["status"]["connector"]["state"]
            for name, one in answer.items()
            if name.endswith(self.suffix)
        }

    def tasks(self, stem: str) -> list[str]:
        """The state of each task of a connector."""
        return [task["state"] for task in self.rest("GET", f"/connectors/{self.name(stem)}/status")["tasks"]]

    def position(self, stem: str) -> int | None:
        """The field `position` of a connector's one current offset; None if it has no offset."""
        found = self.offsets(stem)
        return found[0]["offset"]["position"] if found else None

    def await_position(self, stem: str, wanted: int | None) -> None:
        self.await_that(lambda: self.position(stem), lambda found: found == wanted)

    def config(self, stem: str) -> dict[str, str]:
        config: dict[str, str] = self.rest("GET", f"/connectors/{self.name(stem)}/config")
        return config

    def await_states(self, **states: str) -> None:
        """Poll until Connect reports exactly these states for this test's connectors."""
        self.await_that(self.states, lambda found: found == states)

    @staticmethod
    def await_that(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
        until = time.monotonic() + DEADLINE
        while not good(found := look()):
            assert time.monotonic() < until, f"never happened; last seen: {found}"
            time.sleep(0.1)
        return found

    def clean(self) -> None:
        """Remove this test's connectors."""
        for name in self.rest("GET", "/connectors"):
            if name.endswith(self.suffix):
                self.rest("DELETE", f"/connectors/{name}")
        self.session.close()
