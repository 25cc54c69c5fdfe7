"""What the repository declares: connectors in their desired state, resolved for one Connect cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import cached_property

from gitops_connect.model.active_topics import TopicRules
from gitops_connect.model.config_histories import RollbackOptions, RolledBack
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document, Entry, Pointer
from gitops_connect.model.exactly_once import FIELDS
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind, plain_name
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.model.restart_records import DEFAULT_AUTO_RESTART, AutoRestart, RestartRequest
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, RequestedListing, failed


class TargetState(Enum):
    """The state that a document declares: one of Kafka's own (`TargetState`), or `ABSENT` to delete the connector."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    ABSENT = "absent"


class Mode(Enum):
    """Whether differences are fixed or only shown."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class SecretSource(Enum):
    ENV = "env"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where the value of one config key comes from; never the value itself."""

    source: SecretSource
    name: str

    def __str__(self) -> str:
        """As in `env:ORDERS_DB_PASSWORD`."""
        return f"{self.source.value}:{self.name}"


class OnDelete(Enum):
    """What happens to a connector's offsets and its active topics when the connector is deleted.

    The ledger has the value: `keep` and `reset` are about the offsets.
    """

    KEEP = "keep"
    RESET = "reset"
    KEEP_AND_RESET_TOPICS = "keep, reset topics"
    RESET_WITH_TOPICS = "reset, reset topics"

    @property
    def resets_offsets(self) -> bool:
        return self in (OnDelete.RESET, OnDelete.RESET_WITH_TOPICS)

    @property
    def resets_topics(self) -> bool:
        """Whether the topics that Connect leaves are reset; Connect itself resets them unless tracking is off."""
        return self in (OnDelete.KEEP_AND_RESET_TOPICS, OnDelete.RESET_WITH_TOPICS)


class OnManualPause(Enum):
    """What happens to a connector that should run, and that someone paused or stopped on the cluster."""

    RESPECT = "respect"
    REVERT = "revert"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest in one or several files: for each, the path from the root, the id of its content, and its bytes."""

    entries: tuple[Entry, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class ManifestUri:
    """An offset manifest outside the repository, in one file or several; `sha256` is the reviewed digest, in hex."""

    uri: str
    sha256: str
    location: Location


@dataclass(frozen=True, slots=True)
class DesiredOffsetChange:
    """One `OffsetChange` document, or the `initialOffsets` of a connector.

    `manifest` is in files that are read when needed, or in the document itself; or it has targets, from which the
    offsets are computed. It is None for a reset, which has no manifest. `digest` covers the connector, the kind and the
    content of the manifest.
    """

    name: OffsetChangeName
    connector: ConnectorName
    kind: OffsetChangeKind
    digest: Digest
    document: Document = field(repr=False, compare=False)
    pointer: Pointer
    manifest: ManifestFile | ManifestUri | Manifest | OffsetTargets | None = field(default=None, repr=False)
    acknowledged: frozenset[Acknowledgement] = frozenset()
    reason: str = ""
    annotation: AnnotationAction | None = None
    """What annotations of a Strimzi resource request; None for a document of gitops-connect."""
    problem: str = ""
    """Why it cannot be carried out, as the end of a sentence. It does not matter once the change was applied."""

    @property
    def other_name(self) -> OffsetChangeName:
        """The name of the change if its document named the connector in the other way: `connector`, or `connectors`."""
        suffix = f".{plain_name(self.connector)}"
        is_listed = self.name.endswith(suffix)
        return OffsetChangeName(self.name.removesuffix(suffix) if is_listed else f"{self.name}{suffix}")

    @property
    def warning(self) -> AnnotationWarning | None:
        """The warning of a change that annotations request and that cannot be carried out; None for all others."""
        if not self.problem or self.annotation is None:
            return None
        message = failed(self.annotation, self.connector, self.problem)
        return AnnotationWarning(self.annotation, message, self.locate(), self.name, connector=self.connector)

    def locate(self, *pointer: str | int) -> Location:
        return self.document.locate((*self.pointer, *pointer))


OWN_ANNOTATIONS = "gitops-connect/"
"""Annotations with this prefix have a meaning here; all others belong to the user."""
ALLOW_UNKNOWN_KEYS = OWN_ANNOTATIONS + "allow-unknown-keys"
ACKNOWLEDGE = OWN_ANNOTATIONS + "acknowledge"
"""In a Strimzi resource, the values of `spec.acknowledge` of its connectors."""
RESET_TOPICS = OWN_ANNOTATIONS + "reset-topics"
"""Of a Strimzi resource: the id of `spec.resetTopics`, which the resource cannot have."""


@dataclass(frozen=True, slots=True)
class DesiredConnector:
    """One `Connector` document.

    `config` is complete and in the form that Connect stores: strings only, with `connector.class` and `tasks.max`,
    without `name`. Keys of `secrets` are not in `config` before `secrets.resolve` has added their values.
    """

    name: ConnectorName
    state: TargetState
    config: Mapping[str, str] = field(repr=False)
    document: Document = field(repr=False, compare=False)
    secrets: Mapping[str, SecretReference] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    """Config keys (glob patterns) whose observed value is left unchanged."""
    allow_unknown_keys: tuple[str, ...] = ()
    """Config keys (glob patterns) that the plugin need not define."""
    mode: Mode = Mode.ENFORCE
    suspend: bool = False
    initial_offsets: DesiredOffsetChange | None = None
    on_delete: OnDelete = OnDelete.KEEP
    on_manual_pause: OnManualPause | None = None
    """None: what the settings of the cluster say."""
    auto_restart: AutoRestart = DEFAULT_AUTO_RESTART
    restarts: tuple[RestartRequest, ...] = ()
    reset_topics: str = ""
    """The id of `spec.resetTopics`; empty: no reset is requested."""
    topics: TopicRules | None = None
    """None: the active topics of the connector are not read."""
    offsets_move_within: timedelta | None = None
    """If the current offsets are the same for longer, the connector is degraded. None: no limit."""
    partitions_move_within: timedelta | None = None
    """If a partition that has moved has the same offset for longer, the connector is degraded. None: no limit."""
    acknowledges_delivery: bool = False
    """A weaker delivery guarantee is intended."""
    rollback: RollbackOptions | None = None
    """None: as the settings say."""
    rolled_back: RolledBack | None = None
    """If it is set, `config` and `secrets` are of an earlier commit: the connector failed with the declared ones."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the document, or of the Strimzi resource, which may also have values that are no strings."""
        found = (self.document.resource or self.document).section("metadata").get("labels")
        return {key: one for key, one in found.items() if isinstance(one, str)} if isinstance(found, Mapping) else {}

    def locate(self, pointer: Pointer) -> Location:
        return self.document.locate(pointer)

    def locate_config(self, key: str) -> Location:
        """The location of a config key, in whatever field of the document it is declared."""
        if key == "connector.class":
            return self.locate(("spec", "class"))
        if key == "tasks.max":
            return self.locate(("spec", "tasksMax"))
        if key == "connector.plugin.version" and ("spec", "version") in self.document.positions:
            return self.locate(("spec", "version"))
        for name, set_key in FIELDS.items():
            if key == set_key and (pointer := ("spec", "exactlyOnce", name)) in self.document.positions:
                return self.locate(pointer)
        section = "secrets" if key in self.secrets else "config"
        return self.locate(("spec", section, key))


