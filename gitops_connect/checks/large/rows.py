"""What is left of the entries of a piece: a row of numbers for each, and texts for the few that need them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.keys import Numbers

LINE: Final = np.uint32


class Form(IntEnum):
    """How the offset of a row is kept."""

    NUMBER = 0
    """`value` is the one number of the offset."""
    NONE = 1
    """A tombstone."""
    TEXT = 2
    """`value` counts the texts: it is that one."""
    DEFERRED = 3
    """Likewise; the text is the entry itself, to be judged once it is known what stands for its partition."""


MARK: Final = 2
"""Bits of a `Form`. What stands above them marks a row whose partition nothing reads, unless it stands: the number of
the form of its line, from 1, whose findings then are its own."""
_KIND: Final = (1 << MARK) - 1


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of equal length: two halves of a hash of the partition, the offset, the line within the piece, from 0.

    `form` is a `Form`, with a mark above it.
    """

    h1: Numbers
    h2: Numbers
    value: NDArray[np.int64]
    line: NDArray[np.uint32]
    form: NDArray[np.uint8]
    texts: list[Any]

    def buckets(self, count: int) -> Iterator[Rows]:
        """The rows of each bucket, in their order."""
        bucket = (((self.h2 >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=count))
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            yield self.taken(order[start:end])

    def taken(self, rows: NDArray[np.intp]) -> Rows:
        """These rows, in that order, with their texts."""
        value, form = self.value[rows], self.form[rows]
        texts: list[Any] = []
        if self.texts:
            has_text = form & _KIND >= Form.TEXT
            texts = [self.texts[number] for number in value[has_text].tolist()]
            value[has_text] = np.arange(len(texts))
        return Rows(self.h1[rows], self.h2[rows], value, self.line[rows], form, texts)


def without_marks(rows: Rows) -> tuple[Rows, NDArray[np.uint8]]:
    """The same rows, and the mark of each."""
    return replace(rows, form=rows.form & np.uint8(_KIND)), rows.form >> np.uint8(MARK)


def joined(parts: list[Rows]) -> Rows:
    """All rows, one part behind the other."""
    counts = np.cumsum([0, *(len(one.texts) for one in parts[:-1])])
    values = [
        np.where(one.form & _KIND >= Form.TEXT, one.value + before, one.value) if before else one.value
        for one, before in zip(parts, counts, strict=True)
    ]
    return Rows(
        np.concatenate([one.h1 for one in parts]),
        np.concatenate([one.h2 for one in parts]),
        np.concatenate(values),
        np.concatenate([one.line for one in parts]),
        np.concatenate([one.form for one in parts]),
        [text for one in parts for text in one.texts],
    )
