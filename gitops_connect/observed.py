"""Reads one Connect cluster into `ObservedState`, in at most five calls however many connectors there are.

For up to 0.5 s after a new config, and while the group rebalances, a connector is UNASSIGNED or has no status, and the
target state that Kafka has stored is unknown. If a read finds such a connector, the read is repeated for some seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError, NotFound, Rejected
from gitops_connect.model.capabilities import PLUGIN_KEYS
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.health import unhealthy
from gitops_connect.model.large_manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import (
    ConnectVersion,
    ObservedConnector,
    ObservedState,
    OffsetPosition,
    WorkerState,
)
from gitops_connect.model.offsets import Offsets, offsets_digest
from gitops_connect.model.validation import (
    ConfigDefinition,
    ConfigKey,
    Plugin,
    classes_of,
    full_names,
    installed_versions,
)

MAX_HELD = 16 * 1024 * 1024
"""Bytes of an answer with offsets. As Python values they take about six times as much."""
PATIENCE = 5.0
"""Seconds. Longer than a restart takes; a connector that is in transit for longer is planned in its current state."""
_PAUSE = 0.25
_Plugin = tuple[str, str]
"""A class, and the version that runs; empty before Kafka 4.1."""
_NO_EXACTLY_ONCE = "does not have exactly-once source support enabled"
_IN_TRANSIT = {WorkerState.UNASSIGNED, WorkerState.RESTARTING, WorkerState.DESTROYED}


def observe_at_rest(client: ConnectClient, expected: Collection[ConnectorName], clock: Clock) -> ObservedState:
    """Read until none of `expected` is in transit, or until the timeout; nearly always one read is enough."""
    until = clock.monotonic() + PATIENCE
    observed = observe(client, expected)
    while _in_transit(observed, expected) and clock.monotonic() < until:
        clock.sleep(_PAUSE)
        observed = observe(client, expected)
    return replace(observed, gone=client.gone(_workers(observed)))


def _workers(observed: ObservedState) -> frozenset[str]:
    """The workers on which a connector or a task is RUNNING."""
    everything = observed.connectors.values()
    tasks = (task for one in everything for task in one.tasks)
    running = WorkerState.RUNNING
    return frozenset(
        [one.worker for one in everything if one.state is running]
        + [task.worker for task in tasks if task.state is running]
    )


def _in_transit(observed: ObservedState, expected: Collection[ConnectorName]) -> bool:
    seen = observed.connectors
    return any(name in observed.unknown or (name in seen and seen[name].state in _IN_TRANSIT) for name in expected)


def observe(client: ConnectClient, expected: Collection[ConnectorName]) -> ObservedState:
    """Read every connector of the cluster once.

    `expected` are the names that are needed: declared or managed. If the expanded list lacks one of them, the connector
    is absent; or it has no status yet and was left out (`ConnectorsResource.listConnectors`); or the worker is
    starting, and its answer may be incomplete. Only then more requests are sent to distinguish these cases. Raises what
    `ConnectClient` raises: a connector that cannot be read is never absent.
    """
    info = client.info()
    connectors, unknown = client.connectors()
    missing = frozenset(expected) - connectors.keys() - unknown
    if missing:
        absent = client.absent(missing)
        connectors, unknown = client.connectors()
        unknown |= missing - absent - connectors.keys()
    return ObservedState(client.cluster, info.version, connectors, unknown)


def observe_plugins(client: ConnectClient) -> tuple[Plugin, ...] | None:
    """The plugins of the worker that answers; None if the request fails. They only explain a plan."""
    try:
        return client.plugins()
    except GitopsConnectError:
        return None


def has_exactly_once(client: ConnectClient, config: Mapping[str, str], sensitive: Iterable[str]) -> bool:
    """Whether the workers support exactly-once sources (`exactly.once.source.support`, KIP-618).

    No answer of Connect contains this. So this config, whose `sensitive` keys no message shows, is validated as one
    that requires it, and the error shows it. MirrorMaker checks its isolation level first.
    """
    config = {
        **config,
        "exactly.once.support": "required",
        "source.consumer.isolation.level": "read_committed",
    }
    try:
        verdict = client.validate(config["connector.class"], config, sensitive=sensitive)
    except Rejected:
        return False
    return not any(_NO_EXACTLY_ONCE in text for text in verdict.errors.get("exactly.once.support", ()))


@dataclass(frozen=True, slots=True)
class ObservedOffsets:
    """The current offsets: `large` are those in files, and `unread` are the reasons why some could not be read."""

    current: Mapping[ConnectorName, Offsets]
    large: Mapping[ConnectorName, SavedOffsets]
    unread: Mapping[ConnectorName, str]


def observe_offsets(client: ConnectClient, names: Collection[ConnectorName], directory: Path) -> ObservedOffsets:
    """Read the offsets of these connectors, one request each. If they exceed `MAX_HELD`, they go into the directory.

    Raises OSError.
    """
    current, large, unread = {}, {}, {}
    for number, name in enumerate(names):
        try:
            found = client.save_offsets(name, directory / f"current-{number}.jsonl", MAX_HELD)
        except GitopsConnectError as error:
            unread[name] = f"the current offsets of its connector could not be read: {error}"
            continue
        if isinstance(found, SavedOffsets):
            large[name] = found
        else:
            current[name] = found
    return ObservedOffsets(current, large, unread)


def must_move(desired: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether the connector is RUNNING, and its document limits how long its offsets may be the same."""
    return desired.offsets_move_within is not None and observed is not None and observed.state is WorkerState.RUNNING


