"""The positions of rows in splits, and the lines of these rows in the files of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from gitops_connect.checks.large.input_splits.splits import InputSplit
from gitops_connect.checks.large.keys.text_hashes import Positions
from gitops_connect.model.diagnostics import Location


class RowPosition(NamedTuple):
    """The position of a row before its line is known: split, line from 0 within the split, column from 1."""

    split: int
    line: int
    column: int = 1


RowPositions = tuple[Positions, Positions]
"""Splits and lines of many rows, as in a `RowPosition`."""


class LineNumbers:
    """The lines of rows in their files. `lines` is the number of lines of each split."""

    def __init__(self, splits: Sequence[InputSplit], lines: Mapping[int, int]) -> None:
        before: Counter[tuple[int, bool, str]] = Counter()
        starts = []
        for number, split in enumerate(splits):
            file = split.manifest, split.is_current, split.file.path
            starts.append(before[file])
            before[file] += lines.get(number, 0)
        self.splits = splits
        self._starts = np.array(starts, np.int64)
        self._places = cache(lambda path: np.memmap(path, "<u4", "r").reshape(-1, 2))

    def location(self, position: RowPosition) -> Location:
        """The location of a row. Raises OSError if the file with the places cannot be read."""
        lines, columns = self.of(*(np.array([number]) for number in position))
        return Location(self.splits[position.split].file.name, int(lines[0]), int(columns[0]))

    def of(self, splits: Positions, lines: Positions, columns: Positions) -> tuple[Positions, Positions]:
        """Lines and columns, from 1, of many rows. For a rewritten file, the places in the original file."""
        rows, columns = self._starts[splits] + lines, columns.copy()
        numbers = rows + 1
        for split in np.unique(splits).tolist():
            path = self.splits[split].file.places
            if path is not None:
                own = splits == split
                numbers[own], columns[own] = self._places(path)[rows[own]].T
        return numbers, columns
