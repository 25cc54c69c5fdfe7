"""A directory with its uncommitted files, with or without Git: the source of `gitops-connect plan DIRECTORY`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.model.documents import Entry
from gitops_connect.model.names import Revision
from gitops_connect.safe_files import NotRegular, open_regular
from gitops_connect.source.checkout import Checkout
from gitops_connect.source.directory_listing import LARGEST, FoundFile, PathKind, arrange, bounded, printable

_CHUNK = 1 << 20


class WorkingTree:
    """A `Source` that reads one directory. Its revision is a digest of the paths and blob ids in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: Checkout | None = None

    def fetch(self) -> Checkout:
        """The current content; every file is read once, for its blob id.

        Raises UsageError if there is no such directory, SourceRefused if a file cannot be read or there are too many
        files, SourceUnavailable if a file changes meanwhile.
        """
        if not self._path.is_dir():
            what = "is a file" if self._path.exists() else "does not exist"
            raise UsageError(f"{self._path} {what}: expected a directory that contains documents")
        root = self._path.absolute()
        listing = arrange(bounded(_walk(root), f"the directory {self._path}"))
        digest = hashlib.sha256()
        for entry in listing.entries:
            digest.update(f"{entry.path}\0{entry.blob_id}\n".encode())
        revision = Revision(f"worktree-{digest.hexdigest()[:40]}")
        self._last = Checkout(revision, listing.entries, listing.diagnostics, _DirectoryReader(root))
        return self._last

    @property
    def last_good(self) -> Checkout | None:
        """The result of the last `fetch`. Reading a file that has changed since raises SourceUnavailable."""
        return self._last

    def close(self) -> None:
        """There is nothing to close between two fetches."""


@dataclass(frozen=True, slots=True)
class _DirectoryReader:
    root: Path

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        for entry in entries:
            blob_id, content = _read(self.root / entry.path, entry.path, at_most)
            if blob_id != entry.blob_id:
                raise _changed(entry.path)
            yield content

    def stream(self, entry: Entry) -> Iterator[bytes]:
        with _opened(self.root / entry.path, entry.path) as (stream, _, digest):
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != entry.blob_id:
            raise _changed(entry.path)


def _walk(root: Path) -> Iterator[FoundFile]:
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        for child in _children(root, directory):
            path = directory + child.name
            if not child.is_dir(follow_symlinks=False):
                yield _find(path, child)
            # Hidden directories are not read. In Kubernetes' mounts, the links to files lead through `..data`.
            elif not child.name.startswith(".") or child.name.startswith(".."):
                yield FoundFile(os.fsencode(path), PathKind.DIRECTORY)
                waiting.append(f"{path}/")


def _children(root: Path, directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / directory) as children:
            return list(children)
    except FileNotFoundError as error:
        raise _changed(directory) from error
    except OSError as error:
        raise SourceRefused(f"cannot read the directory {_shown(directory)}: {error.strerror}") from error


def _find(path: str, child: os.DirEntry[str]) -> FoundFile:
    name = os.fsencode(path)
    if child.is_symlink():
        try:
            return FoundFile(name, PathKind.LINK, link=os.fsencode(Path(child.path).readlink()))
        except OSError as error:
            raise _changed(path) from error
    if not child.is_file(follow_symlinks=False):
        return FoundFile(name, PathKind.SPECIAL)
    size = child.stat(follow_symlinks=False).st_size
    if size > LARGEST:
        return FoundFile(name, PathKind.TOO_LARGE)
    blob_id, _ = _read(Path(child.path), path, at_most=0)
    return FoundFile(name, PathKind.FILE, blob_id, size)


def _read(file: Path, path: str, at_most: int | None) -> tuple[str, bytes]:
    """The blob id that git would give the file, and its first `at_most` bytes."""
    with _opened(file, path) as (stream, size, digest):
        content = stream.read(size if at_most is None else min(size, at_most))
        digest.update(content)
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
        return digest.hexdigest(), content


@contextmanager
def _opened(file: Path, path: str) -> Iterator[tuple[IO[bytes], int, Any]]:
    """The file, its size, and the beginning of the digest that is its blob id."""
    try:
        with open_regular(file) as stream:
            size = os.fstat(stream.fileno()).st_size
            yield stream, size, hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    except (FileNotFoundError, NotRegular) as error:
        raise _changed(path) from error
    except OSError as error:
        raise SourceRefused(f"cannot read the file {_shown(path)}: {error.strerror}") from error


def _changed(path: str) -> SourceUnavailable:
    return SourceUnavailable(f"{_shown(path)} changed while the directory was read; run again")


def _shown(path: str) -> str:
    return repr(printable(os.fsencode(path)))
