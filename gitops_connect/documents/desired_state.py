"""Builds the desired state of each cluster from documents. An error blocks only what its document declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from gitops_connect.documents import connector_rules, offset_change_fields
from gitops_connect.documents.fields import connector_of, secret_references
from gitops_connect.documents.offset_change_fields import ManifestFiles
from gitops_connect.model.desired import DesiredConnector, DesiredOffsetChange, DesiredState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained
from gitops_connect.model.documents import Document, DocumentCache, Documents, Entry
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, RequestedListing
from gitops_connect.model.suggestions import did_you_mean

States = Mapping[ClusterName, DesiredState]
Name = TypeVar("Name", ConnectorName, OffsetChangeName)
_MOST_PLACES = 5
"""Other documents of the same name that an error lists: each of 10,000 documents has such an error."""


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """An offset change that annotations request, as an `OffsetChange` document with positions in their resource.

    `problem` is why it cannot be carried out, empty if it can. It does not matter once the change was applied.
    """

    document: Document
    action: AnnotationAction
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Requests:
    changes: tuple[RequestedChange, ...] = ()
    listings: tuple[RequestedListing, ...] = ()
    warnings: tuple[AnnotationWarning, ...] = ()


def build(
    documents: Documents,
    clusters: Collection[ClusterName] | None,
    problems: Diagnostics,
    options: BuildOptions | None = None,
) -> tuple[States, Diagnostics]:
    """The state of every known cluster, and all errors and warnings of the documents, including `problems`.

    `clusters` are the names that the settings know. It is None if there are no settings: then any name is accepted, and
    documents that name no cluster are collected under `placement.UNNAMED`. `problems` are those of the schema: only
    documents without an error among them are read further.
    """
    options = options or BuildOptions()
    unsound = {id(document) for error in problems.errors if (document := documents.of(error)) is not None}
    unsound |= {id(document) for document in documents.broken}
    builder = _Builder(clusters, ManifestFiles(options.entries))
    every = (*documents.documents, *documents.broken)
    read = partial(_reading, unsound=frozenset(unsound))
    readings = options.cache.results(every, read, frozenset(unsound))
    for document, reading in zip(every, readings, strict=True):
        builder.add(document, reading, sound=id(document) not in unsound)
    builder.add_requests(options.requests)
    states = builder.states(complete=documents.complete)
    return states, Diagnostics.of((*documents.diagnostics, *problems, *builder.found))


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """What one document says, whatever else the repository contains: its connector, but no initial offsets."""

    secrets: tuple[Diagnostic, ...]
    problems: tuple[Diagnostic, ...] = ()
    connector: DesiredConnector | None = None


ReadingCache = DocumentCache[DocumentReading | Diagnostic]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What else the state is built from.

    `entries` are all files of the revision: manifests are searched among them, and are not read. `requests` are those
    of annotations of Strimzi resources. Documents in the cache are not read again.
    """

    entries: Iterable[Entry] = ()
    requests: Requests = field(default_factory=Requests)
    cache: ReadingCache = field(default_factory=ReadingCache)


def _reading(document: Document, *, unsound: Set[int]) -> DocumentReading | Diagnostic:
    """What the document says, or the bug that reading it has met."""
    sound = id(document) not in unsound
    return contained(partial(_read, document, sound=sound), document.location, document.connector)


def _read(document: Document, *, sound: bool) -> DocumentReading:
    secrets = tuple(connector_rules.check_clear_secrets(document))
    if not sound or document.is_offset_change:
        return DocumentReading(secrets)
    problems = tuple(connector_rules.check(document))
    return DocumentReading(secrets, problems, None if Diagnostics.of(problems).errors else connector_of(document))


@dataclass(slots=True)
class _StateDraft:
    documents: dict[ConnectorName, list[Document]] = field(default_factory=lambda: defaultdict(list))
    connectors: dict[ConnectorName, DesiredConnector] = field(default_factory=dict)
    changes: dict[OffsetChangeName, list[Document]] = field(default_factory=lambda: defaultdict(list))
    offset_changes: dict[OffsetChangeName, DesiredOffsetChange] = field(default_factory=dict)
    listings: list[RequestedListing] = field(default_factory=list)
    warnings: list[AnnotationWarning] = field(default_factory=list)


