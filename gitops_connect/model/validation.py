"""What Connect itself says of a config before it is applied, and which plugins a worker has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.observed import ConnectorType


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector class that the worker can load."""

    class_name: str
    type: ConnectorType
    version: str


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """Connect's answer to one config: its errors for each key, and the keys of type PASSWORD."""

    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sensitive: frozenset[str] = frozenset()
