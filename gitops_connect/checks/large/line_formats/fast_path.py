"""Finds the lines of a text that match a known form and are therefore valid, and returns their canonical form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.checks.large.line_formats.layouts import Admits, LineBuffer, LineFormat, MatchedLines

_PARTITION, _OFFSET, _END = b'{"partition":', b',"offset":', b"}\n"


def match_lines(lines: LineBuffer, line_format: LineFormat | None) -> tuple[list[MatchedLines], NDArray[np.intp]]:
    """The lines by their forms, and the numbers of the lines that match none."""
    found = []
    left, is_slow = lines.in_utf8, np.ones(len(lines), np.bool_)
    for form in () if line_format is None else line_format.forms:
        if not len(left):
            break
        array = lines.array if len(left) == len(lines) else lines.array.take(pa.array(left))
        well = pc.match_substring_regex(array, form.pattern).to_numpy(zero_copy_only=False)
        for span, admits, expected in form.filters:
            well = well.copy()
            well[well] = _admitted(lines.of(form, left[well]).array(span), admits) == expected
        if well.any():
            found.append(lines.of(form, left[well]))
            is_slow[left[well]] = False
            left = left[~well]
    return found, np.flatnonzero(is_slow)


def _admitted(texts: Any, admits: Admits) -> NDArray[np.bool_]:
    """Whether the connector reads each string: there are fewer topics than lines."""
    found = texts.dictionary_encode()
    known = np.array([admits(text) for text in found.dictionary.to_pylist()], np.bool_)
    return np.asarray(known[found.indices.to_numpy(zero_copy_only=False)])


def canonical_lines(content: bytes, line_format: LineFormat | None) -> Any:
    """Each line as it is sent, with a line feed, as an Arrow array; null if it matches no known form."""
    lines = LineBuffer(content)
    found, left = match_lines(lines, line_format)
    if len(found) == 1 and not len(left) and found[0].form.is_canonical and b"\r" not in content:
        return lines.array
    arrays = [
        one.texts((_PARTITION, *one.form.partition, _OFFSET, *(one.form.offset or (b"null",)), _END)) for one in found
    ]
    return _in_order(arrays, found, left)


def canonical_partitions(content: bytes, line_format: LineFormat | None) -> Any:
    """The canonical partition of each line, as an Arrow array; null if the line matches no known form."""
    found, left = match_lines(LineBuffer(content), line_format)
    return _in_order([one.texts(one.form.partition) for one in found], found, left)


def _in_order(arrays: list[Any], found: list[MatchedLines], left: NDArray[np.intp]) -> Any:
    order = np.argsort(np.concatenate([*(one.rows for one in found), left]), kind="stable")
    return pa.concat_arrays([*arrays, pa.nulls(len(left), pa.string())]).take(pa.array(order))
