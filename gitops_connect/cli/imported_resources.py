"""Connectors of a cluster as `KafkaConnector` resources of Strimzi, and what such a resource cannot declare."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.report.connector_document import ConnectorDocument
    from gitops_connect.settings.sections import Settings


def resource_of(document: ConnectorDocument, settings: Settings) -> ConnectorDocument:
    """The document for a `KafkaConnector`: secrets are references, and the cluster is its name for Strimzi."""
    from gitops_connect.report import strimzi_document

    secrets = {key: strimzi_document.placeholder(name) for key, name in document.secrets.items()}
    cluster = document.cluster and _connect_cluster(document.cluster, settings)
    return replace(document, cluster=cluster, config={**document.config, **secrets}, secrets={})


def _connect_cluster(name: ClusterName, settings: Settings) -> ClusterName:
    """The first name without a namespace in `[clusters.NAME] strimzi`, else the name of the cluster."""
    from gitops_connect.model.names import ClusterName

    names = settings.clusters[name].strimzi if name in settings.clusters else ()
    return ClusterName(next((one for one in names if "/" not in one), name))


def problems_of(
    resources: Collection[ConnectorDocument], texts: Mapping[ConnectorName, str], settings: Settings
) -> Mapping[ConnectorName, str]:
    """The connectors that cannot be a `KafkaConnector` without loss, each with the reason."""
    from gitops_connect.cli.imported_connectors import read_back
    from gitops_connect.report import strimzi_document

    found = {one.name: strimzi_document.problem_of(one) for one in resources}
    whole = {name: texts[name] for name, problem in found.items() if not problem}
    read = read_back(whole, None, replace(settings.strimzi_options, workers=True))
    for one in resources:
        config = read.configs.get(one.name, {})
        changed = sorted(key for key in {*one.config, *config} if one.config.get(key) != config.get(key))
        if one.name not in read.problems and changed and not found[one.name]:
            found[one.name] = f"a KafkaConnector cannot declare its config keys {', '.join(changed)}"
    return {**{name: problem for name, problem in found.items() if problem}, **read.problems}
