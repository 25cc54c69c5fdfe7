"""A directory for the files of one task; removes the remains of tasks whose process was killed."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.errors import SparkUnusable

_PREFIX = "work"


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """A path inside the given directory, which the caller creates if needed; it is removed with all its content.

    An OSError raised inside becomes SparkUnusable: the disk is full, or the directory is not writable.
    """
    made = folder / f"{_PREFIX}-{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        _clear(folder)
        yield made
    except OSError as error:
        raise SparkUnusable(
            f"files for Spark cannot be written to {folder}: {error}; check [spark] directory"
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove remains of this host's processes: hosts whose processes are not visible may share the directory."""
    for left in folder.glob(f"{_PREFIX}-{_host()}-*"):
        pid = left.name.split("-")[-2]
        if pid.isdigit() and not _lives(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _host() -> str:
    return "".join(character if character.isalnum() else "_" for character in socket.gethostname())
