"""Files that commands write for people: whole or not at all, and never over another one unasked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.errors import UsageError


def write_new(path: Path, content: str | Iterable[bytes], *, force: bool) -> None:
    """Of bytes, no more is held than one of them. What these raise is passed on.

    Raises UsageError where a file is there, unless `force`, and where it cannot be written.
    """
    with new_file(path, force=force) as aside:
        if isinstance(content, str):
            aside.write_text(content, encoding="utf-8")
            return
        with aside.open("wb") as stream:
            stream.writelines(content)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A path to write to, in the same folder; what is there in the end gets its name, and nothing where that fails.

    Raises UsageError as `write_new`, also for an OSError of the block.
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
    """Raises UsageError where a file is there, unless `force`."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; choose another file, or overwrite it with --force")


def new_folder(path: Path, *, force: bool) -> None:
    """Make the folder, if it is not there. Raises UsageError where it is not empty, unless `force`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = next(path.iterdir(), None) is None
    except OSError as error:
        raise UsageError(f"cannot write to the directory {path}: {error.strerror}") from error
    if not is_empty and not force:
        raise UsageError(f"the directory {path} is not empty; choose another directory, or write to it with --force")
