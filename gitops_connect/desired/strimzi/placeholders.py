"""Replaces Strimzi's placeholders for config providers by those of other workers.

Strimzi configures the providers `strimzienv`, `strimzidir`, `strimzifile` and `strimzisecrets` only in the workers that
it deploys. Any other worker passes their placeholders to the connector as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document

RULE = "strimzi/placeholder"

_PLACEHOLDER = re.compile(r"\$\{([^${}]*)\}")
_OF_STRIMZI = re.compile(r"strimzi(?:env|dir|file|secrets):|file:/tmp/strimzi-[^:]*:")
"""The beginning of a placeholder of Strimzi. Before 0.46, it was a file that only containers of Strimzi have."""


def substitute(text: str, mapping: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with replaced placeholders, and the placeholders of Strimzi that the mapping does not have.

    A key of the mapping is the beginning of a placeholder as written after `${`, its value replaces that beginning:
    `strimzienv:` -> `env:`. The longest key that fits counts. Other placeholders only change if a key fits.
    """
    missing = []

    def replacement(found: re.Match[str]) -> str:
        content = found[1]
        beginning = max((key for key in mapping if content.startswith(key)), key=len, default=None)
        if beginning is not None:
            return f"${{{mapping[beginning]}{content[len(beginning) :]}}}"
        if _OF_STRIMZI.match(content):
            missing.append(found[0])
        return found[0]

    return _PLACEHOLDER.sub(replacement, text), tuple(missing)


def substitute_config(
    resource: Document, connector: ConnectorSpec, mapping: Mapping[str, str]
) -> tuple[ConnectorSpec, tuple[Diagnostic, ...]]:
    """The connector with replaced placeholders in its config, and an error for each one that is not mapped."""
    problems: list[Diagnostic] = []
    config: dict[str, Any] = {}
    for key, value in connector.config.items():
        config[key] = value
        if isinstance(value, str):
            config[key], missing = substitute(value, mapping)
            problems.extend(_unmapped(resource, connector, key, missing))
    return replace(connector, config=config), tuple(problems)


def _unmapped(resource: Document, connector: ConnectorSpec, key: str, missing: tuple[str, ...]) -> Iterator[Diagnostic]:
    location = resource.locate(connector.places.get(key, (*connector.pointer, "config", key)))
    for placeholder in missing:
        beginning = _OF_STRIMZI.match(placeholder, len("${"))
        summary = f"{key} has the placeholder {placeholder}, which only workers of Strimzi can resolve"
        hint = f'map "{beginning[0] if beginning else placeholder}" in [strimzi.placeholders] of the settings'
        hint += ", or set workers = true in [strimzi] if Strimzi deploys the workers"
        yield Diagnostic(Severity.ERROR, RULE, summary, location, hint, connector.name)
