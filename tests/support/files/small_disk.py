"""A real file system that is small, so that a test can fill it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    directory: Path

    def fill(self) -> None:
        """Leave no byte."""
        with (self.directory / "filler").open("ab", buffering=0) as filler:
            for size in (64 * 1024, 1):
                try:
                    while filler.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        (self.directory / "filler").unlink()


@contextmanager
def small_disk(directory: Path, size: str = "8m") -> Iterator[SmallDisk]:
    """A tmpfs; skips the test if it cannot be mounted."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: that needs root")
    try:
        yield SmallDisk(directory)
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
