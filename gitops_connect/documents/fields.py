"""The fields of documents: plain values with the place of every field, and the typed fields of a `Connector`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from gitops_connect.documents.encoding import Refused
from gitops_connect.documents.nodes import (
    MAX_DEPTH,
    MAX_NODES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Value,
    resolve,
    too_deep,
    too_many,
)
from gitops_connect.model.active_topics import TopicRules
from gitops_connect.model.clock import parse_duration
from gitops_connect.model.config_histories import RollbackOptions, RollbackTrigger
from gitops_connect.model.desired import (
    ALLOW_UNKNOWN_KEYS,
    DesiredConnector,
    Mode,
    OnDelete,
    OnManualPause,
    SecretReference,
    SecretSource,
    TargetState,
)
from gitops_connect.model.documents import EMPTY, Document, Pointer
from gitops_connect.model.exactly_once import FIELDS
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.restart_records import DEFAULT_AUTO_RESTART, AutoRestart, RequestKind, RestartRequest

# The fields of a `Connector` document that passed its schema, typed, with their defaults.

NAME = "name"
CLASS = "connector.class"
TASKS = "tasks.max"
VERSION = "connector.plugin.version"
_DEFAULT_TASKS = 1


def connector_of(document: Document) -> DesiredConnector:
    """The connector of a document without schema errors, but no initial offsets; its config as Connect stores it."""
    spec, metadata = document.value["spec"], document.value["metadata"]
    config = {key: value for key, value in config_of(document).items() if key != NAME}
    if "class" in spec:
        config[CLASS] = spec["class"]
    if "tasksMax" in spec or TASKS not in config:
        config[TASKS] = str(int(spec.get("tasksMax", _DEFAULT_TASKS)))
    if "version" in spec:
        config[VERSION] = spec["version"]
    config |= exactly_once_config(spec.get("exactlyOnce", {}))
    health = {field: timedelta(seconds=parse_duration(time)) for field, time in spec.get("health", {}).items()}
    return DesiredConnector(
        name=ConnectorName(metadata["name"]),
        state=TargetState(spec.get("state", TargetState.RUNNING.value)),
        config=config,
        document=document,
        secrets={key: _secret(reference) for key, reference in spec.get("secrets", {}).items()} or EMPTY,
        ignore=tuple(spec.get("ignore", ())),
        allow_unknown_keys=tuple(annotations_of(document).get(ALLOW_UNKNOWN_KEYS, "").replace(",", " ").split()),
        mode=Mode(spec.get("mode", Mode.ENFORCE.value)),
        suspend=spec.get("suspend", False),
        on_manual_pause=OnManualPause(spec["onManualPause"]) if "onManualPause" in spec else None,
        auto_restart=_auto_restart(spec.get("autoRestart", {})),
        restarts=tuple(_restart_requests(document)),
        rollback=_rollback(spec.get("rollback")),
        offsets_move_within=health.get("offsetsMoveWithin"),
        partitions_move_within=health.get("partitionsMoveWithin"),
        on_delete=_on_delete(spec.get("onDelete", {})),
        reset_topics=spec.get(RequestKind.TOPICS.value, {}).get("id", ""),
        acknowledges_delivery=bool(spec.get("acknowledge")),
        topics=TopicRules(**{key: tuple(globs) for key, globs in spec["topics"].items()}) if "topics" in spec else None,
    )


def exactly_once_config(fields: Mapping[str, Any]) -> Mapping[str, str]:
    """The config keys that `spec.exactlyOnce` sets: its interval in milliseconds, all else as it is written."""
    return {
        FIELDS[field]: str(round(parse_duration(value) * 1000)) if field == "interval" else value
        for field, value in fields.items()
    }


def config_of(document: Document) -> dict[str, str]:
    """`spec.config`, every value in its source text: `1.10` stays `1.10`, and `True` stays `True`."""
    config: Mapping[str, Any] = document.value["spec"].get("config", {})
    return {key: document.texts.get(("spec", "config", key), value) for key, value in config.items()}


def annotations_of(document: Document) -> Mapping[str, str]:
    found: Mapping[str, str] = document.value["metadata"].get("annotations", {})
    return found


def _on_delete(fields: Mapping[str, str]) -> OnDelete:
    is_reset = fields.get("offsets") == OnDelete.RESET.value
    if fields.get("topics") == OnDelete.RESET.value:
        return OnDelete.RESET_WITH_TOPICS if is_reset else OnDelete.KEEP_AND_RESET_TOPICS
    return OnDelete.RESET if is_reset else OnDelete.KEEP


def _auto_restart(fields: Mapping[str, Any]) -> AutoRestart:
    if not fields:
        return DEFAULT_AUTO_RESTART
    return AutoRestart(
        fields.get("enabled", DEFAULT_AUTO_RESTART.enabled),
        int(fields.get("maxRestarts", DEFAULT_AUTO_RESTART.max_restarts)),
        tuple(fields.get("onlyOn", ())),
        tuple(fields.get("neverOn", ())),
    )


def _rollback(fields: Mapping[str, Any] | None) -> RollbackOptions | None:
    if fields is None:
        return None
    on = frozenset(RollbackTrigger(name) for name in fields.get("on", [one.value for one in RollbackTrigger]))
    return RollbackOptions(timedelta(seconds=parse_duration(fields["watch"])), on)


def _restart_requests(document: Document) -> Iterator[RestartRequest]:
    spec: Mapping[str, Any] = document.value["spec"]
    by = {kind: document.annotations.get(("spec", kind.value), "") for kind in RequestKind}
    if (fields := spec.get(RequestKind.CONNECTOR.value)) is not None:
        include_tasks, only_failed = fields.get("includeTasks", True), fields.get("onlyFailed", False)
        kind = RequestKind.CONNECTOR
        yield RestartRequest(kind, fields["id"], include_tasks, only_failed, annotation=by[kind])
    if (fields := spec.get(RequestKind.TASKS.value)) is not None:
        tasks = tuple(sorted({int(task) for task in fields["tasks"]}))
        yield RestartRequest(RequestKind.TASKS, fields["id"], tasks=tasks, annotation=by[RequestKind.TASKS])
    if (version := spec.get(RequestKind.SECRETS.value)) is not None:
        yield RestartRequest(RequestKind.SECRETS, document.texts.get(("spec", RequestKind.SECRETS.value), str(version)))


def secret_references(document: Document) -> Mapping[str, SecretReference]:
    """The entries of `spec.secrets` with exactly one source, of any document, also of a document with errors."""
    secrets = document.section("spec").get("secrets")
    if not isinstance(secrets, Mapping):
        return {}
    return {key: _secret(one) for key, one in secrets.items() if isinstance(key, str) and _is_reference(one)}


def _is_reference(value: object) -> bool:
    sources = {source.value for source in SecretSource}
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((source, name),) = value.items()
    return source in sources and isinstance(name, str)


def _secret(reference: Mapping[str, str]) -> SecretReference:
    source = SecretSource.ENV if SecretSource.ENV.value in reference else SecretSource.FILE
    return SecretReference(source, reference[source.value])


# The items of a list as documents of their own, each field with its place in the file.

T = TypeVar("T")


def items_of(document: Document, values: list[Any], pointer: Pointer) -> Iterator[Document]:
    """A document for each of the values, which are the list at `pointer`."""
    depth = len(pointer)
    positions, texts = _below(document.positions, depth), _below(document.texts, depth)
    for index, value in enumerate(values):
        yield Document(document.locate((*pointer, index)), value, positions[index], texts[index])


def _below(fields: Mapping[Pointer, T], depth: int) -> Mapping[object, dict[Pointer, T]]:
    """The fields of each item of a list, by the index of the item. `depth` is the length of the list's pointer."""
    found: dict[object, dict[Pointer, T]] = defaultdict(dict)
    for pointer, one in fields.items():
        if len(pointer) > depth + 1:
            found[pointer[depth]][pointer[depth + 1 :]] = one
    return found


