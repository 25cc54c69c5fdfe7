"""An archive of Spark's classes as the JVM has loaded them (AppCDS): with it Spark starts twice as fast.

It is made by a process of its own, of the lowest priority, and takes 160 MB of the cache folder. It is bound to this
very Java and this very Spark; a JVM that it does not fit starts without it. To make it in the foreground:
`python -m gitops_connect.spark.class_archive_job FOLDER`.
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
"""Of a process that makes one: where to."""
_QUIET = "-Xlog:disable -Xlog:all=off"


def archive_in(folder: Path, java: Path) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    resolved = java.resolve()
    text = f"{resolved} {resolved.stat().st_mtime_ns} {version('pyspark')}"
    return folder / f"spark-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsa"


def options(archive: Path | None) -> str:
    """For the JVM: to use the archive, or to make it at its end where this process was started for that."""
    if made := os.environ.get(VARIABLE):
        return f"-XX:ArchiveClassesAtExit={made} {_QUIET}"
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto {_QUIET}" if archive is not None and archive.exists() else ""


def make_in_background(archive: Path) -> None:
    """Start a process that makes it, and leave it alone; there is none where one is at it already."""
    with contextlib.suppress(OSError), alone(archive) as is_alone:
        if not is_alone:
            return
    command = [sys.executable, "-m", "gitops_connect.spark.class_archive_job", str(archive.parent)]
    nowhere = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)  # noqa: S603 - this very program


@contextmanager
def alone(archive: Path) -> Iterator[bool]:
    """Whether nobody else makes this archive as long as this lasts. Who was killed at it holds nobody up.

    Raises OSError where the folder cannot be written.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
