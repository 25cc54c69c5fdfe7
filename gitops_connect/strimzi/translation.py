"""Translates the resources of Strimzi to `Connector` documents, which are read like those of the repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gitops_connect.documents.recognition import CONFIG_MAP
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained_or
from gitops_connect.model.documents import Document, DocumentCache, Documents
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import KAFKA_CONNECTOR, MIRROR_MAKER, StrimziOptions, StrimziVersion
from gitops_connect.model.suggestions import closest
from gitops_connect.strimzi import mirror_maker
from gitops_connect.strimzi.connector_document import (
    ConnectorSpec,
    Expansion,
    broken_document,
    document_of,
    read_connector,
    with_worker_converters,
)
from gitops_connect.strimzi.crd import Rules, check
from gitops_connect.strimzi.placeholders import substitute_config
from gitops_connect.strimzi.resources import (
    CLUSTER_LABEL,
    INVALID,
    Problems,
    ResourceSection,
    connect_cluster,
    is_resource_name,
    own_cluster,
    refused_in_resource_name,
)

NO_CLUSTER = "strimzi/no-cluster"


TranslationCache = DocumentCache[Documents]


def translate(documents: Documents, options: StrimziOptions, cache: TranslationCache) -> Documents:
    """The documents of the repository, with those of the connectors that resources of Strimzi declare.

    A resource with an error becomes documents that only hold its connectors.
    """
    sound = [one for one in documents.strimzi if one.value.get("kind") != CONFIG_MAP]
    resources, broken = (*sound, *documents.broken_strimzi), set(map(id, documents.broken_strimzi))
    if not resources:
        return documents

    def translated(resource: Document) -> Documents:
        work = partial(_translate, resource, options, sound=id(resource) not in broken)
        return contained_or(_unknown, work, resource.location)

    made = Documents.merged([documents, *cache.results(resources, translated, options)])
    ordered = tuple(sorted(made.documents, key=lambda document: document.location))
    return replace(made, documents=ordered, ignored=documents.ignored)


def _unknown(bug: Diagnostic) -> Documents:
    """With a bug in translating a resource, nobody knows what it declares."""
    return Documents(diagnostics=Diagnostics.of([bug]), complete=False)


def _translate(resource: Document, options: StrimziOptions, *, sound: bool) -> Documents:
    connect = connect_cluster(resource)
    if connect is None and sound:
        return Documents(diagnostics=Diagnostics.of([_ignored(resource)]))
    cluster = own_cluster(resource, connect, options) if connect is not None else None
    expansion = expand(resource, options)
    documents: list[Document] = []
    broken = [broken_document(resource, name, place, cluster) for name, place in expansion.blocked.items()]
    problems = [*expansion.diagnostics] if sound else []
    for connector in expansion.connectors:
        if not sound:
            broken.append(broken_document(resource, connector.name, connector.pointer, cluster))
            continue
        found = Problems(resource, connector.name)
        document = _document_of(resource, connector, cluster, options, found)
        (broken if found.has_errors() else documents).append(document)
        problems += found.found
    names = {*expansion.blocked, *(one.name for one in expansion.connectors)}
    if len(names) == 1:
        (only,) = names
        problems = [replace(one, connector=one.connector or only) for one in problems]
    return Documents(tuple(documents), Diagnostics.of(problems), expansion.complete, tuple(broken))


def _document_of(
    resource: Document,
    connector: ConnectorSpec,
    cluster: ClusterName | None,
    options: StrimziOptions,
    problems: Problems,
) -> Document:
    if not options.workers:
        if resource.value.get("kind") == MIRROR_MAKER:
            connector = with_worker_converters(connector)
        connector = substitute_config(connector, options.placeholders, problems)
    if connector.auto_restart is None and options.auto_restart:
        connector = replace(connector, auto_restart={})
    return document_of(resource, connector, cluster, options.version, problems)


def expand(resource: Document, options: StrimziOptions) -> Expansion:
    """The connectors that a resource declares, before they become documents."""
    kinds = {KAFKA_CONNECTOR: _expand_connector, MIRROR_MAKER: mirror_maker.expand}
    kind = closest(str(resource.value.get("kind")), kinds)
    return kinds[kind](resource, options.version) if kind is not None else Expansion(complete=False)


# A `KafkaConnector` declares one connector of the same name.


def _expand_connector(resource: Document, version: StrimziVersion) -> Expansion:
    """The connector of a `KafkaConnector`, as an operator of this version reads it."""
    name = resource.connector
    if name is None:
        return Expansion(complete=False)
    problems = Problems(resource)
    if not is_resource_name(name):
        summary = (
            f"metadata.name must be the name of a Kubernetes resource, found {name!r}{refused_in_resource_name(name)}"
        )
        problems.error(INVALID, ("metadata", "name"), summary, "use lower case letters, digits, dashes and dots")
    declared, fields = resource.value.get("spec"), dict[str, Any]()
    if isinstance(declared, Mapping):
        fields = check(declared, KAFKA_CONNECTOR, Rules.of(resource, version), problems)
    else:
        hint = "set spec.class and spec.config"
        problems.error(INVALID, ("spec",), "spec is required, and must be of type object", hint)
    if problems.has_errors():
        return Expansion((), problems.found, {name: ("spec",)})
    connector = read_connector(ResourceSection(fields, ("spec",), problems), name)
    return Expansion((connector,), problems.found)


def _ignored(resource: Document) -> Diagnostic:
    summary = f"the {KAFKA_CONNECTOR} has no label {CLUSTER_LABEL}, and is ignored, as in Strimzi"
    hint = f"set the label {CLUSTER_LABEL} to the name of the Connect cluster"
    return Diagnostic(Severity.NOTE, NO_CLUSTER, summary, resource.locate(("metadata",)), hint)
