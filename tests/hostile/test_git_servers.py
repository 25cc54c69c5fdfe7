"""Servers at [repository] url that send without end, or are not Git servers: a clear error, and git within limits."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest
from support.git.git_web_servers import SMART, Parts, endless_references, web_server

from hostile.packed import gzip_of_zeros
from hostile.place import Bounds, Place, graded

GIT_BOUNDS = Bounds(512, 90)
LEVELS = 10
COMMANDS = ("plan", "validate", "doctor")


Serve = Callable[[Path], AbstractContextManager[str]]


def web(headers: dict[str, str], parts: Parts) -> Serve:
    return lambda _: web_server(headers, parts)


@contextmanager
def local(directory: Path, make: Callable[[Path], str]) -> Iterator[str]:
    """A repository whose branch main is the commit that `make` creates in it."""
    repository = directory / "upstream.git"
    git(directory, "init", "--quiet", "--bare", "--initial-branch=main", str(repository))
    (repository / "refs" / "heads" / "main").write_text(make(repository) + "\n")
    yield str(repository)


def git(directory: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, text=True, input=stdin)
    return done.stdout.strip()


def tree_of(leaf: str, repository: Path) -> str:
    """Ten trees in each tree: 10^10 directories in a dozen objects."""
    blob = git(repository, "hash-object", "-w", "--stdin", stdin="x")
    tree = git(repository, "mktree", stdin=leaf.format(blob))
    for _ in range(LEVELS):
        tree = git(repository, "mktree", stdin="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)))
    return git(repository, "commit-tree", tree, "-m", "hostile")


def huge_commit(kind: str, repository: Path) -> str:
    """A commit of 500 MB, which is all message or all author, in an object of 500 KB. Returns its id."""
    tree = git(repository, "mktree")
    begin = f"tree {tree}\nauthor ".encode() if kind == "author" else f"tree {tree}\n\n".encode()
    size, part = 500 * 1024**2, b"a" * 1024**2
    packer, digest = zlib.compressobj(), hashlib.sha1(usedforsecurity=False)
    packed = b""
    for content in (b"commit %d\0" % (len(begin) + size), begin, *[part] * (size // len(part))):
        packed += packer.compress(content)
        digest.update(content)
    name = digest.hexdigest()
    path = repository / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packed + packer.flush())
    return name


NO_GIT_SERVER = "does not belong to a Git server"
MEMORY = "[repository] git_memory"
TOO_MANY = "more than 100,000 files and directories"
HTML = {"Content-Type": "text/html"}

ROWS: dict[str, tuple[Serve, str]] = {
    "a page of HTML": (web(HTML, lambda: iter([b"<html>welcome</html>"])), NO_GIT_SERVER),
    "an empty page": (web(HTML, lambda: iter([b""])), NO_GIT_SERVER),
    "endless references": (web(SMART, endless_references), MEMORY),
    "gzip bomb": (web({**SMART, "Content-Encoding": "gzip"}, lambda: iter([gzip_of_zeros(4 * 1024**3)])), MEMORY),
    "endless garbage": (web(SMART, lambda: itertools.repeat(b"garbage" * 9000)), "repository"),
    "an endless page": (web(HTML, lambda: itertools.repeat(b"<p>" * 20_000)), "repository"),
    "a commit message of 500 MB": (partial(local, make=partial(huge_commit, "message")), MEMORY),
    "an author of 500 MB": (partial(local, make=partial(huge_commit, "author")), MEMORY),
    "10^10 directories": (partial(local, make=partial(tree_of, "")), TOO_MANY),
    "10^10 files": (partial(local, make=partial(tree_of, "100644 blob {}\tx.yaml\n")), TOO_MANY),
}
"""Servers, each with a part of what every command reports about it."""


@pytest.mark.parametrize("row", graded(ROWS))
def test_a_git_server(row: tuple[Serve, str], tmp_path: Path) -> None:
    serve, says = row
    place = Place(tmp_path)
    with serve(tmp_path) as url:
        place.settings(
            f'[repository]\nurl = "{url}"\ntimeout = "30s"\ngit_memory = "128MiB"\n'
            '[clusters.local]\nurl = "http://127.0.0.1:1"\ntimeout = "1s"\n'
        )
        for command in COMMANDS:
            ran = place.run(command, bounds=GIT_BOUNDS)
            assert says in ran.said
            assert ran.code == 1
