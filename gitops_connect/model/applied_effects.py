"""The effect of an offset change as it was when the change was sent: what only that moment knows, for the ledger."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import Digest
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.units import Scale, Unit

MOST_RECORDED = 20
"""Moves that the ledger keeps of an offset change: it keeps each change forever."""
MOST_APPROVALS = 10
_LARGEST = 8192
"""Bytes. Moves with longer names are left out."""


@dataclass(frozen=True, slots=True)
class EffectApproval:
    """Who has approved which effects of an offset change. `who` is empty for those that merged a pull request."""

    pull_request: int
    digest: Digest
    who: str
    at: datetime | None
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AppliedEffect:
    """What an offset change did, and who had approved that. `begun` is the time directly before it was sent.

    `difference` has the counts and distances of all partitions, and the largest moves. It knows its unit, but no second
    notation of offsets: each move has its own (`Move.also`).
    """

    begun: datetime
    difference: Difference
    approvals: tuple[EffectApproval, ...] = ()


def pack_effect(effect: AppliedEffect) -> bytes:
    """The effect as compressed bytes, for storage, with a limited size."""
    packed = _packed(effect, effect.difference.moves[:MOST_RECORDED])
    return packed if len(packed) <= _LARGEST else _packed(effect, ())


def _packed(effect: AppliedEffect, moves: Iterable[Move]) -> bytes:
    difference, unit = effect.difference, effect.difference.scale.unit
    value = {
        "begun": effect.begun.isoformat(),
        "counts": {one.value: count for one, count in difference.counts.items() if count},
        "distances": {one.value: distance for one, distance in difference.distances.items() if distance},
        "times": {one.value: time for one in Direction if (time := difference.time(one))},
        "unknown": [one.value for one in Direction if difference.is_unknown(one)],
        "unit": unit and [unit.key, unit.one, unit.many, unit.counts_what_is_read, unit.is_time],
        "moves": [
            [one.partition, one.current, one.declared, one.direction.value, one.distance, one.time, one.also]
            for one in moves
        ],
        "approvals": [
            [one.pull_request, one.digest, one.who, one.at and one.at.isoformat(), one.effects]
            for one in effect.approvals[:MOST_APPROVALS]
        ],
    }
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def unpack_effect(packed: bytes) -> AppliedEffect:
    """The reverse of `pack_effect`. Raises ValueError, TypeError, KeyError, AttributeError or zlib.error for others."""
    value = json.loads(zlib.decompress(packed))
    difference = Difference(
        {Direction(one): int(count) for one, count in value["counts"].items()},
        {Direction(one): int(distance) for one, distance in value["distances"].items()},
        tuple(_move(*one) for one in value["moves"]),
        Scale(None if value["unit"] is None else _unit(*value["unit"])),
        times={Direction(one): int(time) for one, time in value["times"].items()},
        unknown=frozenset(map(Direction, value["unknown"])),
    )
    approvals = tuple(_approval(*one) for one in value["approvals"])
    return AppliedEffect(datetime.fromisoformat(value["begun"]), difference, approvals)


def _unit(key: str, one: str, many: str, counts_what_is_read: bool, is_time: bool) -> Unit:  # noqa: FBT001 - of a list
    return Unit(key, one, many, counts_what_is_read=counts_what_is_read, is_time=is_time)


def _move(  # noqa: PLR0913, PLR0917 - the values of a list
    partition: str,
    current: str | None,
    declared: str | None,
    direction: str,
    distance: int | None,
    time: int | None,
    also: str,
) -> Move:
    for text in (partition, current, declared):
        if text is not None and not isinstance(json.loads(text), dict):
            raise ValueError(f"{text!r} is not a JSON object")
    before, after = (None if one is None else OffsetText(one) for one in (current, declared))
    far, lasted = (None if one is None else int(one) for one in (distance, time))
    return Move(PartitionText(partition), before, after, Direction(direction), far, lasted, str(also))


def _approval(pull_request: int, digest: str, who: str, at: str | None, effects: list[str]) -> EffectApproval:
    when = None if at is None else datetime.fromisoformat(at)
    return EffectApproval(int(pull_request), Digest(str(digest)), str(who), when, tuple(map(str, effects)))
