"""Turns the annotations of Strimzi resources into offset changes, listings and restarts, each once for its addition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gitops_connect.desired.recognition import API_VERSION
from gitops_connect.desired.strimzi.annotations import Request, has_requests, read_requests
from gitops_connect.desired.strimzi.clusters import connect_cluster, own_cluster
from gitops_connect.desired.strimzi.config_map_offsets import (
    FoundOffsets,
    UnusableOffsets,
    find_config_map,
    read_offsets,
)
from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec
from gitops_connect.desired.strimzi.recognition import CONFIG_MAP
from gitops_connect.desired.strimzi.translation import expand
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, contained
from gitops_connect.model.documents import OFFSET_CHANGE, Document, Documents, Pointer
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.operations import Acknowledgement
from gitops_connect.model.strimzi import KAFKA_CONNECTOR, StrimziOptions
from gitops_connect.model.strimzi_annotations import (
    AnnotationAction,
    AnnotationKey,
    AnnotationWarning,
    RequestedChange,
    RequestedListing,
    Requests,
    entry_name,
    identity,
    requested_name,
)

OWN_ENTRY = "offsets.json"
"""The entry of a `KafkaConnector` (proposal 076)."""
TOO_OLD = "too long ago, or in a file that is a symbolic link"

Additions = Mapping[AnnotationKey, str | None]
"""What identifies the commit that added each annotation; None if the commit is not known."""


@dataclass(frozen=True, slots=True)
class AnnotatedResource:
    """A resource with requests, its connectors, and what is wrong with its annotations.

    `bugs` prevented reading the annotations.
    """

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
    if resource.value.get("kind") == CONFIG_MAP or not has_requests(resource):
        return None
    connect = connect_cluster(resource)
    if connect is None:
        return None
    cluster = own_cluster(resource, connect, options)
    connectors = {one.name: one for one in expand(resource, options).connectors}
    if not connectors:
        return None
    is_mirror = resource.value.get("kind") != KAFKA_CONNECTOR
    found = list(read_requests(resource, connectors, is_mirror=is_mirror))
    warnings = tuple(replace(one, cluster=cluster) for one in found if isinstance(one, AnnotationWarning))
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
    message = (
        f"The annotation {request.key.words} has no effect: it was added {TOO_OLD}. Remove it, and add it in a later"
        " commit."
    )
    place = one.resource.locate(request.place)
    return AnnotationWarning(request.action, message, place, one.cluster, request.connector)


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


def _change(
    one: AnnotatedResource, request: Request, addition: str, config_maps: Iterable[Document]
) -> RequestedChange:
    if request.action is AnnotationAction.RESET:
        return RequestedChange(_document(one, request, addition, None), request.action)
    try:
        offsets = _declared_offsets(one, request, config_maps)
    except UnusableOffsets as error:
        return RequestedChange(_document(one, request, addition, None), request.action, str(error))
    return RequestedChange(_document(one, request, addition, offsets), request.action)


def _declared_offsets(one: AnnotatedResource, request: Request, config_maps: Iterable[Document]) -> FoundOffsets:
    name = one.connectors[request.connector].alter_offsets
    if not name:
        raise UnusableOffsets(f"missing property alterOffsets in {one.resource.value.get('kind')} CR")
    config_map = find_config_map(name, one.resource, config_maps)
    return read_offsets(config_map, _entries(one.resource, request.connector))


def _document(one: AnnotatedResource, request: Request, addition: str, offsets: FoundOffsets | None) -> Document:
    """The `OffsetChange`. Who adds the annotation acknowledges every effect, as in Strimzi."""
    _, _, resource = identity(one.resource)
    metadata: dict[str, Any] = {
        "name": requested_name(resource, request.connector, request.action, addition),
        **({"cluster": one.cluster} if one.cluster is not None else {}),
    }
    spec: dict[str, Any] = {
        "connector": request.connector,
        "operation": request.action.value,
        "acknowledge": [each.value for each in Acknowledgement],
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
    """The `Connector` document of a resource, with the restarts that the annotations of the resource request."""
    for resource, request, addition in restarts:
        if document.resource is resource and document.connector == request.connector:
            document = _with_restart(document, request, addition)
    return document


def _with_restart(document: Document, request: Request, addition: str) -> Document:
    """Proposal 007: a restart of the connector does not restart its tasks, unless an option says so."""
    if request.task is None:
        field, options = "restart", {option: option in request.options for option in ("includeTasks", "onlyFailed")}
        restart: dict[str, Any] = {"id": addition, **options}
    else:
        field, restart = "restartTasks", {"id": addition, "tasks": [request.task]}
    place = document.resource.locate(request.place) if document.resource is not None else document.location
    positions = {**document.positions, ("spec", field): (place.line, place.column)}
    spec = {**document.value["spec"], field: restart}
    return replace(document, value={**document.value, "spec": spec}, positions=positions)
