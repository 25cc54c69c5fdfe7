"""Every secret of a cluster that this reconciliation knows: a connector's trace may quote another one's secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.masking import distinctive, mask_traces, sensitive_values
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.plan.situation import Situation

_NOT_SECRET = frozenset({"connector.class", "tasks.max"})


@dataclass(frozen=True, slots=True)
class KnownSecrets:
    """`own` are the secrets of each connector; `shared` are masked in the text about every connector."""

    own: Mapping[ConnectorName, frozenset[str]] = field(repr=False)
    shared: frozenset[str] = field(repr=False)

    def mask_traces(self, connector: ObservedConnector) -> ObservedConnector:
        """The connector without any known secret in its traces."""
        return mask_traces(connector, self.own.get(connector.name, frozenset()) | self.shared)


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
        keys = sensitive_keys(situation, name, document, frozenset(chain.from_iterable(configs)))
        mine = frozenset(chain.from_iterable(sensitive_values(config, keys) for config in configs))
        sure |= mine
        if observed is not None and name in situation.undescribed:
            mine |= sensitive_values(observed.config, observed.config.keys() - _NOT_SECRET)
        own[name] = mine
    return KnownSecrets(own, distinctive(sure))


def sensitive_keys(
    situation: Situation, name: ConnectorName, document: DesiredConnector | None, keys: frozenset[str]
) -> frozenset[str]:
    """The keys of a connector's config whose values are known to be secrets.

    The document, the plugin, the ledger or the name of the key says so. A document with errors counts too.
    """
    owned = situation.ownership.get(name)
    known = {
        *situation.quoted.get(name, ()),
        *situation.passwords.get(name, ()),
        *(key for key, _ in situation.desired.held_secrets.get(name, ())),
        *(owned.applied if owned is not None else ()),
    }
    if document is not None:
        known |= {key for key in keys if situation.is_sensitive(document, key)}
    return frozenset(known)
