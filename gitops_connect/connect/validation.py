"""Connect's validation of a config before it is applied, the plugins of a worker, and the config keys they define."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.families.family import class_names
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType

_CLASS = "connector.class"
_PART = re.compile(r"(?:transforms|predicates)\..+\.type|(?:key|value|header)\.converter", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One version of a class that the worker can load. `type`: UNKNOWN for transforms, predicates and converters."""

    class_name: str
    type: ConnectorType
    version: str


def full_names(plugins: Iterable[Plugin]) -> Mapping[str, str]:
    """The full name of each class, by each name by which Connect accepts it. A name of two classes is left out."""
    found = defaultdict[str, set[str]](set)
    for one in plugins:
        for name in class_names(one.class_name):
            found[name].add(one.class_name)
    return {name: name if name in full else min(full) for name, full in found.items() if len(full) == 1 or name in full}


class KeyType(Enum):
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A config key that a class defines. `type` is None for a type that Kafka did not have when this was written."""

    type: KeyType | None
    required: bool = False


@dataclass(frozen=True, slots=True)
class ConfigDefinition:
    """The keys that the connector's class and the other classes of its config define, with their prefixes.

    `undescribed` are the prefixes of the classes that no worker describes: an empty one is that of the connector.
    """

    keys: Mapping[str, ConfigKey] = field(default_factory=dict)
    undescribed: frozenset[str] = frozenset({""})

    @property
    def passwords(self) -> frozenset[str]:
        return frozenset(key for key, one in self.keys.items() if one.type is KeyType.PASSWORD)


def classes_of(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The class of the connector, and those of its transforms, predicates and converters, after their key prefixes."""
    yield "", config.get(_CLASS, "")
    for key in filter(_PART.fullmatch, config):
        yield key.removesuffix("type") if key.endswith(".type") else f"{key}.", config[key]


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
    shown, for each connector whose config was checked. `described` are the connectors with a verdict, so that the types
    of all keys that their plugins define are known.
    """

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    invalid: frozenset[ConnectorName] = frozenset()
    sensitive: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
    described: frozenset[ConnectorName] = frozenset()

    def __add__(self, other: ConnectChecks) -> ConnectChecks:
        return ConnectChecks(
            self.diagnostics + other.diagnostics,
            self.invalid | other.invalid,
            {**self.sensitive, **other.sensitive},
            self.described | other.described,
        )
