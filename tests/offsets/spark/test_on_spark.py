"""On a real Spark: the verdicts are those of the small engine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.files.manifests import MIRROR, OTHER, SINK, entry, mirrored, offsets, sunk
from support.spark.large_engine import Case, by_small, filed, jsonl, line_of, on_spark, said_by_large

from gitops_connect.model.differences import Direction
from gitops_connect.model.operations import OperationKind
from gitops_connect.offsets.rules.small import SHOWN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAULTS: dict[str, Any] = {
    "negative": lambda one: one["offset"].update(offset=-1),
    "range": lambda one: one["offset"].update(offset=2**63),
    "type": lambda one: one["partition"].update(partition=str(one["partition"]["partition"])),
    "alias": lambda one: one["partition"].update(cluster="elsewhere"),
    "shape": lambda one: one["partition"].update(unheard=1),
    "no-offset": lambda one: one.pop("offset"),
    "no-partition": lambda one: one.pop("partition"),
    "unknown-field": lambda one: one.update(unheard=1),
}


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
        expected, found = by_small(case), said_by_large(verdict)
        assert list(found.diagnostics) == list(expected.diagnostics)
        assert (found.counts, found.errors, found.unread) == (expected.counts, expected.errors, expected.unread)
        assert (found.moves, found.distances) == (expected.moves, expected.distances)
        for direction in Direction:
            far = [move.distance for move in expected.largest if move.direction is direction][:SHOWN]
            assert [move.distance for move in found.largest if move.direction is direction] == far
        assert set(found.largest) <= set(expected.largest)


def test_a_thousand_faults_in_a_large_manifest(spark: Any, tmp_path: Path) -> None:
    """All faults are counted, the first ones are named with their lines, and no others are reported."""
    rnd, count = random.Random(11), 300_000  # noqa: S311 - the same each time
    chosen = dict.fromkeys(rnd.sample(range(2, count + 1), 1000), "")
    lines = jsonl(mirrored(n) for n in range(count)).splitlines()
    for line in chosen:
        chosen[line] = rule = rnd.choice([*FAULTS, "duplicate", "conflict"])
        value = mirrored(line - 1)
        if rule in FAULTS:
            FAULTS[rule](value)
        else:
            value = mirrored(0, 5 if rule == "duplicate" else line + 10)
        lines[line - 1] = line_of(value, rnd.choice([(",", ":"), (", ", ": ")])).encode()
    case = Case(b"\n".join(lines), MIRROR)
    (verdict,) = on_spark(spark, [filed(case, tmp_path / "m")])
    planted = Counter(chosen.values())
    assert {name.removeprefix("manifest/"): number for name, number in verdict.counts.items()} == planted
    for rule in planted:
        named = [item.location.line for item in verdict.diagnostics if item.rule == f"manifest/{rule}"]
        first = sorted(line for line, other in chosen.items() if other == rule)[:SHOWN]
        assert sorted(set(named) - {1}) == first
