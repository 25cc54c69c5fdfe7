"""JSON of the Connect REST API <-> model, as pure functions.

JSON without the structure of Kafka's REST entities raises `UnreadableAnswer`. A connector whose entity has another
structure is unknown; the others are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_connect.connect import unreadable
from gitops_connect.connect.entry_texts import entry_texts
from gitops_connect.connect.validation import ConfigKey, ConfigVerdict, KeyType, Plugin
from gitops_connect.model.desired import TargetState
from gitops_connect.model.interning import shared_text
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import (
    ClusterInfo,
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import (
    OffsetPatch,
    Offsets,
    OffsetText,
    PartitionText,
    offset_text,
    partition_text,
    to_json,
)

UNKNOWN_VERSION = ConnectVersion(0, 0)
"""Used for a version that cannot be parsed: older than all, so that the worker gets no requests of newer versions."""

MOST_TOPICS = 100_000
"""Active topics of one connector. A Kafka cluster has rarely so many topics."""

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_QUOTED = 40
"""Characters of an invalid name that a message quotes."""
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?(?:[-.]?([a-z]+))?")
_CONFLUENT = {"ccs", "ce", "cp"}
_KAFKA_OF_CONFLUENT = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
_KEY_TYPES = {one.value: one for one in KeyType}
_UNCHECKED = re.compile(r"\bmanages? offsets externally\b|\bmanaged externally\b")
_ALL_DONE = re.compile(r"The offsets for this connector have been (?:altered|reset) successfully\.?")


class UnreadableAnswer(ValueError):
    """JSON that no Connect worker returns."""


def parse_info(body: Any) -> ClusterInfo:
    """`GET /`: version, commit and Kafka cluster of the worker (`ServerInfo`)."""
    entity = _mapping(body, "the worker's version")
    reported = entity.get("version")
    if not isinstance(reported, str):
        raise UnreadableAnswer("the answer contains no version")
    return ClusterInfo(
        parse_version(reported), reported, str(entity.get("commit", "")), str(entity.get("kafka_cluster_id", ""))
    )


def parse_version(text: str) -> ConnectVersion:
    """A worker's version as Kafka's. Confluent Platform 5 to 8 (`7.9.0-ccs`) is translated by its published table.

    A Confluent major version that is not in the table is unchanged, and so counts as newer than all known versions; a
    string without a version is `UNKNOWN_VERSION`.
    """
    found = _VERSION.match(text.strip().lower())
    if found is None:
        return UNKNOWN_VERSION
    major, minor, patch = int(found[1]), int(found[2]), int(found[3] or 0)
    if found[4] in _CONFLUENT and major in _KAFKA_OF_CONFLUENT:
        kafka_major, first_minor = _KAFKA_OF_CONFLUENT[major]
        return ConnectVersion(kafka_major, first_minor + minor)
    return ConnectVersion(major, minor, patch)


def parse_names(body: Any) -> frozenset[ConnectorName]:
    """`GET /connectors`: only the names."""
    names = _list(body, "expected a list of connector names")
    if not all(isinstance(name, str) for name in names):
        raise UnreadableAnswer("expected a list of connector names")
    return frozenset(map(ConnectorName, names))


def parse_connectors(body: Any) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
    """`GET /connectors?expand=status&expand=info`: the readable connectors, and the names of the others."""
    connectors, unknown = {}, set()
    for text, entity in _mapping(body, "the connectors").items():
        name = ConnectorName(shared_text(text))
        try:
            connectors[name] = _connector(name, entity)
        except UnreadableAnswer:
            unknown.add(name)
    return connectors, frozenset(unknown)


def _connector(name: ConnectorName, entity: Any) -> ObservedConnector:
    status = _mapping(_mapping(entity, name).get("status"), "status")
    info = _mapping(entity.get("info"), "info")
    connector = _mapping(status.get("connector"), "status of the connector")
    tasks = _tasks(status.get("tasks"))
    return ObservedConnector(
        name,
        _type(status.get("type")),
        _state(connector.get("state")),
        shared_text(str(connector.get("worker_id") or "")),
        parse_config(info.get("config")),
        tasks,
        str(connector.get("trace") or ""),
        shared_text(str(connector.get("version") or "")),
        tuple(sorted(_configured(info.get("tasks")) - {task.id for task in tasks})),
    )


def _configured(body: Any) -> frozenset[int]:
    """The numbers of the tasks that have a config (`ConnectorInfo`); a server may leave them out."""
    tasks = (_mapping(item, "a task").get("task") for item in _list(body or [], "expected a list of tasks"))
    return frozenset(number for number in tasks if isinstance(number, int))


def parse_config(body: Any) -> Mapping[str, str]:
    """A connector's config without nulls, and without the `name` of Connect (`checkAndPutConnectorConfigName`)."""
    config = _mapping(body, "config")
    if not all(value is None or isinstance(value, str) for value in config.values()):
        raise UnreadableAnswer("a config value is not a string")
    intern = shared_text  # one string for equal ones: most configs, and the documents that declare them, have the same
    return {intern(key): intern(value) for key, value in config.items() if key != "name" and value is not None}