# Converts nodes to plain values, with the place of every field and all refusals.

_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
_SEQUENCE_TAGS = (None, "!", "tag:yaml.org,2002:seq")
_MAPPING_TAGS = (None, "!", "tag:yaml.org,2002:map")
_MERGE = "<<"
INSIDE_DOCUMENTS = frozenset(("yaml/number", "yaml/duplicate-key", "yaml/merge", "yaml/key", "yaml/tag"))
"""The rules of refusals that leave the rest of a document readable."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ScalarRules:
    """How scalars without quotes are read.

    `resolve` returns their value, or raises ValueError for a number that JSON cannot hold. `key` returns the string
    that a key is, or None if a key must not be such a value. `last_merge_wins`: a merge key (`<<`) replaces what is
    above it in the same mapping.
    """

    resolve: Callable[[str], Value]
    key: Callable[[Value], str | None]
    last_merge_wins: bool = False


CORE_SCHEMA = ScalarRules(resolve, lambda value: value if isinstance(value, str) else None)
"""The core schema of YAML 1.2: every key is a string."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document's value, the place of each field, the source text of each non-string scalar, and the refusals."""

    value: Any
    positions: dict[Pointer, Place] = field(default_factory=dict)
    texts: dict[Pointer, str] = field(default_factory=dict)
    refusals: list[Refused] = field(default_factory=list)


_SHARED: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_MOST_SHARED, _LONGEST_SHARED = 4096, 200


def _shared(one: tuple[Any, ...]) -> tuple[Any, ...]:
    """An equal tuple: most documents have the same fields in the same lines, and each would need 2 KB for them."""
    found = _SHARED.get(one)
    if found is None and len(_SHARED) < _MOST_SHARED and len(repr(one)) < _LONGEST_SHARED:
        _SHARED[one] = one
    return found or one


