"""Collects what a reader finds in one file: connectors, and what it did not understand, each with its place."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.documents.fields import CLASS, NAME
from gitops_connect.documents.nodes import Refused
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, FileReading, reference_of
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ClusterName, ConnectorName

Place = Location | tuple[int, int]
"""A location, or a line and a column of the file."""
MAX_CONNECTORS = 10_000
MAX_KEYS = 100_000
"""Connectors, and their config keys: of one file, and of all files of a command. Each is kept until all are written."""
_MAX_PROBLEMS = 100
"""Problems of one rule in one file that are listed."""
_LONGEST_SUMMARY = 2000
"""Characters: a summary may quote a value of 10 MiB."""


@dataclass(slots=True)
class Draft:
    """A connector while its file is read. `ConnectorDeclaration` explains the fields."""

    name: str
    format: FileFormat
    location: Location
    config: dict[str, str] = field(default_factory=dict, repr=False)
    state: TargetState = TargetState.RUNNING
    cluster: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    sensitive: set[str] = field(default_factory=set)
    fields: dict[str, Any] = field(default_factory=dict, repr=False)
    places: dict[str, Location] = field(default_factory=dict, repr=False)

    def locate(self, key: str) -> Location:
        """The location of a config key."""
        return self.places.get(key, self.location)

    def place(self, key: str, location: Location) -> None:
        """Set the location of a config key. Raises Refused if there are too many keys."""
        self.places[key] = location
        if len(self.places) > MAX_KEYS:
            raise too_many(location)

    def finish(self) -> ConnectorDeclaration:
        """The connector, complete."""
        return ConnectorDeclaration(
            name=ConnectorName(self.name),
            format=self.format,
            location=self.location,
            config={key: value for key, value in self.config.items() if key != NAME},
            state=self.state,
            cluster=ClusterName(self.cluster) if self.cluster else None,
            labels=self.labels,
            annotations=self.annotations,
            unknown={key: expression for key, expression in self.unknown.items() if key != NAME},
            sensitive=frozenset(self.sensitive),
            fields=self.fields,
            places=self.places,
        )


@dataclass(slots=True)
class Findings:
    """What was found so far in the file at `path`."""

    path: str
    declarations: list[ConnectorDeclaration] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    resources: list[Document] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _keys: int = 0
    _counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    _name: ConnectorName | None = None
    _failed: bool = False

    def begin(self, name: str | None) -> None:
        """What follows is about this connector."""
        self._name = ConnectorName(name) if name else None
        self._failed = False

    def declare(self, draft: Draft) -> None:
        """Add the connector, unless there was an error since `begin`. Raises Refused if there are too many."""
        within = draft.config.get(NAME, draft.name)
        if within != draft.name:
            summary = f"the config names the connector {within!r}, but its name is {draft.name!r}"
            self.error("convert/name", summary, draft.locate(NAME), "correct one of the names")
        if CLASS not in draft.config:
            unknown = draft.unknown.get(CLASS)
            why = f"its connector.class is {reference_of(unknown)}" if unknown else "its config has no connector.class"
            summary = f"the class of the connector {draft.name!r} is unknown: {why}"
            self.error("convert/class", summary, draft.locate(CLASS), "write the class of the plugin")
        if not self._failed:
            self._keys += len(draft.config) + len(draft.unknown)
            if len(self.declarations) == MAX_CONNECTORS or self._keys > MAX_KEYS:
                raise too_many(draft.location)
            self.declarations.append(draft.finish())
        self.begin(None)

    def error(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        """Something that is not converted."""
        self._failed = True
        self._add(Severity.ERROR, rule, summary, where, hint)

    def warning(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        """Something that is left out, or that may not be what the author meant."""
        self._add(Severity.WARNING, rule, summary, where, hint)

    def note(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        """Something that declares no connector."""
        self._add(Severity.NOTE, rule, summary, where, hint)

    def reading(self) -> FileReading:
        """What was found in the whole file."""
        for (severity, rule), count in self._counts.items():
            if count > _MAX_PROBLEMS:
                summary = f"{count - _MAX_PROBLEMS:,} more problems of this rule in this file are not listed"
                self.diagnostics.append(Diagnostic(severity, rule, summary, Location(self.path)))
        problems = any(one.severity is not Severity.NOTE for one in self.diagnostics)
        return FileReading(
            declarations=tuple(self.declarations),
            documents=tuple(self.documents),
            resources=tuple(self.resources),
            diagnostics=Diagnostics.of(self.diagnostics),
            recognized=bool(self.declarations or self.documents or self.resources or problems),
        )

    def _add(self, severity: Severity, rule: str, summary: str, where: Place, hint: str) -> None:
        self._counts[severity, rule] += 1
        if self._counts[severity, rule] > _MAX_PROBLEMS:
            return
        location = where if isinstance(where, Location) else Location(self.path, *where)
        if len(summary) > _LONGEST_SUMMARY:
            summary = f"{summary[:_LONGEST_SUMMARY]}… ({len(summary)} characters)"
        self.diagnostics.append(Diagnostic(severity, rule, summary, location, hint, self._name))


def too_many(where: Location) -> Refused:
    """The refusal of a file with too many connectors or config keys."""
    summary = f"the file has more than {MAX_CONNECTORS:,} connectors or {MAX_KEYS:,} config keys"
    return Refused("document/too-many", summary, (where.line, where.column), "split it into several files")


class LineStarts:
    """The indexes at which the lines of a text begin: found once, so that each place costs little."""

    def __init__(self, text: str) -> None:
        self._starts = array("I", [0])
        self._starts.extend(found.end() for found in re.finditer("\n", text))

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of the index, from 1."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1