@dataclass(frozen=True)  # without slots, for the cached property
class DesiredState:
    """All connectors and offset changes that the repository declares for one cluster, each sorted by name.

    `offset_changes` are the `OffsetChange` documents; the `initialOffsets` of a connector are not among them. `held`
    names the connectors whose documents have errors: they are neither changed nor pruned. `broken_changes` names the
    connectors of `OffsetChange` documents that have errors and are therefore not in `offset_changes`. `complete` is
    False if some file could not be read: a connector that looks undeclared may be declared in that file.
    """

    cluster: ClusterName
    connectors: tuple[DesiredConnector, ...] = ()
    held: frozenset[ConnectorName] = frozenset()
    complete: bool = True
    offset_changes: tuple[DesiredOffsetChange, ...] = ()
    broken_changes: frozenset[ConnectorName] = frozenset()
    listings: tuple[RequestedListing, ...] = ()
    annotation_warnings: tuple[AnnotationWarning, ...] = ()
    """What is wrong with annotations of Strimzi resources, whatever was done before."""
    held_secrets: Mapping[ConnectorName, frozenset[tuple[str, SecretReference]]] = field(default_factory=dict)
    """For each of the `held` connectors, the config keys in `spec.secrets` with their references, if they can be read.

    Only masking uses them.
    """

    @cached_property
    def by_name(self) -> Mapping[ConnectorName, DesiredConnector]:
        return {connector.name: connector for connector in self.connectors}

    def offset_changes_of(self, connector: ConnectorName) -> Sequence[DesiredOffsetChange]:
        """All offset changes of one connector in the order of execution: initial offsets first, the others by name."""
        return self._by_connector.get(connector, ())

    @cached_property
    def _by_connector(self) -> Mapping[ConnectorName, Sequence[DesiredOffsetChange]]:
        found = defaultdict[ConnectorName, list[DesiredOffsetChange]](list)
        for connector in self.connectors:
            if connector.initial_offsets is not None:
                found[connector.name].append(connector.initial_offsets)
        for offset_change in self.offset_changes:
            found[offset_change.connector].append(offset_change)
        return dict(found)

    @property
    def declares_offset_changes(self) -> bool:
        """Whether the repository declares any offset change, or a connector with `initialOffsets`."""
        return bool(self.offset_changes) or any(one.initial_offsets is not None for one in self.connectors)
