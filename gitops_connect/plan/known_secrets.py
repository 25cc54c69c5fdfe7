"""Every secret of a cluster that this reconciliation knows: a connector's trace may quote another one's secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.masking import distinctive, mask_traces, sensitive_values
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, ObservedState
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.sensitivity import is_mask
from gitops_connect.plan.situation import Situation, once

_NOT_SECRET = frozenset({"connector.class", "tasks.max"})


@dataclass(frozen=True, slots=True)
class KnownSecrets:
    """`own` are the secrets of each connector; `shared` are masked in the text about every connector."""

    own: Mapping[ConnectorName, frozenset[str]] = field(repr=False)
    shared: frozenset[str] = field(repr=False)

    def mask_traces(self, connector: ObservedConnector) -> ObservedConnector:
        """The connector without any known secret in its traces."""
        return mask_traces(connector, self.own.get(connector.name, frozenset()) | self.shared)


@once
def known_secrets(situation: Situation) -> KnownSecrets:
    """The secrets in declared and observed configs, and those that were read for `spec.secrets`.

    A short secret is masked only in the traces of its own connector (`masking.distinctive`). If no worker described a
    connector's class, all values of the connector are masked in its own traces only: most of them are no secrets.
    """
    declared = {one.name: one for one in situation.desired.connectors}
    sure, own = set(situation.secrets), {}
    for name in declared.keys() | situation.observed.connectors.keys():
        observed, document = situation.observed.connectors.get(name), declared.get(name)
        configs = [one.config for one in (observed, document) if one is not None]
        if len(configs) > 1 and configs[0] == configs[1]:
            del configs[1]
        keys = sensitive_keys(situation, name, document)
        mine = frozenset(chain.from_iterable(sensitive_values(config, keys) for config in configs))
        sure |= mine
        if observed is not None and name in situation.undescribed:
            mine |= sensitive_values(observed.config, observed.config.keys() - _NOT_SECRET)
        own[name] = mine
    return KnownSecrets(own, distinctive(sure))


def sensitive_keys(situation: Situation, name: ConnectorName, document: DesiredConnector | None) -> frozenset[str]:
    """The keys of a connector's config whose values are known to be secrets, whatever the names of the keys are.

    The document, the plugin, the ledger or a mask of the server says so. A document with errors counts too.
    """
    owned, observed = situation.ownership.get(name), situation.observed.connectors.get(name)
    known = {
        *situation.quoted.get(name, ()),
        *situation.passwords.get(name, ()),
        *(key for key, _ in situation.desired.held_secrets.get(name, ())),
        *(owned.applied if owned is not None else ()),
        *(document.secrets if document is not None else ()),
    }
    if observed is not None:
        known.update(key for key, value in observed.config.items() if is_mask(value))
    return frozenset(known)


# The secrets of an unmerged revision, which are not read: what the plan assumes about their values.
#
# The author of a pull request must not cause a secret to be read. So a plan before the merge does not compare values,
# but the source of each secret with the source of the value that was last applied.

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
