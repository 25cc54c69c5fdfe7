"""Offsets that Connect or this program wrote are compared without a check of their content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.files.manifests import MIRROR, OTHER, entry, mirrored, offsets
from support.spark.large_engine import Case, by_small, filed, in_process, jsonl

from gitops_connect.model.differences import Direction
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.spark.check import prepare

pytestmark = pytest.mark.slow

ODD = [entry({"neither": "topic", "nor": 1.5}, {"offset": -7, "flag": True}), entry({}, {"x": None})]


def compared(case: Case, directory: Path, split_size: int = 300) -> LargeVerdict:
    manifest = replace(filed(case, directory / "files"), is_checked=False)
    (verdict,) = in_process([manifest], split_size=split_size)
    assert not verdict.errors
    assert verdict.difference is not None
    return verdict


def test_odd_offsets_are_compared(tmp_path: Path) -> None:
    current = [*ODD, *(mirrored(n, n) for n in range(50))]
    verdict = compared(Case(jsonl(current), MIRROR, offsets(*current), OffsetChangeKind.REPLACE), tmp_path)
    assert verdict.difference is not None
    assert {way: count for way, count in verdict.difference.counts.items() if count} == {Direction.SAME: 52}
    assert not verdict.counts


def test_each_difference_is_reported(tmp_path: Path) -> None:
    current = [ODD[0], *(mirrored(n, 10) for n in range(100))]
    sent = [
        ODD[1],
        *(mirrored(n, 10 + n % 3 - 1) for n in range(60)),
        *({**mirrored(n, 0), "offset": None} for n in range(60, 130)),
    ]
    verdict = compared(Case(jsonl(sent), MIRROR, offsets(*current), OffsetChangeKind.ALTER), tmp_path)
    assert verdict.difference is not None
    assert {way: count for way, count in verdict.difference.counts.items() if count} == {
        Direction.NEW: 1,
        Direction.SAME: 20,
        Direction.FORWARD: 20,
        Direction.REWIND: 20,
        Direction.REMOVED: 40,
    }
    assert verdict.counts == {"manifest/nothing-to-remove": 30}


def test_types_that_only_late_offsets_have_are_found(tmp_path: Path) -> None:
    """Only the first current offsets are examined before the job; the job itself finds other types in later ones."""
    existing = [entry({"shard": n}, {"seq": n}) for n in range(3000)]
    existing.append(entry({"shard": 3000}, {"seq": "text"}))
    declared = [entry({"shard": n}, {"seq": n + 1}) for n in range(5)] + [entry({"shard": 3000}, {"seq": 7})]
    case = Case(jsonl(declared), OTHER, offsets(*existing), OffsetChangeKind.ALTER)
    manifest = filed(case, tmp_path / "files")
    first = prepare([manifest], 3, 300)
    assert first.manifests[0].examples is not None
    assert not first.manifests[0].examples.are_mixed
    (verdict,) = in_process([manifest], split_size=300)
    assert verdict.counts == dict(by_small(case).counts)
    assert verdict.counts["manifest/current-type"] == 1
