"""What a reader finds in one file: connectors, and what it did not understand, each with its place.

And the fields of documents, each with its place, and their values as the strings that Connect stores.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_connect.documents.encoding import Refused, decode
from gitops_connect.documents.fields import CLASS, NAME
from gitops_connect.exchange.declarations import BodyFile, ConnectorDeclaration, FileFormat, FileReading, reference_of
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.findings import word_or_kind
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.suggestions import did_you_mean

Place = Location | tuple[int, int]
"""A location, or a line and a column of the file."""
ExpressionOf = Callable[[object], str | None] | None
"""Gives the expression of a value that is not in the file, or None."""
MAX_CONNECTORS = 10_000
MAX_KEYS = 100_000
"""Connectors, and their config keys: of one file, and of all files of a command. Each is kept until all are written."""
NO_CONNECTOR = "convert/no-connector"
_MAX_NOTES = 3
_MAX_PROBLEMS = 100
"""Problems of one rule in one file that are listed."""
MAX_TEXT = 1024 * 1024
"""Characters of a script, and of a text inside a file. People write scripts."""
_MAX_DEPTH = 4
"""Levels of texts in texts, such as a body in a script in a ConfigMap."""
_LONGEST_SUMMARY = 2000
"""Characters: a summary may quote a value of 10 MiB."""


_STATES = {one.value: one for one in (TargetState.RUNNING, TargetState.PAUSED, TargetState.STOPPED)}
OF_DEPLOYMENT = re.compile(
    r"app\.kubernetes\.io/(?:managed-by|instance)$|(?:[\w-]+\.)*(?:helm\.sh|argoproj\.io|fluxcd\.io|config\.kubernetes\.io)/"
)
"""Labels and annotations of Helm, Argo CD, Flux and Kustomize, which say how the resource came to Kubernetes."""


class LineStarts:
    """The indexes at which the lines of a text begin: found once, so that each place costs little."""

    def __init__(self, text: str) -> None:
        self._starts = array("I", [0])
        self._starts.extend(found.end() for found in re.finditer("\n", text))

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of the index, from 1."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def index(self, line: int, column: int) -> int:
        """The index of a place; of the last line if there is no such line."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1


@dataclass(slots=True)
class TextBudget:
    """How much is read of the texts inside a file and inside each other: a text may be used again and again."""

    depth: int = 0
    _characters: int = 4 * MAX_TEXT
    _count: int = MAX_CONNECTORS

    def take(self, size: int, where: tuple[int, int]) -> None:
        """Begin a text, which ends with `depth -= 1`. Raises Refused."""
        self._characters -= size
        self._count -= 1
        if size > MAX_TEXT:
            raise Refused("document/too-large", "a script or a text inside the file is larger than 1 MiB", where)
        if self.depth == _MAX_DEPTH or self._characters < 0 or self._count < 0:
            summary = f"the texts inside the file have more than {_MAX_DEPTH} levels, {MAX_CONNECTORS:,} texts or 4 MiB"
            raise Refused("document/too-many", summary, where, "split it")
        self.depth += 1


