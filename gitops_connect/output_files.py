"""Outputs: files in a directory that the user named. They have the user's umask, and no link below it is followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitops_connect.file_modes import give_users_mode


class OutputDirectory:
    """An open directory. Its methods stay in this directory, whatever its path becomes. They raise OSError."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, name: str) -> bytes | None:
        """The content of the file; None if it does not exist."""
        try:
            descriptor = self._open(name, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, f"{name} is not a regular file")
            return stream.read()

    def replace(self, name: str, content: Iterable[bytes], *, private: bool = False) -> None:
        """Write the file, complete or not at all. Errors of the iterable are passed on. `private`: mode 0600."""
        self._refuse_link(name)
        aside = f".{name}.partial"
        try:
            self._remove(aside)
            descriptor = self._open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as stream:
                if not private:
                    give_users_mode(descriptor)
                stream.writelines(content)
            os.replace(aside, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        finally:
            self._remove(aside)

    def enter(self, name: str) -> OutputDirectory:
        """Open a directory in this one, and create it if it does not exist."""
        is_new = True
        try:
            os.mkdir(name, dir_fd=self._descriptor)
        except FileExistsError:
            is_new = False
            self._refuse_link(name)
        entered = self._open(name, os.O_RDONLY | os.O_DIRECTORY)
        if is_new:
            give_users_mode(entered)
        return OutputDirectory(entered)

    def close(self) -> None:
        """Close the directory."""
        os.close(self._descriptor)

    def _open(self, name: str, flags: int, mode: int = 0) -> int:
        self._refuse_link(name)
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self._descriptor)

    def _refuse_link(self, name: str) -> None:
        """Raise an OSError that says why; `O_NOFOLLOW` is what refuses a link that is created after this."""
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                raise OSError(errno.ELOOP, f"{name} is a symbolic link, which is not followed; remove the link")

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)


@contextmanager
def output_directory(root: Path, directory: Path | None = None) -> Iterator[OutputDirectory]:
    """Open `root`, which must exist, or the directory, which is `root` or below it, and is created if necessary.

    `root` is a path that the user named: links in it are followed. Raises OSError.
    """
    missing = [one for one in (root, *root.parents) if directory and not one.exists()]
    existing = missing[-1].parent if missing else root
    below = (directory or root).relative_to(existing)
    opened = OutputDirectory(os.open(existing, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    try:
        for name in below.parts:
            outer, opened = opened, opened.enter(name)
            outer.close()
        yield opened
    finally:
        opened.close()
