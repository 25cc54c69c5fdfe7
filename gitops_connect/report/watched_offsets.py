"""What `offsets get --watch` prints after it has read the offsets again: lines of text, or JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.offsets import Offsets, to_json
from gitops_connect.model.units import Scale
from gitops_connect.report.offset_lines import move_words, quantity
from gitops_connect.report.printable import escaped

MOST_PARTITIONS = 50
"""So many partitions are printed each time, those that moved the furthest first."""
_FURTHEST = 2**63
"""No rate is calculated from a longer distance: a number from outside may have thousands of digits."""


def watched_lines(moved: Difference, at: datetime, seconds: float) -> Iterator[str]:
    """A line for each partition whose offset has changed in these seconds, up to `MOST_PARTITIONS`."""
    for move in moved.moves[:MOST_PARTITIONS]:
        distance = _signed(move)
        far = (
            ""
            if distance is None
            else f"  {'-' if distance < 0 else '+'}{_amount(abs(distance), seconds, moved.scale)}"
        )
        yield f"{at:%Y-%m-%d %H:%M:%S} UTC  {move_words(move)}{far}\n"
    if (more := len(moved.moves) - MOST_PARTITIONS) > 0:
        yield f"{at:%Y-%m-%d %H:%M:%S} UTC  … and {more:,} more partitions\n"


def first_values(offsets: Offsets, at: datetime) -> Iterator[str]:
    """A JSON object for each partition, one a line."""
    for entry in to_json(offsets):
        yield _line({"time": _time(at), **entry})


def watched_values(moved: Difference, at: datetime, seconds: float) -> Iterator[str]:
    """A JSON object for each partition whose offset has changed in these seconds, one a line."""
    for move in moved.moves:
        distance = _signed(move)
        (before,) = to_json({move.partition: move.current})
        (after,) = to_json({move.partition: move.declared})
        more = {
            "before": before["offset"],
            "distance": distance,
            "unit": moved.scale.name or None,
            "per_second": None if distance is None else _rate(distance, seconds),
        }
        yield _line({"time": _time(at), **after, **more})


def _signed(move: Move) -> int | None:
    return -move.distance if move.distance and move.direction is Direction.REWIND else move.distance


def _amount(distance: int, seconds: float, scale: Scale) -> str:
    rate = _rate(distance, seconds)
    each = quantity(round(rate), scale) if scale.is_time else f"{rate:,.1f}"
    return f"{quantity(distance, scale)} ({each}/s)"


def _rate(distance: int, seconds: float) -> float:
    return round(max(-_FURTHEST, min(distance, _FURTHEST)) / seconds, 3)


def _time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _line(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False)) + "\n"
