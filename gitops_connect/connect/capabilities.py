"""What a Connect worker can do since which version of Kafka, and what gitops-connect does on an older worker."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from gitops_connect.model.observed_state import ConnectVersion


@dataclass(frozen=True, slots=True)
class Capability:
    """A request that workers accept since a version.

    `action` completes "Kafka Connect 3.4.1 cannot …", and `without` says what gitops-connect does instead. `source` is
    the improvement proposal that added it.
    """

    action: str
    since: ConnectVersion
    source: str
    request: str
    without: str

    def is_in(self, version: ConnectVersion) -> bool:
        return version >= self.since

    def missing(self, version: ConnectVersion) -> str:
        """The reason for the user, as in `Kafka Connect 3.4.1 cannot stop connectors (3.5 and later can)`."""
        return f"Kafka Connect {version} cannot {self.action} ({self.first} and later can)"

    @property
    def first(self) -> str:
        return f"{self.since.major}.{self.since.minor}"


_FACTS = tomllib.loads(files("gitops_connect.connect").joinpath("capabilities.toml").read_text(encoding="utf-8"))
_BY_NAME = {
    name: Capability(**{**one, "since": ConnectVersion(*one["since"])}) for name, one in _FACTS["capability"].items()
}
CAPABILITIES = tuple(_BY_NAME.values())
EXPANDED_LIST = _BY_NAME["expanded_list"]
ACTIVE_TOPICS = _BY_NAME["active_topics"]
RESTART_FAILED = _BY_NAME["restart_failed"]
EXACTLY_ONCE = _BY_NAME["exactly_once"]
PLUGIN_KEYS = _BY_NAME["plugin_keys"]
STOP = _BY_NAME["stop"]
GET_OFFSETS = _BY_NAME["get_offsets"]
CHANGE_OFFSETS = _BY_NAME["change_offsets"]
INITIAL_STATE = _BY_NAME["initial_state"]
PLUGIN_VERSIONS = _BY_NAME["plugin_versions"]


@dataclass(frozen=True, slots=True)
class KnownBug:
    """A bug of workers before the version `fixed`, and what to do about it."""

    source: str
    fixed: ConnectVersion
    effect: str
    advice: str


KNOWN_BUGS = tuple(KnownBug(**{**one, "fixed": ConnectVersion(*one["fixed"])}) for one in _FACTS["bug"])


def missing_in(version: ConnectVersion) -> tuple[Capability, ...]:
    return tuple(one for one in CAPABILITIES if not one.is_in(version))


def bugs_of(version: ConnectVersion) -> tuple[KnownBug, ...]:
    return tuple(one for one in KNOWN_BUGS if version < one.fixed)
