"""The rows of one bucket, of all manifests and all offsets that stand: those of one partition, found by its hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import Numbers

Indexes = NDArray[np.int64]
_ALONE: Final = 2
"""Rows of a group, at least: others are alone."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Rows by their index, which ascends with their places; those that stand come before the declared ones.

    `new` are the first declared rows of partitions that do not stand, `moved` of those that do, with what stands in
    `current`. `left` stand and are not declared. `repeated` are declared once more, and `first` is where they were
    before; `below` is what stands there, or -1.
    """

    new: Indexes
    moved: Indexes
    current: Indexes
    left: Indexes
    repeated: Indexes
    first: Indexes
    below: Indexes


def outer_join(h1: Numbers, h2: Numbers, live: int) -> JoinResult:
    """`live`: so many rows stand; the others are declared."""
    rows, alone = _groups(h1, h2)
    starts = _starts(h1[rows], h2[rows])
    numbers = np.arange(len(rows))
    stands = rows < live
    behind_live = np.concatenate(([False], stands[:-1])) & ~starts
    is_first = ~stands & (starts | behind_live)
    start = np.maximum.accumulate(np.where(starts, numbers, 0))
    has_live = stands[start]
    first = np.maximum.accumulate(np.where(is_first, numbers, 0))
    is_left = stands & starts & ~np.concatenate((~stands[1:] & ~starts[1:], [False]))[: len(rows)]
    moved, repeated = np.flatnonzero(is_first & has_live), np.flatnonzero(~stands & ~is_first)
    return JoinResult(
        new=np.concatenate((alone[alone >= live], rows[is_first & ~has_live])),
        moved=rows[moved],
        current=rows[start[moved]],
        left=np.concatenate((alone[alone < live], rows[is_left])),
        repeated=rows[repeated],
        first=rows[first[repeated]],
        below=np.where(has_live[repeated], rows[start[repeated]], -1),
    )


def _groups(h1: Numbers, h2: Numbers) -> tuple[Indexes, Indexes]:
    """The rows that may have equals, those of one partition side by side and in their order; and those that have none.

    Sorting numbers is several times faster than sorting their indexes, so the index takes the place of the low bits.
    """
    bits = np.uint64(max(len(h1), _ALONE).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    keys = h1 & ~mask
    keys |= np.arange(len(h1), dtype=np.uint64)
    keys.sort()
    order = (keys & mask).astype(np.int64)
    keys >>= bits
    alike = keys[1:] == keys[:-1]
    grouped = np.zeros(len(h1), bool)
    grouped[1:] |= alike
    grouped[:-1] |= alike
    rows = order[grouped]
    differ = _starts(h1[rows], h2[rows])[1:] & (keys[grouped][1:] == keys[grouped][:-1])
    if differ.any():  # only the high bits of their hashes are the same, and they may lie mixed up
        rows = rows[np.lexsort((rows, h2[rows], h1[rows]))]
    return rows, order[~grouped]


def _starts(h1: Numbers, h2: Numbers) -> NDArray[np.bool_]:
    """Where the next partition begins."""
    starts = np.ones(len(h1), bool)
    starts[1:] = (h1[1:] != h1[:-1]) | (h2[1:] != h2[:-1])
    return starts


def smallest(rows: Indexes, count: int) -> Indexes:
    """The first of them by place, in order."""
    return np.sort(np.partition(rows, count)[:count] if len(rows) > count else rows)


def furthest(distances: Indexes, rows: Indexes, count: int, ties: int) -> NDArray[Any]:
    """Which of them have moved furthest, as positions in both: so many, and with them those that tie with the last,
    of which there are `ties` at most, the first by place."""
    if len(rows) <= count:
        return np.arange(len(rows))
    least = np.partition(distances, len(rows) - count)[len(rows) - count]
    beyond, equal = np.flatnonzero(distances > least), np.flatnonzero(distances == least)
    if len(equal) > ties:
        equal = equal[np.argpartition(rows[equal], ties)[:ties]]
    return np.concatenate((beyond, equal))
