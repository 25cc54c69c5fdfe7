"""What a Connect worker can do since which version of Kafka, and what gitops-connect does on an older worker."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_connect.model.observed_state import ConnectVersion


@dataclass(frozen=True, slots=True)
class Capability:
    """A request that workers accept since a version.

    `action` completes "Kafka Connect 3.4.1 cannot …", and `without` says what gitops-connect does instead. `source` is
    the improvement proposal that added it.
    """

    action: str
    since: ConnectVersion
    source: str
    request: str
    without: str

    def is_in(self, version: ConnectVersion) -> bool:
        return version >= self.since

    def missing(self, version: ConnectVersion) -> str:
        """The reason for the user, as in `Kafka Connect 3.4.1 cannot stop connectors (3.5 and later can)`."""
        return f"Kafka Connect {version} cannot {self.action} ({self.first} and later can)"

    @property
    def first(self) -> str:
        """The first release with it, as in `3.5`."""
        return f"{self.since.major}.{self.since.minor}"


EXPANDED_LIST = Capability(
    "list the states and configs of its connectors",
    ConnectVersion(2, 3),
    "KIP-465",
    "GET /connectors?expand=status&expand=info",
    "no command can read the cluster",
)
RESTART_FAILED = Capability(
    "restart a connector together with its tasks",
    ConnectVersion(3, 0),
    "KIP-745",
    "POST /connectors/X/restart?includeTasks=&onlyFailed=",
    "each part is restarted with a request of its own",
)
PLUGIN_KEYS = Capability(
    "list the config keys of a plugin",
    ConnectVersion(3, 2),
    "KIP-769",
    "GET /connector-plugins/X/config",
    "`describe` masks every config value, and `import` writes every value as a secret, because any may be a password",
)
STOP = Capability(
    "stop connectors",
    ConnectVersion(3, 5),
    "KIP-875",
    "PUT /connectors/X/stop",
    "no step is planned for a connector with `state: stopped`, or with `state: paused` if it is FAILED",
)
GET_OFFSETS = Capability(
    "return offsets",
    ConnectVersion(3, 5),
    "KIP-875",
    "GET /connectors/X/offsets",
    "`offsets get` and `import --with-offsets` are errors, and `spec.health.offsetsMoveWithin` has no effect",
)
CHANGE_OFFSETS = Capability(
    "change or reset offsets",
    ConnectVersion(3, 6),
    "KIP-875",
    "PATCH and DELETE /connectors/X/offsets",
    "offset changes and `initialOffsets` are blocked, and a connector with `onDelete: {offsets: reset}` is not deleted",
)
INITIAL_STATE = Capability(
    "create connectors paused or stopped",
    ConnectVersion(3, 7),
    "KIP-980",
    "`initial_state` in POST /connectors",
    "a new connector runs briefly before it is paused or stopped, or before its `initialOffsets` are set",
)
PLUGIN_VERSIONS = Capability(
    "choose the version of a plugin",
    ConnectVersion(4, 1),
    "KIP-891",
    "`connector.plugin.version` in a config",
    "`spec.version`, and each other version of a plugin in the config, is an error, because an older worker ignores it",
)
CAPABILITIES = (
    EXPANDED_LIST,
    RESTART_FAILED,
    PLUGIN_KEYS,
    STOP,
    GET_OFFSETS,
    CHANGE_OFFSETS,
    INITIAL_STATE,
    PLUGIN_VERSIONS,
)


@dataclass(frozen=True, slots=True)
class KnownBug:
    """A bug of workers before the version `fixed`, and what to do about it."""

    source: str
    fixed: ConnectVersion
    effect: str
    advice: str


KNOWN_BUGS = (
    KnownBug(
        "KAFKA-9228",
        ConnectVersion(3, 7, 1),
        "if only converters, transforms or client settings of a connector change, its tasks may keep the old ones",
        "restart the connector with `spec.restart` after such a change",
    ),
)
"""Bugs of Connect that change what a plan brings about."""


def missing_in(version: ConnectVersion) -> tuple[Capability, ...]:
    return tuple(one for one in CAPABILITIES if not one.is_in(version))


def bugs_of(version: ConnectVersion) -> tuple[KnownBug, ...]:
    return tuple(one for one in KNOWN_BUGS if version < one.fixed)