def _tasks(body: Any) -> tuple[TaskStatus, ...]:
    tasks = (_task(_mapping(item, "a task")) for item in _list(body, "the list of tasks is missing"))
    return tuple(sorted(tasks, key=lambda task: task.id))


def _task(entity: Mapping[str, Any]) -> TaskStatus:
    number = entity.get("id")
    if not isinstance(number, int):
        raise UnreadableAnswer("a task has no id")
    worker = shared_text(str(entity.get("worker_id") or ""))
    return TaskStatus(number, _state(entity.get("state")), worker, str(entity.get("trace") or ""))


def _state(text: Any) -> WorkerState:
    try:
        return WorkerState(text)
    except ValueError as error:
        raise UnreadableAnswer(f"unknown state {text!r}") from error


def _type(text: Any) -> ConnectorType:
    return ConnectorType(text) if text in ("source", "sink") else ConnectorType.UNKNOWN


def parse_plugins(body: Any) -> tuple[Plugin, ...]:
    """`GET /connector-plugins`: the classes, sorted. Their `type` is in lower case (`PluginType`)."""
    entities = [_mapping(item, "a plugin") for item in _list(body, "expected a list of plugins")]
    plugins = [
        Plugin(str(item.get("class", "")), _type(item.get("type")), str(item.get("version") or "")) for item in entities
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.class_name, plugin.version)))


def parse_verdict(body: Any) -> ConfigVerdict:
    """`PUT /connector-plugins/X/config/validate` (`ConfigInfos`).

    A key that is not defined has no definition. A defined key that the plugin's own `validate` leaves out has no value
    (`AbstractHerder.generateResult`).
    """
    configs = _mapping(body, "the result of the validation").get("configs")
    errors, sensitive, defined = {}, set(), set()
    for item in _list(configs, "the result of the validation contains no list of configs"):
        config = _mapping(item, "a config")
        definition = _mapping(config.get("definition") or {}, "the definition of a config")
        value = _mapping(config.get("value") or ({} if definition else None), "the value of a config")
        key = str(value.get("name") or definition.get("name", ""))
        if messages := tuple(map(str, _list(value.get("errors") or [], "the errors of a config are not a list"))):
            errors[key] = messages
        if definition:
            defined.add(key)
            sensitive |= {key} if definition.get("type") == "PASSWORD" else set()
    return ConfigVerdict(errors, frozenset(sensitive), frozenset(defined))


def parse_definition(body: Any) -> Mapping[str, ConfigKey]:
    """`GET /connector-plugins/X/config` (`ConfigKeyInfo`): the keys that a class defines, by their names."""
    keys = [_mapping(item, "a config key") for item in _list(body, "expected a list of config keys")]
    return {
        str(key.get("name", "")): ConfigKey(_KEY_TYPES.get(str(key.get("type"))), key.get("required") is True)
        for key in keys
    }


