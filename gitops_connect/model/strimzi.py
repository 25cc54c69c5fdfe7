"""What the settings say about Strimzi resources: which operator version, which clusters, and which placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName

KAFKA_CONNECTOR, MIRROR_MAKER = "KafkaConnector", "KafkaMirrorMaker2"
KINDS = (KAFKA_CONNECTOR, MIRROR_MAKER)
GROUP = "kafka.strimzi.io"
COPIES = ("eventstreams.ibm.com",)
"""API groups of products that are copies of Strimzi, with the same resources: IBM Event Streams."""
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class StrimziVersion:
    """A version of Strimzi's operator, as in 0.45 or 1.2. Patch releases do not change how resources are read."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


NEWEST = StrimziVersion(1, 2)


def parse_strimzi_version(value: object) -> StrimziVersion:
    """A version from a string such as `0.45`, `0.45.0` or `1.2`. Raises ValueError for anything else."""
    found = _VERSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    return StrimziVersion(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class StrimziOptions:
    """How Strimzi resources are read.

    `clusters` has our cluster for each Connect cluster of Strimzi (`strimzi.io/cluster`), except for those with the
    same name. `placeholders` maps the beginning of a placeholder, as written after `${`, to the text that replaces it:
    `strimzienv:` -> `env:`. `workers`: Strimzi deploys the workers, which have its config providers and converters.
    `auto_restart`: connectors without `autoRestart` are restarted if they fail, as in proposal 007. `api_groups` are
    read as Strimzi's own API group.
    """

    version: StrimziVersion = NEWEST
    clusters: Mapping[str, ClusterName] = field(default_factory=dict)
    placeholders: Mapping[str, str] = field(default_factory=dict)
    workers: bool = False
    auto_restart: bool = False
    api_groups: tuple[str, ...] = ()


DEFAULT_OPTIONS = StrimziOptions()


# Requests that annotations of Strimzi resources make: to list, alter or reset offsets, and to restart.

RULE = "strimzi/annotation"
"""The rule for what annotations of Strimzi resources request and what is not done."""


class AnnotationAction(Enum):
    """What an annotation requests. The first three are the values of `strimzi.io/connector-offsets`."""

    LIST = "list"
    ALTER = "alter"
    RESET = "reset"
    RESTART = "restart"
    RESTART_TASK = "restart-task"

    @property
    def reason(self) -> str:
        return _REASONS[self]


_REASONS = {
    AnnotationAction.LIST: "ListOffsets",
    AnnotationAction.ALTER: "AlterOffsets",
    AnnotationAction.RESET: "ResetOffsets",
    AnnotationAction.RESTART: "RestartConnector",
    AnnotationAction.RESTART_TASK: "RestartConnectorTask",
}


_RESTARTS = {AnnotationAction.RESTART: "connector", AnnotationAction.RESTART_TASK: "connector task"}


@dataclass(frozen=True, slots=True)
class AnnotationWarning:
    """A condition of type `Warning`, and its place. `connector` is None if the request names no known connector.

    `request` distinguishes the requests of a connector: each has a condition of its own.
    """

    action: AnnotationAction
    message: str
    location: Location
    request: str
    cluster: ClusterName | None = None
    connector: ConnectorName | None = None

    def diagnostic(self) -> Diagnostic:
        hint = "fix what the message names, or remove the annotation"
        return Diagnostic(Severity.WARNING, RULE, self.message, self.location, hint, self.connector)


def failed(action: AnnotationAction, connector: str, why: str) -> str:
    """The message of a condition, in the words of Strimzi's proposal 083 and of its operator."""
    if action in _RESTARTS:
        return f"Failed to restart the {_RESTARTS[action]} due to {why}."
    of = f" for {connector}" if connector else ""
    return f"Failed to {action.value} the connector offsets{of} due to {why}."


@dataclass(frozen=True, slots=True)
class RequestedListing:
    """A request to write the current offsets of a connector to an entry of a ConfigMap.

    `namespace` is that of the resource, empty if the resource does not name it. `problem` is as in `RequestedChange`.
    """

    name: OffsetChangeName
    connector: ConnectorName
    cluster: ClusterName | None
    config_map: str
    namespace: str
    entry: str
    location: Location
    problem: str = ""


_NAME = re.compile(r"(.+\.(?:list|alter|reset))\.([0-9a-f]{12}|content-[0-9a-f]{12})", re.DOTALL)


def split_name(name: OffsetChangeName) -> tuple[str, str]:
    """What a requested change does, and the commit that added its annotations; without a commit, the whole name."""
    found = _NAME.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def reviewed_name(name: OffsetChangeName) -> OffsetChangeName:
    """The name under which a review shows a change: without the commit, which a squash or a rebase replaces."""
    return OffsetChangeName(split_name(name)[0])
