"""A repository to fetch from, whose commits can contain anything: odd names, links, submodules."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
START = 1_750_000_000


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """A commit of another repository."""

    commit: str


Content = str | bytes | Link | Submodule
Path_ = str | bytes


def run_git(*arguments: str, stdin: bytes = b"") -> str:
    """Run git without this machine's configuration, and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = {**kept, **IDENTITY, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *arguments], input=stdin, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@dataclass
class Upstream:
    """A bare repository. Each commit is one second later than the previous one."""

    directory: Path
    clock: int = START
    tips: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def create(directory: Path) -> Upstream:
        """Create an empty repository that allows partial clones."""
        run_git("init", "--quiet", "--bare", "--initial-branch=main", str(directory))
        upstream = Upstream(directory)
        with (directory / "config").open("a") as config:
            config.write("[uploadpack]\n allowFilter = true\n")
        return upstream

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git in this repository."""
        return run_git("-C", str(self.directory), *arguments, stdin=stdin)

    def commit(
        self, files: dict[Path_, Content] | dict[str, str], branch: str = "main", *, rewrite: bool = False
    ) -> str:
        """Commit exactly these files. `rewrite` makes a commit without a parent, as after a force-push."""
        self.clock += 1
        parent = None if rewrite else self.tips.get(branch)
        stream = [f"commit refs/heads/{branch}\ncommitter A <a@example.org> {self.clock} +0000\ndata 1\nx\n".encode()]
        stream += [f"from {parent}\n".encode()] if parent else []
        stream += [b"deleteall\n", *(_import(path, content) for path, content in files.items())]
        if rewrite:
            self.git("update-ref", "-d", f"refs/heads/{branch}")
        self.git("fast-import", "--quiet", "--force", stdin=b"".join(stream))
        self.tips[branch] = (self.directory / "refs" / "heads" / branch).read_text().strip()
        return self.tips[branch]

    def merge(self, files: dict[str, str], *parents: str) -> str:
        """A merge commit with exactly these files, on no branch."""
        tree = self.git("rev-parse", f"{self.commit(files, 'scratch')}^{{tree}}")
        return self.git("commit-tree", tree, *(word for one in parents for word in ("-p", one)), "-m", "x")

    def set_branch(self, branch: str, commit: str) -> None:
        self.git("update-ref", f"refs/heads/{branch}", commit)
        self.tips[branch] = commit


def _import(path: Path_, content: Content) -> bytes:
    name = path.encode() if isinstance(path, str) else path
    quoted = b'"' + b"".join(b"\\%03o" % byte if byte < 32 or byte in b'"\\' else bytes([byte]) for byte in name) + b'"'
    match content:
        case Submodule(commit):
            return b"M 160000 " + commit.encode() + b" " + quoted + b"\n"
        case Link(target):
            mode, data = b"120000", target.encode()
        case str():
            mode, data = b"100644", content.encode()
        case bytes():
            mode, data = b"100644", content
    return b"M " + mode + b" inline " + quoted + b"\ndata %d\n" % len(data) + data + b"\n"
