"""A folder for the files of one piece of work, and what is left of those whose process was killed."""

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
    """A folder inside this one, for whoever needs it to make it; it is removed with all that is in it.

    An OSError that is raised inside becomes SparkUnusable: the disk is full, or the folder is not to be written to.
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
    """The folder may be shared with other machines, whose processes cannot be asked for here."""
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
