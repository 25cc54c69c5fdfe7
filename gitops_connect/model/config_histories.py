"""Configs on trial, and configs that were rolled back because the connector did not work with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from gitops_connect.model.canonical import digest
from gitops_connect.model.names import Digest, Revision


class RollbackTrigger(Enum):
    FAILED = "failed"
    DEGRADED = "degraded"
    """The connector is Degraded for any reason."""


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """`spec.rollback`: how long a new config is on trial, and what ends the trial with a rollback."""

    watch: timedelta
    on: frozenset[RollbackTrigger] = frozenset(RollbackTrigger)


@dataclass(frozen=True, slots=True)
class DeclaredConfig:
    """A document's config. `secrets`: the references of `spec.secrets`, each a kind (`env`, `file`) and a name."""

    config: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, tuple[str, str]]

    @property
    def digest(self) -> Digest:
        """Equal for equal configs. A changed value of a secret does not change it."""
        return digest([dict(self.config), {key: list(one) for key, one in self.secrets.items()}])


@dataclass(frozen=True, slots=True)
class ConfigTrial:
    """A new config, since it was applied. `was_healthy`: the connector worked with the config before.

    `revision` is the commit that declared the config. `config` is None in a ledger of an earlier version.
    """

    digest: Digest
    revision: Revision
    since: datetime
    was_healthy: bool
    config: DeclaredConfig | None = None


@dataclass(frozen=True, slots=True)
class QueuedConfig:
    """A declared config that a hold keeps from being applied, and the first commit that declared it."""

    digest: Digest
    revision: Revision


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A config with which the connector did not work: its commit, why, the keys that it changed, and when that was.

    `applied` is the digest of the document that was applied with it (`Ownership.desired`).
    """

    digest: Digest
    revision: Revision
    reason: str
    keys: tuple[str, ...]
    at: datetime
    applied: Digest | None = None


@dataclass(frozen=True, slots=True)
class ConfigHistory:
    """The configs of a connector. `healthy` worked last; `rolled_back` is set until another config is applied."""

    healthy: DeclaredConfig | None = None
    trial: ConfigTrial | None = None
    rolled_back: RolledBack | None = None
    queued: QueuedConfig | None = None
