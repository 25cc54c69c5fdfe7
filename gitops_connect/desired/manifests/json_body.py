"""A manifest as one JSON text: the body of GET and PATCH `/connectors/NAME/offsets`, or the list alone (KIP-875)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.desired.manifests.json_values import JsonValues
from gitops_connect.model.entry_texts import Body
from gitops_connect.model.unreadable import ENCODING, Place
from gitops_connect.model.utf8 import stray_in


def read(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entries, each with the place of its beginning. Raises Unreadable."""
    values = JsonValues()

    def add_doubts(_text: str, place: Place) -> None:
        """Add the faults inside the value that was read last."""
        for doubt in values.doubts:
            faults.add(doubt.rule, doubt.found, place)

    for entry in Body([text], values.scan, add_doubts, faults.add).entries():
        place = Place(entry.line, entry.column)
        if stray := stray_in(entry.text):
            faults.add(ENCODING, stray[1], place)
            continue
        add_doubts(entry.text, place)
        if not values.doubts:
            yield entry.value, place
