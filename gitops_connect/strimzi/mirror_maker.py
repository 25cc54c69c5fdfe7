"""Expands a `KafkaMirrorMaker2` to its connectors, with the names and configs that Strimzi's operator gives them.

Source: `KafkaMirrorMaker2Connectors.generateConnectorDefinitions` of Strimzi. `docs/reference/strimzi-mirror-maker.md`
lists what depends on the version of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_connect.documents.nodes import MAX_NODES
from gitops_connect.families.mirror_maker_2 import CHECKPOINT_CLASS, HEARTBEAT_CLASS, SOURCE_CLASS
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziVersion
from gitops_connect.strimzi.connector_document import ConnectorSpec, Expansion, read_connector
from gitops_connect.strimzi.crd import NEW_SHAPE, Rules, check
from gitops_connect.strimzi.mirror_config import cluster_keys, operator_keys, pattern_keys, warn_of_ignored_tracing
from gitops_connect.strimzi.mirrors import Mirror, read_mirrors
from gitops_connect.strimzi.placeholders import SecretPlaceholders
from gitops_connect.strimzi.resources import IGNORED, INVALID, Problems, ResourceSection, path, written

CLASSES: Mapping[str, str] = {
    "sourceConnector": SOURCE_CLASS,
    "checkpointConnector": CHECKPOINT_CLASS,
    "heartbeatConnector": HEARTBEAT_CLASS,
}
"""The class of the connector that each field of a mirror declares."""

API_VERSION = "strimzi/api-version"
NO_NAMESPACE = "strimzi/no-namespace"

_DEFAULT_NAMESPACE = "default"


def expand(resource: Document, version: StrimziVersion) -> Expansion:
    """The connectors of a `KafkaMirrorMaker2`, as an operator of this version creates them."""
    problems = Problems(resource)
    _check_api(resource, version, problems)
    if problems.has_errors():
        return Expansion(diagnostics=problems.found, complete=False)
    connectors = tuple(_connectors(resource, Rules.of(resource, version), problems))
    if not problems.has_errors():
        return Expansion(_with_restarts(resource, connectors), problems.found)
    return Expansion((), problems.found, *_declared_names(resource.value.get("spec")))


def _with_restarts(resource: Document, connectors: tuple[ConnectorSpec, ...]) -> tuple[ConnectorSpec, ...]:
    """The connectors with the restart policy of the resource (proposal 007), unless they have one of their own."""
    policy = resource.value["spec"].get("autoRestartConnectorsAndTasks")
    if policy is None:
        return connectors
    return tuple(one if one.auto_restart is not None else replace(one, auto_restart=policy) for one in connectors)


def _check_api(resource: Document, version: StrimziVersion, problems: Problems) -> None:
    """Report an API version that no operator reads, or that this operator does not read."""
    api = str(resource.value.get("apiVersion")).rpartition("/")[2]
    if api == "v1" and version < NEW_SHAPE:
        summary = f"Strimzi {version} does not read API version v1 of KafkaMirrorMaker2"
        hint = f"set the Strimzi version of the settings to {NEW_SHAPE} or newer"
        problems.error(API_VERSION, ("apiVersion",), summary, hint)
    elif api not in ("v1", "v1alpha1", "v1beta2"):
        hint = "use v1, v1beta2 or v1alpha1, or upgrade gitops-connect"
        problems.error(API_VERSION, ("apiVersion",), f"the API version {api!r} of KafkaMirrorMaker2 is unknown", hint)


def _connectors(resource: Document, rules: Rules, problems: Problems) -> Iterator[ConnectorSpec]:
    declared = resource.value.get("spec")
    if not isinstance(declared, Mapping):
        problems.error(INVALID, ("spec",), "spec is required, and must be of type object")
        return
    spec = ResourceSection(check(declared, MIRROR_MAKER, rules, problems), ("spec",))
    if problems.has_errors():
        return
    _check_operator_fields(spec, rules, problems)
    warn_of_ignored_tracing(spec, rules.version, problems)
    mirrors = read_mirrors(spec, rules, problems)
    name = str(resource.section("metadata").get("name"))
    secrets = SecretPlaceholders(rules.version, _namespace(resource) or _DEFAULT_NAMESPACE, name)
    connectors: list[ConnectorSpec] = []
    keys = 0
    for connector in (one for mirror in mirrors for one in _of_mirror(spec, mirror, secrets, problems)):
        connectors.append(connector)
        keys += len(connector.config)
        if keys > MAX_NODES:  # each connector has the keys of its clusters
            summary = f"the connectors of this resource would have more than {MAX_NODES:,} config keys"
            problems.error(INVALID, ("spec", "mirrors"), summary, "split the resource")
            return
    _check_names(connectors, problems)
    _check_namespace(resource, connectors, problems)
    yield from connectors


def _check_operator_fields(spec: ResourceSection, rules: Rules, problems: Problems) -> None:
    """The rules of the CRD between fields. They decide whether Kubernetes accepts the resource."""
    rack, metrics = spec.section("rack"), spec.section("metricsConfig")
    if rack is not None:
        key = "envVarName" if rack.get("type") == "environment-variable" else "topologyKey"
        if not rack.get(key):
            problems.error(INVALID, rack.pointer, f"{path(rack.at(key))} is required")
    if metrics is not None and metrics.get("type") == "jmxPrometheusExporter" and metrics.get("valueFrom") is None:
        problems.error(INVALID, metrics.pointer, f"{path(metrics.at('valueFrom'))} is required")
    if spec.get("replicas") == 0:
        summary = f"spec.replicas is ignored: Strimzi {rules.version} leaves connectors unchanged if it is 0"
        problems.warning(IGNORED, spec.at("replicas"), summary, "set the state of the connectors to stopped")


def _namespace(resource: Document) -> str | None:
    namespace = resource.section("metadata").get("namespace")
    return namespace if isinstance(namespace, str) and namespace else None


def _of_mirror(
    spec: ResourceSection, mirror: Mirror, secrets: SecretPlaceholders, problems: Problems
) -> Iterator[ConnectorSpec]:
    """The connectors of one mirror. Without an entry for a connector, the connector does not exist."""
    declared = [(key, one) for key in CLASSES if (one := mirror.section.section(key)) is not None]
    target = cluster_keys(mirror.target, "target.cluster.", secrets, problems)
    source = cluster_keys(mirror.source, "source.cluster.", secrets, problems)
    patterns = pattern_keys(mirror.section, secrets.version, problems)
    for key, section in declared:
        declared_config = section.section("config")
        own = written(declared_config) if declared_config is not None else {}
        new_order = secrets.version >= NEW_SHAPE
        config = {**target, **source, **own} if new_order else {**own, **target, **source}
        config |= patterns
        config |= operator_keys(spec, mirror.section, secrets.version, config)
        values = {name: one.value for name, one in config.items()}
        places = {name: one.place for name, one in config.items() if one.place != (*section.at("config"), name)}
        connector = read_connector(section, problems, _name(mirror.source.alias, mirror.target.alias, key))
        yield replace(connector, connector_class=CLASSES[key], config=values, places=places)


def _check_names(connectors: list[ConnectorSpec], problems: Problems) -> None:
    counts = Counter(connector.name for connector in connectors)
    for connector in connectors:
        if counts[connector.name] > 1:
            summary = f"the resource declares the connector {connector.name!r} more than once"
            problems.error(INVALID, connector.pointer, summary, "declare it in one mirror only")


def _check_namespace(resource: Document, connectors: list[ConnectorSpec], problems: Problems) -> None:
    if _namespace(resource) is not None:
        return
    found = f"${{strimzisecrets:{_DEFAULT_NAMESPACE}/"
    if any(found in str(value) for connector in connectors for value in connector.config.values()):
        summary = f"metadata.namespace is missing: placeholders for Secrets use the namespace {_DEFAULT_NAMESPACE!r}"
        problems.warning(NO_NAMESPACE, ("metadata",), summary, "set metadata.namespace")


# The names of the connectors that an invalid `KafkaMirrorMaker2` declares, so that only these are blocked.


def _declared_names(spec: Any) -> tuple[Mapping[ConnectorName, Pointer], bool]:
    """The field that declares each connector, and whether all of them have names. The `spec` need not be valid."""
    mirrors = _get(spec, "mirrors")
    if not isinstance(mirrors, list):
        return {}, False
    fields: dict[ConnectorName, Pointer] = {}
    complete = True
    for index, mirror in enumerate(mirrors):
        source = _alias(_get(mirror, "source"), _get(mirror, "sourceCluster"))
        target = _alias(_get(spec, "target"), _get(mirror, "targetCluster"), _get(spec, "connectCluster"))
        for key in CLASSES:
            if _get(mirror, key) is None:
                continue
            if source is None or target is None:
                complete = False
            else:
                fields[_name(source, target, key)] = ("spec", "mirrors", index, key)
    return fields, complete


def _name(source: str, target: str, key: str) -> ConnectorName:
    return ConnectorName(f"{source}->{target}.{CLASSES[key].rpartition('.')[2]}")


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _alias(cluster: Any, *names: Any) -> str | None:
    """The alias of a cluster, else the first of the names that is one."""
    return next((one for one in (_get(cluster, "alias"), *names) if isinstance(one, str) and one), None)
