"""Converts Connect's errors of one config to diagnostics: one for each cause, at the line of the key that it concerns.

Connect reports one wrong value several times. A value that cannot be read is null for every later check of its key
(`ConfigDef.validateAll`: "Invalid value null for configuration …"), a check may run twice, and a check over several
keys adds its message to each of them (`SinkConnectorConfig.validate` to `topics` and `topics.regex`, Confluent's
`JdbcSourceConnectorValidation` to six keys).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gitops_connect.checks.plugin_versions import is_not_installed, not_installed
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.suggestions import closest
from gitops_connect.model.validation import ConfigVerdict

_MISSING = re.compile(r'Missing required configuration "(?P<key>[^"]+)"')
_OF_NULL = re.compile(r"Invalid value null for configuration \S+: .*", re.DOTALL)


def config_errors(connector: DesiredConnector, verdict: ConfigVerdict) -> Iterator[Diagnostic]:
    """An error for each message of Connect. The other keys with the same message are in its hint."""
    keys: dict[str, list[str]] = {}
    for key, messages in verdict.errors.items():
        for message in _causes(messages):
            keys.setdefault(message, []).append(key)
    for message, concerned in keys.items():
        if is_not_installed(message):
            yield from not_installed(connector, message, concerned)
            continue
        first, *others = sorted(concerned, key=lambda key: (not _is_set(connector, key), _place(connector, key), key))
        hint = "; ".join(filter(None, (_hint(connector, verdict, message), _same(others))))
        yield Diagnostic(
            Severity.ERROR,
            "connect/invalid-config",
            f"{first}: {message}",
            _place(connector, first),
            hint,
            connector=connector.name,
        )


def misspelt(connector: DesiredConnector, verdict: ConfigVerdict) -> frozenset[str]:
    """The keys that are named in a hint, as another spelling of a required key that is missing."""
    messages = [message for found in verdict.errors.values() for message in found]
    spare = {_spare(connector, verdict, found["key"]) for message in messages if (found := _MISSING.match(message))}
    return frozenset(key for key in spare if key is not None)


def _causes(messages: Sequence[str]) -> list[str]:
    """The messages without repeats, and without those that only follow from another message of the key."""
    causes = [message for message in messages if not _OF_NULL.fullmatch(message)]
    return list(dict.fromkeys(causes or messages))


def _is_set(connector: DesiredConnector, key: str) -> bool:
    return key == "name" or key in connector.config


def _place(connector: DesiredConnector, key: str) -> Location:
    return connector.locate(("metadata", "name")) if key == "name" else connector.locate_config(key)


def _same(others: Sequence[str]) -> str:
    if not others:
        return ""
    more = "1 more key" if len(others) == 1 else f"{len(others)} more keys"
    return f"Connect reports the same error for {more}: {', '.join(others)}"


def _hint(connector: DesiredConnector, verdict: ConfigVerdict, message: str) -> str:
    missing = _MISSING.match(message)
    if missing is None:
        return ""
    spare = _spare(connector, verdict, missing["key"])
    return (
        f"rename {spare!r} to {missing['key']!r} if the key is misspelt"
        if spare
        else f"add {missing['key']!r} to spec.config"
    )


def _spare(connector: DesiredConnector, verdict: ConfigVerdict, missing: str) -> str | None:
    """The key of the config that is probably a misspelling of a missing required key."""
    return closest(missing, sorted(connector.config.keys() - verdict.defined))
