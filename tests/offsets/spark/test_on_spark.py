"""On a real Spark: the verdicts are those of the small engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support.files.manifests import MIRROR, OTHER, SINK, entry, mirrored, offsets, sunk
from support.spark.large_engine import Case, assert_alike, filed, jsonl, on_spark, said_by_large

from gitops_connect.model.differences import Direction
from gitops_connect.model.operations import OperationKind
from gitops_connect.offsets.rules.small import SHOWN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_several_manifests_in_one_job(spark: Any, tmp_path: Path) -> None:
    rnd = random.Random(7)  # noqa: S311 - the same each time
    current = offsets(*(mirrored(n, rnd.randrange(9)) for n in range(0, 4000, 3)))
    moved = Case(jsonl(mirrored(n, rnd.randrange(9)) for n in range(3000)), MIRROR, current, name="a.jsonl.zst")
    replaced = Case(jsonl(mirrored(n) for n in range(50)), MIRROR, current, OperationKind.REPLACE, name="b.jsonl.gz")
    sinks = Case(jsonl([sunk("orders", 1), sunk("invoices", 1), sunk("elsewhere", 2), sunk("orders", 1)]), SINK)
    others = Case(
        jsonl(entry({"shard": n}, {"seq": n % 7}) for n in range(300)),
        OTHER,
        offsets(*(entry({"shard": n}, {"seq": n % 5}) for n in range(100, 400))),
    )
    cut = Case(moved.stored[:-9], MIRROR, name="c.jsonl.zst", packed=True)
    cases = [moved, replaced, sinks, others, cut, Case(b"", MIRROR)]
    verdicts = on_spark(spark, [filed(case, tmp_path / str(n)) for n, case in enumerate(cases)])
    for case, verdict in zip(cases, verdicts, strict=True):
        expected, found = assert_alike(case, verdict), said_by_large(verdict)
        for direction in Direction:
            far = [move.distance for move in expected.largest if move.direction is direction][:SHOWN]
            assert [move.distance for move in found.largest if move.direction is direction] == far
        assert set(found.largest) <= set(expected.largest)
