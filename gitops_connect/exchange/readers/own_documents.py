"""Documents of this project, and Strimzi's resources as such documents: connectors to convert, and what they lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gitops_connect.documents import connector_rules
from gitops_connect.documents.fields import TASKS, connector_of
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.readers.reading import OF_DEPLOYMENT, Part
from gitops_connect.model.desired import ACKNOWLEDGE, OWN_ANNOTATIONS, RESET_TOPICS
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziOptions
from gitops_connect.strimzi.connector_document import UNLIMITED
from gitops_connect.strimzi.resources import CLUSTER_LABEL, PAUSED, connect_cluster
from gitops_connect.strimzi.translation import NO_CLUSTER, TranslationCache, translate

_DIRECTORY = "clusters"
_CONFIG_FIELDS = ("class", "version", "tasksMax", "state", "config", "secrets", "exactlyOnce")
"""The fields of `spec` that are not in `ConnectorDeclaration.fields`: what Connect gets, and the state."""
_RELATIVE = ("./", "../")
_PREFIX = "strimzi.io/"
_PROVIDERS = ("strimzienv:", "strimzidir:", "strimzifile:", "strimzisecrets:")
_OFFSETS = ("listOffsets", "alterOffsets")
_CONNECTORS = ("sourceConnector", "checkpointConnector", "heartbeatConnector")
_OF_CONNECTORS = ("mirrors", "clusters", "connectCluster", "target")
_ELSEWHERE = ("kubectl.kubernetes.io/last-applied-configuration", ACKNOWLEDGE, RESET_TOPICS)
"""Annotations that are not kept: a copy of the resource, with its secrets, and fields of the document."""


def read(document: Document) -> tuple[ConnectorDeclaration | None, list[Diagnostic]]:
    """The connector of a document that fits its schema, and its problems; None if it cannot be converted."""
    if document.is_offset_change:
        summary = f"the offset change {document.offset_change!r} is not converted: it is no connector"
        return None, [_problem(document, "convert/offset-change", summary, ("kind",))]
    problems = [*connector_rules.check(document), *connector_rules.check_clear_secrets(document)]
    manifest = document.value["spec"].get("initialOffsets", {}).get("manifest", {})
    if str(manifest.get("path", "")).startswith(_RELATIVE):
        summary = f"the path {manifest['path']!r} is relative to the file, which is written to another directory"
        problems.append(_problem(document, "convert/path", summary, ("spec", "initialOffsets", "manifest", "path")))
    if any(one.severity is Severity.ERROR for one in problems):
        return None, problems
    if document.resource and document.value["spec"].get("autoRestart", {}).get("maxRestarts") == UNLIMITED:
        summary = f"autoRestart has no limit in Strimzi: maxRestarts is {UNLIMITED:,}, the most that a document allows"
        note = _problem(document, "convert/unknown-field", summary, ("spec", "autoRestart"))
        problems.append(replace(note, severity=Severity.NOTE))
    spec, metadata, resource = document.value["spec"], document.value["metadata"], document.resource
    connector = connector_of(document)
    config = dict(connector.config)
    if "tasksMax" not in spec and TASKS not in spec.get("config", {}):
        del config[TASKS]
    declaration = ConnectorDeclaration(
        name=connector.name,
        format=FileFormat.STRIMZI if resource else FileFormat.GITOPS_CONNECT,
        location=document.location,
        config=config,
        state=connector.state,
        cluster=document.cluster or _cluster_of(document.location.file),
        labels=_texts_of(resource, "labels") if resource else metadata.get("labels", {}),
        annotations=_texts_of(resource, "annotations") if resource else metadata.get("annotations", {}),
        secrets=connector.secrets,
        fields={key: value for key, value in spec.items() if key not in _CONFIG_FIELDS},
        places=_places(document),
    )
    return declaration, problems


def _cluster_of(path: str) -> ClusterName | None:
    """NAME, if the file is in a directory `clusters/NAME/`."""
    directories = path.split("/")[:-1]
    found = [name for parent, name in pairwise(directories) if parent == _DIRECTORY]
    return ClusterName(found[-1]) if found else None


def _places(document: Document) -> dict[str, Location]:
    """The location of each field of `spec` and `metadata`, and of each config key, which has precedence."""
    sections = (("spec",), ("metadata",), ("spec", "config"), ("spec", "secrets"))
    named = sorted((one for one in document.positions if one[:-1] in sections), key=len)
    return {str(pointer[-1]): document.locate(pointer) for pointer in named}


def _problem(document: Document, rule: str, summary: str, pointer: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(Severity.WARNING, rule, summary, document.locate(pointer), "", document.connector)


def documents_of(resources: Sequence[Document], options: StrimziOptions, cluster: ClusterName | None) -> Documents:
    """The connectors of the resources as documents, and all problems. `cluster` is for resources that name none."""
    kept = replace(options, placeholders={**{one: one for one in _PROVIDERS}, **options.placeholders})
    named = tuple(_with_cluster(one, cluster) for one in resources)
    documents = translate(Documents(strimzi=named), kept, TranslationCache())
    problems = [*map(_not_converted, documents.diagnostics), *(one for it in named for one in _lost(it))]
    return replace(documents, diagnostics=Diagnostics.of(problems))


def _texts_of(resource: Document, field: str) -> dict[str, str]:
    """The labels or annotations of a resource that are not Strimzi's or Kubernetes', and no field of a document."""
    texts = resource.section("metadata").get(field)
    found = texts if isinstance(texts, Mapping) else {}
    kept = (key for key in found if not (key.startswith(_PREFIX) or key in _ELSEWHERE or OF_DEPLOYMENT.match(key)))
    return {key: str(found[key]) for key in kept}


def _with_cluster(resource: Document, cluster: ClusterName | None) -> Document:
    """The resource with a label of the cluster, if it names none and its labels are a mapping."""
    metadata: Any = resource.value.get("metadata") or {}
    labels = metadata.get("labels") or {} if isinstance(metadata, Mapping) else None
    if cluster is None or connect_cluster(resource) is not None or not isinstance(labels, Mapping):
        return resource
    value = {**resource.value, "metadata": {**metadata, "labels": {**labels, CLUSTER_LABEL: cluster}}}
    return replace(resource, value=value)


def _not_converted(problem: Diagnostic) -> Diagnostic:
    if problem.rule != NO_CLUSTER:
        return problem
    return replace(problem, severity=Severity.ERROR, hint=f"{problem.hint}, or name the cluster with --cluster")


def _lost(resource: Document) -> Iterator[Diagnostic]:
    metadata, spec = Part.of(resource).get("metadata"), Part.of(resource).get("spec")
    if metadata.get("namespace").value is not None:
        yield _warning(metadata.get("namespace"), "the namespace")
    for key, one in metadata.get("annotations").fields():
        if key.startswith(_PREFIX) and key != PAUSED and not key.startswith(OWN_ANNOTATIONS):
            yield _warning(one, f"the annotation {key}")
    connectors = [spec, *(mirror.get(name) for mirror in spec.get("mirrors").items() for name in _CONNECTORS)]
    offsets = [connector.get(name) for connector in connectors for name in _OFFSETS]
    yield from (_warning(one, str(one.pointer[-1])) for one in offsets if one.value is not None)
    if resource.value.get("kind") == MIRROR_MAKER:
        rest = ", ".join(key for key, _ in spec.fields() if key not in _OF_CONNECTORS)
        yield from [_warning(spec, f"the worker ({rest})")] if rest else []


def _warning(part: Part, what: str) -> Diagnostic:
    summary = f"{what} of the resource has no counterpart: it is left out"
    return Diagnostic(Severity.WARNING, "convert/unknown-field", summary, part.location)
