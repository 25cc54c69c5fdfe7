"""Reads the annotations with which a Strimzi resource requests actions: proposals 007, 076 and 083 of Strimzi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from posixpath import dirname
from typing import Any

from gitops_connect.documents.desired_state import RequestedChange, Requests
from gitops_connect.documents.encoding import Refused
from gitops_connect.documents.fields import read
from gitops_connect.documents.nodes import compose
from gitops_connect.documents.recognition import API_VERSION, CONFIG_MAP
from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, contained
from gitops_connect.model.documents import OFFSET_CHANGE, Document, Documents, Pointer
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, plain_name
from gitops_connect.model.strimzi import (
    KAFKA_CONNECTOR,
    AnnotationAction,
    AnnotationWarning,
    RequestedListing,
    StrimziOptions,
    failed,
)
from gitops_connect.strimzi.connector_document import ConnectorSpec
from gitops_connect.strimzi.resources import connect_cluster, own_cluster
from gitops_connect.strimzi.translation import expand

OFFSETS = "strimzi.io/connector-offsets"
MIRROR_CONNECTOR = "strimzi.io/mirrormaker-connector"
RESTART = "strimzi.io/restart"
RESTART_TASK = "strimzi.io/restart-task"
RESTART_CONNECTOR = "strimzi.io/restart-connector"
RESTART_CONNECTOR_TASK = "strimzi.io/restart-connector-task"

_OFFSET_ACTIONS = {one.value: one for one in (AnnotationAction.LIST, AnnotationAction.ALTER, AnnotationAction.RESET)}
_OPTIONS = ("includeTasks", "onlyFailed")
_CONNECTOR_RESTARTS = {RESTART: AnnotationAction.RESTART, RESTART_TASK: AnnotationAction.RESTART_TASK}
_MIRROR_RESTARTS = {
    RESTART_CONNECTOR: AnnotationAction.RESTART,
    RESTART: AnnotationAction.RESTART,
    RESTART_CONNECTOR_TASK: AnnotationAction.RESTART_TASK,
    RESTART_TASK: AnnotationAction.RESTART_TASK,
}
"""The examples of proposal 007 for a `KafkaMirrorMaker2` have the keys of a `KafkaConnector`: both are read."""


@dataclass(frozen=True, slots=True)
class AnnotationKey:
    """Annotations of one resource that make one request: each part has to be the same for it to be the same request."""

    kind: str
    namespace: str
    resource: str
    pairs: tuple[tuple[str, str], ...]

    def is_in(self, resource: Document) -> bool:
        """Whether a version of the resource has all of the annotations, with the same values."""
        if (self.kind, self.namespace, self.resource) != identity(resource):
            return False
        annotations = annotations_of(resource)
        return all(annotations.get(key) == value for key, value in self.pairs)

    @property
    def words(self) -> str:
        """As in `strimzi.io/restart: true`."""
        return ", ".join(f"{key}: {value}" for key, value in self.pairs)


def identity(resource: Document) -> tuple[str, str, str]:
    """The kind, the namespace (empty if the resource does not name it) and the name of a resource."""
    metadata = resource.section("metadata")
    return str(resource.value.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def annotations_of(resource: Document) -> dict[str, str]:
    """The annotations of a resource whose values are strings. Kubernetes rejects other values."""
    found = resource.section("metadata").get("annotations")
    pairs = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


@dataclass(frozen=True, slots=True)
class Request:
    """What annotations of a resource request for one of its connectors. `task` and `options` are of a restart."""

    key: AnnotationKey
    action: AnnotationAction
    connector: ConnectorName
    task: int | None = None
    options: frozenset[str] = frozenset()

    @property
    def place(self) -> Pointer:
        """The field with the annotation, or with the first of them."""
        return _place(self.key.pairs[0][0])


@dataclass(frozen=True, slots=True)
class _AnnotationReader:
    resource: Document
    cluster: ClusterName
    connectors: Mapping[ConnectorName, ConnectorSpec]
    annotations: Mapping[str, str]

    def requests(self) -> Iterator[Request | AnnotationWarning]:
        """The requests of the resource, and what is wrong with its annotations."""
        is_mirror = self.resource.value.get("kind") != KAFKA_CONNECTOR
        if is_mirror:
            yield from self._mirror_offsets()
        elif OFFSETS in self.annotations:
            yield self._offsets(next(iter(self.connectors)), OFFSETS)
        restarts = _MIRROR_RESTARTS if is_mirror else _CONNECTOR_RESTARTS
        for key, action in restarts.items():
            if key in self.annotations:
                yield self._mirror_restart(key, action) if is_mirror else self._connector_restart(key, action)

    def _mirror_offsets(self) -> Iterator[Request | AnnotationWarning]:
        offsets, name = self.annotations.get(OFFSETS), self.annotations.get(MIRROR_CONNECTOR)
        if offsets is None and name is None:
            return
        action = _OFFSET_ACTIONS.get(offsets or "", AnnotationAction.LIST)
        if offsets is None or name is None:
            connector = next((one for one in self.connectors if one == name), None)
            key, missing = (MIRROR_CONNECTOR, OFFSETS) if offsets is None else (OFFSETS, MIRROR_CONNECTOR)
            why = f"missing annotation {missing} in {self.resource.value.get('kind')} CR"
            yield self._failed(key, action, connector, why)
            return
        names = {part.strip() for part in name.split(",")}
        chosen = sorted(self.connectors) if name == "*" else [one for one in self.connectors if one in names]
        unknown = sorted(names.difference(self.connectors)) if name != "*" else []
        if unknown:
            expected = f"expected one of {self._names}, several of them with commas, or *"
            why = f"unknown connector {unknown[0]!r} in the annotation {MIRROR_CONNECTOR}, {expected}"
            yield self._failed(MIRROR_CONNECTOR, action, None, why)
            return
        yield from (self._offsets(connector, OFFSETS, MIRROR_CONNECTOR) for connector in chosen)

    def _offsets(self, connector: ConnectorName, *keys: str) -> Request | AnnotationWarning:
        value = self.annotations[OFFSETS]
        action = _OFFSET_ACTIONS.get(value)
        if action is None:
            why = f"unknown value {value!r} of the annotation {OFFSETS}, expected one of {', '.join(_OFFSET_ACTIONS)}"
            return self._failed(OFFSETS, AnnotationAction.LIST, connector, why)
        return Request(self._key(*keys), action, connector)

    def _connector_restart(self, key: str, action: AnnotationAction) -> Request | AnnotationWarning:
        """Proposal 007: a restart has any value, and a restart of a task its number."""
        connector, value = next(iter(self.connectors)), self.annotations[key]
        if action is AnnotationAction.RESTART:
            return Request(self._key(key), action, connector, options=_options(value).intersection(_OPTIONS))
        if _is_number(value):
            return Request(self._key(key), action, connector, task=int(value))
        return self._bad_restart(key, action, connector, "expected the number of a task")

    def _mirror_restart(self, key: str, action: AnnotationAction) -> Request | AnnotationWarning:
        """The value is the name of a connector, then `:` and the number of a task or options of the restart."""
        value = self.annotations[key]
        before, _, rest = value.rpartition(":")
        whole, connector = (next((one for one in self.connectors if one == name), None) for name in (value, before))
        if action is AnnotationAction.RESTART:
            if whole is not None:
                return Request(self._key(key), action, whole)
            if connector is not None and _options(rest).issubset(_OPTIONS):
                return Request(self._key(key), action, connector, options=_options(rest))
            return self._bad_restart(key, action, None, f"expected a connector: one of {self._names}")
        if connector is not None and _is_number(rest):
            return Request(self._key(key), action, connector, task=int(rest))
        expected = f"expected CONNECTOR:TASK, in which CONNECTOR is one of {self._names}"
        return self._bad_restart(key, action, connector, expected)

    def _bad_restart(
        self, key: str, action: AnnotationAction, connector: ConnectorName | None, expected: str
    ) -> AnnotationWarning:
        why = f"the value of the annotation {key}: {self.annotations[key]!r}, {expected}"
        return self._failed(key, action, connector, why)

    def _failed(
        self, key: str, action: AnnotationAction, connector: ConnectorName | None, why: str
    ) -> AnnotationWarning:
        message, where = failed(action, connector or "", why), self.resource.locate(_place(key))
        request = " ".join((*identity(self.resource), key))
        return AnnotationWarning(action, message, where, request, self.cluster, connector)

    def _key(self, *keys: str) -> AnnotationKey:
        return AnnotationKey(*identity(self.resource), tuple((key, self.annotations[key]) for key in sorted(keys)))

    @property
    def _names(self) -> str:
        return ", ".join(sorted(self.connectors))


def _options(text: str) -> frozenset[str]:
    return frozenset(option.strip() for option in text.split(","))


def _place(key: str) -> Pointer:
    return ("metadata", "annotations", key)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


# Turns the annotations of Strimzi resources into offset changes, listings and restarts, each once for its addition.

OWN_ENTRY = "offsets.json"
"""The entry of a `KafkaConnector` (proposal 076)."""
TOO_OLD = "too long ago, or in a file that is a symbolic link"

Additions = Mapping[AnnotationKey, str | None]
"""What identifies the commit that added each annotation; None if the commit is not known."""


@dataclass(frozen=True, slots=True)
class AnnotatedResource:
    """A resource with requests, and what is wrong with its annotations. `bugs` prevented reading them."""

    resource: Document
    cluster: ClusterName | None
    connectors: Mapping[ConnectorName, ConnectorSpec]
    requests: tuple[Request, ...]
    warnings: tuple[AnnotationWarning, ...]
    bugs: tuple[Diagnostic, ...] = ()


def find_annotated(documents: Documents, options: StrimziOptions) -> Iterator[AnnotatedResource]:
    """The resources without errors that have annotations with requests."""
    for resource in documents.strimzi:
        found = contained(partial(_annotated, resource, options), resource.location, resource.connector)
        if isinstance(found, Diagnostic):
            yield AnnotatedResource(resource, None, {}, (), (), (found,))
        elif found is not None:
            yield found


def _annotated(resource: Document, options: StrimziOptions) -> AnnotatedResource | None:
    known, annotations = {OFFSETS, MIRROR_CONNECTOR, *_MIRROR_RESTARTS}, annotations_of(resource)
    if resource.value.get("kind") == CONFIG_MAP or known.isdisjoint(annotations):
        return None
    connect = connect_cluster(resource)
    if connect is None:
        return None
    cluster = own_cluster(resource, connect, options)
    connectors = {one.name: one for one in expand(resource, options).connectors}
    if not connectors:
        return None
    found = list(_AnnotationReader(resource, cluster, connectors, annotations).requests())
    warnings = tuple(one for one in found if isinstance(one, AnnotationWarning))
    requests = tuple(one for one in found if isinstance(one, Request))
    return AnnotatedResource(resource, cluster, connectors, requests, warnings)


def with_requests(
    documents: Documents, annotated: Sequence[AnnotatedResource], additions: Additions
) -> tuple[Documents, Requests]:
    """The documents, in which restarts are fields of `Connector` documents, and the requests about offsets."""
    config_maps = [one for one in documents.strimzi if one.value.get("kind") == CONFIG_MAP]
    warnings = [warning for one in annotated for warning in one.warnings]
    changes, listings, restarts = [], [], []

    def add(one: AnnotatedResource) -> None:
        for request in one.requests:
            addition = additions.get(request.key)
            if addition is None:
                warnings.append(_unknown_addition(one, request))
            elif request.action in (AnnotationAction.RESTART, AnnotationAction.RESTART_TASK):
                restarts.append((one.resource, request, addition))
            elif request.action is AnnotationAction.LIST:
                listings.append(_listing(one, request, addition))
            else:
                changes.append(_change(one, request, addition, config_maps))

    added = [contained(partial(add, one), one.resource.location, one.resource.connector) for one in annotated]
    bugs = (*(bug for bug in added if bug is not None), *(bug for one in annotated for bug in one.bugs))
    connectors = tuple(_with_restarts(document, restarts) for document in documents.documents)
    documents = replace(documents, documents=connectors, diagnostics=documents.diagnostics + Diagnostics.of(bugs))
    return documents, Requests(tuple(changes), tuple(listings), tuple(warnings))


def _unknown_addition(one: AnnotatedResource, request: Request) -> AnnotationWarning:
    message = f"The annotation {request.key.words} has no effect: it was added {TOO_OLD}."
    message += " Remove it, and add it in a later commit."
    place = one.resource.locate(request.place)
    name = " ".join((*identity(one.resource), request.key.pairs[0][0]))
    return AnnotationWarning(request.action, message, place, name, one.cluster, request.connector)


def _listing(one: AnnotatedResource, request: Request, addition: str) -> RequestedListing:
    kind, namespace, resource = identity(one.resource)
    spec = one.connectors[request.connector]
    return RequestedListing(
        name=requested_name(resource, request.connector, request.action, addition),
        connector=request.connector,
        cluster=one.cluster,
        config_map=spec.list_offsets or "",
        namespace=namespace,
        entry=_entries(one.resource, request.connector)[0],
        location=one.resource.locate(request.place),
        problem="" if spec.list_offsets else f"missing property listOffsets in {kind} CR",
    )


def _entries(resource: Document, connector: ConnectorName) -> tuple[str, ...]:
    own = entry_name(connector)
    return (OWN_ENTRY, own) if resource.value.get("kind") == KAFKA_CONNECTOR else (own,)


def requested_name(resource: str, connector: str, action: AnnotationAction, addition: str) -> OffsetChangeName:
    """The name of a requested change. `addition` identifies the commit that added the annotations."""
    names = (plain_name(resource), plain_name(connector))
    return OffsetChangeName(".".join((*dict.fromkeys(names), action.value, addition)))


def entry_name(connector: str) -> str:
    """The entry of a ConfigMap for a connector's offsets. The keys of a ConfigMap cannot contain `>`."""
    return f"{connector.replace('->', '--')}.json"


