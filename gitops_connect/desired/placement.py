"""The Connect cluster of a document: `metadata.cluster`, or its directory `clusters/NAME/`, or the only cluster."""

from __future__ import annotations

from collections.abc import Collection

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ClusterName
from gitops_connect.model.suggestions import did_you_mean

FOLDER = "clusters"
UNNAMED = ClusterName("")
"""The cluster of a document that names none, if the clusters are unknown."""

_POINTER = ("metadata", "cluster")


def place(document: Document, clusters: Collection[ClusterName] | None) -> ClusterName | Diagnostic:
    """The document's cluster, or the error why it has none.

    `clusters` are those of the settings, None without settings.
    """
    directory = _directory_of(document)
    named = document.cluster
    if named and directory and named != directory:
        return _conflict(document, named, directory)
    name = named or directory or _only(clusters)
    if name is None:
        known = ", ".join(sorted(clusters or ()))
        how = "set metadata.cluster" if document.resource is None else "set the label strimzi.io/cluster"
        hint = f"{how}, or move the file to {FOLDER}/NAME/; clusters in the settings: {known}"
        return _error(document, "connector/no-cluster", "the document does not name its cluster", hint)
    if clusters is not None and name not in clusters:
        summary = f"the settings have no cluster {name!r}{did_you_mean(name, clusters)}"
        known = ", ".join(sorted(clusters)) or "none"
        hint = f"use one of the clusters in the settings: {known}"
        if document.resource is not None:
            hint = f'add strimzi = "{name}" to the [clusters.NAME] that it means; clusters in the settings: {known}'
        return _error(document, "connector/unknown-cluster", summary, hint)
    return name


def _conflict(document: Document, named: ClusterName, directory: ClusterName) -> Diagnostic:
    where = f"but the file is in {FOLDER}/{directory}/"
    if document.resource is None:
        summary, hint = f"metadata.cluster is {named!r}, {where}", "move the file, or remove metadata.cluster"
    else:
        summary = f"the resource is for the Connect cluster {named!r}, {where}"
        hint = f'move the file, or add strimzi = "{named}" to [clusters.{directory}] in the settings'
    return _error(document, "connector/cluster-conflict", summary, hint)


def _directory_of(document: Document) -> ClusterName | None:
    """NAME, if the path is `clusters/NAME/...` from the repository root; deeper directories may belong to others."""
    parts = document.location.file.split("/")
    return ClusterName(parts[1]) if len(parts) > 2 and parts[0] == FOLDER else None


def _only(clusters: Collection[ClusterName] | None) -> ClusterName | None:
    if clusters is None:
        return UNNAMED
    return next(iter(clusters)) if len(clusters) == 1 else None


def _error(document: Document, rule: str, summary: str, hint: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, summary, document.locate(_POINTER), hint, document.connector)
