"""Connect's own validation of a config before it is applied, and the plugins of a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.shapes import class_names


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector class that the worker can load, in one version: a class may be installed in several."""

    class_name: str
    type: ConnectorType
    version: str


def installed_versions(plugins: Iterable[Plugin], class_name: str) -> tuple[str, ...]:
    """The versions of a class, by its full name or one of its short names, in the order of `plugins`."""
    return tuple(one.version for one in plugins if class_name in class_names(one.class_name) and one.version)


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """Connect's answer to one config: its errors for each key, the PASSWORD keys, and all keys that it defines."""

    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sensitive: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ConnectChecks:
    """Connect's verdicts on many connectors.

    `invalid` are the connectors whose config Connect would reject. `sensitive` has the keys whose values must not be
    shown, for each connector whose config was sent to Connect.
    """

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    invalid: frozenset[ConnectorName] = frozenset()
    sensitive: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