def _change(
    one: AnnotatedResource, request: Request, addition: str, config_maps: Iterable[Document]
) -> RequestedChange:
    offsets, problem = None, ""
    if request.action is not AnnotationAction.RESET:
        try:
            offsets = _declared_offsets(one, request, config_maps)
        except UnusableOffsets as error:
            problem = str(error)
    return RequestedChange(_document(one, request, addition, offsets), request.action, problem)


def _declared_offsets(one: AnnotatedResource, request: Request, config_maps: Iterable[Document]) -> FoundOffsets:
    name = one.connectors[request.connector].alter_offsets
    if not name:
        raise UnusableOffsets(f"missing property alterOffsets in {one.resource.value.get('kind')} CR")
    config_map = find_config_map(name, one.resource, config_maps)
    return read_offsets(config_map, _entries(one.resource, request.connector))


def _document(one: AnnotatedResource, request: Request, addition: str, offsets: FoundOffsets | None) -> Document:
    """The `OffsetChange`. Who adds the annotation acknowledges every effect, as in Strimzi, but no other format."""
    _, _, resource = identity(one.resource)
    metadata: dict[str, Any] = {
        "name": requested_name(resource, request.connector, request.action, addition),
        **({"cluster": one.cluster} if one.cluster is not None else {}),
    }
    spec: dict[str, Any] = {
        "connector": request.connector,
        "operation": request.action.value,
        "acknowledge": [each.value for each in Acknowledgement if each is not Acknowledgement.SHAPE],
        "reason": f"annotation {request.key.words}",
    }
    location, positions = one.resource.locate(request.place), dict[Pointer, tuple[int, int]]()
    if offsets is not None:
        spec["offsets"] = offsets.value
        positions = {("spec", *pointer): position for pointer, position in offsets.positions.items()}
        if offsets.file != location.file:  # a document is in one file: that of the offsets, where errors may be
            location = Location(offsets.file, *offsets.positions["offsets",])
    value = {"apiVersion": API_VERSION, "kind": OFFSET_CHANGE, "metadata": metadata, "spec": spec}
    return Document(location, value, positions, resource=one.resource)


