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
    rows = _grouped(h1, h2)
    starts = _starts(h1[rows], h2[rows])
    numbers = np.arange(len(rows))
    is_current = rows < current
    follows_current = np.concatenate(([False], is_current[:-1]))
    is_first = ~is_current & (starts | follows_current)
    start = np.maximum.accumulate(np.where(starts, numbers, 0))
    has_current = is_current[start]
    first = np.maximum.accumulate(np.where(is_first, numbers, 0))
    is_declared = np.concatenate((~is_current[1:] & ~starts[1:], [False]))
    matched, repeated = np.flatnonzero(is_first & has_current), np.flatnonzero(~is_current & ~is_first)
    repeated = repeated[np.argsort(rows[repeated])]
    return JoinResult(
        new=rows[is_first & ~has_current],
        matched=rows[matched],
        current=rows[start[matched]],
        undeclared=rows[is_current & starts & ~is_declared],
        repeated=rows[repeated],
        first=rows[first[repeated]],
        current_of_repeated=np.where(has_current[repeated], rows[start[repeated]], -1),
    )


def _grouped(h1: Numbers, h2: Numbers) -> Indexes:
    """The rows grouped by partition, in each group in their order.

    Sorting numbers is several times faster than sorting their indexes, so the index replaces the low bits.
    """
    bits = np.uint64(len(h1).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    keys = (h1 & ~mask) | np.arange(len(h1), dtype=np.uint64)
    keys.sort()
    rows = (keys & mask).astype(np.int64)
    keys >>= bits
    group = np.cumsum(_starts(keys, keys))
    mixed = group[np.flatnonzero(_starts(h1[rows], h2[rows]) & ~_starts(keys, keys))]
    if len(mixed):  # different partitions with equal high bits may be interleaved
        places = np.flatnonzero(np.isin(group, mixed))
        own = rows[places]
        rows[places] = own[np.lexsort((own, h2[own], h1[own]))]
    return rows


def _starts(h1: Numbers, h2: Numbers) -> NDArray[np.bool_]:
    """Where the next partition begins."""
    starts = np.ones(len(h1), bool)
    starts[1:] = (h1[1:] != h1[:-1]) | (h2[1:] != h2[:-1])
    return starts
