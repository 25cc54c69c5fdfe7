"""The config keys that decide which offsets a connector reads, as data.

Each message is a template. `{before}` and `{after}` are the values of the key, or the entries that are removed from and
added to a list; `{start}` is what the connector does if it finds no offset. In a hint, `{save}` is the command that
saves the current offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_SEED = (
    "to continue from the current offsets, run `{save}`, replace {before} with {after} in FILE, and set these"
    " offsets with an OffsetChange in the same commit"
)
SEED_ADDED = "to start at other offsets, set them with an OffsetChange in the same commit"
"""For partitions that a connector begins to read."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a connector does with a partition that has no offset: `says`, or, if `key` is set, what its value specifies.

    `other` is for values of the key that are not in `by_value`; it may contain `{value}`.
    """

    says: str
    key: str = ""
    by_value: Mapping[str, str] = field(default_factory=dict)
    other: str = ""

    def of(self, config: Mapping[str, str]) -> str:
        """What a connector with that config does without an offset: a predicate, as in `takes a new snapshot`."""
        value = config.get(self.key, "")
        if not value:
            return self.says
        return self.by_value.get(value.lower(), self.other).replace("{value}", value)


@dataclass(frozen=True, slots=True)
class ValueKey:
    """A key whose whole value decides which offsets are read, or what their positions mean.

    `keys` are the names of the key; the first that a config has counts. `default` is the value if the config has none
    of them, and may contain `{name}`, the connector's name. `changed` is the message for another value, `added` for a
    key that had no value, `removed` for a key that has none now; an empty message means no effect. `pairs` replaces
    `changed` if each pair of values has a meaning of its own.
    """

    keys: tuple[str, ...]
    changed: str = ""
    added: str = ""
    removed: str = ""
    default: str = ""
    hint: str = ""
    pairs: Mapping[tuple[str, str], str] | None = None

    def value(self, name: str, config: Mapping[str, str]) -> str:
        """The key's value for the connector of that name and config; empty if there is none."""
        return _first(self.keys, config) or self.default.replace("{name}", name)


@dataclass(frozen=True, slots=True)
class ListKey:
    """A list with commas, of things that have partitions of their own: `noun`, in the plural.

    `excludes`: the list names what is not read. `unlimited`: without a value everything is read.
    """

    keys: tuple[str, ...]
    noun: str
    excludes: bool = False
    unlimited: bool = False

    def value(self, _name: str, config: Mapping[str, str]) -> str:
        """The list as it is written; empty if the config has none of the keys."""
        return _first(self.keys, config)


def _first(keys: tuple[str, ...], config: Mapping[str, str]) -> str:
    return next((config[key] for key in keys if config.get(key)), "")


@dataclass(frozen=True, slots=True)
class OffsetKeys:
    """The keys of one class. With the key and value `unused`, the class neither reads nor stores offsets."""

    start: Start
    keys: tuple[ValueKey | ListKey, ...] = ()
    unused: tuple[str, str] | None = None


def named_in_partitions(noun: str, *keys: str, also: str = "") -> ValueKey:
    """A key whose value is a field of every partition. `also` is what else is needed to continue."""
    gone = f"the offsets of {noun} {{before}} are no longer read"
    return ValueKey(keys, f"{gone}; without offsets of {noun} {{after}} the connector {{start}}", hint=_SEED + also)
