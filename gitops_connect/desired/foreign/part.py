"""A field of a document with everything below it: its value, its source text and its location."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document, Pointer


@dataclass(frozen=True, slots=True)
class Part:
    """The value at `pointer`. The root of a JSON file may also be a list."""

    document: Document
    value: Any = field(repr=False)
    pointer: Pointer = ()

    @staticmethod
    def of(document: Document) -> Part:
        """The whole document."""
        return Part(document, document.value)

    @property
    def location(self) -> Location:
        """The location of the value."""
        return self.document.locate(self.pointer) if self.pointer else self.document.location

    @property
    def text(self) -> str | None:
        """A string, or the source text of a number or a boolean; None for null, lists and mappings."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None or isinstance(self.value, dict | list):
            return None
        return self.document.texts.get(self.pointer, str(self.value))

    def get(self, *keys: str) -> Part:
        """A field, or a field below it. Its value is None if it does not exist."""
        found = self
        for key in keys:
            value = found.value.get(key) if isinstance(found.value, Mapping) else None
            found = Part(found.document, value, (*found.pointer, key))
        return found

    def fields(self) -> Iterator[tuple[str, Part]]:
        """The fields of a mapping; nothing for another value."""
        if isinstance(self.value, Mapping):
            yield from ((key, self.get(key)) for key in self.value)

    def items(self) -> Iterator[Part]:
        """The items of a list; nothing for another value."""
        if isinstance(self.value, list):
            yield from (Part(self.document, one, (*self.pointer, at)) for at, one in enumerate(self.value))
