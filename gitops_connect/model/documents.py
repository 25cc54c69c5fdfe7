"""A YAML or JSON document of the repository as it was read, with the location of every field."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.suggestions import closest

T = TypeVar("T")

Pointer = tuple[str | int, ...]
"""The path from a document's root to a field: keys and list indices, as in `("spec", "config", "file")`."""

CONNECTOR = "Connector"
OFFSET_CHANGE = "OffsetChange"
KINDS = (CONNECTOR, OFFSET_CHANGE)
EMPTY: Mapping[Any, Any] = MappingProxyType({})
"""One object for everything that has no entries: thousands of empty dicts would need 64 bytes each."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One file: its path from the root, Git's blob id (which identifies content that was parsed), and its bytes."""

    path: str
    blob_id: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """One document: plain values, and the position of each field (line and column, from 1).

    `texts` has the source text of every scalar that is not a string in YAML (`1.10`, `0777`, `True`): Connect stores
    strings and must get exactly what was written.
    """

    location: Location
    value: Mapping[str, Any] = field(repr=False)
    positions: Mapping[Pointer, tuple[int, int]] = field(repr=False)
    texts: Mapping[Pointer, str] = field(default_factory=lambda: EMPTY, repr=False)
    resource: Document | None = field(default=None, repr=False, compare=False)
    """The Strimzi resource that was translated to this document, or None."""
    annotations: Mapping[Pointer, str] = field(default_factory=lambda: EMPTY, repr=False)
    """The annotations of the resource that request a field, as in `strimzi.io/restart: true`."""

    @property
    def is_offset_change(self) -> bool:
        """Whether the document is meant to be an `OffsetChange`, even if its kind is misspelt or missing."""
        kind = self.value.get("kind")
        if kind is None:
            return "operation" in self.section("spec")
        if kind in KINDS:
            return bool(kind == OFFSET_CHANGE)
        return isinstance(kind, str) and closest(kind, KINDS) == OFFSET_CHANGE

    @property
    def connector(self) -> ConnectorName | None:
        """The connector that the document names, or None if it names none. The document need not be valid."""
        name = self.section("spec").get("connector") if self.is_offset_change else self._name
        return ConnectorName(name) if isinstance(name, str) and name else None

    @property
    def offset_change(self) -> OffsetChangeName | None:
        """The name of an `OffsetChange` that need not be valid, or None for another kind or without a name."""
        return OffsetChangeName(self._name) if self.is_offset_change and self._name is not None else None

    @property
    def cluster(self) -> ClusterName | None:
        """The cluster that the document names, or None. The directory of its file may also name a cluster."""
        cluster = self.section("metadata").get("cluster")
        return ClusterName(cluster) if isinstance(cluster, str) and cluster else None

    @property
    def _name(self) -> str | None:
        name = self.section("metadata").get("name")
        return name if isinstance(name, str) and name else None

    def section(self, key: str) -> Mapping[str, Any]:
        """The mapping in a field of the root; empty if there is none. The document need not be valid."""
        section = self.value.get(key)
        return section if isinstance(section, Mapping) else {}

    def error(self, rule: str, summary: str, pointer: Pointer, hint: str = "") -> Diagnostic:
        """An error about a field, which blocks the connector that the document names."""
        return Diagnostic(Severity.ERROR, rule, summary, self.locate(pointer), hint, self.connector)

    def locate(self, pointer: Pointer) -> Location:
        """The location of that field, or of the nearest field that contains it."""
        while pointer:
            if pointer in self.positions:
                line, column = self.positions[pointer]
                return Location(self.location.file, line, column)
            pointer = pointer[:-1]
        return self.location


class DocumentCache(Generic[T]):
    """A result for each document of the last revision; results of deleted documents are removed.

    Documents are distinguished by identity: the parser's cache returns the same object for the same content, and while
    an object is stored here, no other object can have its identity.
    """

    def __init__(self) -> None:
        self._known: Mapping[int, tuple[Document, T]] = {}
        self._options: object = None

    def results(
        self, documents: Iterable[Document], result: Callable[[Document], T], options: object = None
    ) -> list[T]:
        """The results, of which only new ones are computed. If the options change, all of them are new."""
        known = self._known if options == self._options else {}
        every = tuple(documents)
        found = {id(one): known.get(id(one)) or (one, result(one)) for one in every}
        self._known, self._options = found, options
        return [found[id(one)][1] for one in every]


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a revision or of a file, sorted by location. `complete` is False if a file could not be read.

    What an unreadable file declares is unknown, so no connector may be called undeclared, or pruned, while there is
    such a file. `broken` documents were read with errors, which are in the diagnostics: their fields only serve to find
    out which connector they name. `ignored` counts the YAML and JSON files without any document of gitops-connect.
    `strimzi` are the resources of Strimzi, and the ConfigMaps that they may name; `broken_strimzi` are resources that
    were read with errors. `documents` contains their connectors once they are translated.
    """

    documents: tuple[Document, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    complete: bool = True
    broken: tuple[Document, ...] = ()
    ignored: int = 0
    strimzi: tuple[Document, ...] = ()
    broken_strimzi: tuple[Document, ...] = ()

    @staticmethod
    def merged(parts: Iterable[Documents]) -> Documents:
        parts = tuple(parts)
        return Documents(
            documents=tuple(document for part in parts for document in part.documents),
            diagnostics=Diagnostics.of(item for part in parts for item in part.diagnostics),
            complete=all(part.complete for part in parts),
            broken=tuple(document for part in parts for document in part.broken),
            strimzi=tuple(resource for part in parts for resource in part.strimzi),
            broken_strimzi=tuple(resource for part in parts for resource in part.broken_strimzi),
        )

    def at(self, location: Location) -> Document | None:
        """The document that contains a location: the last one of the file that begins at or before the location."""
        index = bisect_right(self.documents, location, key=lambda document: document.location)
        found = self.documents[index - 1] if index else None
        return found if found is not None and found.location.file == location.file else None

    def of(self, problem: Diagnostic) -> Document | None:
        """The document with that problem. If documents of a Strimzi resource begin together, the connector decides."""
        found = self.at(problem.location)
        if found is None or found.resource is None:
            return found
        begin = bisect_left(self.documents, found.location.file, key=lambda document: document.location.file)
        end = bisect_right(self.documents, found.location.file, key=lambda document: document.location.file)
        same_file = (one for one in self.documents[begin:end] if one.resource is not None)
        return next((one for one in same_file if one.connector == problem.connector), found)


# A file of the repository that is listed, and not read yet.


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path from the root, Git's blob id, and its size in bytes (None if Git has not fetched it)."""

    path: str
    blob_id: str
    size: int | None
