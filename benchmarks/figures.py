"""The results of a benchmark, some of them with a target."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table. `limit` is the target; without one, the result is only for comparison."""

    what: str
    measured: float
    unit: str = ""
    limit: float | None = None
    note: str = ""

    @property
    def met(self) -> str:
        """Whether the target is met."""
        if self.limit is None:
            return ""
        return "met" if self.measured <= self.limit else "NOT MET"


class NotMeasured(Exception):
    """Something cannot be measured on this machine; the text says why."""


def median(figure: Figure, values: Sequence[float]) -> Figure:
    """The figure with the median and the range of the values."""
    spread = f"{len(values)} runs, {_text(min(values))} to {_text(max(values))}"
    note = f"{figure.note}; {spread}" if figure.note else spread
    return Figure(figure.what, statistics.median(values), figure.unit, figure.limit, note)


def table(figures: Iterable[Figure]) -> str:
    """All figures of a benchmark, in columns."""
    rows = [
        (one.what, _with_unit(one.measured, one), "" if one.limit is None else f"<= {_with_unit(one.limit, one)}", one)
        for one in figures
    ]
    widths = [max((len(str(row[column])) for row in rows), default=0) for column in range(3)]
    lines = [
        f"  {what:<{widths[0]}}  {measured:>{widths[1]}}  {target:<{widths[2]}}  {one.met:<7}  {one.note}".rstrip()
        for what, measured, target, one in rows
    ]
    return "\n".join([*lines, ""])


def _with_unit(value: float, figure: Figure) -> str:
    return f"{_text(value)} {figure.unit}".rstrip()


def _text(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}" if value < 10 else f"{value:.1f}"
