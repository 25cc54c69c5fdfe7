"""Joins the rows of one bucket, of all manifests and all current offsets, by the hashes of their partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import Numbers

Indexes = NDArray[np.int64]
_ALONE: Final = 2
"""Rows of a group, at least: other rows are alone."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Rows by their index, which ascends with their places; rows of current offsets come before declared rows.

    `new` are the first declared rows of partitions without a current offset, `moved` those of partitions with one,
    which is in `current`. `left` are current and not declared. `repeated` are repeated declarations, `first` are their
    first declarations; `below` is the current row of each, or -1.
    """

    new: Indexes
    moved: Indexes
    current: Indexes
    left: Indexes
    repeated: Indexes
    first: Indexes
    below: Indexes


def outer_join(h1: Numbers, h2: Numbers, live: int) -> JoinResult:
    """Join the rows. The first `live` rows are current offsets; the others are declared."""
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
    """The rows that may have equals, grouped by partition and in their order; and the rows that have none.

    Sorting numbers is several times faster than sorting their indexes, so the index replaces the low bits.
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
    if differ.any():  # only the high bits of their hashes are equal, and they may be interleaved
        rows = rows[np.lexsort((rows, h2[rows], h1[rows]))]
    return rows, order[~grouped]


def _starts(h1: Numbers, h2: Numbers) -> NDArray[np.bool_]:
    """Where the next partition begins."""
    starts = np.ones(len(h1), bool)
    starts[1:] = (h1[1:] != h1[:-1]) | (h2[1:] != h2[:-1])
    return starts


def smallest(rows: Indexes, count: int) -> Indexes:
    """The first rows by place, in order."""
    return np.sort(np.partition(rows, count)[:count] if len(rows) > count else rows)


def furthest(distances: Indexes, rows: Indexes, count: int, ties: int) -> NDArray[Any]:
    """The positions in both arrays of the `count` largest distances, and of those that tie with the last.

    At most `ties` of those that tie are included, the first by place.
    """
    if len(rows) <= count:
        return np.arange(len(rows))
    least = np.partition(distances, len(rows) - count)[len(rows) - count]
    beyond, equal = np.flatnonzero(distances > least), np.flatnonzero(distances == least)
    if len(equal) > ties:
        equal = equal[np.argpartition(rows[equal], ties)[:ties]]
    return np.concatenate((beyond, equal))
