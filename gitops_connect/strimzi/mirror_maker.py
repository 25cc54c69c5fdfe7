"""Expands a `KafkaMirrorMaker2` to its connectors, with the names and configs that Strimzi's operator gives them.

Source: `KafkaMirrorMaker2Connectors.generateConnectorDefinitions` of Strimzi. `docs/reference/strimzi-mirror-maker.md`
lists what depends on the version of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from gitops_connect.documents.nodes import MAX_NODES
from gitops_connect.families.mirror_maker_2 import CHECKPOINT_CLASS, HEARTBEAT_CLASS, SOURCE_CLASS
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziVersion
from gitops_connect.strimzi.connector_document import ConnectorSpec, Expansion, read_connector
from gitops_connect.strimzi.crd import NEW_SHAPE, Rules, check
from gitops_connect.strimzi.mirror_config import cluster_keys, operator_keys, pattern_keys, tracing_is_ignored
from gitops_connect.strimzi.placeholders import SecretPlaceholders
from gitops_connect.strimzi.resources import INVALID, Problems, ResourceSection, written

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
        # proposal 007: the policy of all connectors without one of their own
        policy = resource.value["spec"].get("autoRestartConnectorsAndTasks")
        if policy is not None:
            connectors = tuple(
                one if one.auto_restart is not None else replace(one, auto_restart=policy) for one in connectors
            )
        return Expansion(connectors, problems.found)
    return Expansion((), problems.found, *_declared_names(resource.value.get("spec")))


def _check_api(resource: Document, version: StrimziVersion, problems: Problems) -> None:
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
    spec = ResourceSection(check(declared, MIRROR_MAKER, rules, problems), ("spec",), problems)
    if problems.has_errors():
        return
    _check_operator_fields(spec, rules)
    mirrors = _mirrors(spec, rules)
    name = str(resource.section("metadata").get("name"))
    secrets = SecretPlaceholders(rules.version, _namespace(resource) or _DEFAULT_NAMESPACE, name)
    connectors: list[ConnectorSpec] = []
    keys = 0
    for connector in (one for mirror in mirrors for one in _of_mirror(spec, mirror, secrets)):
        connectors.append(connector)
        keys += len(connector.config)
        if keys > MAX_NODES:  # each connector has the keys of its clusters
            summary = f"the connectors of this resource would have more than {MAX_NODES:,} config keys"
            problems.error(INVALID, ("spec", "mirrors"), summary, "split the resource")
            return
    _check_names(connectors, problems)
    _check_namespace(resource, connectors, problems)
    yield from connectors


def _check_operator_fields(spec: ResourceSection, rules: Rules) -> None:
    """The rules of the CRD between fields, which decide whether Kubernetes accepts the resource; and ignored fields."""
    rack, metrics, tracing = spec.section("rack"), spec.section("metricsConfig"), spec.section("tracing")
    if rack is not None:
        key = "envVarName" if rack.get("type") == "environment-variable" else "topologyKey"
        if not rack.get(key):
            rack.missing(key)
    if metrics is not None and metrics.get("type") == "jmxPrometheusExporter" and metrics.get("valueFrom") is None:
        metrics.missing("valueFrom")
    if spec.get("replicas") == 0:
        why = f"Strimzi {rules.version} leaves connectors unchanged if it is 0"
        spec.ignored("replicas", why, "set the state of the connectors to stopped")
    if tracing is not None and tracing_is_ignored(tracing, rules.version):
        why = f"Strimzi {rules.version} does not support the type jaeger"
        spec.ignored("tracing", why, "use opentelemetry, or remove the field")


def _namespace(resource: Document) -> str | None:
    namespace = resource.section("metadata").get("namespace")
    return namespace if isinstance(namespace, str) and namespace else None


def _of_mirror(spec: ResourceSection, mirror: Mirror, secrets: SecretPlaceholders) -> Iterator[ConnectorSpec]:
    """The connectors of one mirror. Without an entry for a connector, the connector does not exist."""
    target = cluster_keys(mirror.target, "target.cluster.", secrets)
    source = cluster_keys(mirror.source, "source.cluster.", secrets)
    patterns = pattern_keys(mirror.section, secrets.version)
    for key, class_name in CLASSES.items():
        section = mirror.section.section(key)
        if section is None:
            continue
        declared = section.section("config")
        own = written(declared) if declared is not None else {}
        clusters = {**target, **source}
        config = {**clusters, **own} if secrets.version >= NEW_SHAPE else {**own, **clusters}
        config |= patterns
        config |= operator_keys(spec, mirror.section, secrets.version, config)
        connector = read_connector(section, _name(mirror.source.get("alias"), mirror.target.get("alias"), key))
        yield replace(
            connector,
            connector_class=class_name,
            config={name: one.value for name, one in config.items()},
            places={name: one.place for name, one in config.items() if one.place != (*section.at("config"), name)},
        )


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
    """The field that declares each connector, and whether all of them have names. The `spec` need not be valid.

    A mirror of a cluster that is not in the list may be one with a misspelt name: which connectors it declares is
    unknown.
    """
    mirrors, clusters = _get(spec, "mirrors"), _get(spec, "clusters")
    if not isinstance(mirrors, list):
        return {}, False
    aliases = (_get(one, "alias") for one in clusters) if isinstance(clusters, list) else ()
    listed = {one for one in aliases if isinstance(one, str)} if isinstance(clusters, list) else None
    fields: dict[ConnectorName, Pointer] = {}
    complete = True
    for index, mirror in enumerate(mirrors):
        named = [name for key in ("sourceCluster", "targetCluster") if (name := _get(mirror, key)) is not None]
        is_unlisted = listed is not None and any(name not in listed for name in named if isinstance(name, str))
        complete = complete and isinstance(mirror, Mapping) and not is_unlisted
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


class Mirror(NamedTuple):
    section: ResourceSection
    source: ResourceSection
    target: ResourceSection


def _mirrors(spec: ResourceSection, rules: Rules) -> tuple[Mirror, ...]:
    """The mirrors of a `spec` that passed the check of its fields. A mirror with an error is left out."""
    clusters = _clusters(spec)
    if rules.version < NEW_SHAPE:
        return tuple(_mirrors_up_to_048(spec, clusters, rules))
    target = _target(spec, clusters)
    entries = spec.sections("mirrors")
    if not entries and rules.api != "v1":
        spec.problems.error(INVALID, spec.at("mirrors"), "spec.mirrors must have at least one mirror")
    if target is None:
        return ()
    mirrors = tuple(_mirrors_since_049(entries, target, clusters))
    counts = Counter([target.get("alias"), *(mirror.source.get("alias") for mirror in mirrors)])
    for source in (mirror.source for mirror in mirrors):
        if counts[source.get("alias")] > 1:
            summary = f"the aliases of target and source clusters must be unique: {source.get('alias')!r} is not"
            spec.problems.error(INVALID, source.at("alias"), summary, "give each cluster its own alias")
    return mirrors


def _clusters(spec: ResourceSection) -> Mapping[str, ResourceSection]:
    found: dict[str, ResourceSection] = {}
    for cluster in spec.sections("clusters"):
        alias = cluster.get("alias")
        if found.setdefault(alias, cluster) is not cluster:
            cluster.invalid(
                "alias", f"must be unique: {alias!r} is used more than once", "give each cluster its own alias"
            )
    return found


def _mirrors_up_to_048(
    spec: ResourceSection, clusters: Mapping[str, ResourceSection], rules: Rules
) -> Iterator[Mirror]:
    _named(spec, "connectCluster", clusters)
    for entry in spec.sections("mirrors"):
        source, target = _named(entry, "sourceCluster", clusters), _named(entry, "targetCluster", clusters)
        if source is None or target is None:
            continue
        if rules.version >= _SAME_TARGET:
            _check_target(entry, target, clusters, spec.get("connectCluster"), rules)
        yield Mirror(entry, source, target)


def _check_target(
    entry: ResourceSection, target: ResourceSection, clusters: Mapping[str, ResourceSection], connect: str, rules: Rules
) -> None:
    named, servers = entry.get("targetCluster"), target.get("bootstrapServers")
    if named == connect or connect not in clusters:
        return
    may_differ = rules.version >= _SAME_BOOTSTRAP
    if may_differ and servers == clusters[connect].get("bootstrapServers"):
        return
    exception = " or have its bootstrapServers" if may_differ else ""
    problem = f"must be spec.connectCluster ({connect!r}){exception}, found {named!r}"
    entry.invalid("targetCluster", problem, "use one resource for each target cluster")


def _named(section: ResourceSection, key: str, clusters: Mapping[str, ResourceSection]) -> ResourceSection | None:
    """The entry of `spec.clusters` that a field names."""
    alias = section.get(key)
    if alias not in clusters:
        hint = "correct the alias, or add the cluster to spec.clusters"
        section.invalid(key, f"must be an alias of spec.clusters, found {alias!r}", hint)
    return clusters.get(alias)


def _target(spec: ResourceSection, clusters: Mapping[str, ResourceSection]) -> ResourceSection | None:
    """The target of all mirrors, without the keys of its config that only the Connect worker gets."""
    target = spec.section("target")
    if target is not None:
        return target
    if spec.get("connectCluster") is None or not clusters:
        spec.missing("target", "is required, or spec.connectCluster and spec.clusters in API version v1beta2")
        return None
    found = _named(spec, "connectCluster", clusters)
    if found is None or found.get("config") is None:
        return found
    config = {key: value for key, value in found.get("config").items() if key not in _WORKER_KEYS}
    return replace(found, value={**found.value, "config": config})


def _mirrors_since_049(
    entries: tuple[ResourceSection, ...], target: ResourceSection, clusters: Mapping[str, ResourceSection]
) -> Iterator[Mirror]:
    for entry in entries:
        named, alias = entry.get("targetCluster"), target.get("alias")
        if named is not None and named != alias:
            problem = f"must be the alias of the target cluster ({alias!r}), found {named!r}"
            entry.invalid("targetCluster", problem, "remove the field, or use one resource for each target cluster")
        source = entry.section("source")
        if source is None and entry.get("sourceCluster") is None:
            entry.missing("source", "is required, or sourceCluster in API version v1beta2")
        elif source is None:
            source = _named(entry, "sourceCluster", clusters)
        if source is not None:
            yield Mirror(entry, source, target)
