"""Files that commands write for people: whole or not at all, and never over another one unasked."""

from __future__ import annotations

from pathlib import Path

from gitops_connect.errors import UsageError


def write_new(path: Path, text: str, *, force: bool) -> None:
    """Raises UsageError where a file is there, unless `force`, and where it cannot be written."""
    if path.exists() and not force:
        raise UsageError(f"{path} is there already: name another file, or write over it with --force")
    aside = path.with_name(f".{path.name}.partial")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
