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
from pathlib import Path

from gitops_connect.desired.manifests.formats import suffix_of
from gitops_connect.model.entries import Entry
from gitops_connect.model.large_manifests import LargeFile, LineFault
from gitops_connect.model.unreadable import Unreadable
from gitops_connect.offset_changes.staging.files import secure, stage

KEPT_FOR = 7 * 24 * 3600.0
"""Seconds since the last use."""
_LISTING = "listing.json"
_LOCK = "lock"


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The store in that directory; nothing is removed from it meanwhile. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder, fcntl.LOCK_SH):
        yield Store(folder)


def remove_unused(folder: Path) -> None:
    """Remove content that was not used for a week; do nothing if a process is using the store. Raises OSError.

    While this process has the store `opened`, this removes nothing, because the process's own lock is in the way.
    """
    if not folder.is_dir():
        return
    try:
        with _lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for kept in folder.iterdir():
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

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def blob(self, entry: Entry, chunks: Iterable[bytes]) -> LargeFile:
        """A file of the repository. The chunks are only read if the file is not in the store.

        Errors of the chunks are passed on, and then nothing is stored. Raises OSError.
        """
        key = blob_key(entry)
        (file,) = self.kept(key, [entry.path]) or self.keep(key, lambda folder: [stage(entry.path, chunks, folder)])
        return file

    def kept(self, key: str, names: Sequence[str] | None = None) -> tuple[LargeFile, ...]:
        """The files under that key, with other names if `names` are given; empty if there are none."""
        try:
            listing = json.loads((self._folder / key / _LISTING).read_text())
        except FileNotFoundError:
            return ()
        os.utime(self._folder / key)
        shown = names if names is not None else [one["name"] for one in listing]
        return tuple(self._file(key, name, one) for name, one in zip(shown, listing, strict=True))

    def keep(self, key: str, fill: Callable[[Path], Sequence[LargeFile]]) -> tuple[LargeFile, ...]:
        """Store what `fill` writes to an empty directory, all or nothing. Errors of `fill` are passed on.

        Raises OSError.
        """
        partial = self._folder / f"{key}.{secrets.token_hex(4)}.partial"
        partial.mkdir()
        try:
            files = fill(partial)
            with (partial / _LISTING).open("w") as stream:
                json.dump([_listed(file, partial) for file in files], stream)
                secure(stream)
            try:
                partial.rename(self._folder / key)
            except OSError:
                if not (self._folder / key).is_dir():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return self.kept(key)

    def _file(self, key: str, name: str, listed: dict[str, str]) -> LargeFile:
        folder = self._folder / key
        places = str(folder / listed["places"]) if listed["places"] else None
        return LargeFile(name, str(folder / listed["path"]), places, tuple(LineFault(*one) for one in listed["faults"]))


def _listed(file: LargeFile, folder: Path) -> dict[str, object]:
    return {
        "name": file.name,
        "path": Path(file.path).relative_to(folder).as_posix(),
        "places": Path(file.places).relative_to(folder).as_posix() if file.places is not None else None,
        "faults": file.faults,
    }


@contextmanager
def _lock(folder: Path, how: int) -> Iterator[None]:
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