def observe_positions(
    client: ConnectClient, names: Iterable[ConnectorName], before: Mapping[ConnectorName, OffsetPosition], now: datetime
) -> Mapping[ConnectorName, OffsetPosition]:
    """The current offsets of these connectors as digests, and since when they are the same.

    One request for each. If the offsets of a connector cannot be read, its position remains as it was.
    """
    positions = {}
    with TemporaryDirectory(prefix="gitops-connect-") as directory:
        for name in names:
            known = before.get(name)
            try:
                found = client.save_offsets(name, Path(directory, "current.jsonl"), MAX_HELD)
            except GitopsConnectError:
                if known is not None:
                    positions[name] = known
                continue
            current = found.digest if isinstance(found, SavedOffsets) else offsets_digest(found)
            positions[name] = known if known and known.digest == current else OffsetPosition(current, now)
    return positions


Versioned = tuple[Mapping[str, str], str]
"""The config of a connector, and the version of its class; empty for the newest one."""


def declared_definitions(
    client: ConnectClient, version: ConnectVersion, connectors: Iterable[DesiredConnector], plugins: Iterable[Plugin]
) -> Mapping[ConnectorName, ConfigDefinition]:
    """What the classes of the declared configs define, in the declared version if that is one of `plugins`."""
    installed, configs = list(plugins), {}
    for one in connectors:
        named = one.config.get("connector.plugin.version", "")
        is_there = named in installed_versions(installed, one.config.get("connector.class", ""))
        configs[one.name] = one.config, named if is_there else ""
    return observe_definitions(client, version, configs)


def observe_definitions(
    client: ConnectClient, version: ConnectVersion, configs: Mapping[ConnectorName, Versioned]
) -> Mapping[ConnectorName, ConfigDefinition]:
    """What the classes of each config define. Empty before Kafka 3.2, and if the worker does not list its plugins.

    One request for the list, and one for each installed class that was not described before. If a worker does not
    answer, the remaining classes are not described.
    """
    if not configs or not PLUGIN_KEYS.is_in(version):
        return {}
    try:
        names = full_names(client.all_plugins())
    except GitopsConnectError:
        return {}
    used = {name: list(_used(config, of_class, names)) for name, (config, of_class) in configs.items()}
    described = _described(client, sorted({plugin for parts in used.values() for _, plugin in parts}))
    return {name: _definition(parts, described) for name, parts in used.items()}


def _used(config: Mapping[str, str], version: str, names: Mapping[str, str]) -> Iterator[tuple[str, _Plugin]]:
    """The prefixes of the classes of a config, each with the full name; it is empty for a class that is not there."""
    for prefix, class_name in classes_of(config):
        yield prefix, (names.get(class_name.strip(), ""), version if not prefix else "")


def _described(client: ConnectClient, plugins: Iterable[_Plugin]) -> Mapping[_Plugin, Mapping[str, ConfigKey]]:
    found = {}
    for plugin in plugins:
        try:
            if plugin[0]:
                found[plugin] = client.definition(*plugin)
        except NotFound:
            continue
        except GitopsConnectError:
            break
    return found


def _definition(
    parts: Iterable[tuple[str, _Plugin]], described: Mapping[_Plugin, Mapping[str, ConfigKey]]
) -> ConfigDefinition:
    keys, undescribed = dict[str, ConfigKey](), set[str]()
    for prefix, plugin in parts:
        if plugin in described:
            keys |= {prefix + key: one for key, one in described[plugin].items()}
        else:
            undescribed.add(prefix)
    return ConfigDefinition(keys, frozenset(undescribed))


@dataclass(frozen=True, slots=True)
class PasswordKeys:
    """The config keys of type PASSWORD of each connector, and the connectors with a class that no worker described."""

    known: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
    undescribed: frozenset[ConnectorName] = frozenset()


def password_keys(client: ConnectClient, observed: ObservedState, names: Collection[ConnectorName]) -> PasswordKeys:
    """The keys of type PASSWORD in the current configs of these connectors. Workers before 3.2 describe no class."""
    there = {name: observed.connectors[name] for name in names if name in observed.connectors}
    configs = {name: (one.config, one.version) for name, one in there.items()}
    found = observe_definitions(client, observed.version, configs)
    whole = {name for name, one in found.items() if not one.undescribed}
    return PasswordKeys({name: one.passwords for name, one in found.items()}, frozenset(there.keys() - whole))


def needs_password_keys(observed: ObservedState) -> frozenset[ConnectorName]:
    """All connectors if one of them is unhealthy: its trace may quote any value of the cluster. Otherwise none."""
    is_quoted = any(unhealthy(one) is not None for one in observed.connectors.values())
    return frozenset(observed.connectors if is_quoted else ())
