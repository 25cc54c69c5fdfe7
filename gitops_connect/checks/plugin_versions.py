"""Versions of plugins (KIP-891): those that the workers are too old for, and those that are not installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from gitops_connect.connect.capabilities import PLUGIN_VERSIONS
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.observed_state import ConnectVersion

_KEYS = (
    *("connector.plugin.version", "key.converter.plugin.version", "value.converter.plugin.version"),
    *("header.converter.plugin.version", "transforms.*.plugin.version", "predicates.*.plugin.version"),
)
"""The config keys that choose a version (`ConnectorConfig`), as patterns."""
_NOT_INSTALLED = re.compile(
    r"Plugin (?P<plugin>\S+) not found that matches the version range "
    r"(?:\[(?P<version>[^,]*),(?P=version)\]|(?P<range>.+)), available versions: \[(?P<installed>.*)\]"
)


def unsupported(connectors: Iterable[DesiredConnector], version: ConnectVersion) -> Diagnostics:
    """An error for each key that chooses the version of a plugin, if the workers are too old to know such keys.

    An older worker accepts the key, ignores it, and runs the newest version that is installed.
    """
    if PLUGIN_VERSIONS.is_in(version):
        return Diagnostics()
    present = (one for one in connectors if one.state is not TargetState.ABSENT)
    return Diagnostics.of(_too_old(one, key, version) for one in present for key in sorted(one.config) if _chooses(key))


def _chooses(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _KEYS)


def _too_old(connector: DesiredConnector, key: str, version: ConnectVersion) -> Diagnostic:
    return Diagnostic(
        Severity.ERROR,
        "connect/too-old",
        f"{PLUGIN_VERSIONS.missing(version)}, and would ignore {key}",
        connector.locate_config(key),
        "remove the version, or upgrade the workers to Kafka 4.1 or newer",
        connector.name,
    )


def cannot_load(message: str) -> bool:
    """Whether an answer 500 is Connect 4.3.1's second answer about a version that is not installed.

    The first validation of such a config reports the version. Every later one, and POST, fails with a
    NullPointerException, because the cached exception has no list of versions.
    """
    return "VersionedPluginLoadingException.availableVersions()" in message


def not_loaded(connector: DesiredConnector, installed: Sequence[str]) -> Diagnostic:
    """The error for `cannot_load`. Connect does not name the plugin: the version may be that of a converter."""
    keys = [key for key in sorted(connector.config) if _chooses(key)]
    return Diagnostic(
        Severity.ERROR,
        "connect/version-not-installed",
        f"the worker has no plugin of a version that {' or '.join(keys)} chooses",
        connector.locate_config(keys[0]) if keys else connector.locate(("spec",)),
        f"installed versions of the class: {', '.join(installed)}; use one of them, or install the version",
        connector.name,
    )


def is_not_installed(message: str) -> bool:
    """Whether Connect says that no installed version of a plugin is in the range that a config chooses."""
    return _NOT_INSTALLED.fullmatch(message) is not None


def not_installed(connector: DesiredConnector, message: str, keys: Sequence[str]) -> Iterator[Diagnostic]:
    """One error for this message of Connect, which it gives for the class and for the version: two of `keys`."""
    found = _NOT_INSTALLED.fullmatch(message)
    key = next((one for one in keys if _chooses(one)), None)
    if found is None or key is None:
        return
    installed = found["installed"]
    chosen = f"version in the range {found['range']}" if found["range"] else f"version {found['version']}"
    yield Diagnostic(
        Severity.ERROR,
        "connect/version-not-installed",
        f"the worker has no {chosen} of {found['plugin']}",
        connector.locate_config(key),
        f"use one of the installed versions: {installed}" if installed else "install this version on every worker",
        connector.name,
    )
