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


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A path inside the given directory, which the caller creates if needed; it is removed with all its content.

    An OSError raised inside becomes SparkUnusable: the disk is full, or the directory is not writable.
    """
    host = "".join(character if character.isalnum() else "_" for character in socket.gethostname())
    path = parent / f"work-{host}-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        # Hosts whose processes are not visible may share the directory.
        for left in parent.glob(f"work-{host}-*"):
            pid = left.name.split("-")[-2]
            if pid.isdigit() and not _is_alive(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
        yield path
    except OSError as error:
        raise SparkUnusable(
            f"files for Spark cannot be written to {parent}: {error}; check [spark] directory"
        ) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True
