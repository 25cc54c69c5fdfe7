"""Whether Git ignores a file of a work tree, and what makes Git ignore it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gitops_connect.errors import SourceRefused
from gitops_connect.safe_files import OutputDirectory, output_directory
from gitops_connect.source.git_program import GitFailed, Program, local_environment

_TIMEOUT = 10
_IGNORE = ".gitignore"


def are_exposed(files: Sequence[Path], tree: Path) -> bool:
    """Whether `git add` would add one of these files of a work tree. False if Git cannot be asked."""
    tree, files = tree.resolve(), [one.parent.resolve() / one.name for one in files]
    environment = local_environment(tree)
    del environment["GIT_DIR"]  # so that Git reads no configuration of another user, who has made `.git` above us
    try:
        ignored = Program(environment, _TIMEOUT).run("-C", str(tree), "check-ignore", "--", *map(str, files))
    except GitFailed as failed:
        return failed.status == 1
    except SourceRefused:
        return False
    return ignored.count(b"\n") < len(files)


def ignore(file: Path) -> Path:
    """Add the file, and those whose names begin in the same way, to `.gitignore` next to it. Raises OSError."""
    name = re.sub(r"([][*?\\])", r"\\\1", file.name)
    line = f"/{name}*\n".encode()
    with output_directory(file.parent) as directory:
        _append(directory, line)
    return file.parent / _IGNORE


def _append(directory: OutputDirectory, line: bytes) -> None:
    before = directory.read(_IGNORE) or b""
    directory.replace(_IGNORE, [before, b"\n" if before and not before.endswith(b"\n") else b"", line])
