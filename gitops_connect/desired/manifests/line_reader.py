"""The strict reader for a part of a manifest: the engine reads large manifests in many processes.

It uses the functions of `parse`, so the messages for faults are equal. Executors import this.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.desired.manifests import content, json_lines
from gitops_connect.desired.manifests.faults import NO_LIMIT, Faults
from gitops_connect.model.large_manifests import LineFault, LinesRead
from gitops_connect.model.unreadable import Unreadable


def read_lines(text: str) -> LinesRead:
    """The entry of each line that is not only whitespace."""
    faults = Faults(NO_LIMIT)
    entries = [(value, place.line, place.column) for value, place in json_lines.read(text, faults)]
    return LinesRead(entries, [fault for _, fault in faults.listed])


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
