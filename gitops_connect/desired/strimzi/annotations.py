"""Reads the annotations with which a Strimzi resource requests actions: proposals 007, 076 and 083 of Strimzi."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi_annotations import (
    AnnotationAction,
    AnnotationKey,
    AnnotationWarning,
    annotations_of,
    failed,
    identity,
)

OFFSETS = "strimzi.io/connector-offsets"
MIRROR_CONNECTOR = "strimzi.io/mirrormaker-connector"
RESTART = "strimzi.io/restart"
RESTART_TASK = "strimzi.io/restart-task"
RESTART_CONNECTOR = "strimzi.io/restart-connector"
RESTART_CONNECTOR_TASK = "strimzi.io/restart-connector-task"

_OFFSET_ACTIONS = {one.value: one for one in (AnnotationAction.LIST, AnnotationAction.ALTER, AnnotationAction.RESET)}
_OPTIONS = frozenset(("includeTasks", "onlyFailed"))
_MIRROR_RESTARTS = {RESTART_CONNECTOR: AnnotationAction.RESTART, RESTART: AnnotationAction.RESTART}
_MIRROR_RESTARTS |= {
    RESTART_CONNECTOR_TASK: AnnotationAction.RESTART_TASK,
    RESTART_TASK: AnnotationAction.RESTART_TASK,
}
"""The examples of proposal 007 for a `KafkaMirrorMaker2` have the keys of a `KafkaConnector`: both are read."""
_CONNECTOR_RESTARTS = {RESTART: AnnotationAction.RESTART, RESTART_TASK: AnnotationAction.RESTART_TASK}


@dataclass(frozen=True, slots=True)
class Request:
    """What annotations of a resource request for one of its connectors. `task` and `options` are of a restart."""

    key: AnnotationKey
    action: AnnotationAction
    connector: ConnectorName
    place: Pointer
    task: int | None = None
    options: frozenset[str] = frozenset()


def has_requests(resource: Document) -> bool:
    """Whether the resource has an annotation that this module reads."""
    known = {OFFSETS, MIRROR_CONNECTOR, *_MIRROR_RESTARTS}
    return not known.isdisjoint(annotations_of(resource))


def read_requests(
    resource: Document, connectors: Collection[ConnectorName], *, is_mirror: bool
) -> Iterator[Request | AnnotationWarning]:
    """The requests of a resource that declares these connectors, and what is wrong with its annotations."""
    reader = _Reader(resource, connectors, annotations_of(resource))
    yield from reader.mirror_offsets() if is_mirror else reader.connector_offsets()
    restarts = _MIRROR_RESTARTS if is_mirror else _CONNECTOR_RESTARTS
    for key, action in restarts.items():
        if key in reader.annotations:
            yield reader.mirror_restart(key, action) if is_mirror else reader.connector_restart(key, action)


@dataclass(frozen=True, slots=True)
class _Reader:
    resource: Document
    connectors: Collection[ConnectorName]
    annotations: Mapping[str, str]

    def connector_offsets(self) -> Iterator[Request | AnnotationWarning]:
        if OFFSETS in self.annotations:
            yield self._offsets(next(iter(self.connectors)), OFFSETS)

    def mirror_offsets(self) -> Iterator[Request | AnnotationWarning]:
        offsets, name = self.annotations.get(OFFSETS), self.annotations.get(MIRROR_CONNECTOR)
        if offsets is None and name is None:
            return
        action = _OFFSET_ACTIONS.get(offsets or "", AnnotationAction.LIST)
        if offsets is None or name is None:
            key, missing = (MIRROR_CONNECTOR, OFFSETS) if offsets is None else (OFFSETS, MIRROR_CONNECTOR)
            connector = next((one for one in self.connectors if one == name), None)
            yield self._warning(key, action, connector, f"missing annotation {missing} in {self._kind} CR")
        elif name not in self.connectors:
            why = f"unknown connector {name!r} in the annotation {MIRROR_CONNECTOR}, expected one of {self._names}"
            yield self._warning(MIRROR_CONNECTOR, action, None, why)
        else:
            yield self._offsets(ConnectorName(name), OFFSETS, MIRROR_CONNECTOR)

    def _offsets(self, connector: ConnectorName, *keys: str) -> Request | AnnotationWarning:
        value = self.annotations[OFFSETS]
        action = _OFFSET_ACTIONS.get(value)
        if action is None:
            why = f"unknown value {value!r} of the annotation {OFFSETS}, expected one of {', '.join(_OFFSET_ACTIONS)}"
            return self._warning(OFFSETS, AnnotationAction.LIST, connector, why)
        return Request(self._key(*keys), action, connector, _place(OFFSETS))

    def connector_restart(self, key: str, action: AnnotationAction) -> Request | AnnotationWarning:
        """Proposal 007: a restart has any value, and a restart of a task its number."""
        connector, value = next(iter(self.connectors)), self.annotations[key]
        if action is AnnotationAction.RESTART:
            given = frozenset(option.strip() for option in value.split(","))
            return Request(self._key(key), action, connector, _place(key), options=given & _OPTIONS)
        if not _is_number(value):
            return self._bad_restart(key, action, connector, f"{value!r}, expected the number of a task")
        return Request(self._key(key), action, connector, _place(key), task=int(value))

    def mirror_restart(self, key: str, action: AnnotationAction) -> Request | AnnotationWarning:
        """The value is the name of a connector, then `:` and the number of a task or options of the restart."""
        value = self.annotations[key]
        name, _, rest = value.rpartition(":")
        if action is AnnotationAction.RESTART:
            given = frozenset(option.strip() for option in rest.split(","))
            if value in self.connectors:
                return Request(self._key(key), action, ConnectorName(value), _place(key))
            if name in self.connectors and given <= _OPTIONS:
                return Request(self._key(key), action, ConnectorName(name), _place(key), options=given)
            found = f"{value!r}, expected a connector: one of {self._names}"
            return self._bad_restart(key, action, None, found)
        if name not in self.connectors or not _is_number(rest):
            found = f"{value!r}, expected CONNECTOR:TASK, in which CONNECTOR is one of {self._names}"
            return self._bad_restart(key, action, ConnectorName(name) if name in self.connectors else None, found)
        return Request(self._key(key), action, ConnectorName(name), _place(key), task=int(rest))

    def _bad_restart(
        self, key: str, action: AnnotationAction, connector: ConnectorName | None, found: str
    ) -> AnnotationWarning:
        what = "connector" if action is AnnotationAction.RESTART else "connector task"
        message = f"Failed to restart the {what} due to the value of the annotation {key}: {found}."
        return AnnotationWarning(action, message, self.resource.locate(_place(key)), connector=connector)

    def _warning(
        self, key: str, action: AnnotationAction, connector: ConnectorName | None, why: str
    ) -> AnnotationWarning:
        message = failed(action, connector or "", why)
        return AnnotationWarning(action, message, self.resource.locate(_place(key)), connector=connector)

    def _key(self, *keys: str) -> AnnotationKey:
        return AnnotationKey(*identity(self.resource), tuple((key, self.annotations[key]) for key in sorted(keys)))

    @property
    def _kind(self) -> str:
        return str(self.resource.value.get("kind"))

    @property
    def _names(self) -> str:
        return ", ".join(sorted(self.connectors))


def _place(key: str) -> Pointer:
    return ("metadata", "annotations", key)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
