"""Opens files that somebody else names: regular files only. A pipe or a device could be read without end.

The file is checked after it is opened, so that nothing can replace it in between.
"""

from __future__ import annotations

import errno
import os
import stat
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

_OTHERS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegular(OSError):
    """The path is that of a directory, a pipe, a device or a socket."""


def open_regular(path: Path | str, *, follow: bool = True) -> BinaryIO:
    """The file, opened for reading. Raises OSError, also for anything else than a regular file.

    `follow` is False: the path itself must not be a symbolic link.
    """
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
    # Without O_NONBLOCK, opening a pipe would wait until somebody writes to it.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise NotRegular(errno.EINVAL, f"it is {_OTHERS.get(kind, 'no file')}, expected a regular file", path)
    return descriptor
