"""A million lines with a thousand faults of all kinds, on a real Spark: all faults are found, and no others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.files.manifests import UNREAD
from support.planted.planted import Planted, held_to_plants, violations_in
from support.planted.planted_families import FAMILIES
from support.planted.planted_lines import REPEATS, UNKEPT_LINES, Plan
from support.planted.planting import make
from support.spark.large_engine import on_spark, said_by_large

from gitops_connect.model.offset_changes import OffsetChangeKind

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.timeout(600)]

FILES = ("offsets/a.jsonl", "offsets/b.jsonl.gz", "offsets/c.jsonl.zst", "offsets/d.jsonl")
OTHERS = ["sink", "its own file", "SQL Server", "MongoDB", "a class of nobody", "a class of one's own", "JDBC"]
STYLES = ("", "", "", "", "", "", "", "blanks", "turned")


def planted_in(plan: Plan, count: int, faults: int, rnd: random.Random) -> Planted:
    """Each plant of the family at least once if `faults` is large enough, on random lines."""
    every = [*plan.family.plants, *UNKEPT_LINES, *REPEATS]
    wanted = [every[number % len(every)] for number in range(faults)]
    chosen: list[Sequence[str]] = [()] * count
    for place, name in zip(rnd.sample(range(count), faults), wanted, strict=True):
        chosen[place] = (name,)
    return make(plan, chosen, rnd)


def test_a_thousand_faults_in_a_million_lines(spark: Any, tmp_path: Path) -> None:
    rnd = random.Random(13)  # noqa: S311 - the same each time
    mirror = Plan(FAMILIES["mirror"], names=FILES, current=0.001, styles=STYLES)
    several = [planted_in(mirror, 1_000_000, 1000, rnd)]
    for name in OTHERS:
        count = 390 if FAMILIES[name].lenient else 2000
        plan = Plan(FAMILIES[name], rnd.choice([*OffsetChangeKind][:2]), rnd.choice([UNREAD, frozenset()]), 0.3, FILES)
        several.append(planted_in(plan, count, 150, rnd))
    assert sum(one.counts.total() for one in several) > 1500
    manifests = [one.filed(tmp_path / str(number)) for number, one in enumerate(several)]
    verdicts = on_spark(spark, manifests, violations=tmp_path)
    for planted, verdict in zip(several, verdicts, strict=True):
        held_to_plants(planted, said_by_large(verdict))
    found = Counter(one[:4] for one in violations_in(tmp_path).elements())
    expected = sum((one.all_named() for one in several), Counter())
    assert ([*(found - expected)], [*(expected - found)]) == ([], []), "invented, and missed"
