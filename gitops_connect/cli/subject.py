"""The connector of a command: its cluster, and its data from the cluster and the repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.console import echo
from gitops_connect.errors import ConnectRefused, GitopsConnectError, NotFound, UsageError

if TYPE_CHECKING:
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.desired import DesiredConnector
    from gitops_connect.model.large_manifests import SavedOffsets
    from gitops_connect.model.manifests import ManifestContext, OffsetSchema
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.model.operations import Acknowledgement
    from gitops_connect.reconcile import Declared
    from gitops_connect.settings.sections import Settings

Clients = Mapping["ClusterName", "ConnectClient"]


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
    def current(self) -> Offsets | SavedOffsets | None:
        """The current offsets; None if they are unknown."""
        return self.saved if self.saved is not None else self.context.current

    def acknowledging(self, acknowledged: frozenset[Acknowledgement]) -> ManifestSubject:
        """This subject, for a document with these acknowledgements."""
        return replace(self, context=replace(self.context, acknowledged=acknowledged))


@dataclass(slots=True)
class FoundConnector:
    """The clusters that have a connector, the names of all connectors found, and the errors of other clusters."""

    there: list[ClusterName] = field(default_factory=list)
    names: set[ConnectorName] = field(default_factory=set)
    failures: list[GitopsConnectError] = field(default_factory=list)


@contextmanager
def clients_of(settings: Settings, clusters: Sequence[ClusterName]) -> Iterator[Clients]:
    """A client for each cluster, closed at the end of the block. No request is sent yet."""
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.runtime import SystemClock

    clients = {name: ConnectClient(settings.clusters[name], SystemClock()) for name in clusters}
    try:
        yield clients
    finally:
        for client in clients.values():
            client.close()


def find_connector(clients: Clients, name: ConnectorName) -> FoundConnector:
    """Ask each cluster for the names of its connectors. Errors are in the result; nothing is raised."""
    found = FoundConnector()
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


def locate(clients: Clients, name: ConnectorName) -> ClusterName:
    """The only cluster with the connector. Raises UsageError if several clusters have it, NotFound if none has it."""
    found = find_connector(clients, name)
    return _only(found, found.there, name, list(clients))


def read_current(client: ConnectClient, name: ConnectorName, directory: Path) -> Offsets | SavedOffsets:
    """The current offsets. If they are too many for memory, they are in a file in the directory, which need not exist.

    Raises the errors of `require_offsets` and of the requests, and UsageError if the file cannot be written.
    """
    from gitops_connect.observed import MAX_HELD

    require_offsets(client)
    return client.save_offsets(name, directory / "current.jsonl", MAX_HELD)


def require_offsets(client: ConnectClient) -> None:
    """Raise ConnectRefused if the workers are too old to return offsets, and the errors of the request."""
    from gitops_connect.model.capabilities import GET_OFFSETS

    version = client.info().version
    if not GET_OFFSETS.is_in(version):
        raise ConnectRefused(f"connect cluster {client.cluster}: {GET_OFFSETS.missing(version)}")


def repository_of(settings: Settings) -> Declared | None:
    """The declared state; None if no repository is configured, or if it cannot be read, which a note reports."""
    if not settings.repository.url:
        return None
    try:
        return cluster_commands.declared_in(settings, None)
    except GitopsConnectError as error:
        echo(f"note: cannot read the repository: {error}")
        return None


def subject_of(
    clients: Clients, clusters: Sequence[ClusterName], name: ConnectorName, declared: Declared | None, directory: Path
) -> ManifestSubject:
    """Everything about one connector. Its declared config has priority over its config on the cluster.

    `clients` are for the clusters to ask; there are none with `--offline`. Offsets that are too many for memory are
    saved in the given directory. Raises UsageError if several clusters may have the connector, NotFound if none has it.
    """
    from gitops_connect.model.large_manifests import SavedOffsets
    from gitops_connect.model.manifests import ManifestContext

    wanted = _declared(declared, clusters, name)
    found = find_connector(clients, name)
    possible = [cluster for cluster in clusters if cluster in wanted or cluster in found.there]
    if not possible and not clients:
        return ManifestSubject(None, ManifestContext(name), "")
    found.names |= {one.name for cluster in clusters for one in _connectors(declared, cluster)}
    cluster = _only(found, possible, name, clusters)
    found_offsets, unread = _current(clients, cluster, found, (name, directory))
    current, saved = (None, found_offsets) if isinstance(found_offsets, SavedOffsets) else (found_offsets, None)
    schemas = _schemas(declared)
    if cluster in wanted:
        from gitops_connect.offset_changes.manifests import context_of

        absent = bool(clients) and cluster not in found.there and not found.failures
        context = replace(context_of(wanted[cluster], schemas), current=current)
        return ManifestSubject(cluster, context, "as declared in the repository", unread, absent, saved)
    from gitops_connect.model.shapes import schema_of

    config = _observed_config(clients[cluster], name)
    context = ManifestContext(name, config, current, schema_of(config, schemas))
    return ManifestSubject(cluster, context, "with its current config on the cluster", unread, saved=saved)


def _only(
    found: FoundConnector, possible: Sequence[ClusterName], name: ConnectorName, clusters: Sequence[ClusterName]
) -> ClusterName:
    from gitops_connect.model.suggestions import did_you_mean

    if len(possible) > 1:
        raise UsageError(f"connector {name!r} exists on {' and '.join(possible)}; choose one with --cluster")
    if not possible and found.failures:
        raise found.failures[0]
    if not possible:
        meant = did_you_mean(name, found.names)
        hint = "" if meant else "; run `gitops-connect get connectors` to list all connectors"
        raise NotFound(f"there is no connector {name!r} on {', '.join(clusters)}{meant}{hint}")
    for failure in found.failures:
        echo(f"note: {failure}")
    return possible[0]


def _current(
    clients: Clients, cluster: ClusterName, found: FoundConnector, of: tuple[ConnectorName, Path]
) -> tuple[Offsets | SavedOffsets | None, str]:
    """The current offsets, or None and the reason why they are unknown."""
    name, directory = of
    if not clients:
        return None, "offline"
    if cluster not in found.there:
        why = next((str(error) for error in found.failures), f"connector {name!r} does not exist on cluster {cluster}")
        return None, why
    try:
        return read_current(clients[cluster], name, directory), ""
    except GitopsConnectError as error:
        return None, str(error)


def _observed_config(client: ConnectClient, name: ConnectorName) -> Mapping[str, str]:
    observed = client.connectors()[0].get(name)
    if observed is None:
        raise NotFound(f"cluster {client.cluster} did not return the config of connector {name!r}")
    return observed.config


def _declared(
    declared: Declared | None, clusters: Sequence[ClusterName], name: ConnectorName
) -> Mapping[ClusterName, DesiredConnector]:
    return {cluster: one for cluster in clusters for one in _connectors(declared, cluster) if one.name == name}


def _connectors(declared: Declared | None, cluster: ClusterName) -> Sequence[DesiredConnector]:
    return declared.states[cluster].connectors if declared is not None else ()


def _schemas(declared: Declared | None) -> Mapping[str, OffsetSchema]:
    from gitops_connect.offset_changes.manifests import read_own_schemas

    return read_own_schemas(declared.checkout).schemas if declared is not None else {}
