"""Makes the archive of Spark's classes, in a process of its own: see `archive`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gitops_connect.checks.large import session
from gitops_connect.checks.large.archive import VARIABLE, archive_in, started
from gitops_connect.sandbox.java import find_java


def make(folder: Path) -> None:
    """Make it, once: a small job of the same kind loads the classes, and the JVM writes them down when it ends."""
    archive = archive_in(folder, find_java(os.environ).path)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        started(archive).touch(exist_ok=False)
    except FileExistsError:
        return
    made = archive.with_suffix(f".{os.getpid()}")
    os.environ[VARIABLE] = str(made)
    try:
        running = session.start("local[2]", os.environ, lambda _: None, None)
        session.warm_up(running)
        running.close()
        if made.exists():
            made.replace(archive)
    finally:
        made.unlink(missing_ok=True)
        started(archive).unlink(missing_ok=True)


if __name__ == "__main__":
    os.nice(19)
    make(Path(sys.argv[1]))
