"""Reads a `KafkaConnector`, which declares one connector of the same name.

Source: `047-Crd-kafkaconnector.yaml` in the releases 0.17 to 1.2 of Strimzi.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec, Expansion
from gitops_connect.desired.strimzi.resource import Problems, Section
from gitops_connect.desired.strimzi.resource_schema import (
    ALWAYS,
    IGNORED,
    INVALID,
    Api,
    Availability,
    Field,
    Kind,
    Rules,
    check,
)
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import StrimziVersion

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
_SPEC: Pointer = ("spec",)
_V1_SINCE = StrimziVersion(0, 49)
_LAST_WITH_OLD_API = StrimziVersion(0, 51)
"""Newer operators only read API version v1."""


def _since(major: int, minor: int) -> Availability:
    return Availability(since=StrimziVersion(major, minor))


def _config_map(key: str) -> Field:
    """A reference to a ConfigMap in the field `key` of an object."""
    reference = Field(Kind.OBJECT, {"name": Field(Kind.STRING)}, required=ALWAYS)
    return Field(Kind.OBJECT, {key: reference}, available=_since(0, 44))


_STATES = dict.fromkeys(("paused", "stopped", "running"), ALWAYS)
_RESTARTS = {"enabled": Field(Kind.BOOLEAN), "maxRestarts": Field(Kind.INTEGER, available=_since(0, 37))}
_FIELDS: Mapping[str, Field] = {
    "class": Field(Kind.STRING),
    "tasksMax": Field(Kind.INTEGER, minimum=1),
    "config": Field(Kind.OBJECT),
    "pause": Field(Kind.BOOLEAN, available=Availability(api=Api.OLD)),
    "state": Field(Kind.STRING, values=_STATES, available=_since(0, 38)),
    "autoRestart": Field(Kind.OBJECT, _RESTARTS, available=_since(0, 33)),
    "listOffsets": _config_map("toConfigMap"),
    "alterOffsets": _config_map("fromConfigMap"),
    "version": Field(Kind.STRING, available=_since(0, 49)),
}


def expand(resource: Document, version: StrimziVersion) -> Expansion:
    """The connector of a `KafkaConnector`, as an operator of this version reads it.

    Resources of the API versions v1alpha1 and v1beta2 are read with the rules of 0.51 at the newest: later operators
    do not read them.
    """
    name = resource.connector
    if name is None:
        return Expansion(complete=False)
    problems = Problems(resource)
    rules = _rules(resource, version)
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        summary = f"metadata.name must be the name of a Kubernetes resource, found {name!r}"
        problems.error(INVALID, ("metadata", "name"), summary, "use lower case letters, digits, dashes and dots")
    if not isinstance(resource.value.get("spec"), Mapping):
        problems.error(INVALID, _SPEC, "spec is required, and must be of type object", "set spec.class and spec.config")
        return _blocked(name, problems)
    checked = check(resource, _SPEC, _FIELDS, rules)
    problems.add(checked.diagnostics)
    if problems.has_errors:
        return _blocked(name, problems)
    connector = _connector(name, Section(checked.value, _SPEC), problems)
    return Expansion((connector,), Diagnostics.of(problems.found))


def _rules(resource: Document, version: StrimziVersion) -> Rules:
    api = str(resource.value.get("apiVersion")).rpartition("/")[2]
    if api == "v1":
        return Rules(Api.V1, max(version, _V1_SINCE), api)
    return Rules(Api.OLD, min(version, _LAST_WITH_OLD_API), api)


def _blocked(name: ConnectorName, problems: Problems) -> Expansion:
    return Expansion((), Diagnostics.of(problems.found), {name: _SPEC})


def _connector(name: ConnectorName, spec: Section, problems: Problems) -> ConnectorSpec:
    return ConnectorSpec(
        name=name,
        pointer=spec.pointer,
        connector_class=spec.get("class"),
        tasks_max=spec.get("tasksMax"),
        state=_state(spec, problems),
        config=spec.get("config") or {},
        auto_restart=spec.get("autoRestart"),
        version=spec.get("version"),
        list_offsets=_name(spec.get("listOffsets"), "toConfigMap"),
        alter_offsets=_name(spec.get("alterOffsets"), "fromConfigMap"),
    )


def _state(spec: Section, problems: Problems) -> str:
    """The target state. The older field `pause` counts only without `state`."""
    state, pause = spec.get("state"), spec.get("pause")
    if state is None:
        return "paused" if pause else "running"
    if pause is not None:
        problems.warning(IGNORED, spec.at("pause"), "spec.pause is ignored: spec.state is also set", "remove pause")
    return str(state)


def _name(offsets: Mapping[str, Any] | None, reference: str) -> str | None:
    name = offsets[reference].get("name") if offsets is not None else None
    return None if name is None else str(name)