def _with_restarts(document: Document, restarts: Sequence[tuple[Document, Request, str]]) -> Document:
    """The `Connector` with requested restarts. Proposal 007: tasks are only restarted too if an option says so."""
    for resource, request, addition in restarts:
        if document.resource is not resource or document.connector != request.connector:
            continue
        restart: dict[str, Any] = {"id": addition, **{option: option in request.options for option in _OPTIONS}}
        if request.task is not None:
            restart = {"id": addition, "tasks": [request.task]}
        field, place = "restart" if request.task is None else "restartTasks", resource.locate(request.place)
        positions = {**document.positions, ("spec", field): (place.line, place.column)}
        spec = {**document.value["spec"], field: restart}
        annotations = {**document.annotations, ("spec", field): request.key.words}
        value = {**document.value, "spec": spec}
        document = replace(document, value=value, positions=positions, annotations=annotations)
    return document


# Offsets in the entry of a ConfigMap, with the place of each one: the body of Connect's request, as JSON.


class UnusableOffsets(Exception):
    """The offsets cannot be used; the text says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class FoundOffsets:
    """The list of offsets, its location, and the position of each of its fields."""

    value: Sequence[Any] = field(repr=False)
    file: str
    positions: Mapping[Pointer, tuple[int, int]] = field(repr=False)


def find_config_map(name: str, resource: Document, config_maps: Iterable[Document]) -> Document:
    """The ConfigMap of that name in the namespace of the resource. A ConfigMap without a namespace may be in any.

    If several files have one, as in overlays, the one in the same file or else in the same directory counts. Raises
    UnusableOffsets.
    """
    namespace = resource.section("metadata").get("namespace")
    found = [one for one in config_maps if one.section("metadata").get("name") == name]
    found = [one for one in found if namespace is None or one.section("metadata").get("namespace") in (None, namespace)]
    file, every = resource.location.file, found
    for nearness in (str, dirname):
        nearer = [one for one in every if nearness(one.location.file) == nearness(file)]
        if len(found) > 1 and nearer:
            found = nearer
    if not found:
        where = f" in the namespace {namespace}" if namespace else ""
        raise UnusableOffsets(f"missing ConfigMap {name}{where} in the repository")
    if len(found) > 1:
        places = ", ".join(str(one.location) for one in found)
        raise UnusableOffsets(f"several ConfigMaps with the name {name}: {places}")
    return found[0]


def read_offsets(config_map: Document, entries: Sequence[str]) -> FoundOffsets:
    """The offsets in the first of these entries that exists. Raises UnusableOffsets if there are no valid ones."""
    data = config_map.value.get("data")
    name = config_map.section("metadata").get("name")
    entry = next((one for one in entries if isinstance(data, Mapping) and one in data), None)
    if entry is None or not isinstance(data, Mapping):
        raise UnusableOffsets(f"missing entry {' or '.join(entries)} in the ConfigMap {name}")
    text, where = data[entry], f"the entry {entry} of the ConfigMap {name}"
    try:
        value = parse_json(text, parse_constant=_refuse) if isinstance(text, str) else None
    except ValueError as error:
        raise UnusableOffsets(f"invalid JSON in {where}: {error}") from error
    offsets = value.get("offsets") if isinstance(value, dict) else None
    if not isinstance(offsets, list) or not offsets:
        raise UnusableOffsets(f'{where}: expected {{"offsets": […]}} with at least one offset')
    place = config_map.locate(("data", entry))
    # the lines of a block are lines of the file, below the key; a ConfigMap in JSON has one line
    is_block = "\n" in text and not config_map.location.file.endswith(".json")
    positions = _positions(text, place.line) if is_block else {}
    return FoundOffsets(offsets, config_map.location.file, {("offsets",): (place.line, place.column), **positions})


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number of JSON")


def _positions(text: str, line: int) -> Mapping[Pointer, tuple[int, int]]:
    """The position of each field of the text, which begins in the line after `line`. Columns are those of the text."""
    try:
        (root,) = compose(text, line + 1)
        return read(root).positions
    except (Refused, ValueError):
        return {}  # too many values for positions: the entry itself is the place
