"""Manifests in files, with planted faults of many kinds: every Spark has to report the same for them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.context import LargeManifest
from support.files.manifests import MIRROR, OTHER, SINK, entry, mirrored, offsets, sunk
from support.spark.large_engine import Case, filed, jsonl, line_of

FAULTS: tuple[Any, ...] = (
    lambda one: one["offset"].update(offset=-1),
    lambda one: one["offset"].update(offset=2**63),
    lambda one: one["partition"].update(partition="7"),
    lambda one: one["partition"].update(cluster="elsewhere"),
    lambda one: one["partition"].update(unheard=1),
    lambda one: one.pop("offset"),
    lambda one: one.pop("partition"),
    lambda one: one.update(unheard=1),
)
_LINES = 120_000
"""More than one input split."""


def planted(directory: Path) -> list[LargeManifest]:
    return [filed(case, directory / str(number)) for number, case in enumerate(planted_cases())]


def planted_cases() -> list[Case]:
    """The same manifests each time: with faults, moves, compressed, for a sink, for an unknown class, truncated."""
    rnd = random.Random(7)  # noqa: S311 - not for secrets
    current = offsets(*(mirrored(n, rnd.randrange(9)) for n in range(0, 4000, 3)))
    moved = Case(jsonl(mirrored(n, rnd.randrange(9)) for n in range(3000)), MIRROR, current, name="a.jsonl.zst")
    return [
        Case(_faulty(rnd), MIRROR, current),
        moved,
        Case(jsonl(mirrored(n) for n in range(50)), MIRROR, current, OffsetChangeKind.REPLACE, name="b.jsonl.gz"),
        Case(jsonl([sunk("orders", 1), sunk("invoices", 1), sunk("elsewhere", 2), sunk("orders", 1)]), SINK),
        Case(
            jsonl(entry({"shard": n}, {"seq": n % 7}) for n in range(300)),
            OTHER,
            offsets(*(entry({"shard": n}, {"seq": n % 5}) for n in range(100, 400))),
        ),
        Case(moved.stored[:-9], MIRROR, name="c.jsonl.zst", packed=True),
        Case(b"", MIRROR),
    ]


def _faulty(rnd: random.Random) -> bytes:
    lines = [line_of(mirrored(n)) for n in range(_LINES)]
    for at in rnd.sample(range(2, _LINES), 800):
        value = mirrored(at)
        rnd.choice([*FAULTS, lambda one: one["partition"].update(partition=0)])(value)
        lines[at] = line_of(value, rnd.choice([(",", ":"), (", ", ": ")]))
    return ("\n".join(lines) + "\n").encode()
