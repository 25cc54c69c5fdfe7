"""The permissions on Kafka (ACLs) that workers and the declared connectors need.

Which client needs which permission was read in `Worker`, `DistributedHerder`, `ConnectorOffsetBackingStore` and
`DeadLetterQueueReporter` of Kafka 4.3, and found with an authorizer (tests/acceptance/test_acls.py). Only the config
keys that are named here are read, and none of their values but names of topics and groups is returned.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitops_connect.families.kafka_use import renaming_transform
from gitops_connect.families.registry import Registry
from gitops_connect.families.sinks import CONSUMER_GROUP
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.required_acls import (
    Acl,
    AclNeed,
    AclNote,
    AclOperation,
    AclOptions,
    AclPattern,
    AclResource,
    KafkaClient,
    RequiredAcls,
    WorkerFacts,
)
from gitops_connect.plan.transactional_ids import MOST_TASKS, declared_tasks

_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")
"""`Topic.validate`."""
_TOPIC_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,249}")
_REGEX_WITH_PREFIX = re.compile(r"((?:[A-Za-z0-9_-]|\\\.)+)\.[*+]")
_PRINCIPAL_KEYS = ("sasl.", "ssl.keystore.", "security.protocol")
"""Keys of a client that select its principal."""
_BOOTSTRAP = "bootstrap.servers"
_LAST = chr(0x10FFFF)
"""The last character: behind a prefix, it is after every name that begins with the prefix."""
_IMPLY_DESCRIBE = {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE}
"""`AclOperation`: who may do one of these may describe the resource, too."""

_READ, _WRITE, _CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
_DELETE, _DESCRIBE = AclOperation.DELETE, AclOperation.DESCRIBE
_PRODUCER, _CONSUMER, _ADMIN = KafkaClient.PRODUCER, KafkaClient.CONSUMER, KafkaClient.ADMIN


@dataclass(frozen=True, slots=True)
class _Resource:
    kind: AclResource
    name: str
    pattern: AclPattern = AclPattern.LITERAL


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a client may do with a resource."""

    client: KafkaClient
    resource: _Resource
    operations: tuple[AclOperation, ...]


def required_acls(
    connectors: Iterable[DesiredConnector], worker: WorkerFacts, families: Registry, options: AclOptions
) -> RequiredAcls:
    """The permissions of the workers, and of each connector that is not declared absent."""
    found = _Collected()
    for grant in _of_worker(worker, options):
        found.add(worker.principals[grant.client], grant, AclNeed(None, grant.client))
    for connector in connectors:
        if connector.state is not TargetState.ABSENT:
            _Connector(connector, worker, families, options).collect(found)
    acls = found.acls()
    notes = {*found.notes, *_overlaps(acls)}
    return RequiredAcls(acls, tuple(sorted(notes, key=lambda one: (one.connector, one.message))))


def _of_worker(worker: WorkerFacts, options: AclOptions) -> Iterator[_Grant]:
    """`DistributedHerder`, and the topics of its stores (`TopicAdmin.createTopics`)."""
    yield _Grant(KafkaClient.WORKER, _Resource(AclResource.GROUP, worker.group_id), (_READ,))
    operations = (_READ, _WRITE) if options.topics_exist else (_READ, _WRITE, _CREATE)
    for topic in (worker.config_topic, worker.offsets_topic, worker.status_topic):
        yield _Grant(KafkaClient.WORKER, _Resource(AclResource.TOPIC, topic), operations)
    if worker.exactly_once is not ExpectedSupport.DISABLED:  # `DistributedConfig.transactionalProducerId`
        leader = _Resource(AclResource.TRANSACTIONAL_ID, f"connect-cluster-{worker.group_id}")
        yield _Grant(KafkaClient.WORKER, leader, (_WRITE,))


