"""The results of a benchmark: some are compared with an anchor, and some have a target."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Figure:
    """One line of the table. `limit` is the target for the ratio, or for the result if it is compared with nothing.

    `anchor` is the work that it is compared with, and what that took in the same run.
    """

    what: str
    measured: float
    unit: str = ""
    limit: float | None = None
    note: str = ""
    anchor: str = ""
    ratio: float | None = None

    @property
    def met(self) -> str:
        """Whether the target is met."""
        if self.limit is None:
            return ""
        return "met" if (self.measured if self.ratio is None else self.ratio) <= self.limit else "NOT MET"

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns `HEADER`."""
        ratio = "" if self.ratio is None else f"{_text(self.ratio)} times"
        unit = self.unit if self.ratio is None else "times"
        goal = "" if self.limit is None else f"<= {_text(self.limit)} {unit}".rstrip()
        return self.what, _with_unit(self.measured, self.unit), self.anchor, ratio, goal, self.met, self.note


HEADER = ("work", "figure", "anchor", "ratio", "goal", "", "note")


class NotMeasured(Exception):
    """Something cannot be measured on this machine; the text says why."""


def median(figure: Figure, values: Sequence[float]) -> Figure:
    """The figure with the median and the range of the values."""
    spread = f"{len(values)} runs, {_text(min(values))} to {_text(max(values))}"
    note = f"{figure.note}; {spread}" if figure.note else spread
    return replace(figure, measured=statistics.median(values), note=note)


def compared(figure: Figure, values: Sequence[float], anchor: str, others: Sequence[float]) -> Figure:
    """The median of the values, and of the ratios to those of the anchor, which were measured in turns with them."""
    ratio = statistics.median(one / other for one, other in zip(values, others, strict=True))
    return replace(
        median(figure, values), anchor=f"{anchor}: {_with_unit(statistics.median(others), figure.unit)}", ratio=ratio
    )


def table(figures: Iterable[Figure]) -> str:
    """The figures as a table of Markdown."""
    rows = [HEADER, *(one.cells for one in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    return "\n".join([lines[0], f"|{'|'.join('-' * (width + 2) for width in widths)}|", *lines[1:]])


def _with_unit(value: float, unit: str) -> str:
    return f"{_text(value)} {unit}".rstrip()


def _text(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}" if value < 10 else f"{value:.1f}"
