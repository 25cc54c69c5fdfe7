"""What the repository asks for: connectors in their desired state, resolved for one Connect cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.entries import Entry
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OperationName
from gitops_connect.model.operations import Acknowledgement, OperationKind


class TargetState(Enum):
    """The state that a document asks for. The first three are Kafka's own (`TargetState`), `ABSENT` is ours."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    ABSENT = "absent"


class Mode(Enum):
    """Whether differences are mended or only shown."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class SecretSource(Enum):
    """Where the operator keeps a secret."""

    ENV = "env"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where the value of one config key comes from; never the value."""

    source: SecretSource
    name: str


class OnDelete(Enum):
    """What becomes of a connector's offsets when it is deleted."""

    KEEP = "keep"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest in the repository, in one file or several: their paths from the repository's folder, their contents'
    ids, their sizes in bytes."""

    entries: tuple[Entry, ...]
    location: Location
    """Where the document names it."""


@dataclass(frozen=True, slots=True)
class ManifestUri:
    """A manifest elsewhere, in one file or several, and the SHA-256 that was reviewed, as hex digits."""

    uri: str
    sha256: str
    location: Location
    """Where the document names it."""


@dataclass(frozen=True, slots=True)
class DesiredOperation:
    """One `OffsetChange` document, or the `initialOffsets` of a connector.

    `manifest` is in files that are read when needed, or stands in the document itself; None for a reset, which
    has none. `digest` is that of the connector, the kind and the content of the manifest.
    """

    name: OperationName
    connector: ConnectorName
    kind: OperationKind
    digest: Digest
    document: Document = field(repr=False, compare=False)
    pointer: Pointer
    manifest: ManifestFile | ManifestUri | Manifest | None = field(default=None, repr=False)
    acknowledged: frozenset[Acknowledgement] = frozenset()
    reason: str = ""

    def locate(self, *pointer: str | int) -> Location:
        """Where that field of the operation stands: `locate("acknowledge")`."""
        return self.document.locate((*self.pointer, *pointer))


OWN_ANNOTATIONS = "gitops-connect/"
"""Annotations that begin like this have a meaning here; all others are the reader's own."""
ALLOW_UNKNOWN_KEYS = OWN_ANNOTATIONS + "allow-unknown-keys"


@dataclass(frozen=True, slots=True)
class DesiredConnector:
    """One `Connector` document.

    `config` is complete and as Connect keeps it: strings only, with `connector.class` and `tasks.max`, without `name`.
    Keys of `secrets` are not in `config` before `secrets.resolve` has put their values there.
    """

    name: ConnectorName
    state: TargetState
    config: Mapping[str, str] = field(repr=False)
    document: Document = field(repr=False, compare=False)
    secrets: Mapping[str, SecretReference] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    """Config keys (glob patterns) whose observed value is left as it is."""
    allow_unknown_keys: tuple[str, ...] = ()
    """Config keys (glob patterns) that the plugin need not define."""
    mode: Mode = Mode.ENFORCE
    suspend: bool = False
    initial_offsets: DesiredOperation | None = None
    on_delete: OnDelete = OnDelete.KEEP

    def locate(self, pointer: Pointer) -> Location:
        """Where that field of the document stands."""
        return self.document.locate(pointer)

    def locate_config(self, key: str) -> Location:
        """Where that config key stands, whichever field it comes from."""
        if key == "connector.class":
            return self.locate(("spec", "class"))
        if key == "tasks.max":
            return self.locate(("spec", "tasksMax"))
        section = "secrets" if key in self.secrets else "config"
        return self.locate(("spec", section, key))


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All connectors and offset changes that the repository declares for one cluster, each sorted by name.

    `operations` are the `OffsetChange` documents; the `initialOffsets` of a connector are its own. `held` names the
    connectors whose documents are broken: they are neither changed nor pruned. `broken_changes` names those of
    `OffsetChange` documents that have errors and are therefore not in `operations`. `complete` is False where some file
    could not be read, so that an undeclared connector may only seem so.
    """

    cluster: ClusterName
    connectors: tuple[DesiredConnector, ...] = ()
    held: frozenset[ConnectorName] = frozenset()
    complete: bool = True
    operations: tuple[DesiredOperation, ...] = ()
    broken_changes: frozenset[ConnectorName] = frozenset()
    held_secrets: Mapping[ConnectorName, frozenset[tuple[str, SecretReference]]] = field(default_factory=dict)
    """What the documents of `held` connectors have in `spec.secrets`, as far as it can be read: each config key with
    its reference. Only masking uses it."""

    @property
    def declares_operations(self) -> bool:
        """Whether there is any offset change, or a connector with `initialOffsets`."""
        return bool(self.operations) or any(one.initial_offsets is not None for one in self.connectors)
