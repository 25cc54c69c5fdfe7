"""Opens and writes files safely: private files, regular files only, and no links in directories of others."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TypeVar

from gitops_connect.errors import FreeSpace, GitopsConnectError, UsageError

# Who can read the files of this program: only its user, except files that the user named as an output.

_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_users_umask = -1


def create_private_files() -> None:
    """From now on, files of this process and of its children (Git, Java) have mode 0600, directories 0700."""
    global _users_umask  # noqa: PLW0603 - the umask belongs to the process, too
    _users_umask = os.umask(_GROUP_AND_OTHERS)
    os.umask(_users_umask | _GROUP_AND_OTHERS)


def users_umask() -> int:
    """The umask for a child process that writes to a place of the user; -1 means that of this process."""
    return _users_umask


def give_users_mode(descriptor: int) -> None:
    """Give an output, which is new and open, the mode that it has without `create_private_files`."""
    if _users_umask >= 0:
        found = os.fstat(descriptor).st_mode
        allowed = 0o777 if stat.S_ISDIR(found) else 0o666
        os.fchmod(descriptor, stat.S_IMODE(found) | allowed & ~_users_umask)


def make_private(*paths: Path) -> None:
    """Remove the permissions of other users from what exists of these files, and directories with all their content.

    The group may keep its permissions on files of other users: volumes of a Kubernetes pod with `fsGroup` give them.
    Raises PermissionError if other users have permissions that this process cannot remove.
    """
    for path in paths:
        with suppress(FileNotFoundError):
            if path.stat().st_mode & _GROUP_AND_OTHERS:
                _make_private(path)


def _make_private(path: Path) -> None:
    for directory, _, names in os.walk(path, topdown=False):
        for name in names:
            _take_permissions(Path(directory, name))
        if directory != str(path):
            _take_permissions(Path(directory))
    _take_permissions(path.resolve())


def _take_permissions(path: Path) -> None:
    with suppress(FileNotFoundError):  # another process has removed it
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not mode & _GROUP_AND_OTHERS:
            return
        try:
            path.chmod(stat.S_IMODE(mode) & ~_GROUP_AND_OTHERS)
        except OSError as error:
            if mode & stat.S_IRWXO and not isinstance(error, FileNotFoundError):
                what = f"every user of this machine has access to {path}, and its mode cannot be changed"
                advice = f"{error.strerror}; run chmod -R o= on it as its owner"
                raise PermissionError(error.errno, f"{what}: {advice}") from error


# Opens files whose names come from outside: regular files only. A pipe or a device could be read without end.
#
# The file is checked after it is opened, so that nothing can replace it in between.

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegular(OSError):
    """The path is that of a directory, a pipe, a device or a socket."""


def open_regular(path: Path | str, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for anything else, and for a symbolic link unless `follow`."""
    return open(path, "rb", opener=_open if follow else _open_itself)


def read_text(path: Path) -> str:
    """The content of a regular file in UTF-8. Raises OSError and UnicodeDecodeError."""
    with TextIOWrapper(open_regular(path), encoding="utf-8") as stream:
        return stream.read()


def is_special(path: Path) -> bool:
    """Whether a library that opens this path could wait or read without end. `/dev/null` is an empty file."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return False
    return kind not in (stat.S_IFREG, stat.S_IFDIR) and path != Path(os.devnull)


def _open_itself(path: str, flags: int) -> int:
    return _open(path, flags | os.O_NOFOLLOW)


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe would wait until another process writes to it.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise NotRegular(errno.EINVAL, f"it is {_KINDS.get(kind, 'no file')}, expected a regular file", path)
    return descriptor


@contextmanager
def locked_file(file: Path, how: int = fcntl.LOCK_EX, wait: Callable[[], None] | None = None) -> Iterator[int]:
    """Hold an advisory lock on a file, which is created if needed. Child processes may inherit the descriptor.

    The kernel releases the lock when its last holder ends for any reason. `wait` is called repeatedly while another
    process has the lock. Without it, this waits, or raises BlockingIOError if `how` has LOCK_NB. Raises OSError.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, how if wait is None else how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if wait is None:
                    raise
            wait()
        yield descriptor
    finally:
        os.close(descriptor)


# Full disks: an error names the directory, and a retry waits until there is more space.

FULL = (errno.ENOSPC, errno.EDQUOT)
_MORE = 64 * 1024
"""Bytes. Other programs need and free less than that all the time."""
_Error = TypeVar("_Error", bound=GitopsConnectError)


def free_space(directory: Path) -> FreeSpace:
    """The free space of the directory, or of its closest parent that exists; enough if it cannot be read."""
    try:
        found = os.statvfs(next(one for one in (directory, *directory.parents) if one.exists()))
    except OSError:  # the next attempt to write names the cause
        return FreeSpace(directory, sys.maxsize, 1)
    files = found.f_favail if found.f_files else 1  # some file systems, such as Btrfs, do not limit them
    return FreeSpace(directory, found.f_bavail * found.f_frsize, files)


def has_more_space(before: FreeSpace) -> bool:
    """Whether the disk has more free space than before."""
    now = free_space(before.directory)
    return now.bytes >= before.bytes + _MORE or now.files > before.files == 0


def without_space(kind: type[_Error], message: str, directory: Path) -> _Error:
    """An error whose cause is a full disk: the message names the directory and its free space.

    Remove first what was written in part: a retry waits for more space than there is now.
    """
    free = free_space(directory)
    error = kind(f"{message}: no space left on {directory} ({free.bytes} bytes free)")
    error.full_disk = free
    return error


# Outputs: files in a directory that the user named. They have the user's umask, and no link below it is followed.
#
# Each file is complete or not written at all. Commands overwrite an existing file only on request.


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
