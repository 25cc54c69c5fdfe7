"""An archive of the classes that Spark's driver has loaded (AppCDS), with which Java starts quicker the next time.

Java writes it when it ends, while nobody waits: a killed process writes none. It gets its name once it is complete.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.sandbox.java import Java


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive for one Java and the jars of one Spark. Java ignores a file that is none, or does not fit.

    It is in the private directory of the cache: Java executes the classes that it contains.
    """

    file: Path
    """Its name depends on the jars and on Java, so that a new version of either gets a new archive."""

    @staticmethod
    def of(java: Java, jars: Path, cache: Path) -> ClassArchive:
        """Raises OSError if a directory cannot be read or created."""
        program, directory = java.path.resolve(), cache / "spark"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = (*os.scandir(jars), *os.scandir(program.parent))
        state = sorted(f"{one.name} {one.stat().st_size} {one.stat().st_mtime_ns}" for one in files)
        return ClassArchive(directory / f"classes-{_digest(str(program), str(jars))}-{_digest(*state)}.jsa")

    @property
    def options(self) -> list[str]:
        """The options with which Java uses the archive, or else creates it."""
        use = f'-XX:SharedArchiveFile="{self.file}"'
        return [use if self.file.exists() else f'-XX:ArchiveClassesAtExit="{self._incomplete}"', "-Xlog:disable"]

    def keep(self) -> None:
        """Keep what Java has written before it ended, and remove archives of earlier jars and of killed processes."""
        if self._incomplete.exists():
            for earlier in self.file.parent.glob(f"{self.file.stem.rpartition('-')[0]}-*"):
                if earlier != self._incomplete:
                    earlier.unlink(missing_ok=True)
            self._incomplete.replace(self.file)

    @property
    def _incomplete(self) -> Path:
        return self.file.with_suffix(f".{os.getpid()}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
