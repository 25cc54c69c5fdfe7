"""Keeps staged files under the digest of their content, so that later reconciliations need not copy them again."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from gitops_connect.desired.manifests.formats import suffix_of
from gitops_connect.file_modes import make_private
from gitops_connect.model.large_manifests import LargeFile, LineFault
from gitops_connect.model.listed_files import Entry
from gitops_connect.model.unreadable import Unreadable
from gitops_connect.offset_changes.staging.files import secure, stage

KEPT_FOR = 7 * 24 * 3600.0
"""Seconds since the last use."""
_LISTING = "listing.json"
_LOCK = "lock"


@contextmanager
def opened(directory: Path) -> Iterator[Store]:
    """The store in that directory; nothing is removed from it meanwhile. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    make_private(directory)
    with _lock(directory, fcntl.LOCK_SH):
        yield Store(directory)


def remove_unused(directory: Path) -> None:
    """Remove content that was not used for a week; do nothing if a process is using the store. Raises OSError.

    While this process has the store `opened`, this removes nothing, because the process's own lock is in the way.
    """
    try:
        with _lock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for kept in directory.iterdir():
                if kept.is_dir() and time.time() - kept.stat().st_mtime > KEPT_FOR:
                    shutil.rmtree(kept)
    except BlockingIOError:
        return


def blob_key(entry: Entry) -> str:
    """The key of a file of the repository: its content, and the format that its name indicates."""
    try:
        return f"{entry.blob_id}{suffix_of(entry.path)}"
    except Unreadable:
        return entry.blob_id


class Store:
    """A store of directories, each complete as soon as it has its name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def blob(self, entry: Entry, chunks: Iterable[bytes]) -> LargeFile:
        """A file of the repository. The chunks are only read if the file is not in the store.

        Errors of the chunks are passed on, and then nothing is stored. Raises OSError.
        """
        key = blob_key(entry)
        (file,) = self.kept(key) or self.keep(key, lambda directory: [stage(entry.path, chunks, directory)])
        return replace(file, name=entry.path)

    def kept(self, key: str) -> tuple[LargeFile, ...]:
        """The files under that key; empty if there are none."""
        directory = self._directory / key
        try:
            listing = json.loads((directory / _LISTING).read_text())
        except FileNotFoundError:
            return ()
        os.utime(directory)
        files = (LargeFile(**{**one, "faults": tuple(LineFault(*fault) for fault in one["faults"])}) for one in listing)
        return tuple(_moved(file, Path(), directory) for file in files)

    def keep(self, key: str, fill: Callable[[Path], Sequence[LargeFile]]) -> tuple[LargeFile, ...]:
        """Store what `fill` writes to an empty directory, all or nothing. Errors of `fill` are passed on.

        Raises OSError.
        """
        partial = self._directory / f"{key}.{secrets.token_hex(4)}.partial"
        partial.mkdir()
        try:
            files = fill(partial)
            with (partial / _LISTING).open("w") as stream:
                json.dump([asdict(_moved(file, partial, Path())) for file in files], stream)
                secure(stream)
            try:
                partial.rename(self._directory / key)
            except OSError:
                if not (self._directory / key).is_dir():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return self.kept(key)


def _moved(file: LargeFile, source: Path, target: Path) -> LargeFile:
    """The file after its directory `source` was moved to `target`."""
    places = None if file.places is None else str(target / Path(file.places).relative_to(source))
    return replace(file, path=str(target / Path(file.path).relative_to(source)), places=places)


@contextmanager
def _lock(directory: Path, how: int) -> Iterator[None]:
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
