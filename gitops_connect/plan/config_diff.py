"""Compares one connector's desired config with the observed config: the changed keys, and the config to send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.names import Digest
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Change
from gitops_connect.model.sensitivity import is_mask
from gitops_connect.plan.situation import Situation

_DEFAULTS = {"tasks.max": "1"}
"""A config without the key means this value (`ConnectorConfig.TASKS_MAX_DEFAULT`): adopting does not restart."""


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """The changes in the order of their keys, the whole config to send, and the keys that were not changed.

    `sensitive` are the sensitive keys of the config to send, and empty if there are no changes. `ignored` keys differ
    and are ignored by the document. The server masks the values of `rotated` and `uncompared` keys: another value was
    applied last, or it is not known which one.
    """

    changes: tuple[Change, ...]
    config: Mapping[str, str]
    sensitive: frozenset[str]
    ignored: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()
    rotated: tuple[str, ...] = ()


def secret_digest(situation: Situation, connector: DesiredConnector, key: str) -> Digest:
    """The digest that the ledger stores of an applied secret. It covers the names: equal secrets look different."""
    return keyed_digest(situation.key, [connector.name, key, connector.config[key]])


def diff(situation: Situation, desired: DesiredConnector, observed: ObservedConnector | None) -> ConfigDiff:
    """Compare key by key. Without an observed connector every key is new."""
    if observed is not None and observed.config == desired.config:
        return ConfigDiff((), desired.config, frozenset())
    before = {**_DEFAULTS, **observed.config} if observed else {}
    after = _keep_ignored(desired, observed)
    owned = situation.ownership.get(desired.name)
    changes, uncompared, rotated = [], [], []
    for key in sorted(key for key in {*before, *after} if not same_value(key, before.get(key), after.get(key))):
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and is_mask(old):
            applied = owned.applied.get(key) if owned else None
            if applied is None:
                uncompared.append(key)
            if applied in (None, secret_digest(situation, desired, key)):
                continue
            rotated.append(key)
        reference = str(desired.secrets[key]) if key in desired.secrets else ""
        change = Change(key, old, new, situation.may_be_sensitive(desired, key), reference=reference)
        if change.shown_after != new:
            change = replace(change, secret=secret_digest(situation, desired, key))
        changes.append(change)
    compared = sorted({*before, *desired.config}) if before else []
    differing = (key for key in compared if not same_value(key, before.get(key), desired.config.get(key)))
    ignored = tuple(key for key in differing if _matches(desired, key))
    sensitive = frozenset(key for key in after if changes and situation.may_be_sensitive(desired, key))
    return ConfigDiff(tuple(changes), after, sensitive, ignored, tuple(uncompared), tuple(rotated))


def _keep_ignored(desired: DesiredConnector, observed: ObservedConnector | None) -> dict[str, str]:
    """The desired config, with the observed value (or absence) of each ignored key."""
    if observed is None or not desired.ignore:
        return dict(desired.config)
    kept = {key: value for key, value in observed.config.items() if _matches(desired, key)}
    return {key: value for key, value in desired.config.items() if not _matches(desired, key)} | kept


def _matches(desired: DesiredConnector, key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in desired.ignore)


# Compares values of `sasl.jaas.config`: the order of the options of a login module has no meaning.
#
# Strimzi writes the options in no fixed order (`AuthenticationUtils.jaasConfig` with `Map.of`).

JAAS_KEY = "sasl.jaas.config"

_TOKEN = re.compile(r"""\s*(?:(?P<quoted>"(?:[^"\\\n]|\\.)*")|(?P<sign>[=;])|(?P<word>[^\s"'=;]+))""")

LoginModule = tuple[str, str, frozenset[tuple[str, str]]]
"""The class, the control flag, and the options of one login module."""


def same_value(key: str, left: str | None, right: str | None) -> bool:
    """Whether two values of a config key mean the same: equal, or JAAS with the same options in another order."""
    if left == right:
        return True
    if left is None or right is None or not (key == JAAS_KEY or key.endswith(f".{JAAS_KEY}")):
        return False
    parsed = parse_jaas(left)
    return parsed is not None and parsed == parse_jaas(right)


def parse_jaas(text: str) -> tuple[LoginModule, ...] | None:
    """The login modules of a JAAS config; None if the text is not `CLASS FLAG KEY="VALUE" ...;`."""
    if _TOKEN.sub("", text).strip():
        return None
    # A word or a sign as it is, a string without its quotes and marked by a space.
    tokens = [one["sign"] or one["word"] or f" {one['quoted'][1:-1]}" for one in _TOKEN.finditer(text)]
    if not tokens or tokens[-1] != ";":
        return None
    modules: list[LoginModule] = []
    while tokens:
        end = tokens.index(";")
        module = _module(tokens[:end])
        if module is None:
            return None
        modules.append(module)
        tokens = tokens[end + 1 :]
    return tuple(modules)


def _module(tokens: list[str]) -> LoginModule | None:
    if len(tokens) < 2 or len(tokens) % 3 != 2:
        return None
    names, signs, values = tokens[2::3], tokens[3::3], tokens[4::3]
    if set(signs) - {"="} or len(set(names)) != len(names):
        return None
    options = zip(names, (value.removeprefix(" ") for value in values), strict=True)
    return tokens[0], tokens[1].lower(), frozenset(options)
