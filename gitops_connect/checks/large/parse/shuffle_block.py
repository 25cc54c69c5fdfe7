"""The entries of a block as rows of numbers, with texts for the few entries that need them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import Numbers

LINE: Final = np.uint32


class OffsetForm(IntEnum):
    """The form in which a row stores its offset."""

    NUMBER = 0
    """`value` is the only number of the offset."""
    NONE = 1
    """A tombstone."""
    TEXT = 2
    """`value` is the index of the offset's text in `texts`."""
    DEFERRED = 3
    """`value` is an index in `texts`; the text is the entry, to be checked once its current offset is known."""


MARK: Final = 2
"""Bits of an `OffsetForm`. The bits above mark a row whose partition the connector does not read and that has no
current offset: the number of the form of its line, from 1, whose findings then are its own."""
_KIND: Final = (1 << MARK) - 1


@dataclass(frozen=True, slots=True)
class ShuffleBlock:
    """Columns of equal length: two halves of a hash of the partition, the offset, the line within the block, from 0.

    `form` is an `OffsetForm`, with a mark in the higher bits.
    """

    h1: Numbers
    h2: Numbers
    value: NDArray[np.int64]
    line: NDArray[np.uint32]
    form: NDArray[np.uint8]
    texts: list[Any]

    def buckets(self, count: int) -> Iterator[ShuffleBlock]:
        """The rows of each bucket, in their order."""
        bucket = (((self.h2 >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=count))
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            yield self.taken(order[start:end])

    def taken(self, rows: NDArray[np.intp]) -> ShuffleBlock:
        """These rows, in that order, with their texts."""
        value, form = self.value[rows], self.form[rows]
        texts: list[Any] = []
        if self.texts:
            has_text = form & _KIND >= OffsetForm.TEXT
            texts = [self.texts[number] for number in value[has_text].tolist()]
            value[has_text] = np.arange(len(texts))
        return ShuffleBlock(self.h1[rows], self.h2[rows], value, self.line[rows], form, texts)


def without_marks(rows: ShuffleBlock) -> tuple[ShuffleBlock, NDArray[np.uint8]]:
    """The rows without marks, and the mark of each."""
    return replace(rows, form=rows.form & np.uint8(_KIND)), rows.form >> np.uint8(MARK)


def joined(parts: list[ShuffleBlock]) -> ShuffleBlock:
    """All rows of the parts, in order."""
    counts = np.cumsum([0, *(len(one.texts) for one in parts[:-1])])
    values = [
        np.where(one.form & _KIND >= OffsetForm.TEXT, one.value + before, one.value) if before else one.value
        for one, before in zip(parts, counts, strict=True)
    ]
    return ShuffleBlock(
        np.concatenate([one.h1 for one in parts]),
        np.concatenate([one.h2 for one in parts]),
        np.concatenate(values),
        np.concatenate([one.line for one in parts]),
        np.concatenate([one.form for one in parts]),
        [text for one in parts for text in one.texts],
    )
