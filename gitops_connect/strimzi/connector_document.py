"""Makes a `Connector` document of a connector that a Strimzi resource declares. Its positions are in the resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_connect.documents.recognition import API_VERSION
from gitops_connect.model.desired import ACKNOWLEDGE, OWN_ANNOTATIONS, RESET_TOPICS
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import CONNECTOR, Document, Pointer
from gitops_connect.model.java_numbers import java_double
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.strimzi.resources import PAUSED, Problems, ResourceSection, cluster_field

CONFIG_VALUE = "strimzi/config-value"
FORBIDDEN_KEY = "strimzi/forbidden-key"

_FIRST, _PLUGIN_VERSION = StrimziVersion(0, 0), "connector.plugin.version"
_FORBIDDEN: Mapping[str, tuple[StrimziVersion, str]] = {
    "connector.class": (_FIRST, "set spec.class"),
    "tasks.max": (_FIRST, "set spec.tasksMax"),
    "name": (StrimziVersion(0, 42), "the resource names the connector"),
    _PLUGIN_VERSION: (StrimziVersion(0, 50), "set spec.version"),
}
"""Keys that the operator drops from the config, since which version, and what to do. Source: `FORBIDDEN_PARAMETERS`."""
UNLIMITED = 10_000
"""The most restarts that a document can allow: an operator without `maxRestarts` restarts without limit."""


def document_of(
    resource: Document, spec: ConnectorSpec, cluster: ClusterName | None, version: StrimziVersion, problems: Problems
) -> Document:
    """The document of a connector. `cluster` None: the directory of the file, or the only cluster, decides.

    With an error among the problems, the connector must not be changed.
    """
    places = {key: spec.places.get(key, (*spec.pointer, "config", key)) for key in spec.config}
    own = {key: one for key, one in _annotations(resource).items() if key.startswith(OWN_ANNOTATIONS)}
    declared: dict[str, Any] = {
        "class": spec.connector_class,
        "tasksMax": spec.tasks_max,
        "version": spec.version,
        "suspend": _annotations(resource).get(PAUSED) == "true" or None,
        "acknowledge": str(own.pop(ACKNOWLEDGE, "")).replace(",", " ").split() or None,
    }
    fields: dict[str, Any] = {
        "state": spec.state,
        "config": dict(_config(spec, places, version, problems)),
        "autoRestart": _auto_restart(spec.auto_restart),
        **{key: value for key, value in declared.items() if value is not None},
    }
    reset = {"resetTopics": {"id": own.pop(RESET_TOPICS)}} if RESET_TOPICS in own else {}
    origins: dict[Pointer, Pointer] = {
        **_origins(resource, spec.name, spec.pointer),
        **{("spec", name): (*spec.pointer, name) for name in fields},
        ("spec", "suspend"): ("metadata", "annotations", PAUSED),
        ("spec", "acknowledge"): ("metadata", "annotations", ACKNOWLEDGE),
        **dict.fromkeys(
            [("spec", "resetTopics"), ("spec", "resetTopics", "id")], ("metadata", "annotations", RESET_TOPICS)
        ),
        **{("spec", "config", key): place for key, place in places.items()},
    }
    return _document(resource, {**_head(spec.name, cluster, own), "spec": fields | reset}, origins)


def broken_document(
    resource: Document, name: ConnectorName | None, pointer: Pointer, cluster: ClusterName | None
) -> Document:
    """A document that only names its connector, which must not be changed."""
    return _document(resource, _head(name, cluster, {}), _origins(resource, name, pointer))


def _document(resource: Document, value: Mapping[str, Any], origins: Mapping[Pointer, Pointer]) -> Document:
    """`origins` has the field of the resource that each field of the document comes from."""
    places = {pointer: resource.locate(origin) for pointer, origin in origins.items()}
    positions = {pointer: (place.line, place.column) for pointer, place in places.items()}
    return Document(resource.location, value, positions, resource=resource)


def _head(name: ConnectorName | None, cluster: ClusterName | None, annotations: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} if name is not None else {}
    if cluster is not None:
        metadata["cluster"] = cluster
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": API_VERSION, "kind": CONNECTOR, "metadata": metadata}


def _origins(resource: Document, name: ConnectorName | None, pointer: Pointer) -> dict[Pointer, Pointer]:
    annotations: Pointer = ("metadata", "annotations")
    return {
        ("metadata", "name"): ("metadata", "name") if resource.connector == name else pointer,
        ("metadata", "cluster"): cluster_field(resource),
        annotations: annotations,
        **{(*annotations, key): (*annotations, key) for key in _annotations(resource)},
        ("spec",): pointer,
    }


def _annotations(resource: Document) -> Mapping[str, str]:
    found = resource.section("metadata").get("annotations")
    return found if isinstance(found, Mapping) else {}


def _auto_restart(declared: Mapping[str, Any] | None) -> dict[str, Any]:
    """Strimzi's releases restart nothing without `autoRestart`, and without limit if there is no `maxRestarts`."""
    if declared is None:
        return {"enabled": False}
    most = declared.get("maxRestarts")
    if declared.get("enabled") is False and most is None:
        return {"enabled": False}
    limit = UNLIMITED if most is None else min(max(most, 0), UNLIMITED)
    return {"enabled": declared.get("enabled") is not False, "maxRestarts": limit}