class _Connector:
    """Finds the permissions of one connector."""

    def __init__(
        self, connector: DesiredConnector, worker: WorkerFacts, families: Registry, options: AclOptions
    ) -> None:
        self.name = connector.name
        self.config = connector.config
        self.keys = (*connector.config, *connector.secrets)
        self.worker = worker
        self.options = options
        self.is_sink = families.is_sink(connector.config)
        use = families.of(connector.config).kafka_use
        self.use = use(connector.config) if use is not None else None
        self.notes: dict[str, None] = {}

    def collect(self, found: _Collected) -> None:
        """Add what is required, with the principal of each client, and what is not known."""
        principals: dict[KafkaClient, str | None] = {}
        for grant in self._sink() if self.is_sink else self._source():
            client = grant.client
            if client not in principals:
                principals[client] = self._principal(client)
            if (principal := principals[client]) is not None:
                found.add(principal, grant, AclNeed(self.name, client))
        if self.use is not None and self.use.own_clients:
            self._note(
                f"it opens clients of its own ({self.use.own_clients}), whose permissions are not listed; the"
                " documentation of the class lists them"
            )
        found.notes += [AclNote(self.name, message) for message in self.notes]

    def _note(self, message: str) -> None:
        self.notes[message] = None

    def _principal(self, client: KafkaClient) -> str | None:
        """The principal of a client of the connector; None if the permissions of the client are not listed."""
        prefix = f"{client.value}.override."
        overrides = [key.removeprefix(prefix) for key in self.keys if key.startswith(prefix)]
        if _BOOTSTRAP in overrides:
            self._note(
                f"its {client.value} uses another Kafka cluster ({prefix}{_BOOTSTRAP}), and its permissions there are"
                " not listed"
            )
            return None
        if not any(key.startswith(_PRINCIPAL_KEYS) for key in overrides):
            return self.worker.principals[client]
        own = self.worker.own_principals.get(self.name)
        if own is None:
            self._note(
                f"its {client.value} has a principal of its own ({prefix}*), which the setting principals does not"
                " contain, so that its permissions are not listed"
            )
        return own

    def _sink(self) -> Iterator[_Grant]:
        """`WorkerSinkTask`; `Worker.alterSinkConnectorOffsets`; `DeadLetterQueueReporter.createAndSetup`."""
        group = CONSUMER_GROUP.value(self.name, self.config)
        if self._is_name(group, "consumer group"):
            resource = _Resource(AclResource.GROUP, group)
            yield _Grant(_CONSUMER, resource, (_READ,))
            yield _Grant(_ADMIN, resource, (_READ, _DELETE))
        for topic in self._topics_read():
            yield _Grant(_CONSUMER, topic, (_READ,))
            yield _Grant(_ADMIN, topic, (_READ,))
        if letters := self._topic(self.config.get("errors.deadletterqueue.topic.name", "")):
            yield _Grant(_PRODUCER, letters, (_WRITE,))
            yield _Grant(_ADMIN, letters, self._created(_DESCRIBE))

    def _topics_read(self) -> Iterator[_Resource]:
        """The topics of a sink. A pattern has a prefix only if the rest of the pattern matches everything."""
        listed, pattern = self.config.get("topics", ""), self.config.get("topics.regex", "").strip()
        for topic in dict.fromkeys(one.strip() for one in listed.split(",")):
            if resource := self._topic(topic):
                yield resource
        if not pattern or listed.strip():
            return
        begins = _REGEX_WITH_PREFIX.fullmatch(pattern)
        if begins is None:
            self._note("the topics that it reads are not known: topics.regex selects them")
        elif resource := self._prefix(begins[1].replace("\\.", "."), "read"):
            yield resource

    def _source(self) -> Iterator[_Grant]:
        for topic in self._topics_written():
            yield _Grant(_PRODUCER, topic, (_WRITE,))
            if any(key.startswith("topic.creation.") for key in self.keys):  # `SourceConnectorConfig`
                yield _Grant(_ADMIN, topic, (_DESCRIBE, _CREATE))
        own = self.config.get("offsets.storage.topic", "").strip()
        exactly_once = self.worker.exactly_once is ExpectedSupport.ENABLED
        if own or exactly_once:
            yield from self._offsets(own)
        if exactly_once:
            yield from self._transactions()

    def _topics_written(self) -> Iterator[_Resource]:
        """The topics of a source, if its class is known to name them, and no transform may rename them."""
        unknown = "the topics that it writes are not known: "
        if self.use is None:
            return self._note(f"{unknown}nothing is known of its class")
        if renaming := renaming_transform(self.config):
            return self._note(f"{unknown}the transform {renaming!r} may rename them")
        if not self.use.topics and not self.use.prefixes:
            self._note(f"{unknown}its config does not name them")
        for topic in self.use.topics:
            if resource := self._topic(topic):
                yield resource
        for prefix in self.use.prefixes:
            if resource := self._prefix(prefix, "write"):
                yield resource

    def _offsets(self, own: str) -> Iterator[_Grant]:
        """`Worker.offsetStoreForRegularSourceTask` and `…ForExactlyOnceSourceTask`: the connector's own clients."""
        topic = self._topic(own or self.worker.offsets_topic)
        if topic is not None:
            yield _Grant(_PRODUCER, topic, (_WRITE,))
            yield _Grant(_CONSUMER, topic, (_READ,))
            yield _Grant(_ADMIN, topic, self._created(_DESCRIBE) if own else (_DESCRIBE,))

    def _transactions(self) -> Iterator[_Grant]:
        """`Worker.taskTransactionalId`: of each task, and of task 0 to alter offsets.

        The admin client fences former tasks before offsets are altered, and before tasks start, except if one task
        follows one task (`DistributedHerder.fenceZombieSourceTasks`).
        """
        prefix, tasks = f"{self.worker.group_id}-{self.name}-", declared_tasks(self.config)
        resources: Iterable[_Resource] = ()
        if self.options.prefixed:
            resources = (_Resource(AclResource.TRANSACTIONAL_ID, prefix, AclPattern.PREFIXED),)
        elif tasks is None or tasks > MOST_TASKS:
            self._note(
                f"its transactional ids are not listed: tasks.max is not a number up to {MOST_TASKS}; with"
                " --prefixed, one prefix covers them"
            )
        else:
            resources = (_Resource(AclResource.TRANSACTIONAL_ID, f"{prefix}{task}") for task in range(tasks))
        for resource in resources:
            yield _Grant(_PRODUCER, resource, (_WRITE,))
            yield _Grant(_ADMIN, resource, (_WRITE,))

    def _created(self, *operations: AclOperation) -> tuple[AclOperation, ...]:
        """With the permission to create a topic that Connect creates if it does not exist."""
        return operations if self.options.topics_exist else (*operations, _CREATE)

    def _topic(self, name: str) -> _Resource | None:
        name = name.strip()
        if not name:
            return None
        if not _TOPIC.fullmatch(name):
            self._note("a topic in its config is not known: its name is a placeholder, or no valid name")
            return None
        return _Resource(AclResource.TOPIC, name)

    def _prefix(self, prefix: str, verb: str) -> _Resource | None:
        if not _TOPIC_PREFIX.fullmatch(prefix):
            self._note(f"the topics that it {verb}s are not known: the beginning of their names is no valid name")
        elif not self.options.prefixed:
            self._note(
                f"the topics that it {verb}s are not known, except that their names begin with {prefix!r}; with"
                " --prefixed, this prefix is listed"
            )
        else:
            return _Resource(AclResource.TOPIC, prefix, AclPattern.PREFIXED)
        return None

    def _is_name(self, name: str, noun: str) -> bool:
        """Whether Kafka takes it for a name. `*` would mean every resource."""
        if name.strip() not in ("", "*") and name.isprintable() and "${" not in name:
            return True
        self._note(f"its {noun} is not known: its name is a placeholder, or no valid name")
        return False


