"""Joins the rows of one bucket, declared and current, by the hashes of their partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import Numbers

Indexes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Rows by their index.

    `new` are the first declared rows of partitions without a current offset, `matched` those of partitions with one,
    which is in `current`. `undeclared` are current rows of partitions that are not declared. `repeated` are repeated
    declarations, ascending; `first` are their first declarations, and `current_of_repeated` their current rows, or -1.
    """

    new: Indexes
    matched: Indexes
    current: Indexes
    undeclared: Indexes
    repeated: Indexes
    first: Indexes
    current_of_repeated: Indexes


def outer_join(h1: Numbers, h2: Numbers, current: int) -> JoinResult:
    """Join the rows. The first `current` rows are current offsets; the others are declared."""
    rows, alone = _grouped(h1, h2)
    starts = _starts(h1[rows], h2[rows])
    numbers = np.arange(len(rows))
    is_current = rows < current
    follows_current = np.concatenate(([False], is_current[:-1]))
    is_first = ~is_current & (starts | follows_current)
    start = np.maximum.accumulate(np.where(starts, numbers, 0))
    has_current = is_current[start]
    first = np.maximum.accumulate(np.where(is_first, numbers, 0))
    is_declared = np.concatenate((~is_current[1:] & ~starts[1:], [False]))[: len(rows)]
    matched, repeated = np.flatnonzero(is_first & has_current), np.flatnonzero(~is_current & ~is_first)
    repeated = repeated[np.argsort(rows[repeated])]
    return JoinResult(
        new=np.concatenate((alone[alone >= current], rows[is_first & ~has_current])),
        matched=rows[matched],
        current=rows[start[matched]],
        undeclared=np.concatenate((alone[alone < current], rows[is_current & starts & ~is_declared])),
        repeated=rows[repeated],
        first=rows[first[repeated]],
        current_of_repeated=np.where(has_current[repeated], rows[start[repeated]], -1),
    )


def _grouped(h1: Numbers, h2: Numbers) -> tuple[Indexes, Indexes]:
    """The rows that may share a partition, grouped by it and in their order; and the rows that do not.

    Sorting numbers is several times faster than sorting their indexes, so the index replaces the low bits.
    """
    bits = np.uint64(len(h1).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    keys = (h1 & ~mask) | np.arange(len(h1), dtype=np.uint64)
    keys.sort()
    order = (keys & mask).astype(np.int64)
    keys >>= bits
    follows = np.concatenate(([False], keys[1:] == keys[:-1]))[: len(keys)]
    may_share = follows | np.concatenate((follows[1:], [False]))[: len(keys)]
    rows = order[may_share]
    if (_starts(h1[rows], h2[rows]) & follows[may_share]).any():  # only the high bits are equal: may be interleaved
        rows = rows[np.lexsort((rows, h2[rows], h1[rows]))]
    return rows, order[~may_share]


def _starts(h1: Numbers, h2: Numbers) -> NDArray[np.bool_]:
    """Where the next partition begins."""
    starts = np.ones(len(h1), bool)
    starts[1:] = (h1[1:] != h1[:-1]) | (h2[1:] != h2[:-1])
    return starts
