"""Parts of a Strimzi resource that passed the check of its fields, and the Connect cluster that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ClusterName, ConnectorName, first_refused
from gitops_connect.model.strimzi import MIRROR_MAKER, StrimziOptions

INVALID = "strimzi/invalid-field"
IGNORED = "strimzi/ignored-field"
PAUSED = "strimzi.io/pause-reconciliation"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
_REFUSED = re.compile(r"[^-.a-z0-9]")


def is_resource_name(name: str) -> bool:
    """Whether Kubernetes accepts the name of a resource: lower case letters, digits, dashes and dots."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def refused_in_resource_name(name: str) -> str:
    """The first character that the name of no resource has, and its place, with a colon before; may be empty."""
    found = first_refused(_REFUSED, name)
    return found and f": {found}"


class Problems:
    def __init__(self, resource: Document, connector: ConnectorName | None = None) -> None:
        self._resource = resource
        self._connector = connector
        self._found: list[Diagnostic] = []

    @property
    def found(self) -> Diagnostics:
        return Diagnostics.of(self._found)

    def has_errors(self) -> bool:
        """Whether an error was found: then no connector of the resource may be changed."""
        return any(item.severity is Severity.ERROR for item in self._found)

    def error(self, rule: str, place: Pointer, summary: str, hint: str = "") -> None:
        self._add(Severity.ERROR, rule, place, summary, hint)

    def warning(self, rule: str, place: Pointer, summary: str, hint: str = "") -> None:
        self._add(Severity.WARNING, rule, place, summary, hint)

    def _add(self, severity: Severity, rule: str, place: Pointer, summary: str, hint: str) -> None:
        where = self._resource.locate(place)
        self._found.append(Diagnostic(severity, rule, summary, where, hint, self._connector))


def path(pointer: Pointer) -> str:
    """A pointer as people write it: `spec.mirrors[0].source.alias`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in pointer).removeprefix(".")


@dataclass(frozen=True, slots=True)
class ResourceSection:
    """An object of the resource, the path to it, and the problems that are found in the resource."""

    value: Mapping[str, Any] = field(repr=False)
    pointer: Pointer
    problems: Problems = field(repr=False)

    def get(self, key: str) -> Any:
        return self.value.get(key)

    def at(self, key: str) -> Pointer:
        return (*self.pointer, key)

    def placed(self, key: str) -> PlacedValue:
        return PlacedValue(self.get(key), self.at(key))

    def section(self, key: str) -> ResourceSection | None:
        """The object in a field; None if the field is absent. `{}` is present."""
        value = self.value.get(key)
        return None if value is None else ResourceSection(value, self.at(key), self.problems)

    def sections(self, key: str) -> tuple[ResourceSection, ...]:
        items = enumerate(self.value.get(key) or ())
        return tuple(ResourceSection(item, (*self.at(key), index), self.problems) for index, item in items)

    def missing(self, key: str, problem: str = "is required") -> None:
        """Add an error about a field that this object must have."""
        self.problems.error(INVALID, self.pointer, f"{path(self.at(key))} {problem}")

    def invalid(self, key: str, problem: str, hint: str) -> None:
        self.problems.error(INVALID, self.at(key), f"{path(self.at(key))} {problem}", hint)

    def ignored(self, key: str, why: str, hint: str) -> None:
        self.problems.warning(IGNORED, self.at(key), f"{path(self.at(key))} is ignored: {why}", hint)


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """The value of a config key, and the field of the resource that it comes from."""

    value: Any = field(repr=False)
    place: Pointer


Layer = Mapping[str, PlacedValue]


def layer(values: Mapping[str, Any], place: Pointer) -> dict[str, PlacedValue]:
    """Keys that all come from one field."""
    return {key: PlacedValue(value, place) for key, value in values.items()}


def written(section: ResourceSection, prefix: str = "", without: Iterable[str] = ()) -> dict[str, PlacedValue]:
    """The entries of an object as config keys with a prefix, except for some. Each one comes from its own field."""
    left_out = frozenset(without)
    entries = section.value.items()
    return {f"{prefix}{key}": PlacedValue(one, section.at(key)) for key, one in entries if key not in left_out}


# The Connect cluster of a Strimzi resource, and the cluster of the settings that it means.

CLUSTER_LABEL = "strimzi.io/cluster"


def cluster_field(resource: Document) -> Pointer:
    """The field with the name of the Connect cluster. A `KafkaMirrorMaker2` is a Connect cluster itself."""
    if resource.value.get("kind") == MIRROR_MAKER:
        return ("metadata", "name")
    return ("metadata", "labels", CLUSTER_LABEL)


def connect_cluster(resource: Document) -> str | None:
    value: Any = resource.value
    for key in cluster_field(resource):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) and value else None


def own_cluster(resource: Document, connect: str, options: StrimziOptions) -> ClusterName:
    """The cluster of the settings: `NAMESPACE/NAME` of `[clusters.NAME] strimzi`, else `NAME`, else the name itself."""
    namespace = resource.section("metadata").get("namespace")
    for name in (f"{namespace}/{connect}", connect):
        if name in options.clusters:
            return options.clusters[name]
    return ClusterName(connect)
