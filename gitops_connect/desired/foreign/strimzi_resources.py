"""Resources of Strimzi as documents to convert, and what such documents do not have of the resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitops_connect.desired.foreign.part import Part
from gitops_connect.desired.strimzi.clusters import CLUSTER_LABEL, connect_cluster
from gitops_connect.desired.strimzi.translation import NO_CLUSTER, TranslationCache, translate
from gitops_connect.model.desired import OWN_ANNOTATIONS
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziOptions

_PREFIX = "strimzi.io/"
_PAUSED = "strimzi.io/pause-reconciliation"
_PROVIDERS = ("strimzienv:", "strimzidir:", "strimzifile:", "strimzisecrets:")
_OFFSETS = ("listOffsets", "alterOffsets")
_CONNECTORS = ("sourceConnector", "checkpointConnector", "heartbeatConnector")
_OF_CONNECTORS = ("mirrors", "clusters", "connectCluster", "target")
_GENERATED = "kubectl.kubernetes.io/last-applied-configuration"
"""A copy of the resource, with its secrets."""


def documents_of(resources: Sequence[Document], options: StrimziOptions, cluster: ClusterName | None) -> Documents:
    """The connectors of the resources as documents, with all problems.

    `cluster` is for resources that name none. Placeholders that `options` do not map are kept.
    """
    kept = replace(options, placeholders={**{one: one for one in _PROVIDERS}, **options.placeholders})
    named = tuple(_with_cluster(one, cluster) for one in resources)
    found = Documents((), Diagnostics(), complete=True, strimzi=named)
    documents = translate(found, kept, TranslationCache())
    problems = [*map(_not_converted, documents.diagnostics), *(one for it in named for one in _lost(it))]
    return replace(documents, diagnostics=Diagnostics.of(problems))


def texts_of(resource: Document, field: str) -> dict[str, str]:
    """The labels or annotations of a resource that are not Strimzi's or Kubernetes'."""
    metadata = resource.value.get("metadata")
    texts = metadata.get(field) if isinstance(metadata, Mapping) else None
    found = texts if isinstance(texts, Mapping) else {}
    return {key: str(text) for key, text in found.items() if not key.startswith(_PREFIX) and key != _GENERATED}


def _with_cluster(resource: Document, cluster: ClusterName | None) -> Document:
    """The resource with the label of the cluster, if it has none."""
    if cluster is None or connect_cluster(resource) is not None:
        return resource
    metadata: Mapping[str, Any] = resource.value.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), CLUSTER_LABEL: cluster}
    return replace(resource, value={**resource.value, "metadata": {**metadata, "labels": labels}})


def _not_converted(problem: Diagnostic) -> Diagnostic:
    if problem.rule != NO_CLUSTER:
        return problem
    return replace(problem, severity=Severity.ERROR, hint=f"{problem.hint}, or name the cluster with --cluster")


def _lost(resource: Document) -> Iterator[Diagnostic]:
    metadata, spec = Part.of(resource).get("metadata"), Part.of(resource).get("spec")
    if metadata.get("namespace").value is not None:
        yield _warning(metadata.get("namespace"), "the namespace")
    for key, one in metadata.get("annotations").fields():
        if key.startswith(_PREFIX) and key != _PAUSED and not key.startswith(OWN_ANNOTATIONS):
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
