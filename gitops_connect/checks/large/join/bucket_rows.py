"""The rows of one manifest in one bucket, from all blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gitops_connect.checks.large.join.outer_join import Indexes
from gitops_connect.checks.large.parse.parser import number_in
from gitops_connect.checks.large.parse.shuffle_block import FORM_MASK, MARK_SHIFT, OffsetForm, concatenated
from gitops_connect.checks.large.violations.line_numbers import RowPosition, RowPositions
from gitops_connect.model.offsets import OffsetText


class BucketBlock(NamedTuple):
    """The rows of one block in one bucket. `base`: lines of the split before the block."""

    manifest: int
    split: int
    base: int
    rows: Any


class BucketRows:
    """The rows as columns, in the order of their positions: current offsets come before declared ones.

    `form` is the `OffsetForm` of each row, `mark` the number of the form of its line; see `MARK_SHIFT`.
    """

    def __init__(self, blocks: list[BucketBlock], numeric_field: str) -> None:
        """Concatenate the blocks. `numeric_field` is the only field of offsets that are numbers; see `Parser`."""
        rows = concatenated([block.rows for block in blocks])
        self.h1, self.h2, self._line = (rows.column(name).to_numpy() for name in ("h1", "h2", "line"))
        self.value = rows.column("value").to_numpy().copy()
        form = rows.column("form").to_numpy()
        self.form, self.mark = form & np.uint8(FORM_MASK), form >> np.uint8(MARK_SHIFT)
        with_text = np.flatnonzero(self.form >= OffsetForm.TEXT)
        texts = rows.column("text").take(pa.array(with_text)).to_pylist()
        self.texts: dict[int, str] = dict(zip(with_text.tolist(), texts, strict=True))
        self._numeric_field = numeric_field
        self._splits = np.array([block.split for block in blocks], np.int64)
        self._bases = np.array([block.base for block in blocks], np.int64)
        self._ends = np.cumsum([block.rows.num_rows for block in blocks])

    def positions(self, rows: Indexes) -> RowPositions:
        """The splits and lines of the rows."""
        blocks = np.searchsorted(self._ends, rows, side="right")
        return self._splits[blocks], self._bases[blocks] + self._line[rows]

    def position(self, row: int) -> RowPosition:
        """The split and line of a row."""
        splits, lines = self.positions(np.array([row]))
        return RowPosition(int(splits[0]), int(lines[0]))

    def offset(self, row: int) -> OffsetText | None:
        """The offset of a row; None for a tombstone."""
        match self.form[row]:
            case OffsetForm.NUMBER:
                return OffsetText(f'{{"{self._numeric_field}":{self.value[row]}}}')
            case OffsetForm.NONE:
                return None
            case _:
                return OffsetText(self.texts[row])

    def set_offset(self, row: int, offset: OffsetText | None) -> None:
        """Replace a deferred entry by its offset."""
        number = None if offset is None else number_in(offset, self._numeric_field)
        if offset is None:
            self.form[row] = OffsetForm.NONE
        elif number is not None:
            self.form[row], self.value[row] = OffsetForm.NUMBER, number
        else:
            self.form[row], self.texts[row] = OffsetForm.TEXT, offset

    def equal_offsets(self, rows: Indexes, others: Indexes) -> Any:
        """Whether the offsets of each pair of rows are equal."""
        forms = self.form[rows]
        is_equal = forms == self.form[others]
        is_equal &= (forms != OffsetForm.NUMBER) | (self.value[rows] == self.value[others])
        for index in np.flatnonzero(is_equal & (forms >= OffsetForm.TEXT)).tolist():
            is_equal[index] = self.texts[int(rows[index])] == self.texts[int(others[index])]
        return is_equal
