"""Copies local files that a `file:` URI names while their SHA-256 is computed. A `Copy`."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from gitops_connect.model.copies import CopiedFile
from gitops_connect.model.globs import Glob, folder_of, is_glob, is_hidden
from gitops_connect.offset_changes.staging.files import secure

_STEP = 1024 * 1024


def copy(uri: str, takes: Callable[[str], bool], directory: str) -> list[CopiedFile]:
    """Copy local files as Spark copies remote ones. Raises OSError."""
    path = uri.removeprefix("file:")
    if path.startswith("//"):
        host, _, path = path[2:].partition("/")
        if host:
            raise OSError(f"a file: URI must not name a host, found {host!r}")
        path = f"/{path}"
    return sorted(_copied(found, Path(directory)) for found in _found(os.path.normpath(path)) if takes(found))


def _found(path: str) -> Iterator[str]:
    if is_glob(path) and not os.path.lexists(path):
        pattern = Glob(path)
        yield from (found for found in _below(folder_of(path)) if pattern.meets(found))
    elif Path(path).is_dir():
        yield from _below(path)
    elif os.path.lexists(path):
        yield path


def _below(directory: str) -> Iterator[str]:
    for root, directories, names in os.walk(directory or "/", onerror=_raise):
        directories[:] = [name for name in directories if not is_hidden(name)]
        yield from (os.path.join(root, name) for name in names if not is_hidden(name))  # noqa: PTH118 - of strings


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _copied(path: str, directory: Path) -> CopiedFile:
    copied = directory / uuid4().hex
    digest = hashlib.sha256()
    with open(path, "rb", opener=_open) as source, copied.open("wb") as target:
        while chunk := source.read(_STEP):
            digest.update(chunk)
            target.write(chunk)
        secure(target)
    return CopiedFile(path, str(copied), digest.hexdigest())


def _open(path: str, flags: int) -> int:
    # A pipe or a device would be read without end.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a file")
    return descriptor
