"""What Connect itself says of a config before it is applied, and which plugins a worker has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ConnectorType


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector class that the worker can load."""

    class_name: str
    type: ConnectorType
    version: str


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """Connect's answer to one config: its errors for each key, the PASSWORD keys, and all keys that it defines."""

    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sensitive: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ConnectChecks:
    """Connect's verdicts over many connectors.

    `invalid` are those that Connect would refuse; `sensitive` holds, for each connector that was asked about, the keys
    whose values must not be shown.
    """

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    invalid: frozenset[ConnectorName] = frozenset()
    sensitive: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
