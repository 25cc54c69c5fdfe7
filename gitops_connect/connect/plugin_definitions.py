"""What the installed plugins define: the keys of configs, their types, and so which values are secrets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_connect.connect.capabilities import PLUGIN_KEYS
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.validation import (
    ConfigDefinition,
    ConfigKey,
    Plugin,
    classes_of,
    full_names,
    installed_versions,
)
from gitops_connect.errors import GitopsConnectError, NotFound
from gitops_connect.families.health_rules import unhealthy
from gitops_connect.families.registry import Registry
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectVersion, ObservedState

_Plugin = tuple[str, str]
"""A class, and the version that runs; empty before Kafka 4.1."""
Versioned = tuple[Mapping[str, str], str]
"""The config of a connector, and the version of its class; empty for the newest one."""


def observe_plugins(client: ConnectClient) -> tuple[Plugin, ...] | None:
    """The plugins of the worker that answers; None if the request fails. They only explain a plan."""
    try:
        return client.plugins()
    except GitopsConnectError:
        return None


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


def needs_password_keys(observed: ObservedState, families: Registry) -> frozenset[ConnectorName]:
    """All connectors if one of them is unhealthy: its trace may quote any value of the cluster. Otherwise none."""
    is_quoted = any(unhealthy(one, families) is not None for one in observed.connectors.values())
    return frozenset(observed.connectors if is_quoted else ())
