"""`KafkaMirrorMaker2` resources for tests, and what Strimzi's operator writes for their clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gitops_connect.documents.yaml import parse
from gitops_connect.model.documents import Blob, Document
from gitops_connect.model.strimzi import parse_strimzi_version
from gitops_connect.strimzi.mirror_maker import Expansion, expand
from support.files.tables import table

SOURCE = table(__file__, "source")
TARGET = table(__file__, "target")
PLAINTEXT = table(__file__, "plaintext")
"""What the config of each connector of these two clusters has at least."""


def resource_text(
    spec: Mapping[str, Any], api: str = "v1", namespace: str | None = "kafka", **metadata: Mapping[str, str]
) -> str:
    """A resource named mm2, as JSON with a line for each field."""
    known = {"name": "mm2", **({"namespace": namespace} if namespace else {}), **metadata}
    value = {"apiVersion": f"kafka.strimzi.io/{api}", "kind": "KafkaMirrorMaker2", "metadata": known, "spec": spec}
    return json.dumps(value, indent=1)


def resource(spec: Mapping[str, Any], api: str = "v1", namespace: str | None = "kafka") -> Document:
    (document,) = parse(Blob("mm2.json", "1", resource_text(spec, api, namespace).encode())).documents
    return document


def new_shape(
    mirror: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A `spec` of one mirror, a to b. The arguments add fields to its parts. The default has a source connector."""
    entry = {"source": {**SOURCE, **(source or {})}, **({"sourceConnector": {}} if mirror is None else mirror)}
    return {"replicas": 1, "target": {**TARGET, **(target or {})}, "mirrors": [entry], **spec}


def old_shape(
    mirror: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """The same as `new_shape` with `connectCluster` and `clusters`."""
    entry = {"sourceCluster": "a", "targetCluster": "b", **({"sourceConnector": {}} if mirror is None else mirror)}
    clusters = [{**SOURCE, **(source or {})}, {"alias": "b", "bootstrapServers": "b:9092", **(target or {})}]
    return {"connectCluster": "b", "clusters": clusters, "mirrors": [entry], **spec}


def expanded(document: Document, version: str = "1.2") -> Expansion:
    return expand(document, parse_strimzi_version(version))


def configs(document: Document, version: str = "1.2") -> dict[str, Mapping[str, Any]]:
    """The config of each connector, by the last part of its name, of a resource without errors."""
    expansion = expanded(document, version)
    assert not expansion.diagnostics.errors, expansion.diagnostics.errors
    return {str(one.name).rpartition(".Mirror")[2]: one.config for one in expansion.connectors}


def summaries(document: Document, version: str = "1.2") -> list[str]:
    return [item.summary for item in expanded(document, version).diagnostics]
