"""The Connect cluster of a Strimzi resource, and the cluster of the settings that it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziOptions

CLUSTER_LABEL = "strimzi.io/cluster"


def cluster_field(resource: Document) -> Pointer:
    """The field with the name of the Connect cluster. A `KafkaMirrorMaker2` is a Connect cluster itself."""
    if resource.value.get("kind") == MIRROR_MAKER:
        return ("metadata", "name")
    return ("metadata", "labels", CLUSTER_LABEL)


def connect_cluster(resource: Document) -> str | None:
    """The name of the Connect cluster, or None if the resource has none."""
    value: Any = resource.value
    for key in cluster_field(resource):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) and value else None


def own_cluster(resource: Document, connect: str, options: StrimziOptions) -> ClusterName:
    """The cluster of the settings: `NAMESPACE/NAME` of `[clusters.NAME] strimzi`, else `NAME`, else the name itself."""
    metadata = resource.value.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    for name in (f"{namespace}/{connect}", connect):
        if name in options.clusters:
            return options.clusters[name]
    return ClusterName(connect)
