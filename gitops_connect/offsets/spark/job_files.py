"""The files that the tasks of a job write, in directories that every executor can write to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from gitops_connect.offsets.spark.keys import Positions

PATCH: Final = ".jsonl"
"""The suffix of a part of a patch: only these files are left at the end of a job."""


@dataclass(frozen=True, slots=True)
class JobDirectories:
    """`ready` is for patches, `violations` for violations; None: not requested.

    `token` begins the names of all files of one job.
    """

    ready: Path | None = None
    violations: Path | None = None
    token: str = field(default_factory=lambda: uuid4().hex)

    def in_ready(self, name: str) -> Path:
        """The file of that name for a patch."""
        return Path(self.ready or "", f"{self.token}-{name}")

    def in_violations(self, name: str) -> Path:
        """The file of that name for violations."""
        return Path(self.violations or "", f"{self.token}-{name}")

    def clear(self) -> None:
        """Remove files that only the job itself needs, and files that its tasks have not finished."""
        for directory in filter(None, (self.ready, self.violations)):
            for path in directory.glob(f"{self.token}-*"):
                if path.suffix != PATCH:
                    path.unlink(missing_ok=True)


def job_directories(ready: Path | None, violations: Path | None) -> JobDirectories:
    """The directories of one job, which are created. Raises OSError if that fails."""
    directories = JobDirectories(ready and ready.absolute(), violations and violations.absolute())
    for directory in filter(None, (directories.ready, directories.violations)):
        directory.mkdir(parents=True, exist_ok=True)
    return directories


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """Write a file that exists only once it is complete. Repeated or concurrent calls have the effect of one call."""
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def save_deletions(path: Path, splits: Positions, lines: Positions) -> None:
    """Save lines by their splits, both ascending, for `DeletionVector`: too many to pass through the driver."""
    rows = pa.record_batch({"split": splits, "line": lines})
    with write_atomically(path) as stream, pa.ipc.new_file(stream, rows.schema) as writer:
        writer.write_batch(rows)


class DeletionVector:
    """The lines that several tasks have saved, read on demand."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Open the files. Raises OSError if one of them cannot be read."""
        batches = [pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0) for path in paths]
        self._saved = [[column.to_numpy() for column in batch.columns] for batch in batches]

    def of(self, split: int) -> Positions:
        """The lines of that split, ascending."""
        parts = [np.zeros(0, np.int64)]
        for splits, lines in self._saved:
            start, end = np.searchsorted(splits, (split, split + 1))
            parts.append(lines[start:end])
        return np.sort(np.concatenate(parts))
