"""The connector of a command: its cluster, and its data from the cluster and the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitops_connect.connect.capabilities import GET_OFFSETS
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError, NotFound, UsageError
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.manifests import OffsetSchema, SavedOffsets
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.observe import MAX_HELD
from gitops_connect.offset_changes.manifest_source import Current, context_of
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.runtime import SystemClock, open_families
from gitops_connect.settings.sections import Settings

Clients = Mapping[ClusterName, ConnectClient]
Note = Callable[[str], None]
"""Called with what the user should know of the result."""
OFFLINE = "offline"
"""Why the current offsets are unknown if no cluster is asked."""


@dataclass(frozen=True, slots=True)
class DeclaredConnectors:
    """What the repository declares of connectors and their offsets; nothing if it cannot be read."""

    states: Mapping[ClusterName, DesiredState] = field(default_factory=dict)
    schemas: Mapping[str, OffsetSchema] = field(default_factory=dict)

    def of(self, cluster: ClusterName) -> Sequence[DesiredConnector]:
        return self.states[cluster].connectors if cluster in self.states else ()


@dataclass(frozen=True, slots=True)
class ManifestSubject:
    """A connector, and the data with which its offsets are compared. `cluster` is None if it is unknown.

    `basis` says where the connector's config comes from. `saved` has the current offsets if they are too many for
    memory; `unread` says why neither `saved` nor `context` has the current offsets.
    """

    cluster: ClusterName | None
    context: ManifestContext
    basis: str
    unread: str = ""
    absent: bool = False
    """The cluster answered, and does not have the connector."""
    saved: SavedOffsets | None = None

    @property
    def is_unreadable(self) -> bool:
        """Whether a cluster was asked for the current offsets, and did not return them."""
        return self.unread not in ("", OFFLINE) and not self.absent

    @property
    def current(self) -> Current:
        return self.saved if self.saved is not None else self.context.current

    def acknowledging(self, acknowledged: frozenset[Acknowledgement]) -> ManifestSubject:
        """This subject, for a document with these acknowledgements."""
        return replace(self, context=replace(self.context, acknowledged=acknowledged))


@dataclass(slots=True)
class _Found:
    """The clusters that have a connector, the names of all connectors found, and the errors of other clusters."""

    there: list[ClusterName] = field(default_factory=list)
    names: set[ConnectorName] = field(default_factory=set)
    failures: list[GitopsConnectError] = field(default_factory=list)


@contextmanager
def clients_of(settings: Settings, clusters: Sequence[ClusterName]) -> Iterator[Clients]:
    """A client for each cluster, closed at the end of the block. No request is sent yet."""
    clients = {name: ConnectClient(settings.clusters[name], SystemClock()) for name in clusters}
    try:
        yield clients
    finally:
        for client in clients.values():
            client.close()


def locate(clients: Clients, name: ConnectorName, note: Note) -> ClusterName:
    """The only cluster with the connector. A note says if another one does not answer. Raises UsageError, NotFound."""
    found = _find_connector(clients, name)
    return _only(found, found.there, name, list(clients), note)


def read_current(client: ConnectClient, name: ConnectorName, directory: Path) -> Offsets | SavedOffsets:
    """The current offsets. If they are too many for memory, they are in a file in the directory, which need not exist.

    Raises ConnectRefused if the workers are too old, UsageError if the file cannot be written, and the errors of the
    requests.
    """
    client.require(GET_OFFSETS)
    return client.save_offsets(name, directory / "current.jsonl", MAX_HELD)


@dataclass(frozen=True, slots=True)
class SubjectSource:
    """Where everything about a connector is read.

    `clients` are for the clusters to ask; there are none with `--offline`. Offsets that are too many for memory are
    saved in the directory.
    """

    clients: Clients
    clusters: Sequence[ClusterName]
    declared: DeclaredConnectors
    directory: Path
    note: Note

    def read(self, name: ConnectorName) -> ManifestSubject:
        """The connector. Its declared config has priority over its config on the cluster.

        Raises UsageError if several clusters may have the connector, NotFound if none has it.
        """
        wanted = {cluster: one for cluster in self.clusters for one in self.declared.of(cluster) if one.name == name}
        found = _find_connector(self.clients, name)
        possible = [cluster for cluster in self.clusters if cluster in wanted or cluster in found.there]
        if not possible and not self.clients:
            return ManifestSubject(None, ManifestContext(name), "")
        found.names |= {one.name for cluster in self.clusters for one in self.declared.of(cluster)}
        cluster = _only(found, possible, name, self.clusters, self.note)
        offsets, unread = self._current(cluster, found, name)
        families, is_absent = open_families().with_schemas(self.declared.schemas), False
        if cluster in wanted:
            basis, context = "as declared in the repository", context_of(wanted[cluster], families)
            is_absent = bool(self.clients) and cluster not in found.there and not found.failures
        else:
            observed = self.clients[cluster].connectors()[0].get(name)
            if observed is None:
                raise NotFound(f"cluster {cluster} did not return the config of connector {name!r}")
            basis, config = "with its current config on the cluster", observed.config
            context = ManifestContext(name, config, None, families.schema(config), shape=families.shape(config))
        if isinstance(offsets, SavedOffsets):
            return ManifestSubject(cluster, context, basis, unread, is_absent, offsets)
        return ManifestSubject(cluster, replace(context, current=offsets), basis, unread, is_absent)

    def _current(self, cluster: ClusterName, found: _Found, name: ConnectorName) -> tuple[Current, str]:
        """The current offsets, or None and the reason why they are unknown."""
        if not self.clients:
            return None, OFFLINE
        if cluster not in found.there:
            absent = f"connector {name!r} does not exist on cluster {cluster}"
            return None, next((str(error) for error in found.failures), absent)
        try:
            return read_current(self.clients[cluster], name, self.directory), ""
        except GitopsConnectError as error:
            return None, str(error)


def _find_connector(clients: Clients, name: ConnectorName) -> _Found:
    """Ask each cluster for the names of its connectors. Errors are in the result; nothing is raised."""
    found = _Found()
    for cluster, client in clients.items():
        try:
            names = client.names()
            is_there = name in names or not client.absent(frozenset({name}))
        except GitopsConnectError as error:
            found.failures.append(error)
            continue
        found.names |= names
        found.there += [cluster] if is_there else []
    return found


def _only(
    found: _Found, possible: Sequence[ClusterName], name: ConnectorName, clusters: Sequence[ClusterName], note: Note
) -> ClusterName:
    if len(possible) > 1:
        raise UsageError(f"connector {name!r} exists on {' and '.join(possible)}; choose one with --cluster")
    if not possible and found.failures:
        raise found.failures[0]
    if not possible:
        meant = did_you_mean(name, found.names)
        hint = "" if meant else "; run `gitops-connect get connectors` to list all connectors"
        raise NotFound(f"there is no connector {name!r} on {', '.join(clusters)}{meant}{hint}")
    for failure in found.failures:
        note(str(failure))
    return possible[0]
