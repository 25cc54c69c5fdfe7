"""Expands a `KafkaMirrorMaker2` to its connectors, with the names and configs that Strimzi's operator gives them.

Source: `KafkaMirrorMaker2Connectors.generateConnectorDefinitions` of Strimzi. `docs/reference/strimzi-mirror-maker.md`
lists what depends on the version of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_connect.desired.nodes import MAX_NODES
from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec, Expansion
from gitops_connect.desired.strimzi.mirror_cluster import cluster_keys
from gitops_connect.desired.strimzi.mirror_maker_fields import AUTO_RESTART, NEW_SHAPE, SPEC
from gitops_connect.desired.strimzi.mirror_names import declared_names
from gitops_connect.desired.strimzi.mirror_operator_keys import operator_keys, pattern_keys, warn_of_ignored_tracing
from gitops_connect.desired.strimzi.mirrors import Mirror, read_mirrors
from gitops_connect.desired.strimzi.resource import Layer, Problems, Section, written
from gitops_connect.desired.strimzi.resource_schema import IGNORED, INVALID, Api, Rules, check, path
from gitops_connect.desired.strimzi.secret_placeholders import SecretPlaceholders
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import StrimziVersion

SOURCE, CHECKPOINT, HEARTBEAT = "sourceConnector", "checkpointConnector", "heartbeatConnector"
CLASSES: Mapping[str, str] = {
    SOURCE: "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    CHECKPOINT: "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    HEARTBEAT: "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
}
"""The class of the connector that each field of a mirror declares."""

API_VERSION = "strimzi/api-version"
NO_NAMESPACE = "strimzi/no-namespace"

_LAST_WITH_OLD_API = StrimziVersion(0, 51)
"""Newer operators only read API version v1."""
_DEFAULT_NAMESPACE = "default"


def expand(resource: Document, version: StrimziVersion) -> Expansion:
    """The connectors of a `KafkaMirrorMaker2`, as an operator of this version creates them.

    Resources of the API versions v1alpha1 and v1beta2 are read with the rules of 0.51 at the newest: later operators
    do not read them.
    """
    problems = Problems(resource)
    rules = _rules(resource, version, problems)
    connectors = tuple(_connectors(resource, rules, problems)) if rules is not None else ()
    diagnostics = Diagnostics.of(problems.found)
    if not problems.has_errors:
        return Expansion(_with_restarts(resource, connectors), diagnostics)
    if rules is None:
        return Expansion(diagnostics=diagnostics, complete=False)
    names = declared_names(resource.value.get("spec"), CLASSES)
    return Expansion((), diagnostics, names.fields, names.complete)


def _with_restarts(resource: Document, connectors: tuple[ConnectorSpec, ...]) -> tuple[ConnectorSpec, ...]:
    """The connectors with the restart policy of the resource (proposal 007), unless they have one of their own."""
    policy = resource.value["spec"].get(AUTO_RESTART)
    if policy is None:
        return connectors
    return tuple(one if one.auto_restart is not None else replace(one, auto_restart=policy) for one in connectors)


def _rules(resource: Document, version: StrimziVersion, problems: Problems) -> Rules | None:
    """The rules for the resource; None if no operator reads its API version, or this operator does not."""
    name = str(resource.value.get("apiVersion")).rpartition("/")[2]
    place: Pointer = ("apiVersion",)
    if name == "v1" and version >= NEW_SHAPE:
        return Rules(Api.V1, version, name)
    if name == "v1":
        summary = f"Strimzi {version} does not read API version v1 of KafkaMirrorMaker2"
        problems.error(API_VERSION, place, summary, f"set the Strimzi version of the settings to {NEW_SHAPE} or newer")
        return None
    if name in ("v1alpha1", "v1beta2"):
        return Rules(Api.OLD, min(version, _LAST_WITH_OLD_API), name)
    hint = "use v1, v1beta2 or v1alpha1, or upgrade gitops-connect"
    problems.error(API_VERSION, place, f"the API version {name!r} of KafkaMirrorMaker2 is unknown", hint)
    return None


def _connectors(resource: Document, rules: Rules, problems: Problems) -> Iterator[ConnectorSpec]:
    if not isinstance(resource.value.get("spec"), Mapping):
        problems.error(INVALID, ("spec",), "spec is required, and must be of type object")
        return
    checked = check(resource, ("spec",), SPEC, rules)
    problems.add(checked.diagnostics)
    if problems.has_errors:
        return
    spec = Section(checked.value, ("spec",))
    _check_operator_fields(spec, rules, problems)
    warn_of_ignored_tracing(spec, rules.version, problems)
    mirrors = read_mirrors(spec, rules, problems)
    secrets = _secrets(resource, rules)
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


def _check_operator_fields(spec: Section, rules: Rules, problems: Problems) -> None:
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


def _secrets(resource: Document, rules: Rules) -> SecretPlaceholders:
    metadata = resource.value.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return SecretPlaceholders(rules.version, _namespace(metadata) or _DEFAULT_NAMESPACE, str(metadata.get("name")))


def _namespace(metadata: Mapping[str, Any]) -> str | None:
    namespace = metadata.get("namespace")
    return namespace if isinstance(namespace, str) and namespace else None


def _of_mirror(
    spec: Section, mirror: Mirror, secrets: SecretPlaceholders, problems: Problems
) -> Iterator[ConnectorSpec]:
    """The connectors of one mirror. Without an entry for a connector, the connector does not exist."""
    declared = [(key, one) for key in CLASSES if (one := mirror.section.section(key)) is not None]
    target = cluster_keys(mirror.target, "target.cluster.", secrets, problems)
    source = cluster_keys(mirror.source, "source.cluster.", secrets, problems)
    patterns = pattern_keys(mirror.section, secrets.version, problems)
    for key, section in declared:
        own = section.section("config")
        values = written(own) if own is not None else {}
        new_order = secrets.version >= NEW_SHAPE
        config = {**target, **source, **values} if new_order else {**values, **target, **source}
        config |= patterns
        config |= operator_keys(spec, mirror.section, secrets.version, config)
        yield _connector(section, f"{mirror.source.alias}->{mirror.target.alias}", CLASSES[key], config, problems)


def _connector(section: Section, mirror: str, connector_class: str, config: Layer, problems: Problems) -> ConnectorSpec:
    own = section.at("config")
    return ConnectorSpec(
        name=ConnectorName(f"{mirror}.{connector_class.rpartition('.')[2]}"),
        pointer=section.pointer,
        connector_class=connector_class,
        tasks_max=section.get("tasksMax"),
        state=_state(section, problems),
        config={key: one.value for key, one in config.items()},
        places={key: one.place for key, one in config.items() if one.place != (*own, key)},
        auto_restart=section.get("autoRestart"),
        version=section.get("version"),
        list_offsets=_config_map(section, "listOffsets", "toConfigMap"),
        alter_offsets=_config_map(section, "alterOffsets", "fromConfigMap"),
    )


def _state(section: Section, problems: Problems) -> str:
    """The target state. The older field `pause` counts only without `state`."""
    state, pause = section.get("state"), section.get("pause")
    if state is None:
        return "paused" if pause else "running"
    if pause is not None:
        summary = f"{path(section.at('pause'))} is ignored: state is also set"
        problems.warning(IGNORED, section.at("pause"), summary, "remove pause")
    return str(state)


def _config_map(section: Section, key: str, reference: str) -> str | None:
    offsets = section.section(key)
    name = offsets.value[reference].get("name") if offsets is not None else None
    return None if name is None else str(name)


def _check_names(connectors: list[ConnectorSpec], problems: Problems) -> None:
    counts = Counter(connector.name for connector in connectors)
    for connector in connectors:
        if counts[connector.name] > 1:
            summary = f"the resource declares the connector {connector.name!r} more than once"
            problems.error(INVALID, connector.pointer, summary, "declare it in one mirror only")


def _check_namespace(resource: Document, connectors: list[ConnectorSpec], problems: Problems) -> None:
    metadata = resource.value.get("metadata")
    if isinstance(metadata, Mapping) and _namespace(metadata) is not None:
        return
    found = f"${{strimzisecrets:{_DEFAULT_NAMESPACE}/"
    if any(found in str(value) for connector in connectors for value in connector.config.values()):
        summary = f"metadata.namespace is missing: placeholders for Secrets use the namespace {_DEFAULT_NAMESPACE!r}"
        problems.warning(NO_NAMESPACE, ("metadata",), summary, "set metadata.namespace")
