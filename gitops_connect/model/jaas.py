"""Compares values of `sasl.jaas.config`: the order of the options of a login module has no meaning.

Strimzi writes the options in no fixed order (`AuthenticationUtils.jaasConfig` with `Map.of`).
"""

from __future__ import annotations

import re

JAAS_KEY = "sasl.jaas.config"

_TOKEN = re.compile(
    r"""
    \s* (?: (?P<quoted>"(?:[^"\\\n]|\\.)*") | (?P<sign>[=;]) | (?P<word>[^\s"'=;]+) )
    """,
    re.VERBOSE,
)

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
    tokens = _tokens(text)
    if tokens is None or not tokens or tokens[-1] != ";":
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


def _tokens(text: str) -> list[str] | None:
    """Words and signs as they are, strings with their quotes removed and marked by a space; None if unreadable."""
    found: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        quoted = match["quoted"]
        found.append(f" {quoted[1:-1]}" if quoted is not None else match["sign"] or match["word"])
        position = match.end()
    return found


def _module(tokens: list[str]) -> LoginModule | None:
    if len(tokens) < 2 or len(tokens) % 3 != 2:
        return None
    options = [tokens[at : at + 3] for at in range(2, len(tokens), 3)]
    names = [name for name, _, _ in options]
    if any(sign != "=" for _, sign, _ in options) or len(set(names)) != len(names):
        return None
    return tokens[0], tokens[1].lower(), frozenset((name, value.removeprefix(" ")) for name, _, value in options)
