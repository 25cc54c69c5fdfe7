"""The connectors of a cluster, with the config keys that are passwords, and their current offsets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path

from gitops_connect.connect.capabilities import PLUGIN_KEYS
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.validation import classes_of
from gitops_connect.errors import GitopsConnectError, NotFound, UsageError
from gitops_connect.exchange.connector_documents import Converted
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.written_files import OutputFiles, offsets_path
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.observe import MAX_HELD, observe_at_rest
from gitops_connect.offset_changes.offset_files import OffsetFile, number_of, temporary_directory
from gitops_connect.safe_files import new_directory

_STATES = {
    WorkerState.RUNNING: TargetState.RUNNING,
    WorkerState.PAUSED: TargetState.PAUSED,
    WorkerState.STOPPED: TargetState.STOPPED,
}
PasswordKeys = frozenset[str] | GitopsConnectError | None
"""The keys of type PASSWORD of a class; None if no worker has the class, or the error of the request."""


@dataclass(frozen=True, slots=True)
class ClusterConnectors:
    """The chosen connectors of a cluster, and why the others of them could not be read.

    `skipped` are chosen, too, but are not to be read. `notes` say why every value of a connector counts as a secret.
    """

    declarations: tuple[ConnectorDeclaration, ...]
    failed: Mapping[ConnectorName, str]
    skipped: tuple[ConnectorName, ...]
    notes: tuple[str, ...]


def read_cluster(
    client: ConnectClient, selectors: Collection[str], clock: Clock, skip: Collection[ConnectorName] = ()
) -> ClusterConnectors:
    """The connectors whose names match one of the patterns, or all without patterns, sorted by name.

    The connectors are read once the worker has read the whole config topic, and none is in transit. A connector whose
    secret keys cannot be determined is not read. Raises NotFound for a pattern that matches nothing, and the errors of
    the requests.
    """
    client.await_herder()
    observed = observe_at_rest(client, client.names(), clock)
    names = observed.connectors.keys() | observed.unknown
    chosen = sorted(name for name in names if not selectors or any(fnmatchcase(name, one) for one in selectors))
    for pattern in selectors:
        if not any(fnmatchcase(name, pattern) for name in chosen):
            raise NotFound(f"cluster {client.cluster} has no connector that matches {pattern!r}")
    skipped = tuple(name for name in chosen if name in skip)
    chosen = [name for name in chosen if name not in skip]
    declarations, notes = [], []
    failed = {name: "the workers did not report its state and config" for name in chosen if name in observed.unknown}
    has_keys, described = PLUGIN_KEYS.is_in(observed.version), cache(partial(_password_keys, client))
    if not has_keys:
        notes.append(f"{PLUGIN_KEYS.missing(observed.version)}, so every config value counts as a secret")
    for one in (observed.connectors[name] for name in chosen if name in observed.connectors):
        passwords = _all_password_keys(one, described) if has_keys else None
        if isinstance(passwords, GitopsConnectError):
            failed[one.name] = f"cannot determine which config keys are passwords: {passwords}"
            continue
        if passwords is None and has_keys:
            notes.append(f"connector {one.name}: no worker has its plugin, so every config value counts as a secret")
        sensitive = frozenset(one.config) if passwords is None else passwords
        declarations.append(_declaration(client.cluster, one, sensitive))
    return ClusterConnectors(tuple(declarations), failed, skipped, tuple(notes))


def _password_keys(client: ConnectClient, class_name: str, version: str) -> PasswordKeys:
    try:
        return client.sensitive_keys(class_name, version)
    except NotFound:
        return None
    except GitopsConnectError as error:
        return error


def _all_password_keys(observed: ObservedConnector, described: Callable[[str, str], PasswordKeys]) -> PasswordKeys:
    """The keys of the plugin, its transforms, predicates and converters, without parts that no worker has."""
    found = set[str]()
    for prefix, class_name in classes_of(observed.config):
        keys = described(class_name, "" if prefix else observed.version) if class_name or not prefix else None
        if isinstance(keys, GitopsConnectError) or (keys is None and not prefix):
            return keys
        found |= {prefix + one for one in keys or ()}
    return frozenset(found)


def _declaration(cluster: ClusterName, observed: ObservedConnector, passwords: frozenset[str]) -> ConnectorDeclaration:
    note = f"The connector was {observed.state.value}, which does not show its target state. `running` is assumed."
    return ConnectorDeclaration(
        name=observed.name,
        format=FileFormat.JSON,
        location=Location(f"cluster {cluster}"),
        config=dict(observed.config),
        state=_STATES.get(observed.state, TargetState.RUNNING),
        cluster=cluster,
        sensitive=set(passwords),
        note="" if observed.state in _STATES else note,
        is_described=True,
    )


def save_offsets(
    client: ConnectClient, output: OutputFiles, written: Mapping[Path, Converted], say: Callable[[str, int, int], None]
) -> Mapping[ConnectorName, str]:
    """Write the current offsets of each connector that has offsets. Returns why offsets could not be read."""
    unread: dict[ConnectorName, str] = {}
    new_directory(output.root, force=True)
    with temporary_directory(output.root) as room:
        for number, (path, one) in enumerate(written.items()):
            say(f"reading the offsets of {one.source.name}", number, len(written))
            try:
                found = client.save_offsets(one.source.name, room / "current.jsonl", MAX_HELD)
            except UsageError:
                raise
            except GitopsConnectError as error:
                unread[one.source.name] = f"its offsets could not be read: {error}"
                continue
            if number_of(found):
                OffsetFile(offsets_path(path), output.force, output.root).write(found)
    return unread
