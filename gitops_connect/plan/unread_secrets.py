"""The secrets of an unmerged revision, which are not read: what the plan assumes about their values.

The author of a pull request must not cause a secret to be read. So a plan before the merge does not compare values, but
where each value comes from with where the value that was last applied came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedState
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.sensitivity import is_mask
from gitops_connect.plan.situation import Situation

UNREAD = "(a secret that is read after the merge)"
"""The assumed value of a secret that is new, or that differs from the current one."""


def assume_secrets(
    desired: DesiredState, observed: ObservedState, ownership: Mapping[ConnectorName, Ownership], key: bytes
) -> DesiredState:
    """The desired state with a value for each key of `spec.secrets`: the current value, or `UNREAD`.

    The current value is assumed if the document names the same secret as the one that was last applied, and the value
    on the cluster is still that; or if it is unknown which one was applied. `key` is the key of the ledger's digests.
    """

    def value(one: DesiredConnector, name: str) -> str:
        connector, owned = observed.connectors.get(one.name), ownership.get(one.name)
        current = connector.config.get(name) if connector is not None else None
        if current is None:
            return UNREAD
        if owned is None or name not in owned.references:
            return current
        is_applied = is_mask(current) or owned.applied.get(name) == keyed_digest(key, [one.name, name, current])
        return current if is_applied and owned.references[name] == str(one.secrets[name]) else UNREAD

    def assumed(one: DesiredConnector) -> DesiredConnector:
        return replace(one, config={**one.config, **{name: value(one, name) for name in one.secrets}})

    return replace(desired, connectors=tuple(assumed(one) if one.secrets else one for one in desired.connectors))


def uncompared(situation: Situation, desired: DesiredConnector) -> tuple[str, ...]:
    """The secrets that are assumed to be equal, because it is unknown which ones were last applied."""
    observed, owned = situation.observed.connectors.get(desired.name), situation.ownership.get(desired.name)
    if not situation.untrusted or observed is None:
        return ()
    known = owned.references if owned is not None else {}
    return tuple(name for name in desired.secrets if name in observed.config and name not in known)