def create_body(name: ConnectorName, config: Mapping[str, str], initial_state: TargetState | None) -> dict[str, Any]:
    """The body of `POST /connectors` (`CreateConnectorRequest`). An older worker rejects `initial_state` (KIP-980)."""
    body: dict[str, Any] = {"name": name, "config": dict(config)}
    if initial_state is not None:
        body["initial_state"] = initial_state.name
    return body


def parse_active_topics(name: ConnectorName, body: Any) -> frozenset[TopicName]:
    """`GET /connectors/X/topics` (`ActiveTopicsInfo`): names that a broker accepts (`Topic.validate`)."""
    entity = _mapping(_mapping(body, "the active topics").get(name), f"the active topics of {name!r}")
    topics = _list(entity.get("topics"), "the list of active topics is missing")
    if len(topics) > MOST_TOPICS:
        raise UnreadableAnswer(f"the connector has {len(topics):,} active topics; expected at most {MOST_TOPICS:,}")
    for topic in topics:
        if not isinstance(topic, str) or not _TOPIC.fullmatch(topic):
            found = repr(topic[:_QUOTED]) if isinstance(topic, str) else type(topic).__name__
            raise UnreadableAnswer(f"an active topic has no valid name: {found}")
    return frozenset(map(TopicName, topics))


def parse_offsets(body: Any) -> Offsets:
    """`GET /connectors/X/offsets` (`ConnectorOffsets`). A partition with a null offset has none, and is left out."""
    entries = _list(_mapping(body, "the offsets").get("offsets"), "the list of offsets is missing")
    offsets: dict[PartitionText, OffsetText] = {}
    for index, item in enumerate(entries):
        entry = _mapping(item, f"offsets[{index}]")
        partition = _mapping(entry.get("partition"), f"the partition of offsets[{index}]")
        if entry.get("offset") is None:
            continue
        offset = _mapping(entry["offset"], f"the offset of offsets[{index}]")
        try:
            offsets[partition_text(partition)] = offset_text(offset)
        except ValueError as error:
            raise UnreadableAnswer(f"offsets[{index}]: {error}") from error
    return offsets


def offset_lines(content: Iterable[bytes]) -> Iterator[str]:
    """`GET /connectors/X/offsets` from the bytes of the answer: one entry a line, as Connect has written it.

    A partition with a null offset is left out. Only a part of the answer is in memory. Raises UnreadableAnswer.
    """
    try:
        for index, (text, _, _, value) in enumerate(entry_texts(content)):
            entry = _mapping(value, f"offsets[{index}]")
            _mapping(entry.get("partition"), f"the partition of offsets[{index}]")
            if entry.get("offset") is not None:
                _mapping(entry["offset"], f"the offset of offsets[{index}]")
                yield text
    except unreadable.Unreadable as error:
        place = f"line {error.place.line}, column {error.place.column}"
        raise UnreadableAnswer(f"the offsets, {place}: {error.found}") from error


def offsets_body(offsets: OffsetPatch) -> dict[str, Any]:
    """The body of `PATCH /connectors/X/offsets`, with the same structure as the answer to the GET."""
    return {"offsets": list(to_json(offsets))}


def parse_warning(body: Any) -> str:
    """Connect's warning in its answer to a change of offsets; empty if it says that all is done (`Message`).

    A class that does not implement `alterOffsets` may store its offsets elsewhere (`Worker.modifyConnectorOffsets`).
    """
    message = _mapping(body, "the answer to a change of offsets").get("message")
    if not isinstance(message, str):
        raise UnreadableAnswer("the answer to a change of offsets contains no message")
    return "" if _ALL_DONE.fullmatch(message) else message


def is_unchecked(warning: str) -> bool:
    """True for Connect's warning that a class does not implement `alterOffsets`, so that nothing checked the change."""
    return _UNCHECKED.search(warning) is not None


def _list(value: Any, problem: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnreadableAnswer(problem)
    return value


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableAnswer(f"{what}: expected an object, found {type(value).__name__}")
    return value
