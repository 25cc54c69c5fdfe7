"""The distribution of the distances of moves: a bar for each power of ten, as SVG inside a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from math import log10

from gitops_connect.report.page import shown

_ROW = 26
_LABEL = 118
_LENGTH = 330
_WIDTH = 560
_THICK = 16
_SPREAD = 100
"""If the largest count is at least so many times the smallest count, the axis is logarithmic."""
_ZERO = 0.4
"""Where the logarithmic axis begins, so that the bar of a single move is still visible."""
_SUFFIXES = ("", " k", " M", " G", " T", " P", " E")


def bars(counts: Sequence[int], style: str, title: str) -> str:
    """A figure's SVG. `counts` are of [1, 10), [10, 100) and so on, at least one is not 0; `style` is a CSS class."""
    rows = list(dropwhile(lambda row: not row[1], enumerate(counts)))
    most, least = max(counts), min(count for count in counts if count)
    by_factors = most >= _SPREAD * least
    height = len(rows) * _ROW + (_ROW if by_factors else 4)
    description = "; ".join(f"{_decade(decade)}: {count:,}" for decade, count in rows)
    name = f"{style}-title"
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{name} {style}-text">',
        f'<title id="{name}">{shown(title)}</title><desc id="{style}-text">{description}</desc>',
        *(_grid(most, len(rows)) if by_factors else ()),
    ]
    for index, (decade, count) in enumerate(rows):
        length = _length(count, most, by_factors=by_factors)
        parts.append(_bar(index, length, style, (_decade(decade), f"{count:,}")))
    return "\n".join([*parts, "</svg>"])


def is_by_factors(counts: Sequence[int]) -> bool:
    """Whether the axis is logarithmic, so that small counts are visible next to large counts."""
    return max(counts) >= _SPREAD * min(count for count in counts if count)


def _length(count: int, most: int, *, by_factors: bool) -> float:
    if not count:
        return 0
    share = log10(count / _ZERO) / log10(most / _ZERO) if by_factors else count / most
    return max(1.5, _LENGTH * share)


def _bar(index: int, length: float, style: str, texts: tuple[str, str]) -> str:
    top, base = index * _ROW + (_ROW - _THICK) / 2, index * _ROW + _ROW / 2 + 4.5
    drawn = f'<rect class="{style}" x="{_LABEL}" y="{top:g}" width="{length:.1f}" height="{_THICK}" rx="2"/>'
    label = f'<text x="{_LABEL - 10}" y="{base:g}" text-anchor="end">{texts[0]}</text>'
    return f'{label}{drawn if length else ""}<text x="{_LABEL + length + 7:.1f}" y="{base:g}">{texts[1]}</text>'


def _grid(most: int, rows: int) -> list[str]:
    lines = []
    for power in range(len(str(most))):
        x, bottom = _LABEL + _length(10**power, most, by_factors=True), rows * _ROW
        lines.append(f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{bottom + 4}"/>')
        lines.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{_rounded(power)}</text>')
    return lines


def _decade(power: int) -> str:
    """`10 to 99`; from a thousand on `1 k to 10 k`, where the end is not part of the interval."""
    if power < 3:
        return f"{10**power} to {10 ** (power + 1) - 1}"
    return f"{_rounded(power)} to {_rounded(power + 1)}"


def _rounded(power: int) -> str:
    thousands, rest = divmod(power, 3)
    return f"{10**rest}{_SUFFIXES[thousands]}"
