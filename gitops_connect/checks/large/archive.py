"""An archive of Spark's classes as the JVM has loaded them (AppCDS): with it Spark starts twice as fast.

It is made by a process of its own, of the lowest priority, and takes 160 MB of the cache folder. It is bound to this
very Java and this very Spark; a JVM that it does not fit starts without it. To make it in the foreground:
`python -m gitops_connect.checks.large.archive FOLDER`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from gitops_connect.sandbox.java import find_java

_VARIABLE = "GITOPS_CONNECT_SPARK_ARCHIVE"
_QUIET = "-Xlog:disable -Xlog:all=off"


def archive_in(folder: Path, java: Path) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    resolved = java.resolve()
    text = f"{resolved} {resolved.stat().st_mtime_ns} {version('pyspark')}"
    return folder / f"spark-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsa"


def options(archive: Path | None) -> str:
    """For the JVM: to use the archive, or to make it at its end where this process was started for that."""
    if made := os.environ.get(_VARIABLE):
        return f"-XX:ArchiveClassesAtExit={made} {_QUIET}"
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto {_QUIET}" if archive is not None and archive.exists() else ""


def make_in_background(archive: Path) -> None:
    """Start a process that makes it, and leave it alone; there is none where one is on its way already."""
    if not _started(archive).exists():
        command = [sys.executable, "-m", "gitops_connect.checks.large.archive", str(archive.parent)]
        nowhere = subprocess.DEVNULL
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)  # noqa: S603 - this very program


def make(folder: Path) -> None:
    """Make it, once: a small job of the same kind loads the classes, and the JVM writes them down when it ends."""
    from gitops_connect.checks.large import session  # noqa: PLC0415 - it imports this

    archive = archive_in(folder, find_java(os.environ).path)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _started(archive).touch(exist_ok=False)
    except FileExistsError:
        return
    made = archive.with_suffix(f".{os.getpid()}")
    os.environ[_VARIABLE] = str(made)
    try:
        started = session.start("local[2]", os.environ, lambda _: None, None)
        session.warm_up(started)
        started.close()
        if made.exists():
            made.replace(archive)
    finally:
        made.unlink(missing_ok=True)
        _started(archive).unlink(missing_ok=True)


def _started(archive: Path) -> Path:
    return archive.with_suffix(".started")


if __name__ == "__main__":
    os.nice(19)
    make(Path(sys.argv[1]))
