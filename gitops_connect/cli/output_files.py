"""Files that commands write for people: complete or not at all. An existing file is only overwritten on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.errors import UsageError


def write_new(path: Path, content: str | Iterable[bytes], *, force: bool) -> None:
    """Write a file. At most one chunk of `bytes` is in memory. Errors of the iterable are passed on.

    Raises UsageError if the file exists, unless `force`, and if it cannot be written.
    """
    with new_file(path, force=force) as aside:
        if isinstance(content, str):
            aside.write_text(content, encoding="utf-8")
            return
        with aside.open("wb") as stream:
            stream.writelines(content)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A temporary path in the same directory, renamed to `path` at the end of the block, or removed if it fails.

    Raises UsageError if the file exists, unless `force`, and if it cannot be written: also for an OSError of the block.
    """
    refuse_old(path, force=force)
    aside = path.with_name(f".{path.name}.partial")
    try:
        yield aside
        aside.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        aside.unlink(missing_ok=True)


def refuse_old(path: Path, *, force: bool) -> None:
    """Raise UsageError if the file exists, unless `force`."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; choose another file, or overwrite it with --force")


def new_directory(path: Path, *, force: bool) -> None:
    """Create the directory if it does not exist. Raises UsageError if it is not empty, unless `force`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = next(path.iterdir(), None) is None
    except OSError as error:
        raise UsageError(f"cannot write to the directory {path}: {error.strerror}") from error
    if not is_empty and not force:
        raise UsageError(f"the directory {path} is not empty; choose another directory, or write to it with --force")
