"""Everything that a plan is made from, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.observed import ObservedState
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.sensitivity import is_sensitive_key


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows on this cluster. `max_deletions` is a share of the connectors that are ours, 0 to 1."""

    enforce: bool = True
    prune: bool = False
    protected: tuple[str, ...] = ()
    max_deletions: float = 0.3


@dataclass(frozen=True, slots=True)
class Situation:
    """What is wanted, what is there, what is ours, and what is allowed.

    `invalid` are connectors whose config Connect rejects, or which lack a secret; `passwords` are, for those that
    Connect was asked about, the config keys of type PASSWORD. `key` is the key of all digests that have a secret under
    them.
    """

    revision: Revision
    desired: DesiredState
    observed: ObservedState
    policy: Policy = field(default_factory=Policy)
    ownership: Mapping[ConnectorName, Ownership] = field(default_factory=dict)
    invalid: frozenset[ConnectorName] = frozenset()
    passwords: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
    key: bytes = field(default=b"", repr=False)

    def is_sensitive(self, connector: DesiredConnector, key: str) -> bool:
        """True for keys whose value is never shown: declared as a secret, of type PASSWORD, or called like one.

        Connect is asked only about configs that would be sent, so what it once called a PASSWORD is remembered.
        """
        owned = self.ownership.get(connector.name)
        return (
            key in connector.secrets
            or key in self.passwords.get(connector.name, frozenset())
            or (owned is not None and key in owned.applied)
            or is_sensitive_key(key)
        )
