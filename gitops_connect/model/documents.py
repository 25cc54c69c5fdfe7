"""A YAML or JSON document of the repository as it was read, with the place of every field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.diagnostics import Diagnostics, Location

Pointer = tuple[str | int, ...]
"""The way from a document's root to a field: keys and list indices, as in `("spec", "config", "file")`."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One file of a checkout: its path from the repository's folder, its content's id, its bytes.

    The id is git's blob id, so that what was parsed once is known again.
    """

    path: str
    blob_id: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """One document: plain values, and where each field stands (line and column, from 1)."""

    location: Location
    value: Mapping[str, Any]
    positions: Mapping[Pointer, tuple[int, int]]

    def locate(self, pointer: Pointer) -> Location:
        """The place of that field, or of the nearest one around it."""
        while pointer:
            if pointer in self.positions:
                line, column = self.positions[pointer]
                return Location(self.location.file, line, column)
            pointer = pointer[:-1]
        return self.location


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents of a revision. `complete` is False where a file could not be read at all.

    What an unreadable file declares is unknown, so nothing may be called undeclared (and pruned) beside it.
    """

    documents: tuple[Document, ...]
    diagnostics: Diagnostics
    complete: bool
