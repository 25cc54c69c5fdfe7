"""Files that commands write for people: complete or not at all. An existing file is only overwritten on request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.output_files import output_directory


def write_new(path: Path, content: str | Iterable[bytes], *, force: bool, root: Path | None = None) -> None:
    """Write a file. At most one chunk of `bytes` is in memory. Errors of the iterable are passed on.

    `root` is the directory that the user named, if the file is below it: links below it are not followed. Raises
    UsageError if the file exists, unless `force`, and if it cannot be written.
    """
    refuse_old(path, force=force)
    with writing(path), output_directory(root or path.parent, root and path.parent) as directory:
        directory.replace(path.name, [content.encode()] if isinstance(content, str) else content)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise UsageError for an OSError of the block."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def refuse_old(path: Path, *, force: bool) -> None:
    """Raise UsageError if the file exists, unless `force`."""
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} exists already; choose another file, or overwrite it with --force")


def new_directory(path: Path, *, force: bool) -> None:
    """Create the directory if it does not exist. Raises UsageError if it is not empty, unless `force`."""
    try:
        with output_directory(path, path):
            is_empty = next(path.iterdir(), None) is None
    except OSError as error:
        raise UsageError(f"cannot write to the directory {path}: {error.strerror}") from error
    if not is_empty and not force:
        raise UsageError(f"the directory {path} is not empty; choose another directory, or write to it with --force")
