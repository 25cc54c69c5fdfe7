"""An advisory lock on a file next to a clone, inherited by its git processes: one process at a time writes to it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.errors import SourceRefused, SourceUnavailable

_PAUSE = 0.05


@contextmanager
def locked(file: Path, timeout: float) -> Iterator[int]:
    """Hold the lock; the value is the file descriptor for child processes to inherit. Waits `timeout` seconds at most.

    Raises SourceUnavailable if another process still has the lock then, SourceRefused if the file cannot be created.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = (
            f"cannot write a clone to {file.parent}: {error.strerror}; set GITOPS_CONNECT_CACHE to a writable directory"
        )
        raise SourceRefused(message) from error
    try:
        _acquire(descriptor, file, timeout)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, file: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                what = f"another process has used the clone next to {file} for {timeout:g} s"
                raise SourceUnavailable(
                    f"{what}: wait until it ends, or set GITOPS_CONNECT_CACHE to another directory"
                ) from error
            time.sleep(_PAUSE)
        else:
            return