class _Collected:
    """Permissions without duplicates: several clients and connectors may need the same one."""

    def __init__(self) -> None:
        self.notes: list[AclNote] = []
        self._needs: dict[tuple[str, _Resource], dict[AclOperation, dict[AclNeed, None]]] = {}

    def add(self, principal: str, grant: _Grant, need: AclNeed) -> None:
        operations = self._needs.setdefault((principal, grant.resource), {})
        for operation in grant.operations:
            operations.setdefault(operation, {})[need] = None

    def acls(self) -> tuple[Acl, ...]:
        """Sorted, without those that another one implies."""
        return tuple(sorted(self._acls(), key=_order))

    def _acls(self) -> Iterator[Acl]:
        for (principal, resource), operations in self._needs.items():
            implied = bool(_IMPLY_DESCRIBE & operations.keys())
            for operation, needs in operations.items():
                if operation is not _DESCRIBE or not implied:
                    yield Acl(principal, resource.kind, resource.pattern, resource.name, operation, tuple(needs))


def _order(acl: Acl) -> tuple[str, ...]:
    return acl.principal, acl.resource.value, acl.name, acl.pattern.value, acl.operation.value


def _overlaps(acls: Sequence[Acl]) -> Iterator[AclNote]:
    """The prefixes that cover what another connector needs, too: its principal gets more than it needs."""
    by_kind: Mapping[tuple[AclResource, AclOperation], list[Acl]] = defaultdict(list)
    for acl in acls:
        by_kind[acl.resource, acl.operation].append(acl)
    for same in by_kind.values():
        same.sort(key=lambda acl: acl.name)
        names = [acl.name for acl in same]
        for prefixed in same:
            if prefixed.pattern is AclPattern.PREFIXED:
                start, end = bisect_left(names, prefixed.name), bisect_left(names, prefixed.name + _LAST)
                yield from _covered(prefixed, same[start:end])


def _covered(prefixed: Acl, covered: Iterable[Acl]) -> Iterator[AclNote]:
    owners = _connectors([prefixed])
    if others := sorted(_connectors(covered) - owners):
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        for owner in owners:
            yield AclNote(
                owner,
                f"its prefix {prefixed.name!r} ({prefixed.resource.value}) also covers connector {others[0]!r}{more}",
            )


def _connectors(acls: Iterable[Acl]) -> set[ConnectorName]:
    return {need.connector for acl in acls for need in acl.needed_by if need.connector is not None}