def _config(
    spec: ConnectorSpec, places: Mapping[str, Pointer], version: StrimziVersion, problems: Problems
) -> Iterator[tuple[str, str]]:
    """Every key that the operator sends, except for the class, the version and the number of tasks."""
    for key, value in spec.config.items():
        since, advice = _FORBIDDEN.get(key.lower(), (None, ""))
        if since is not None and version >= since:
            summary = f"the config key {key!r} is ignored, as in Strimzi"
            problems.warning(FORBIDDEN_KEY, places[key], summary, f"remove it; {advice}")
            continue
        try:
            text = as_text(value)
        except ValueError as error:
            what = "a config key" if value is None else f"the config key {key!r}"  # it may be a part of a secret
            summary = f"{what} is {error}, which Strimzi rejects"
            problems.error(CONFIG_VALUE, places[key], summary, "write a string, a number or a boolean")
            continue
        if key != _PLUGIN_VERSION or spec.version is None:  # an operator that does not drop the key: the field counts
            yield key, text


# The values of a connector's config as strings, as Strimzi's operator sends them.
#
# Source: `OrderedProperties.addIterablePairs` of Strimzi, which uses Java's `String.valueOf`.

_LEAST, _MOST = -(2**63), 2**63 - 1
_REJECTED = {int: "an integer of more than 64 bits", type(None): "empty", list: "a list"}


def as_text(value: object) -> str:
    """The string for a JSON value. Raises ValueError, with the reason, for a value that Strimzi rejects."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() if _LEAST <= value <= _MOST:
            return str(value)
        case float():
            return java_double(value)
        case _:
            raise ValueError(_REJECTED.get(type(value), "a mapping"))


# Adds the converters that Strimzi sets in the workers of a `KafkaMirrorMaker2`, and that other workers do not have.
#
# MirrorMaker's connectors write bytes. With another converter, such as the `JsonConverter` that most workers have, the
# records in the target cluster would not be those of the source cluster.
# Source: `KafkaMirrorMaker2Configuration` of Strimzi.

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_TARGET = "target.cluster."


def with_worker_converters(connector: ConnectorSpec) -> ConnectorSpec:
    """The connector of a mirror. A converter that it lacks is that of the target's config, or else of bytes."""
    target = {key.removeprefix(_TARGET): one for key, one in connector.config.items() if key.startswith(_TARGET)}
    added, places = dict(connector.config), dict(connector.places)
    for key in (one for one in _CONVERTERS if one not in connector.config):
        chosen = {name: one for name, one in target.items() if name == key or name.startswith(f"{key}.")}
        if key not in chosen:
            chosen = {key: _BYTES}
        added |= chosen
        places |= {name: connector.places.get(f"{_TARGET}{name}", connector.pointer) for name in chosen}
    return replace(connector, config=added, places=places)


# A connector as a Strimzi resource declares it, before it becomes a `Connector` document.


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """One connector of a resource. A `KafkaConnector` declares one, a `KafkaMirrorMaker2` up to three for each mirror.

    `pointer` is the field of the resource that declares the connector, as `("spec", "mirrors", 0, "sourceConnector")`.
    `config` has JSON values: what is not a string becomes one later. `places` has the field that each key of `config`
    comes from, if that is not `(*pointer, "config", key)`. `state` is `running`, `paused` or `stopped`. `version` is
    the version of the plugin. `list_offsets` and `alter_offsets` are the names of ConfigMaps.
    """

    name: ConnectorName
    pointer: Pointer
    connector_class: str | None
    tasks_max: int | None
    state: str
    config: Mapping[str, Any] = field(repr=False)
    places: Mapping[str, Pointer] = field(default_factory=dict, repr=False)
    auto_restart: Mapping[str, Any] | None = None
    version: str | None = None
    list_offsets: str | None = None
    alter_offsets: str | None = None


def read_connector(section: ResourceSection, name: ConnectorName) -> ConnectorSpec:
    """The connector of an object that has passed the check of its fields."""
    return ConnectorSpec(
        name=name,
        pointer=section.pointer,
        connector_class=section.get("class"),
        tasks_max=section.get("tasksMax"),
        state=_state(section),
        config=section.get("config") or {},
        auto_restart=section.get("autoRestart"),
        version=section.get("version"),
        list_offsets=_config_map(section, "listOffsets", "toConfigMap"),
        alter_offsets=_config_map(section, "alterOffsets", "fromConfigMap"),
    )


def _state(section: ResourceSection) -> str:
    """The target state. The older field `pause` counts only without `state`."""
    state = section.get("state")
    if state is None:
        return "paused" if section.get("pause") else "running"
    if section.get("pause") is not None:
        other = "spec.state" if len(section.pointer) == 1 else "state"
        section.ignored("pause", f"{other} is also set", "remove pause")
    return str(state)


def _config_map(section: ResourceSection, key: str, reference: str) -> str | None:
    offsets = section.get(key)
    name = (offsets.get(reference) or {}).get("name") if offsets is not None else None
    return None if name is None else str(name)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The connectors of a resource, and the problems of the resource.

    `connectors` is empty if there is an error. Then `blocked` has the field of each connector that the resource
    declares, and `complete` is False if some connector could not be named.
    """

    connectors: tuple[ConnectorSpec, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    blocked: Mapping[ConnectorName, Pointer] = field(default_factory=dict)
    complete: bool = True
