"""An archive of Spark's classes as the JVM has loaded them (AppCDS): with it Spark starts twice as fast.

A separate process of the lowest priority makes it; it takes 160 MB of the cache directory. It is bound to one Java and
one Spark; a JVM that it does not fit starts without it. To make it in the foreground: `python -m
gitops_connect.spark.class_archive_job DIRECTORY`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

VARIABLE = "GITOPS_CONNECT_SPARK_ARCHIVE"
"""The environment variable with the target path, for a process that makes an archive."""
_QUIET = "-Xlog:disable -Xlog:all=off"


def archive_in(folder: Path, java: Path) -> Path:
    """The path of the archive for this Java and this Spark, which may not exist yet."""
    resolved = java.resolve()
    text = f"{resolved} {resolved.stat().st_mtime_ns} {version('pyspark')}"
    return folder / f"spark-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsa"


def options(archive: Path | None) -> str:
    """The JVM options to use the archive, or to make it at the JVM's end if this process was started for that."""
    if made := os.environ.get(VARIABLE):
        return f"-XX:ArchiveClassesAtExit={made} {_QUIET}"
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto {_QUIET}" if archive is not None and archive.exists() else ""


def make_in_background(archive: Path) -> None:
    """Start a process that makes the archive, without waiting for it; do nothing if another process is making it."""
    with contextlib.suppress(OSError), alone(archive) as is_alone:
        if not is_alone:
            return
    command = [sys.executable, "-m", "gitops_connect.spark.class_archive_job", str(archive.parent)]
    nowhere = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)  # noqa: S603 - this very program


@contextmanager
def alone(archive: Path) -> Iterator[bool]:
    """Yield whether no other process makes this archive, and lock it during the block. A killed process holds no lock.

    Raises OSError if the directory is not writable.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