class _Builder:
    def __init__(self, clusters: Collection[ClusterName] | None, files: ManifestFiles) -> None:
        self._clusters = clusters
        self._files = files
        self._drafts = {name: _StateDraft() for name in clusters or ()}
        self.found: list[Diagnostic] = []
        self._homeless: dict[ConnectorName, list[Document]] = defaultdict(list)
        self._nameless = False

    def add(self, document: Document, reading: DocumentReading | Diagnostic, *, sound: bool) -> None:
        """Add one document to its cluster; a document that is not sound only blocks the connector that it names."""
        work = partial(self._add, document, reading, sound=sound)
        for bug in (reading, contained(work, document.location, document.connector)):
            if isinstance(bug, Diagnostic):
                self.found.append(bug)
                self._nameless = True  # the connector may not be blocked

    def _add(self, document: Document, reading: DocumentReading | Diagnostic, *, sound: bool) -> None:
        if isinstance(reading, DocumentReading):
            self.found.extend(reading.secrets)
        if document.is_offset_change:
            self._add_change(document, sound=sound)
            return
        name = document.connector
        if name is None:
            self._nameless = True
            return
        draft = self._draft(document)
        if draft is None:
            self._homeless[name].append(document)
            return
        draft.documents[name].append(document)
        if sound and isinstance(reading, DocumentReading):
            self._add_read(draft, document, reading)

    def _add_change(self, document: Document, *, sound: bool) -> None:
        """A broken offset change blocks nothing: no connector depends on its name, and none becomes undeclared."""
        draft = self._draft(document)
        if document.offset_change is not None and draft is not None:
            for one in offset_change_fields.for_each_connector(document):
                self._add_change_of_one(draft, one, sound=sound)

    def _add_change_of_one(self, draft: _StateDraft, document: Document, *, sound: bool) -> None:
        name = document.offset_change
        if name is None:
            return
        draft.changes[name].append(document)
        if not sound:
            return
        offset_change = offset_change_fields.change(document, self._files)
        if isinstance(offset_change, Diagnostic):
            self.found.append(offset_change)
        else:
            draft.offset_changes[name] = offset_change

    def add_requests(self, requests: Requests) -> None:
        """Add what annotations request to the clusters of their connectors, if the settings have these clusters."""
        for change in requests.changes:
            draft = self._known(change.document.cluster)
            offset_change = offset_change_fields.change(change.document, self._files)
            if draft is not None and isinstance(offset_change, DesiredOffsetChange):
                offset_change = replace(offset_change, annotation=change.action, problem=change.problem)
                draft.changes[offset_change.name].append(change.document)
                draft.offset_changes[offset_change.name] = offset_change
        for listing in requests.listings:
            if (draft := self._known(listing.cluster)) is not None:
                draft.listings.append(listing)
        for warning in requests.warnings:
            if (draft := self._known(warning.cluster)) is not None:
                draft.warnings.append(warning)
                self.found.append(warning.diagnostic())

    def _known(self, cluster: ClusterName | None) -> _StateDraft | None:
        return self._drafts.get(cluster) if cluster is not None else None

    def _draft(self, document: Document) -> _StateDraft | None:
        cluster = place(document, self._clusters)
        if isinstance(cluster, Diagnostic):
            self.found.append(cluster)
            return None
        return self._drafts.setdefault(cluster, _StateDraft())

    def _add_read(self, draft: _StateDraft, document: Document, reading: DocumentReading) -> None:
        self.found.extend(reading.problems)
        seed, connector = offset_change_fields.seed(document, self._files), reading.connector
        if isinstance(seed, Diagnostic):
            self.found.append(seed)
        elif connector is not None:
            draft.connectors[connector.name] = connector if seed is None else replace(connector, initial_offsets=seed)

    def states(self, *, complete: bool) -> States:
        """Every cluster's state; none is complete if a document does not name its connector."""
        complete = complete and not self._nameless
        return {cluster: self._state(cluster, draft, complete=complete) for cluster, draft in self._drafts.items()}

    def _state(self, cluster: ClusterName, draft: _StateDraft, *, complete: bool) -> DesiredState:
        shared = _repeated(draft.documents)
        for name, documents in shared.items():
            self.found += _shared(f"connector {name!r}", "connector/two-owners", cluster, documents, "keep one of them")
        repeated = _repeated(draft.changes)
        for change, documents in repeated.items():
            hint = "give each offset change its own name"
            self.found.extend(_shared(f"offset change {change!r}", "offsets/same-name", cluster, documents, hint))
        good = draft.offset_changes.keys() - repeated.keys()
        left_out = [document for name in draft.changes.keys() - good for document in draft.changes[name]]
        sound = {name: connector for name, connector in draft.connectors.items() if name not in shared}
        held = frozenset((draft.documents.keys() | self._homeless.keys()) - sound.keys())
        broken = {name: [*draft.documents.get(name, ()), *self._homeless.get(name, ())] for name in held}
        secrets = {
            name: frozenset(pair for one in broken[name] for pair in secret_references(one).items())
            for name in sorted(held)
        }
        return DesiredState(
            cluster=cluster,
            connectors=tuple(sound[name] for name in sorted(sound)),
            held=held,
            complete=complete,
            offset_changes=tuple(draft.offset_changes[name] for name in sorted(good)),
            listings=tuple(sorted(draft.listings, key=lambda one: one.name)),
            annotation_warnings=tuple(draft.warnings),
            broken_changes=frozenset(one.connector for one in left_out if one.connector is not None),
            held_secrets={name: pairs for name, pairs in secrets.items() if pairs},
        )


