"""Checks the configs of an unmerged revision, whose author may not make Connect do anything.

Connect's validation resolves the config providers of the worker in a config, and a connector's own validation connects
to the servers that the config names. So the author of a pull request could have secrets of the worker sent anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gitops_connect.checks import connect
from gitops_connect.checks.definitions import verdict
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import Rejected
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.validation import ConfigDefinition, ConnectChecks, Plugin, full_names

_CLASS = "connector.class"
_PLACEHOLDER = "gitops-connect-placeholder"
_UNDESCRIBED = "no worker describes its class, and Connect validates it only after the merge"


def check(
    client: ConnectClient,
    connectors: Collection[DesiredConnector],
    definitions: Mapping[ConnectorName, ConfigDefinition],
    options: connect.ValidateOptions,
    plugins: Sequence[Plugin] | None,
) -> ConnectChecks:
    """Check the configs against the definitions of their plugins; send only those of `options.unmerged`.

    What is sent has placeholders for secrets. A config with a placeholder of a config provider is not sent.
    """
    sent = {one.name for one in connectors if _may_be_sent(one, options.unmerged)}
    answers = connect.validate(client, map(_without_secrets, (one for one in connectors if one.name in sent)), options)
    local = [(one, _answer(one, definitions, plugins)) for one in connectors if one.name not in sent]
    return answers + connect.checks_of(local, connect.Catalogue(client, plugins), _UNDESCRIBED)


def _may_be_sent(connector: DesiredConnector, allowed: Collection[str]) -> bool:
    has_placeholder = any("${" in text for pair in connector.config.items() for text in pair)
    return connector.config.get(_CLASS, "") in allowed and not has_placeholder


def _without_secrets(connector: DesiredConnector) -> DesiredConnector:
    return replace(connector, config={**connector.config, **dict.fromkeys(connector.secrets, _PLACEHOLDER)})


def _answer(
    connector: DesiredConnector,
    definitions: Mapping[ConnectorName, ConfigDefinition],
    plugins: Sequence[Plugin] | None,
) -> connect.Answer:
    definition = definitions.get(connector.name)
    if definition is not None and "" not in definition.undescribed:
        try:
            return verdict(connector, definition)
        except Exception as error:  # a bug, which becomes a diagnostic of this connector
            return error
    if plugins is not None and connector.config.get(_CLASS, "") not in full_names(plugins):
        return Rejected(connect.NO_SUCH_CLASS)
    return None
