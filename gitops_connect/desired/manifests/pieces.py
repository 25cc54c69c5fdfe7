"""The strict reader for a part of a manifest: the engine reads large manifests in many processes.

It uses the functions of `parse`, so the messages for faults are equal. Executors import this.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.desired.manifests import content, json_lines
from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.model.large_manifests import LineFault, LinesRead
from gitops_connect.model.unreadable import START, Unreadable


class _AllFaults(Faults):
    """Collects every fault without a limit: readers of parts count in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[LineFault] = []

    def add(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        self.all.append(LineFault(rule, found, *place))


def read_lines(text: str) -> LinesRead:
    """The entry of each line that is not only whitespace."""
    faults = _AllFaults()
    entries = [(value, place.line, place.column) for value, place in json_lines.read(text, faults)]
    return LinesRead(entries, faults.all)


def refuse(start: bytes) -> LineFault | None:
    """Why a file that begins with these bytes is not text."""
    try:
        next(content.unpack(start, ""), None)
        content.decode(start[:4])
    except Unreadable as error:
        return LineFault(error.rule, error.found, *error.place)
    return None


def unpack(packed: content.Content, compression: str) -> Iterator[bytes | LineFault]:
    """The content of a compressed file in pieces; a fault that ends it comes last."""
    try:
        yield from content.unpack(packed, compression)
    except Unreadable as error:
        yield LineFault(error.rule, error.found, *error.place)