def _repeated(documents: Mapping[Name, list[Document]]) -> dict[Name, list[Document]]:
    return {name: same for name, same in documents.items() if len(same) > 1}


def _shared(
    what: str, rule: str, cluster: ClusterName, documents: Collection[Document], hint: str
) -> Iterable[Diagnostic]:
    """A connector has one owner: with two, each reconciliation would undo half. A name means one offset change."""
    places = [document.locate(("metadata", "name")) for document in documents]
    where = f" in cluster {cluster!r}" if cluster else ""
    different = len(set(places))
    for document, place_of in zip(documents, places, strict=True):
        others = ", ".join(map(str, islice((other for other in places if other != place_of), _MOST_PLACES)))
        more = f" and {different - 1 - _MOST_PLACES:,} more" if different - 1 > _MOST_PLACES else ""
        summary = f"{what}{where} is declared more than once: also at {others}{more}"
        yield Diagnostic(Severity.ERROR, rule, summary, place_of, hint, document.connector)


# The Connect cluster of a document: `metadata.cluster`, or its directory `clusters/NAME/`, or the only cluster.

FOLDER = "clusters"
UNNAMED = ClusterName("")
"""The cluster of a document that names none, if the clusters are unknown."""

_POINTER = ("metadata", "cluster")


def place(document: Document, clusters: Collection[ClusterName] | None) -> ClusterName | Diagnostic:
    """The document's cluster, or the error why it has none. `clusters` is None if there are no settings."""
    parts = document.location.file.split("/")  # deeper directories may belong to others
    directory = ClusterName(parts[1]) if len(parts) > 2 and parts[0] == FOLDER else None
    named = document.cluster
    if named and directory and named != directory:
        return _conflict(document, named, directory)
    name = named or directory
    if name is None and (clusters is None or len(clusters) == 1):
        name = UNNAMED if clusters is None else next(iter(clusters))
    if name is None:
        known = ", ".join(sorted(clusters or ()))
        how = "set metadata.cluster" if document.resource is None else "set the label strimzi.io/cluster"
        hint = f"{how}, or move the file to {FOLDER}/NAME/; clusters in the settings: {known}"
        return document.error("connector/no-cluster", "the document does not name its cluster", _POINTER, hint)
    if clusters is not None and name not in clusters:
        summary = f"the settings have no cluster {name!r}{did_you_mean(name, clusters)}"
        known = ", ".join(sorted(clusters)) or "none"
        hint = f"use one of the clusters in the settings: {known}"
        if document.resource is not None:
            hint = f'add strimzi = "{name}" to the [clusters.NAME] that it means; clusters in the settings: {known}'
        return document.error("connector/unknown-cluster", summary, _POINTER, hint)
    return name


def _conflict(document: Document, named: ClusterName, directory: ClusterName) -> Diagnostic:
    where = f"but the file is in {FOLDER}/{directory}/"
    if document.resource is None:
        summary, hint = f"metadata.cluster is {named!r}, {where}", "move the file, or remove metadata.cluster"
    else:
        summary = f"the resource is for the Connect cluster {named!r}, {where}"
        hint = f'move the file, or add strimzi = "{named}" to [clusters.{directory}] in the settings'
    return document.error("connector/cluster-conflict", summary, _POINTER, hint)
