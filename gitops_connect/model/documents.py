"""A YAML or JSON document of the repository as it was read, with the place of every field."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName
from gitops_connect.model.suggestions import closest

Pointer = tuple[str | int, ...]
"""The way from a document's root to a field: keys and list indices, as in `("spec", "config", "file")`."""

CONNECTOR = "Connector"
OFFSET_CHANGE = "OffsetChange"
KINDS = (CONNECTOR, OFFSET_CHANGE)
"""Every kind of document."""


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
    """One document: plain values, and where each field stands (line and column, from 1).

    `texts` holds the source text of every scalar that is not a text by itself (`1.10`, `0777`, `True`), as Connect
    keeps texts and must get what was written.
    """

    location: Location
    value: Mapping[str, Any] = field(repr=False)
    positions: Mapping[Pointer, tuple[int, int]] = field(repr=False)
    texts: Mapping[Pointer, str] = field(default_factory=dict, repr=False)

    @property
    def is_offset_change(self) -> bool:
        """Whether it is meant to be an `OffsetChange`: a kind that is misspelt or left out makes no connector of it."""
        kind = self.value.get("kind")
        if kind is None:
            return "operation" in self._section("spec")
        if kind in KINDS:
            return bool(kind == OFFSET_CHANGE)
        return isinstance(kind, str) and closest(kind, KINDS) == OFFSET_CHANGE

    @property
    def connector(self) -> ConnectorName | None:
        """The connector that it speaks of, as far as that can be told before anything is checked."""
        spoken_of = self._section("spec").get("connector") if self.is_offset_change else self._name
        return ConnectorName(spoken_of) if isinstance(spoken_of, str) and spoken_of else None

    @property
    def operation(self) -> OperationName | None:
        """The name of an `OffsetChange`, likewise; None for what is none."""
        return OperationName(self._name) if self.is_offset_change and self._name is not None else None

    @property
    def cluster(self) -> ClusterName | None:
        """The cluster that it names, likewise. The folder that it lies in may name one too."""
        cluster = self._section("metadata").get("cluster")
        return ClusterName(cluster) if isinstance(cluster, str) and cluster else None

    @property
    def _name(self) -> str | None:
        name = self._section("metadata").get("name")
        return name if isinstance(name, str) and name else None

    def _section(self, key: str) -> Mapping[str, Any]:
        section = self.value.get(key)
        return section if isinstance(section, Mapping) else {}

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
    """All documents of a revision, sorted by place. `complete` is False where something could not be read at all.

    What an unreadable file declares is unknown, so nothing may be called undeclared (and pruned) beside it. `broken`
    were read with errors (the diagnostics say which): their fields are good for nothing but to tell which connector
    is meant. `ignored` counts the YAML and JSON files that hold no document of ours.
    """

    documents: tuple[Document, ...]
    diagnostics: Diagnostics
    complete: bool
    broken: tuple[Document, ...] = ()
    ignored: int = 0

    def at(self, location: Location) -> Document | None:
        """The document that a place lies in: the last one of its file that begins there or before."""
        index = bisect_right(self.documents, location, key=lambda document: document.location)
        found = self.documents[index - 1] if index else None
        return found if found is not None and found.location.file == location.file else None
