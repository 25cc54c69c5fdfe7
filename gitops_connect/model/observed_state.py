"""The answers of a Connect cluster in one reconciliation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from gitops_connect.model.exactly_once import ExactlyOnceSupport
from gitops_connect.model.names import ClusterName, ConnectorName, Digest
from gitops_connect.model.offsets import OffsetText, PartitionText


class WorkerState(Enum):
    """The state that workers report of a connector or task (Kafka's `AbstractStatus.State`)."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"
    __hash__ = object.__hash__  # Enum's own is a function in Python, and each connector and task is looked up


class ConnectorType(Enum):
    """The direction in which records flow; UNKNOWN while the worker cannot load the class."""

    SOURCE = "source"
    SINK = "sink"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task as its worker reports it. `trace` is the Java stack trace of a FAILED task, else empty."""

    id: int
    state: WorkerState
    worker: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ObservedConnector:
    """One connector: its `config` without `name`, and its plugin's `version`, empty before Kafka 4.1 (KIP-891).

    `starting` are the numbers of the tasks that Connect has configured and that have no status: their `start` has not
    returned for the first time (`WorkerTask.doStart`).
    """

    name: ConnectorName
    type: ConnectorType
    state: WorkerState
    worker: str
    config: Mapping[str, str] = field(repr=False)
    tasks: tuple[TaskStatus, ...] = ()
    trace: str = ""
    version: str = ""
    starting: tuple[int, ...] = ()

    @property
    def is_running(self) -> bool:
        return not self.starting and {self.state, *(task.state for task in self.tasks)} == {WorkerState.RUNNING}


@dataclass(frozen=True, slots=True, order=True)
class ConnectVersion:
    """The worker's Kafka version, comparable; `connect.capabilities` has what each can do."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """A worker's information about itself. `reported` is the version as the worker writes it, as in `7.9.0-ccs`."""

    version: ConnectVersion
    reported: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class ObservedState:
    """Every connector of a cluster, by name.

    `unknown` are connectors that exist but could not be read: nothing is planned for them. `gone` are workers
    (`host:port`) that do not answer although Connect reports connectors or tasks on them. `versions` are those of all
    workers in the settings that answer, and `version` is the oldest of them: any worker may get a request.
    `exactly_once` is also UNKNOWN if nothing depends on it.
    """

    cluster: ClusterName
    version: ConnectVersion
    connectors: Mapping[ConnectorName, ObservedConnector] = field(default_factory=dict)
    unknown: frozenset[ConnectorName] = frozenset()
    gone: frozenset[str] = frozenset()
    exactly_once: ExactlyOnceSupport = ExactlyOnceSupport.UNKNOWN
    versions: frozenset[ConnectVersion] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplicationSlot:
    """A replication slot of PostgreSQL, as the `database` of the settings described it; positions are LSNs as numbers.

    `confirmed` is its `confirmed_flush_lsn`, `restart` its `restart_lsn`, `end` the end of the WAL. `unread` is the
    reason if it could not be read; then only the names are known. `taken_by_others`: it is active although its
    connector does not run.
    """

    database: str
    name: str
    exists: bool = True
    confirmed: int | None = None
    restart: int | None = None
    end: int | None = None
    active: bool = False
    unread: str = ""
    taken_by_others: bool = False


# How far the offsets of a connector have moved, from reconciliation to reconciliation.


@dataclass(frozen=True, slots=True)
class PartitionPosition:
    """The current offset of a partition, and when exactly this offset was first seen.

    `has_moved`: an earlier reconciliation saw the partition with another offset, or the connector without it.
    """

    offset: OffsetText
    since: datetime
    has_moved: bool = False


@dataclass(frozen=True, slots=True)
class OffsetPosition:
    """The current offsets of a connector as a digest, and when exactly these offsets were first seen.

    `digest` is empty if the connector did not run when it was last seen. `partitions` is empty if they are too many.
    `distance` is how far they have moved forward in all, in the unit of the connector's class, as far as that is known.
    """

    digest: Digest
    since: datetime
    partitions: Mapping[PartitionText, PartitionPosition] = field(default_factory=dict, repr=False)
    distance: float = 0
