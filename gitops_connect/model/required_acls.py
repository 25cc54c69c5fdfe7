"""Permissions on Kafka (ACLs): those that workers and connectors need, those of a broker, and the facts that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ConnectorName


class AclResource(Enum):
    """What a permission is for."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"


class AclPattern(Enum):
    """Whether a permission is for one name, or for all names with a prefix."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class AclOperation(Enum):
    """What a permission allows, in Kafka's words."""

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"


class KafkaClient(Enum):
    """The client that needs a permission: one of the worker itself, or one that the worker opens for a connector."""

    WORKER = "worker"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What the workers' config says about Kafka. Connect's REST API does not provide it.

    `principals` has the principal of each client, as in `User:connect`. `own_principals` are those of connectors whose
    config selects another principal, by the connector's name.
    """

    group_id: str
    config_topic: str
    offsets_topic: str
    status_topic: str
    principals: Mapping[KafkaClient, str]
    exactly_once: ExpectedSupport = ExpectedSupport.DISABLED
    own_principals: Mapping[ConnectorName, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AclOptions:
    """`prefixed`: a prefix may replace names. `topics_exist`: no topic has to be created by the workers."""

    prefixed: bool = False
    topics_exist: bool = False


@dataclass(frozen=True, slots=True)
class AclNeed:
    """Who needs a permission: a client of a connector. `connector` is None for a client of the worker itself."""

    connector: ConnectorName | None
    client: KafkaClient

    def __str__(self) -> str:
        """As in `orders-sink (consumer)`."""
        return self.client.value if self.connector is None else f"{self.connector} ({self.client.value})"


@dataclass(frozen=True, slots=True)
class Acl:
    """One permission: the principal may use the operation on the resource, from any host."""

    principal: str
    resource: AclResource
    pattern: AclPattern
    name: str
    operation: AclOperation
    needed_by: tuple[AclNeed, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class AclNote:
    """What the permissions leave out, or what a prefix covers besides; a whole sentence about one connector."""

    connector: ConnectorName
    message: str


@dataclass(frozen=True, slots=True)
class RequiredAcls:
    """The permissions, sorted by principal, resource and name; and the notes, sorted by connector."""

    acls: tuple[Acl, ...]
    notes: tuple[AclNote, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveAcl:
    """An ACL of a broker, which allows or denies. `resource` is None for the Kafka cluster itself.

    `operation` is in Kafka's words, such as `Read`, `All` or `DescribeConfigs`.
    """

    principal: str
    resource: AclResource | None
    pattern: AclPattern
    name: str
    operation: str
    host: str = "*"
    allows: bool = True


@dataclass(frozen=True, slots=True)
class MissingAcl:
    """A required permission that the broker does not grant. `reason`: why not, although an ACL is about it."""

    acl: Acl
    reason: str = ""
