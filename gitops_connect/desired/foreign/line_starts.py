"""The line and column of any index of a text."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right


class LineStarts:
    """The indexes at which the lines of a text begin: found once, so that each place costs little."""

    def __init__(self, text: str) -> None:
        self._starts = array("I", [0])
        self._starts.extend(found.end() for found in re.finditer("\n", text))

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of the index, from 1."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1
