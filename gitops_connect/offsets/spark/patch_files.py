"""The second job: writes the patches of manifests that nothing blocks, canonical, each partition once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.errors import SparkFailed
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargePatch
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.offsets.spark.check_job import Job
from gitops_connect.offsets.spark.input_splits import Block, blocks_of
from gitops_connect.offsets.spark.job_files import PATCH, DeletionVector, write_atomically
from gitops_connect.offsets.spark.keys import Positions
from gitops_connect.offsets.spark.layouts import LineBuffer, bytes_of
from gitops_connect.offsets.spark.line_formats import canonical_lines, canonical_partitions

WRITTEN = pa.schema([("split", pa.int32()), ("entries", pa.int64()), ("size", pa.int64())])
"""A split's part of a patch: the numbers of entries and bytes."""


@dataclass(frozen=True, slots=True)
class PatchJob:
    """The second job, for some manifests.

    `deletions` are the files, for each of them, with the rows that the first job has chosen: declared entries that are
    not sent, and current offsets to be removed.
    """

    job: Job
    deletions: Mapping[int, Sequence[Path]]

    @property
    def splits(self) -> list[int]:
        """The splits of these manifests by their numbers."""
        return [number for number, split in enumerate(self.job.splits) if split.manifest in self.deletions]

    def write(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write the entries of splits, given as indexes of `splits`; each split with entries has its own file."""
        pa.set_cpu_count(1)
        splits = self.splits
        vector = cache(lambda manifest: DeletionVector(self.deletions[manifest]))
        for split in (splits[index] for batch in batches for index in batch.column(0).to_pylist()):
            entries, size = self._write_split(split, vector(self.job.splits[split].manifest).of(split))
            yield pa.RecordBatch.from_pylist([{"split": split, "entries": entries, "size": size}], WRITTEN)

    def _write_split(self, number: int, deleted: Positions) -> tuple[int, int]:
        split = self.job.splits[number]
        if split.is_current and not len(deleted):
            return 0, 0
        path = _path(self.job, number)
        entries, size = 0, 0
        with write_atomically(path) as stream:
            for block in blocks_of(split):
                start, end = np.searchsorted(deleted, (block.base, block.base + block.lines))
                rows = deleted[start:end] - block.base
                lines = (self._removals if split.is_current else self._declared)(split.manifest, block, rows)
                entries += len(lines)
                size += stream.write(bytes_of(lines))
        if not entries:
            path.unlink()
        return entries, size

    def _declared(self, manifest: int, block: Block, deleted: Positions) -> Any:
        """The declared entries of a block as lines, except the deleted ones."""
        content = block.content
        lines = canonical_lines(content, self.job.manifests[manifest].line_format)
        is_kept = np.ones(len(lines), bool)
        is_kept[deleted] = False
        if lines.null_count:
            odd = pa.array(is_kept & lines.is_null().to_numpy(zero_copy_only=False))
            texts = self._rewritten(manifest, LineBuffer(content).array.filter(odd))
            lines = pc.replace_with_mask(lines, odd, pa.array(texts, pa.string()))
            is_kept &= lines.is_valid().to_numpy(zero_copy_only=False)
        return lines if is_kept.all() else lines.filter(pa.array(is_kept))

    def _rewritten(self, manifest: int, lines: Any) -> list[str | None]:
        """Lines of no known form as they are sent; None for a line of whitespace."""
        texts: list[str | None] = [None] * len(lines)
        task = self.job.manifests[manifest]
        checker = task.checker()
        for value, number, _ in self.job.read_lines(bytes_of(lines).decode()).entries:
            partition, offset = value["partition"], value["offset"]
            if task.is_checked:
                _, partition, offset = checker.check_alone(value)
            else:
                partition, offset = partition_text(partition), None if offset is None else offset_text(offset)
            texts[number - 1] = f'{{"partition":{partition},"offset":{offset or "null"}}}\n'
        return texts

    def _removals(self, manifest: int, block: Block, chosen: Positions) -> Any:
        """The removals of the chosen current offsets of a block as lines."""
        content = bytes_of(LineBuffer(block.content).array.take(pa.array(chosen))) if len(chosen) else b""
        partitions = canonical_partitions(content, self.job.manifests[manifest].current_line_format)
        if partitions.null_count:
            odd = partitions.is_null()
            lines = LineBuffer(content).array.filter(odd).to_pylist()
            texts = [partition_text(json.loads(line)["partition"]) for line in lines]
            partitions = pc.replace_with_mask(partitions, odd, pa.array(texts, pa.string()))
        return pc.binary_join_element_wise('{"partition":', partitions, ',"offset":null}\n', "")


def patch_of(manifest: int, difference: Difference, written: Sequence[Sequence[int]], job: Job) -> LargePatch:
    """The patch of that manifest from all written parts, ascending: declared entries, then removals.

    Raises SparkFailed if the number of entries differs from the count of the first job.
    """
    own = [row for row in written if job.splits[row[0]].manifest == manifest and row[1]]
    own.sort(key=lambda row: job.splits[row[0]].is_current)
    entries = sum(row[1] for row in own)
    same = difference.counts.get(Direction.SAME, 0) if job.manifests[manifest].kind is OffsetChangeKind.REPLACE else 0
    expected = sum(difference.counts.values()) - same
    if entries != expected:
        raise SparkFailed(
            f"a manifest changed while it was read: {entries:,} of its entries remain to be sent,"
            f" expected {expected:,}; do not change its files during an apply, and run it again"
        )
    return LargePatch(tuple(str(_path(job, row[0])) for row in own), entries, sum(row[2] for row in own))


def _path(job: Job, split: int) -> Path:
    return job.directories.in_ready(f"{split:07d}{PATCH}")
