"""The second job: writes the patches of manifests that nothing blocks, canonical, each partition once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.large.input_splits.splits import Block, ManifestReader, pieces
from gitops_connect.checks.large.job import Job, ManifestTask
from gitops_connect.checks.large.job_files import DeletionVector, write_atomically
from gitops_connect.checks.large.keys.text_columns import bytes_of
from gitops_connect.checks.large.keys.text_hashes import Positions
from gitops_connect.checks.large.line_formats.fast_path import canonical_lines, canonical_partitions, lines_of
from gitops_connect.errors import SparkFailed
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.large_manifests import LargePatch
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text
from gitops_connect.model.operations import OperationKind

WRITTEN = pa.schema([("unit", pa.int32()), ("entries", pa.int64()), ("size", pa.int64())])
"""A split's part of a patch: the numbers of entries and bytes."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Writing:
    """The second job. `units` are the splits that may have entries to send.

    `chosen` are the files, for each manifest, with the lines that the first job has chosen: declared lines that are not
    sent, and current lines to be removed.
    """

    job: Job
    units: tuple[int, ...]
    chosen: Mapping[int, tuple[str, ...]]

    def write(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write the entries of splits, given as indexes of `units`; each split with entries has its own file."""
        pa.set_cpu_count(1)
        chosen: dict[int, DeletionVector] = {}
        for batch in batches:
            for index in batch.column(0).to_pylist():
                number = self.units[index]
                manifest = self.job.units[number].manifest
                if manifest not in chosen:
                    chosen[manifest] = DeletionVector(self.chosen[manifest])
                left = self._write_unit(number, chosen[manifest].of(number))
                yield pa.RecordBatch.from_arrays([pa.array([one]) for one in left], schema=WRITTEN)

    def _write_unit(self, number: int, chosen: Positions) -> tuple[Any, Any, Any]:
        unit = self.job.units[number]
        if unit.is_live and not len(chosen):
            return _left(number, 0, 0)
        subject = self.job.subjects[unit.manifest]
        write = _Standing(subject).of if unit.is_live else _Declared(subject, self.job.reader).of
        path = self.job.folders.in_ready(_patch_name(number))
        entries, size = 0, 0
        with write_atomically(path) as stream:
            for piece in pieces(unit, self.job.reader):
                start, end = np.searchsorted(chosen, (piece.base, piece.base + piece.lines))
                content, count = write(piece, chosen[start:end] - piece.base)
                entries += count
                size += stream.write(content)
        if not entries:
            path.unlink()
        return _left(number, entries, size)


def writing_of(job: Job, chosen: Mapping[int, tuple[str, ...]]) -> Writing:
    """The second job for these manifests."""
    units = tuple(
        number
        for number, unit in enumerate(job.units)
        if unit.manifest in chosen
        and (not unit.is_live or (job.subjects[unit.manifest].kind is OperationKind.REPLACE and chosen[unit.manifest]))
    )
    return Writing(job, units, chosen)


def patch_of(manifest: int, difference: Difference, left: Sequence[Sequence[int]], job: Job) -> LargePatch:
    """The patch of that manifest from all written parts, ascending: declared entries, then removals.

    Raises SparkFailed if the number of entries differs from the count of the first job.
    """
    own = [row for row in left if job.units[row[0]].manifest == manifest and row[1]]
    own.sort(key=lambda row: job.units[row[0]].is_live)
    entries = sum(row[1] for row in own)
    same = difference.counts.get(Direction.SAME, 0) if job.subjects[manifest].kind is OperationKind.REPLACE else 0
    expected = sum(difference.counts.values()) - same
    if entries != expected:
        raise SparkFailed(
            f"a manifest changed while it was read: {entries:,} of its entries remain to be sent,"
            f" expected {expected:,}; do not change its files during an apply, and run it again"
        )
    files = tuple(str(job.folders.in_ready(_patch_name(row[0]))) for row in own)
    return LargePatch(files, entries, sum(row[2] for row in own))


def _patch_name(unit: int) -> str:
    return f"{unit:07d}.jsonl"


def _left(unit: int, entries: int, size: int) -> tuple[Any, Any, Any]:
    return np.int32(unit), np.int64(entries), np.int64(size)


class _Declared:
    """Declared entries of a manifest, except the chosen lines."""

    def __init__(self, subject: ManifestTask, reader: ManifestReader) -> None:
        self._template = subject.line_format
        self._judge = subject.judge()[0] if subject.is_judged else None
        self._reader = reader

    def of(self, piece: Block, chosen: Positions) -> tuple[bytes, int]:
        """The lines to send, and their number."""
        content = _text(piece)
        if not content:
            return b"", 0
        lines = canonical_lines(content, self._template)
        kept = np.ones(len(lines), bool)
        kept[chosen] = False
        if lines.null_count:
            slow = kept & lines.is_null().to_numpy(zero_copy_only=False)
            texts = self._rewritten(lines_of(content).filter(pa.array(slow)))
            lines = pc.replace_with_mask(lines, pa.array(slow), pa.array(texts, pa.string()))
            kept &= lines.is_valid().to_numpy(zero_copy_only=False)
        return bytes_of(lines if kept.all() else lines.filter(pa.array(kept))), int(kept.sum())

    def _rewritten(self, lines: Any) -> list[str | None]:
        """Each line as it is sent; None for a line of whitespace."""
        texts: list[str | None] = [None] * len(lines)
        for value, number, _ in self._reader.lines(bytes_of(lines).decode()).entries:
            partition, offset = self._kept(value)
            texts[number - 1] = f'{{"partition":{partition},"offset":{offset or "null"}}}\n'
        return texts

    def _kept(self, value: Any) -> tuple[PartitionText | None, OffsetText | None]:
        if self._judge is not None:
            _, partition, offset = self._judge.judge(value)
            return partition, offset
        offset = value["offset"]
        return partition_text(value["partition"]), None if offset is None else offset_text(offset)


class _Standing:
    """Removals of the chosen current offsets."""

    def __init__(self, subject: ManifestTask) -> None:
        self._template = subject.current_line_format

    def of(self, piece: Block, chosen: Positions) -> tuple[bytes, int]:
        """The lines to send, and their number."""
        if not len(chosen):
            return b"", 0
        content = bytes_of(lines_of(_text(piece)).take(pa.array(chosen)))
        partitions = canonical_partitions(content, self._template)
        if partitions.null_count:
            slow = partitions.is_null()
            lines = lines_of(content).filter(slow).to_pylist()
            texts = [partition_text(json.loads(line)["partition"]) for line in lines]
            partitions = pc.replace_with_mask(partitions, slow, pa.array(texts, pa.string()))
        lines = pc.binary_join_element_wise('{"partition":', partitions, ',"offset":null}\n', "")
        return bytes_of(lines), len(lines)


def _text(piece: Block) -> bytes:
    content = piece.text
    return content.removeprefix(_BOM) if piece.is_first else content