def read(root: Node, rules: ScalarRules = CORE_SCHEMA, max_nodes: int = MAX_NODES) -> Reading:
    """Read a whole document. Raises Refused if it is too deep or has more than `max_nodes` keys and values."""
    reader = _Reader(rules, max_nodes)
    value = reader.value(root, ())
    return Reading(value, reader.positions, reader.texts, reader.refusals)


class _Reader:
    def __init__(self, rules: ScalarRules, max_nodes: int) -> None:
        self._rules = rules
        self._max_nodes = max_nodes
        self.positions: dict[Pointer, Place] = {}
        self.texts: dict[Pointer, str] = {}
        self.refusals: list[Refused] = []
        self._count = 0

    def value(self, node: Node, pointer: Pointer) -> Any:
        """The value of a node at that pointer. Aliases are followed, and counted each time they are used."""
        self._visit(node, len(pointer))
        if isinstance(node, ScalarNode):
            return self._scalar(node, pointer)
        if isinstance(node, MappingNode):
            return self._mapping(node, pointer)
        return self._sequence(node, pointer)

    def _visit(self, node: Node, depth: int) -> None:
        self._count += 1
        if self._count > self._max_nodes:
            raise too_many(node.place)
        if depth > MAX_DEPTH:
            raise too_deep(node.place)

    def _scalar(self, node: ScalarNode, pointer: Pointer) -> Any:
        if node.tag is not None:
            self._check_tag(node, _TEXT_TAGS)
            return node.text
        if not node.plain:
            return node.text
        try:
            value = self._rules.resolve(node.text)
        except ValueError:
            summary = "this number cannot be written as JSON: it is infinite, not a number, or too long"
            self._refuse("yaml/number", summary, node.place, "put it in quotes")
            return node.text
        if not isinstance(value, str):
            self.texts[pointer] = node.text
        return value

    def _sequence(self, node: SequenceNode, pointer: Pointer) -> list[Any]:
        self._check_tag(node, _SEQUENCE_TAGS)
        values = []
        for index, item in enumerate(node.items):
            at = (*pointer, index)
            self.positions[_shared(at)] = _shared(item.place)
            values.append(self.value(item, at))
        return values

    def _mapping(self, node: MappingNode, pointer: Pointer) -> dict[str, Any]:
        values = {}
        for key, (place, value) in self._fields(node, len(pointer)).items():
            at = (*pointer, key)
            self.positions[_shared(at)] = _shared(place)
            values[key] = self.value(value, at)
        return values

    def _fields(self, node: MappingNode, depth: int) -> dict[str, tuple[Place, Node]]:
        """Each key once: those of the mapping itself, then those that it merges (`<<`) and does not have."""
        self._check_tag(node, _MAPPING_TAGS)
        fields: dict[str, tuple[Place, Node]] = {}
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for key_node, value in node.pairs:
            if isinstance(key_node, ScalarNode) and key_node.plain and key_node.text == _MERGE:
                if self._rules.last_merge_wins:
                    fields |= self._all_merged([value], depth + 1)
                else:
                    merged.append(value)
                continue
            key = self._key(key_node)
            if key in lines:
                summary = f"the key {key!r} appears twice in one mapping, first in line {lines[key]}"
                self._refuse("yaml/duplicate-key", summary, key_node.place, "keep only the correct value")
            elif key is not None:
                lines[key] = key_node.place[0]
                fields[key] = (key_node.place, value)
        return {**self._all_merged(merged, depth + 1), **fields}

    def _all_merged(self, values: list[Node], depth: int) -> dict[str, tuple[Place, Node]]:
        fields: dict[str, tuple[Place, Node]] = {}
        for mapping in self._merged(values, depth):
            fields = {**self._fields(mapping, depth), **fields}
        return fields

    def _merged(self, values: list[Node], depth: int) -> Iterator[MappingNode]:
        for value in values:
            for item in value.items if isinstance(value, SequenceNode) else (value,):
                self._visit(item, depth)
                if isinstance(item, MappingNode):
                    yield item
                else:
                    summary = "the value of a merge key (<<) must be a mapping, or a list of mappings"
                    self._refuse("yaml/merge", summary, item.place)

    def _key(self, node: Node) -> str | None:
        self._visit(node, 0)
        if not isinstance(node, ScalarNode):
            self._refuse("yaml/key", "a key must be a string, found a list or a mapping", node.place)
            return None
        if not node.plain or node.tag is not None:
            return node.text
        with suppress(ValueError):
            key = self._rules.key(self._rules.resolve(node.text))
            if key is not None:
                return key
        summary = "a key must be a string, found nothing, a number or a boolean without quotes"
        self._refuse("yaml/key", summary, node.place, "quote it")
        return node.text

    def _check_tag(self, node: Node, allowed: tuple[str | None, ...]) -> None:
        if node.tag not in allowed:
            summary = "a tag is not allowed here: documents contain plain values only"
            self._refuse("yaml/tag", summary, node.place, "remove it")

    def _refuse(self, rule: str, summary: str, place: Place, hint: str = "") -> None:
        self.refusals.append(Refused(rule, summary, place, hint))
