"""A connector as a Strimzi resource declares it, before it becomes a `Connector` document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Pointer
from gitops_connect.model.names import ConnectorName


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
