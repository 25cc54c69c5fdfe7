"""A manifest as JSON Lines: one entry per line. An unreadable line does not affect the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.desired.manifests.json_values import JsonValues, Misread
from gitops_connect.desired.manifests.lines import Lines
from gitops_connect.model.unreadable import ENCODING, SYNTAX, Place, shown
from gitops_connect.model.utf8 import stray_in

_BLANK = " \t\r\n"
_CONTENT = re.compile(r"[^ \t\r\n][^\n]*")


def read(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entry of each line that is not only whitespace."""
    lines, values = Lines(text), JsonValues()
    has_strays = stray_in(text) is not None
    for found in _CONTENT.finditer(text):
        content, place = found.group().rstrip(_BLANK), lines.place(found.start())
        if has_strays and (stray := stray_in(content)):
            faults.add(ENCODING, stray[1], (place.line, place.column + stray[0]))
            continue
        try:
            value, end, doubts = values.read(content, 0)
        except Misread as error:
            faults.add(SYNTAX, error.found, (place.line, place.column + error.position))
            continue
        rest = content[end:].lstrip(_BLANK)
        if rest:
            column = place.column + len(content) - len(rest)
            faults.add(SYNTAX, f"{shown(rest)} after the entry", (place.line, column))
            continue
        for doubt in doubts:
            faults.add(doubt.rule, doubt.found, place)
        if not doubts:
            yield value, place
