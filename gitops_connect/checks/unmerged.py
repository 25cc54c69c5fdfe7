"""Checks the configs of an unmerged revision, whose author may not make Connect do anything.

Connect's validation resolves the config providers of the worker in a config, and a connector's own validation connects
to the servers that the config names. So the author of a pull request could have secrets of the worker sent anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gitops_connect.checks import plugin_validation
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.validation import (
    ConfigDefinition,
    ConfigVerdict,
    ConnectChecks,
    KeyType,
    Plugin,
    full_names,
)
from gitops_connect.errors import Rejected
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.exactly_once import INTERVAL, WORDS
from gitops_connect.model.names import ConnectorName

_CLASS = "connector.class"
_PLACEHOLDER = "gitops-connect-placeholder"
_UNDESCRIBED = "no worker describes its class, and Connect validates it only after the merge"


def check(
    client: ConnectClient,
    connectors: Collection[DesiredConnector],
    definitions: Mapping[ConnectorName, ConfigDefinition],
    options: plugin_validation.ValidateOptions,
    plugins: Sequence[Plugin] | None,
) -> ConnectChecks:
    """Check the configs against the definitions of their plugins; send only those of `options.unmerged`.

    What is sent has placeholders for secrets. A config with a placeholder of a config provider is not sent.
    """
    sent = {one.name for one in connectors if _may_be_sent(one, options.unmerged)}
    with_placeholders = [
        replace(one, config={**one.config, **dict.fromkeys(one.secrets, _PLACEHOLDER)})
        for one in connectors
        if one.name in sent
    ]
    pairs, reason = plugin_validation.answers(client, with_placeholders, options)
    asked = [(one, _of_what_is_known(one, answer)) for one, answer in pairs]
    local = [(one, _answer(one, definitions, plugins)) for one in connectors if one.name not in sent]
    catalogue = plugin_validation.Catalogue(client, plugins, options.families)
    of_local = plugin_validation.checks_of(local, catalogue, _UNDESCRIBED)
    return plugin_validation.checks_of(asked, catalogue, reason) + of_local


def _may_be_sent(connector: DesiredConnector, allowed: Collection[str]) -> bool:
    has_placeholder = any("${" in text for pair in connector.config.items() for text in pair)
    return connector.config.get(_CLASS, "") in allowed and not has_placeholder


def _of_what_is_known(connector: DesiredConnector, answer: plugin_validation.Answer) -> plugin_validation.Answer:
    """The answer without its errors about secrets: a placeholder is not a number, for example."""
    if not isinstance(answer, ConfigVerdict):
        return answer
    return replace(answer, errors={key: found for key, found in answer.errors.items() if key not in connector.secrets})


def _answer(
    connector: DesiredConnector, definitions: Mapping[ConnectorName, ConfigDefinition], plugins: Sequence[Plugin] | None
) -> plugin_validation.Answer:
    definition = definitions.get(connector.name)
    if definition is not None and "" not in definition.undescribed:
        try:
            return verdict(connector, definition)
        except Exception as error:  # a bug, which becomes a diagnostic of this connector
            return error
    if plugins is not None and connector.config.get(_CLASS, "") not in full_names(plugins):
        return Rejected(plugin_validation.NO_SUCH_CLASS)
    return None


# Checks a config against what its plugins define, without sending the config to a worker.
#
# The messages are Kafka's (`ConfigDef`), so that they are reported in the same way as those of Connect's validation.

_SET_BY_CONNECT = ("name", "converter.type")
_TOPICS = ("topics", "topics.regex")
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)")
_BITS = {KeyType.SHORT: 16, KeyType.INT: 32, KeyType.LONG: 64}


_WORDS = {
    "errors.tolerance": ("none", "all"),
    "config.action.reload": ("none", "restart"),
    **WORDS,
}
"""`ConnectorConfig` and `SourceConnectorConfig`. A definition does not contain which values a key accepts."""
_AT_LEAST = {"tasks.max": 1, INTERVAL: 0}


def verdict(connector: DesiredConnector, definition: ConfigDefinition) -> ConfigVerdict:
    """What definitions of plugins say about a config, except for secrets and placeholders, which workers replace."""
    errors = {key: (message,) for key, message in _errors(connector, definition)}
    given = connector.secrets.keys() | {key for key, value in connector.config.items() if value}
    if definition.keys.keys() >= set(_TOPICS) and given.isdisjoint(_TOPICS):  # SinkConnectorConfig.validate
        errors |= dict.fromkeys(_TOPICS, ("Must configure one of topics or topics.regex",))
    return ConfigVerdict(errors, definition.passwords, frozenset(definition.keys))


def _errors(connector: DesiredConnector, definition: ConfigDefinition) -> Iterator[tuple[str, str]]:
    for key, defined in definition.keys.items():
        value = connector.config.get(key)
        if key in connector.secrets:
            continue
        if value is None:
            if defined.required and not key.endswith(_SET_BY_CONNECT):
                yield key, f'Missing required configuration "{key}" which has no default value.'
        elif "${" not in value and (why := _why_invalid(key, defined.type, value.strip())):
            yield key, f"Invalid value {value} for configuration {key}: {why}"


def _why_invalid(key: str, kind: KeyType | None, value: str) -> str:
    return _why_of_another_type(kind, value) or _why_out_of_range(key, value)


def _why_out_of_range(key: str, value: str) -> str:
    least = _AT_LEAST.get(key)
    if least is not None and _INTEGER.fullmatch(value) and int(value) < least:
        return f"Value must be at least {least}"
    is_any_case, words = key in WORDS, _WORDS.get(key, ())
    if not words or (value.lower() if is_any_case else value) in words:
        return ""
    if is_any_case:
        return f"String must be one of (case insensitive): {', '.join(words).upper()}"
    return f"String must be one of: {', '.join(words)}"


def _why_of_another_type(kind: KeyType | None, value: str) -> str:
    match kind:
        case KeyType.BOOLEAN if value.lower() not in ("true", "false"):
            return "Expected value to be either true or false"
        case KeyType.DOUBLE if not _DOUBLE.fullmatch(value):
            return "Not a number of type DOUBLE"
        case KeyType.SHORT | KeyType.INT | KeyType.LONG:
            limit = 2 ** (_BITS[kind] - 1)
            is_number = _INTEGER.fullmatch(value) and -limit <= int(value) < limit
            return "" if is_number else f"Not a number of type {kind.value}"
        case _:
            return ""
