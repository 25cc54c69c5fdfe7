"""Makes the archive of Spark's classes in a separate process: see `class_archive`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gitops_connect.sandbox.java import find_java
from gitops_connect.spark import session
from gitops_connect.spark.class_archive import VARIABLE, alone, archive_in

_UNFINISHED = "unfinished"


def make(folder: Path) -> None:
    """Make the archive once: a small job of a similar kind loads the classes, and the JVM saves them when it ends."""
    archive = archive_in(folder, find_java(os.environ).path)
    with alone(archive) as is_alone:
        if not is_alone or archive.exists():
            return
        for left in folder.glob(f"{archive.stem}.{_UNFINISHED}-*"):
            left.unlink(missing_ok=True)  # left by a process that was killed
        made = archive.with_suffix(f".{_UNFINISHED}-{os.getpid()}")
        os.environ[VARIABLE] = str(made)
        try:
            running = session.start("local[2]", os.environ, lambda _: None, None)
            session.warm_up(running)
            running.close()
            if made.exists():
                made.replace(archive)
        finally:
            made.unlink(missing_ok=True)


if __name__ == "__main__":
    os.nice(19)
    make(Path(sys.argv[1]))