@dataclass(slots=True)
class Findings:
    """What was found so far in the file at `path`.

    `given` is the name of a connector that has none in the file. `texts` are those inside the file.
    """

    path: str
    given: str = ""
    texts: TextBudget = field(default_factory=TextBudget)
    files: list[BodyFile] = field(default_factory=list)
    declarations: list[ConnectorDeclaration] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    resources: list[Document] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _keys: int = 0
    _counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    _name: ConnectorName | None = None
    _failed: bool = False
    _source: tuple[str, LineStarts] | None = None

    @property
    def count(self) -> int:
        """The number of connectors, of other files and of problems that were found."""
        connectors = len(self.declarations) + len(self.documents) + len(self.resources)
        return connectors + len(self.files) + len(self.diagnostics)

    def begin(self, name: str | None) -> None:
        self._name = ConnectorName(name) if name else None
        self._failed = False

    def draft(
        self,
        name: str | None,
        file_format: FileFormat,
        where: Place,
        unnamed: str = "the connector has no name",
        hint: str = "",
    ) -> ConnectorDeclaration | None:
        """A connector of that name; an error if it has none. What follows is about this connector."""
        self.begin(name)
        if name:
            return ConnectorDeclaration(ConnectorName(name), file_format, self._location(where))
        self.error("convert/name", unnamed, where, hint)
        return None

    def declare(self, draft: ConnectorDeclaration) -> None:
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
            self._count_keys(draft)
            draft.config.pop(NAME, None)
            draft.unknown.pop(NAME, None)
            self.declarations.append(draft)
        self.begin(None)

    def error(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        """Something that is not converted."""
        self._failed = True
        self._add(Severity.ERROR, rule, summary, where, hint)

    def warning(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        """Something that is left out, or that may not be what the author meant."""
        self._add(Severity.WARNING, rule, summary, where, hint)

    def note(self, rule: str, summary: str, where: Place, hint: str = "") -> None:
        self._add(Severity.NOTE, rule, summary, where, hint)

    def reading(self) -> FileReading:
        for (severity, rule), count in self._counts.items():
            if count > (most := _most(severity, rule)):
                summary = f"{count - most:,} more problems of this rule in this file are not listed"
                self.diagnostics.append(Diagnostic(severity, rule, summary, Location(self.path)))
        problems = any(one.severity is not Severity.NOTE and one.rule != NO_CONNECTOR for one in self.diagnostics)
        return FileReading(
            declarations=tuple(self.declarations),
            documents=tuple(self.documents),
            resources=tuple(self.resources),
            diagnostics=Diagnostics.of(self.diagnostics),
            files=tuple(self.files),
            recognized=bool(self.declarations or self.documents or self.resources or problems),
        )

    def source(self, content: bytes) -> tuple[str, LineStarts]:
        """The text of the file, which is decoded once. Raises Refused."""
        if self._source is None:
            text = decode(content)
            self._source = text, LineStarts(text)
        return self._source

    def add(self, reading: FileReading, move: Callable[[Location], Location]) -> None:
        """Add what was found in a text of this file. `move` returns the location in this file. Raises Refused."""
        for one in reading.declarations:
            places = {key: move(place) for key, place in one.places.items()}
            moved = replace(one, location=move(one.location), places=places)
            self._count_keys(moved)
            self.declarations.append(moved)
        for diagnostic in reading.diagnostics:
            if (diagnostic.severity, diagnostic.rule) == (Severity.NOTE, NO_CONNECTOR):
                continue
            self._name = diagnostic.connector
            place = move(diagnostic.location)
            self._add(diagnostic.severity, diagnostic.rule, diagnostic.summary, place, diagnostic.hint)
        self._name = None
        self.documents += (_moved(one, move) for one in reading.documents)
        self.resources += (_moved(one, move) for one in reading.resources)
        self.files += (replace(one, location=move(one.location)) for one in reading.files)

    def _count_keys(self, one: ConnectorDeclaration) -> None:
        self._keys += len(one.config) + len(one.unknown)
        if len(self.declarations) == MAX_CONNECTORS or self._keys > MAX_KEYS:
            raise too_many(one.location)

    def _add(self, severity: Severity, rule: str, summary: str, where: Place, hint: str) -> None:
        self._counts[severity, rule] += 1
        if self._counts[severity, rule] > _most(severity, rule):
            return
        if len(summary) > _LONGEST_SUMMARY:
            summary = f"{summary[:_LONGEST_SUMMARY]}… ({len(summary)} characters)"
        self.diagnostics.append(Diagnostic(severity, rule, summary, self._location(where), hint, self._name))

    def _location(self, where: Place) -> Location:
        return where if isinstance(where, Location) else Location(self.path, *where)


def _moved(document: Document, move: Callable[[Location], Location]) -> Document:
    file = document.location.file
    moved = {pointer: move(Location(file, *place)) for pointer, place in document.positions.items()}
    positions = {pointer: (place.line, place.column) for pointer, place in moved.items()}
    return replace(document, location=move(document.location), positions=positions)


def _most(severity: Severity, rule: str) -> int:
    """The problems of a rule that are listed. A file with data may have thousands of documents without connectors."""
    return _MAX_NOTES if (severity, rule) == (Severity.NOTE, NO_CONNECTOR) else _MAX_PROBLEMS


def too_many(where: Location) -> Refused:
    summary = f"the file has more than {MAX_CONNECTORS:,} connectors or {MAX_KEYS:,} config keys"
    return Refused("document/too-many", summary, (where.line, where.column), "split it into several files")


@dataclass(frozen=True, slots=True)
class Part:
    """The value at `pointer`. The root of a JSON file may also be a list."""

    document: Document
    value: Any = field(repr=False)
    pointer: Pointer = ()

    @staticmethod
    def of(document: Document) -> Part:
        return Part(document, document.value)

    @property
    def location(self) -> Location:
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


def add_config(draft: ConnectorDeclaration, part: Part, findings: Findings, expression_of: ExpressionOf = None) -> None:
    """Add the fields of a mapping to the config of the draft: each number and boolean in its source text."""
    for key, value in part.fields():
        draft.places[key] = value.location
        if expression_of and (expression := expression_of(value.value)) is not None:
            draft.unknown[key] = expression
        elif value.value is None:
            # the key is not shown: it may be a part of a secret, as `y` in `{a: x,y}`
            summary = "this config key has no value: it is left out"
            findings.warning("convert/null", summary, value.location, "set a value, or remove the key")
        elif value.text is None:
            found = "a list" if isinstance(value.value, list) else "a mapping"
            summary = f"the value of {key!r} is {found}, expected a string: Connect stores strings only"
            findings.error("convert/value", summary, value.location, "write the value as one string")
        else:
            draft.config[key] = value.text


def state_of(part: Part, findings: Findings) -> TargetState:
    """The state that the value names, in any case; `running` without a value."""
    if part.value is None:
        return TargetState.RUNNING
    state = _STATES.get(str(part.value).lower())
    if state is None:
        expected = ", ".join(_STATES)
        found, suggestion = word_or_kind(part.value), did_you_mean(str(part.value), _STATES)
        summary = f"the state is {found}, expected one of {expected}{suggestion}"
        findings.error("convert/value", summary, part.location)
    return state or TargetState.RUNNING


def texts_of(part: Part, findings: Findings) -> dict[str, str]:
    """Labels or annotations, without those of a deployment."""
    found = {}
    for key, value in part.fields():
        if OF_DEPLOYMENT.match(key):
            continue
        if value.text is None:
            findings.warning("convert/null", f"the value of {key!r} is no string: the key is left out", value.location)
        else:
            found[key] = value.text
    return found


def leave_out(texts: dict[str, str], own: str | tuple[str, ...], owner: str, part: Part, findings: Findings) -> None:
    """Remove the labels or annotations with these prefixes, which mean something to their owner only."""
    for key in [key for key in texts if key.startswith(own)]:
        del texts[key]
        findings.warning("convert/unknown-field", f"only {owner} uses {key!r}: it is left out", part.get(key).location)


def warn_of_unknown(part: Part, known: Collection[str], what: str, findings: Findings) -> None:
    """A warning for each field that is not among the known ones."""
    for key, value in part.fields():
        if key not in known:
            summary = f"{what} has no field {key!r}: it is left out{did_you_mean(key, known)}"
            findings.warning("convert/unknown-field", summary, value.location)
