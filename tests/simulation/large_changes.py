"""Large offset changes without Spark: its checks in memory, and all offsets in such small pieces that much can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from gitops_connect.apply.ports import Chunk
from gitops_connect.ledger.pieces import BlockCounts
from gitops_connect.model.manifests import LargePatch, LargeVerdict, Manifest, ManifestEntry, ManifestVerdict
from gitops_connect.model.names import Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, merged, offset_text, partition_text, patch_between
from gitops_connect.offset_changes.manifest_source import SparkChecks
from gitops_connect.offset_changes.planned_changes import PatchReader
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.rules import small
from gitops_connect.plan.offset_review import effect_of, find_difference

HELD = 3
"""More offsets are too many for memory, here."""
_ENTRY = 90
"""Bytes, at most."""


@contextmanager
def without_spark() -> Iterator[None]:
    with ExitStack() as patches:
        patches.enter_context(patch.object(SparkChecks, "check", _check))
        patches.enter_context(patch.object(PatchReader, "read", _small_chunk))
        patches.enter_context(patch.object(BlockCounts.cut, "__defaults__", (2 * _ENTRY,)))
        yield


def patch_of(lines: bytes) -> OffsetPatch:
    """The offsets in lines with one entry each."""
    entries = map(json.loads, lines.splitlines())
    return {
        partition_text(one["partition"]): None if one["offset"] is None else offset_text(one["offset"])
        for one in entries
    }


_read = PatchReader.read


def _small_chunk(reader: PatchReader, start: int, _: int) -> Chunk:
    return _read(reader, start, _ENTRY)


def _check(
    _: SparkChecks, manifests: Sequence[LargeManifest], *, ready: Path | None = None, violations: Path | None = None
) -> list[LargeVerdict]:
    """What Spark answers: `tests/offsets/spark/test_parity.py` compares it with `offsets.rules.small`."""
    assert violations is None
    return [_verdict(one, ready) for one in manifests]


def _verdict(one: LargeManifest, ready: Path | None) -> LargeVerdict:
    content = b"".join(Path(file.path).read_bytes() for file in one.files)
    current = None if one.current is None else merged({}, patch_of(Path(one.current.path).read_bytes()))
    if one.is_checked:
        entries = tuple(ManifestEntry(json.loads(line), one.location) for line in content.splitlines())
        verdict = small.check(Manifest(one.location, entries), replace(one.context, current=current), one.kind)
    else:
        declared = patch_of(content)
        missing = [one for one, offset in declared.items() if offset is None and one not in (current or {})]
        verdict = ManifestVerdict(declared, counts={"manifest/nothing-to-remove": len(missing)})
    partitions = 0 if verdict.offsets is None else len(verdict.offsets)
    answer = LargeVerdict(
        content.count(b"\n"), partitions, len(content), verdict.diagnostics, verdict.counts, verdict.errors
    )
    if verdict.offsets is None or current is None:
        return answer
    change = OffsetChange(
        OffsetChangeName("-"), one.context.connector, one.kind, Digest(""), Revision(""), verdict.offsets
    )
    effect = effect_of(change, current)
    difference = find_difference(current, effect, one.context.shape)
    if one.kind is OffsetChangeKind.REPLACE:
        effect = patch_between(current, merged(current, effect))
    return replace(answer, difference=difference, patch=None if ready is None else _written(effect, ready))


def _written(offsets: OffsetPatch, ready: Path) -> LargePatch:
    ready.mkdir(parents=True)
    file = ready / "patch.jsonl"
    lines = [f'{{"partition":{one},"offset":{offset or "null"}}}\n' for one, offset in sorted(offsets.items())]
    file.write_text("".join(lines), encoding="utf-8")
    return LargePatch((str(file),), len(lines), file.stat().st_size)
