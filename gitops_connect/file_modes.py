"""Who can read the files of this program: only its user, except files that the user named as an output."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_users_umask = -1


def create_private_files() -> None:
    """From now on, files of this process and of its children (Git, Java) have mode 0600, directories 0700."""
    global _users_umask  # noqa: PLW0603 - the umask belongs to the process, too
    _users_umask = os.umask(_OTHERS)
    os.umask(_users_umask | _OTHERS)


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
            if path.stat().st_mode & _OTHERS:
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
        if stat.S_ISLNK(mode) or not mode & _OTHERS:
            return
        try:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        except OSError as error:
            if mode & stat.S_IRWXO and not isinstance(error, FileNotFoundError):
                what = f"every user of this machine has access to {path}, and its mode cannot be changed"
                advice = f"{error.strerror}; run chmod -R o= on it as its owner"
                raise PermissionError(error.errno, f"{what}: {advice}") from error
