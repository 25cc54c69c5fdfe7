"""Makes a `Connector` document of a connector that a Strimzi resource declares. Its positions are in the resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.desired.recognition import API_VERSION
from gitops_connect.desired.strimzi.clusters import cluster_field
from gitops_connect.desired.strimzi.config_values import as_text
from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec
from gitops_connect.model.desired import OWN_ANNOTATIONS
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import CONNECTOR, Document, Pointer
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziVersion

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
_UNLIMITED = 10_000
"""The most restarts that a document can allow: an operator without `maxRestarts` restarts without limit."""
_EXPECTED = "write a string, a number or a boolean"
_PAUSED = "strimzi.io/pause-reconciliation"


@dataclass(frozen=True, slots=True)
class Translation:
    """The document of one connector, and its problems. With an error among them, the connector must not be changed."""

    document: Document
    problems: tuple[Diagnostic, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the document has no error."""
        return all(problem.severity is not Severity.ERROR for problem in self.problems)


def document_of(
    resource: Document, spec: ConnectorSpec, cluster: ClusterName | None, version: StrimziVersion
) -> Translation:
    """The document of a connector. `cluster` None: the directory of the file, or the only cluster, decides."""
    config = _Config(resource, spec, version)
    fields: dict[str, Any] = {
        "state": spec.state,
        "config": config.read(),
        "autoRestart": _auto_restart(spec.auto_restart),
    }
    if spec.connector_class is not None:
        fields["class"] = spec.connector_class
    if spec.tasks_max is not None:
        fields["tasksMax"] = spec.tasks_max
    if spec.version is not None:
        fields["version"] = spec.version
    if _annotations(resource).get(_PAUSED) == "true":
        fields["suspend"] = True
    own = {key: one for key, one in _annotations(resource).items() if key.startswith(OWN_ANNOTATIONS)}
    value = {**_head(spec.name, cluster, own), "spec": fields}
    positions = _positions(resource, spec.name, spec.pointer)
    for name in fields.keys() - {"suspend"}:
        _place(positions, ("spec", name), resource, (*spec.pointer, name))
    _place(positions, ("spec", "suspend"), resource, ("metadata", "annotations", _PAUSED))
    for key, pointer in config.places.items():
        _place(positions, ("spec", "config", key), resource, pointer)
    document = Document(resource.location, value, positions, resource=resource)
    return Translation(document, tuple(config.problems))


def broken_document(
    resource: Document, name: ConnectorName | None, pointer: Pointer, cluster: ClusterName | None
) -> Document:
    """A document that only names its connector, which must not be changed."""
    positions = _positions(resource, name, pointer)
    return Document(resource.location, _head(name, cluster, {}), positions, resource=resource)


def _head(name: ConnectorName | None, cluster: ClusterName | None, annotations: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} if name is not None else {}
    if cluster is not None:
        metadata["cluster"] = cluster
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": API_VERSION, "kind": CONNECTOR, "metadata": metadata}


def _positions(resource: Document, name: ConnectorName | None, pointer: Pointer) -> dict[Pointer, tuple[int, int]]:
    positions: dict[Pointer, tuple[int, int]] = {}
    _place(positions, ("metadata", "name"), resource, ("metadata", "name") if resource.connector == name else pointer)
    _place(positions, ("metadata", "cluster"), resource, cluster_field(resource))
    _place(positions, ("metadata", "annotations"), resource, ("metadata", "annotations"))
    for key in _annotations(resource):
        _place(positions, ("metadata", "annotations", key), resource, ("metadata", "annotations", key))
    _place(positions, ("spec",), resource, pointer)
    return positions


def _place(positions: dict[Pointer, tuple[int, int]], pointer: Pointer, resource: Document, origin: Pointer) -> None:
    location = resource.locate(origin)
    positions[pointer] = (location.line, location.column)


def _annotations(resource: Document) -> Mapping[str, str]:
    metadata = resource.value.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _auto_restart(declared: Mapping[str, Any] | None) -> dict[str, Any]:
    """Strimzi restarts nothing without `autoRestart`, and without limit if there is no `maxRestarts`."""
    if declared is None:
        return {"enabled": False}
    most = declared.get("maxRestarts")
    limit = _UNLIMITED if most is None else min(max(most, 0), _UNLIMITED)
    return {"enabled": declared.get("enabled") is not False, "maxRestarts": limit}


@dataclass(slots=True)
class _Config:
    """The config of one connector while it is read."""

    resource: Document
    spec: ConnectorSpec
    version: StrimziVersion
    places: dict[str, Pointer] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)

    def read(self) -> dict[str, str]:
        """Every key that the operator sends, except for the class, the version and the number of tasks."""
        config = dict(self._pairs())
        if self.spec.version is not None:
            config.pop(_PLUGIN_VERSION, None)  # of an operator that does not drop it: the field counts
        return config

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for key, value in self.spec.config.items():
            self.places[key] = self.spec.places.get(key, (*self.spec.pointer, "config", key))
            since, advice = _FORBIDDEN.get(key.lower(), (None, ""))
            if since is not None and self.version >= since:
                self._warn(key, f"the config key {key!r} is ignored, as in Strimzi", f"remove it; {advice}")
                continue
            try:
                text = as_text(value)
            except ValueError as error:
                what = "a config key" if value is None else f"the config key {key!r}"  # it may be a part of a secret
                self._error(CONFIG_VALUE, key, f"{what} is {error}, which Strimzi rejects", _EXPECTED)
                continue
            yield key, text

    def _warn(self, key: str, summary: str, hint: str) -> None:
        self._add(Severity.WARNING, FORBIDDEN_KEY, key, summary, hint)

    def _error(self, rule: str, key: str, summary: str, hint: str) -> None:
        self._add(Severity.ERROR, rule, key, summary, hint)

    def _add(self, severity: Severity, rule: str, key: str, summary: str, hint: str) -> None:
        place = self.resource.locate(self.places[key])
        self.problems.append(Diagnostic(severity, rule, summary, place, hint, self.spec.name))
