"""Expands a `KafkaMirrorMaker2` to its connectors, with the names and configs that Strimzi's operator gives them.

Source: `KafkaMirrorMaker2Connectors.generateConnectorDefinitions` of Strimzi. `docs/reference/strimzi-mirror-maker.md`
lists what depends on the version of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitops_connect.documents.nodes import MAX_NODES
from gitops_connect.families.mirror_maker_2 import CHECKPOINT_CLASS, HEARTBEAT_CLASS, SOURCE_CLASS
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziVersion
from gitops_connect.strimzi.connector_document import ConnectorSpec, Expansion, read_connector
from gitops_connect.strimzi.crd import NEW_SHAPE, Rules, check
from gitops_connect.strimzi.mirror_config import (
    MirrorCluster,
    cluster_keys,
    operator_keys,
    pattern_keys,
    warn_of_ignored_tracing,
)
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
    mirrors = _mirrors(spec, rules, problems)
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


# The mirrors: which source and which target cluster each one connects.
#
# Source: `KafkaMirrorMaker2Cluster.validateAndUpdateToNewAPI` (0.49 to 0.51), and
# `KafkaMirrorMaker2Connectors.validateConnectors` (up to 0.48).

_SAME_TARGET = StrimziVersion(0, 41)
"""From this version on, every mirror must have the Connect cluster as its target."""
_SAME_BOOTSTRAP = StrimziVersion(0, 44)
"""From this version to 0.48, another alias with the same bootstrap servers is also allowed as target."""

_WORKER_KEYS = frozenset({"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"})


@dataclass(frozen=True, slots=True)
class Mirror:
    """One entry of `spec.mirrors` with its clusters."""

    section: ResourceSection
    source: MirrorCluster
    target: MirrorCluster


def _mirrors(spec: ResourceSection, rules: Rules, problems: Problems) -> tuple[Mirror, ...]:
    """The mirrors of a `spec` that passed the check of its fields. A mirror with an error is left out."""
    clusters = _clusters(spec, problems)
    if rules.version < NEW_SHAPE:
        return tuple(_mirrors_up_to_048(spec, clusters, rules, problems))
    target = _target(spec, clusters, problems)
    entries = spec.sections("mirrors")
    if not entries and rules.api != "v1":
        problems.error(INVALID, spec.at("mirrors"), "spec.mirrors must have at least one mirror")
    if target is None:
        return ()
    mirrors = tuple(_mirrors_since_049(entries, target, clusters, problems))
    _check_aliases(mirrors, target, problems)
    return mirrors


def _clusters(spec: ResourceSection, problems: Problems) -> Mapping[str, ResourceSection]:
    """The entries of `spec.clusters` by alias."""
    found: dict[str, ResourceSection] = {}
    for cluster in spec.sections("clusters"):
        if found.setdefault(cluster.get("alias"), cluster) is not cluster:
            summary = f"{path(cluster.at('alias'))} must be unique: {cluster.get('alias')!r} is used more than once"
            problems.error(INVALID, cluster.at("alias"), summary, "give each cluster its own alias")
    return found


def _mirrors_up_to_048(
    spec: ResourceSection, clusters: Mapping[str, ResourceSection], rules: Rules, problems: Problems
) -> Iterator[Mirror]:
    _named(spec, "connectCluster", clusters, problems)
    for entry in spec.sections("mirrors"):
        source = _named(entry, "sourceCluster", clusters, problems)
        target = _named(entry, "targetCluster", clusters, problems)
        if source is None or target is None:
            continue
        if rules.version >= _SAME_TARGET:
            _check_target(spec, entry, clusters, rules, problems)
        yield Mirror(entry, MirrorCluster(source), MirrorCluster(target))


def _check_target(
    spec: ResourceSection,
    entry: ResourceSection,
    clusters: Mapping[str, ResourceSection],
    rules: Rules,
    problems: Problems,
) -> None:
    connect, target = spec.get("connectCluster"), entry.get("targetCluster")
    if target == connect or connect not in clusters:
        return
    servers = clusters[connect].get("bootstrapServers")
    if rules.version >= _SAME_BOOTSTRAP and servers == clusters[target].get("bootstrapServers"):
        return
    exception = " or have its bootstrapServers" if rules.version >= _SAME_BOOTSTRAP else ""
    place = entry.at("targetCluster")
    summary = f"{path(place)} must be spec.connectCluster ({connect!r}){exception}, found {target!r}"
    problems.error(INVALID, place, summary, "use one resource for each target cluster")


def _named(
    section: ResourceSection, key: str, clusters: Mapping[str, ResourceSection], problems: Problems
) -> ResourceSection | None:
    """The entry of `spec.clusters` that a field names."""
    alias = section.get(key)
    if alias in clusters:
        return clusters[alias]
    place = section.at(key)
    summary = f"{path(place)} must be an alias of spec.clusters, found {alias!r}"
    problems.error(INVALID, place, summary, "correct the alias, or add the cluster to spec.clusters")
    return None


def _target(spec: ResourceSection, clusters: Mapping[str, ResourceSection], problems: Problems) -> MirrorCluster | None:
    target = spec.section("target")
    if target is not None:
        return MirrorCluster(target)
    if spec.get("connectCluster") is None or not clusters:
        summary = "spec.target is required, or spec.connectCluster and spec.clusters in API version v1beta2"
        problems.error(INVALID, spec.pointer, summary)
        return None
    found = _named(spec, "connectCluster", clusters, problems)
    return None if found is None else MirrorCluster(found, _WORKER_KEYS)


def _mirrors_since_049(
    entries: tuple[ResourceSection, ...],
    target: MirrorCluster,
    clusters: Mapping[str, ResourceSection],
    problems: Problems,
) -> Iterator[Mirror]:
    for entry in entries:
        named = entry.get("targetCluster")
        if named is not None and named != target.alias:
            place = entry.at("targetCluster")
            summary = f"{path(place)} must be the alias of the target cluster ({target.alias!r}), found {named!r}"
            problems.error(INVALID, place, summary, "remove the field, or use one resource for each target cluster")
        source = entry.section("source") or _old_source(entry, clusters, problems)
        if source is not None:
            yield Mirror(entry, MirrorCluster(source), target)


def _old_source(
    entry: ResourceSection, clusters: Mapping[str, ResourceSection], problems: Problems
) -> ResourceSection | None:
    if entry.get("sourceCluster") is None:
        summary = f"{path(entry.at('source'))} is required, or sourceCluster in API version v1beta2"
        problems.error(INVALID, entry.pointer, summary)
        return None
    return _named(entry, "sourceCluster", clusters, problems)


def _check_aliases(mirrors: tuple[Mirror, ...], target: MirrorCluster, problems: Problems) -> None:
    counts = Counter([target.alias, *(mirror.source.alias for mirror in mirrors)])
    for mirror in mirrors:
        if counts[mirror.source.alias] > 1:
            place = mirror.source.section.at("alias")
            summary = f"the aliases of target and source clusters must be unique: {mirror.source.alias!r} is not"
            problems.error(INVALID, place, summary, "give each cluster its own alias")
