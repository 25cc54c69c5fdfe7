"""Converts splits and their lines to places for people: a file's name, line and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gitops_connect.checks.large.input_splits.splits import InputSplit
from gitops_connect.checks.large.keys.text_hashes import Positions
from gitops_connect.checks.large.violations.counts import RowPosition
from gitops_connect.model.diagnostics import Location


class LineNumbers:
    """Places of lines. `starts` are the numbers of lines of the file before each split."""

    def __init__(self, units: Sequence[InputSplit], starts: Sequence[int]) -> None:
        self._units = units
        self._starts = np.array(starts, np.int64)
        self._open: dict[str, Any] = {}

    def at(self, position: RowPosition) -> Location:
        """The place of a row. Raises OSError if the file with the places cannot be read."""
        lines, columns = self.of(*(np.array([number]) for number in position))
        return Location(self._units[position.unit].file.name, int(lines[0]), int(columns[0]))

    def of(self, units: Positions, lines: Positions, columns: Positions) -> tuple[Positions, Positions]:
        """Lines and columns, from 1, of many rows. For a rewritten file, the places in the original file."""
        lines, columns = self._starts[units] + lines, columns.copy()
        told = lines + 1
        for unit in np.unique(units).tolist():
            path = self._units[unit].file.places
            if path is not None:
                rows = units == unit
                told[rows], columns[rows] = self._saved(path)[lines[rows]].T
        return told, columns

    def _saved(self, path: str) -> Any:
        if path not in self._open:
            self._open[path] = np.memmap(path, "<u4", "r").reshape(-1, 2)
        return self._open[path]
