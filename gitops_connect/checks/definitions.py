"""Checks a config against what its plugins define, without sending the config to a worker.

The messages are Kafka's (`ConfigDef`), so that they are reported in the same way as those of Connect's validation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.validation import ConfigDefinition, ConfigVerdict, KeyType

_SET_BY_CONNECT = ("name", "converter.type")
_TOPICS = ("topics", "topics.regex")
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)")
_BITS = {KeyType.SHORT: 16, KeyType.INT: 32, KeyType.LONG: 64}


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that a key of the framework accepts."""

    accepted: tuple[str, ...]
    any_case: bool = False


_FRAMEWORK = {
    "errors.tolerance": _Words(("none", "all")),
    "config.action.reload": _Words(("none", "restart")),
    "exactly.once.support": _Words(("requested", "required"), any_case=True),
    "transaction.boundary": _Words(("interval", "poll", "connector"), any_case=True),
}
"""`ConnectorConfig` and `SourceConnectorConfig`. A definition does not contain which values a key accepts."""
_AT_LEAST = {"tasks.max": 1, "transaction.boundary.interval.ms": 1}


def verdict(connector: DesiredConnector, definition: ConfigDefinition) -> ConfigVerdict:
    """What Connect would say about the config, as far as the definitions of its plugins show.

    Values of `spec.secrets` and values with a placeholder of a config provider are not checked, because the worker gets
    other values.
    """
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
        elif "${" not in value:
            check = _CHECKS.get(defined.type) if defined.type is not None else None
            why = (check and check(value.strip())) or _why_out_of_range(key, value.strip())
            if why:
                yield key, f"Invalid value {value} for configuration {key}: {why}"


def _why_out_of_range(key: str, value: str) -> str:
    words, least = _FRAMEWORK.get(key), _AT_LEAST.get(key)
    if least is not None and _INTEGER.fullmatch(value) and int(value) < least:
        return f"Value must be at least {least}"
    if words is None or (value.lower() if words.any_case else value) in words.accepted:
        return ""
    return f"String must be one of{' (case insensitive)' if words.any_case else ''}: {', '.join(words.accepted)}"


def _why_no_boolean(value: str) -> str:
    return "" if value.lower() in ("true", "false") else "Expected value to be either true or false"


def _why_no_integer(kind: KeyType) -> Callable[[str], str]:
    limit = 2 ** (_BITS[kind] - 1)

    def check(value: str) -> str:
        is_number = _INTEGER.fullmatch(value) and -limit <= int(value) < limit
        return "" if is_number else f"Not a number of type {kind.value}"

    return check


def _why_no_double(value: str) -> str:
    return "" if _DOUBLE.fullmatch(value) else "Not a number of type DOUBLE"


_CHECKS: Mapping[KeyType, Callable[[str], str]] = {
    KeyType.BOOLEAN: _why_no_boolean,
    KeyType.DOUBLE: _why_no_double,
    **{kind: _why_no_integer(kind) for kind in _BITS},
}
