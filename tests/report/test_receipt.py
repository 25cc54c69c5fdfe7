"""The receipt of an applied offset change: its stages, how long its connector was stopped, and its partitions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.files.tables import table
from support.planner.offset_change_values import LATER, LOCAL, NOON, SKIP, offsets, record_of

from gitops_connect.model.applied_effects import AppliedEffect, EffectApproval, pack_effect, unpack_effect
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import ConnectorName, Digest, Revision
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.outcomes import JournalEntry, Result
from gitops_connect.model.plans import Action
from gitops_connect.model.units import Scale, Unit
from gitops_connect.plan.offset_review import find_difference
from gitops_connect.report.offset_lines import counts, largest_moves
from gitops_connect.report.receipt import receipt_of, with_all_partitions

RECORDS = Unit("records", "record", "records")
BEFORE, AFTER = offsets(*range(100, 130)), offsets(*range(30))
MOVES = tuple(
    Move(one, BEFORE[one], AFTER[one], Direction.REWIND, 100, 3_600_000 if number == 0 else None)
    for number, one in enumerate(BEFORE)
)
EFFECT = AppliedEffect(
    NOON,
    Difference({Direction.REWIND: 30}, {Direction.REWIND: 3000}, MOVES, Scale(RECORDS)),
    (EffectApproval(7, Digest("e" * 8), "ana", NOON, ("rewind of 30 partitions",)),),
)
SETTLED = replace(record_of(SKIP), state=OffsetChangeState.SETTLED, since=LATER, before=Digest("b"), after=Digest("a"))


def step(name: str, minutes: float, result: str = "applied") -> JournalEntry:
    at, message = NOON + timedelta(minutes=minutes), "timeout" if result == "failed" else ""
    names = (LOCAL, at, Revision("r"), "Ann", ConnectorName("orders"))
    return JournalEntry(*names, Action(name), "", Result(result), "", message, 1.0)


@pytest.mark.parametrize("case", table(__file__, "receipts"), ids=lambda case: case["case"])
def test_a_receipt_has_what_is_known(case: Mapping[str, Any]) -> None:
    stop, end = (None if case.get(name) is None else step(*case[name]) for name in ("stop", "end"))
    known = EFFECT if case.get("effect", True) else None
    record = replace(SETTLED, **{name: case[name] for name in ("message", "before") if name in case})
    if "state" in case:
        record = replace(record, state=OffsetChangeState(case["state"]))
    found = receipt_of(LOCAL, record, known, find_difference(BEFORE, AFTER, None), (stop, end))
    shown = found.outline(2)
    expected = {name: case[name] for name in shown.keys() & case.keys()}
    assert {name: shown[name] for name in expected} == expected


def test_the_ledger_keeps_the_totals_and_the_largest_moves_of_an_effect() -> None:
    kept = replace(EFFECT, difference=largest_moves(EFFECT.difference))
    read = unpack_effect(pack_effect(kept))
    assert read == kept
    assert [move.partition for move in read.difference.moves] == list(BEFORE)[:20]
    assert counts(read.difference) == "30 rewind (3,000 records of 1 h reprocessed)"
    assert counts(read.difference) == counts(EFFECT.difference)


@pytest.mark.parametrize(("others", "expected"), [({}, Direction.REWIND), ({Direction.FORWARD: 3}, Direction.CHANGED)])
def test_partitions_beyond_the_largest_moves_have_a_direction_if_all_have_the_same(
    others: Mapping[Direction, int], expected: Direction
) -> None:
    kept = largest_moves(EFFECT.difference)
    recorded = replace(kept, counts={**kept.counts, **others})
    found = with_all_partitions(recorded, find_difference(BEFORE, {**AFTER, next(iter(BEFORE)): None}, None))
    assert [one.direction for one in found.moves] == [*[Direction.REWIND] * 20, *[expected] * 10]


def test_an_effect_has_a_limited_size_whatever_the_partitions_are_called() -> None:
    names = ("".join(hashlib.sha256(bytes([one, part])).hexdigest() for part in range(40)) for one in range(20))
    moves = tuple(Move(PartitionText(name), None, OffsetText("{}"), Direction.NEW) for name in names)
    packed = pack_effect(replace(EFFECT, difference=replace(EFFECT.difference, moves=moves)))
    assert len(packed) < 8192
    read = unpack_effect(packed).difference
    assert (read.counts, read.moves) == (EFFECT.difference.counts, ())
