"""The files that the tasks of a job write, in directories that every executor can write to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np

from gitops_connect.checks.large.keys.text_hashes import Positions

_PART, _LINES, _OFFENDERS = ".part", ".npy", ".parquet"


@dataclass(frozen=True, slots=True)
class JobDirectories:
    """`ready` is for patches, `violations` for violations; empty: not requested.

    `token` begins the names of all files of one job.
    """

    ready: str = ""
    violations: str = ""
    token: str = ""

    def in_ready(self, name: str) -> Path:
        """The file of that name for a patch."""
        return Path(self.ready, f"{self.token}-{name}")

    def in_violations(self, name: str) -> Path:
        """The file of that name for violations."""
        return Path(self.violations, f"{self.token}-{name}")

    def clear(self) -> None:
        """Remove files that only the job itself needs, and files that its tasks have not finished."""
        kinds = {self.ready: (_PART, _LINES), self.violations: (_PART, _OFFENDERS)}
        for folder, suffixes in kinds.items():
            for suffix in suffixes if folder else ():
                for path in Path(folder).glob(f"{self.token}-*{suffix}"):
                    path.unlink(missing_ok=True)


def job_directories(ready: Path | None, violations: Path | None) -> JobDirectories:
    """The directories of one job, which are created. Raises OSError if that fails."""
    folders = JobDirectories(_text(ready), _text(violations), uuid4().hex)
    for folder in filter(None, (folders.ready, folders.violations)):
        Path(folder).mkdir(parents=True, exist_ok=True)
    return folders


def _text(folder: Path | None) -> str:
    return "" if folder is None else str(folder.absolute())


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """Write a file that exists only once it is complete. Repeated or concurrent calls have the effect of one call."""
    part = path.with_name(f"{path.name}.{uuid4().hex}{_PART}")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def save_lines(path: Path, units: Positions, lines: Positions) -> None:
    """Save lines by their splits, both ascending, for `DeletionVector`: too many to pass through the driver."""
    numbers, starts = np.unique(units, return_index=True)
    with write_atomically(path) as stream:
        np.save(stream, np.concatenate(([len(numbers)], numbers, starts, [len(lines)], lines)).astype(np.int64))


class DeletionVector:
    """The lines that several tasks have saved, read on demand."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Open the files. Raises OSError if one of them cannot be read."""
        self._saved = [np.load(path, mmap_mode="r") for path in paths]

    def of(self, unit: int) -> Positions:
        """The lines of that split, ascending."""
        parts = [np.zeros(0, np.int64)]
        for saved in self._saved:
            count = int(saved[0])
            at = int(np.searchsorted(saved[1 : count + 1], unit))
            if at < count and saved[1 + at] == unit:
                start, end = saved[count + 1 + at : count + 3 + at]
                parts.append(saved[2 * count + 2 :][start:end])
        return np.sort(np.concatenate(parts))
