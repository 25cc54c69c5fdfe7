"""Contradictions inside one `Connector` document, which a JSON Schema cannot find."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.documents import exactly_once_rules
from gitops_connect.documents.fields import CLASS, NAME, TASKS, VERSION, annotations_of, config_of
from gitops_connect.model.desired import ALLOW_UNKNOWN_KEYS, OWN_ANNOTATIONS, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.masking import BY_KEY, clear_secret

_CONFIG = ("spec", "config")
_RESERVED = (NAME, CLASS, TASKS, VERSION)
_CONFLICTS = {
    "class": ("connector/class-conflict", CLASS),
    "tasksMax": ("connector/tasks-conflict", TASKS),
    "version": ("connector/version-conflict", VERSION),
}
"""Fields of `spec` that the config must not contradict: the rule, and the config key."""
_SET = r"(?:\[[^][(),]+\]|[\[(][^][(),]*,[^][(),]*[\])])"
_VERSION_RANGE = re.compile(rf"\s*(?:[^][(),\s]+|{_SET}(?:\s*,\s*{_SET})*)\s*")
"""A version, or sets of versions: `[1.0]`, `[1.0,2.0)`, `(,1.0],[2.0,)` (Maven's `createFromVersionSpec`)."""


def check(document: Document) -> Iterator[Diagnostic]:
    """Every contradiction and other problem of a document without schema errors."""
    spec, config = document.value["spec"], config_of(document)
    name, within = document.value["metadata"]["name"], config.get(NAME)
    if within is not None and within != name:
        summary = f"the config names the connector {within!r}, but metadata.name is {name!r}"
        yield document.error("connector/name-conflict", summary, (*_CONFIG, NAME), "remove it from the config")
    if CLASS not in config and "class" not in spec and spec.get("state") != TargetState.ABSENT.value:
        hint = "set spec.class to the class of the plugin"
        yield document.error("connector/no-class", "the connector has no class", ("spec",), hint)
    for field, (rule, key) in _CONFLICTS.items():
        declared, within = spec.get(field), config.get(key)
        declared = int(declared) if field == "tasksMax" and declared is not None else declared
        if within is not None and declared is not None and within != str(declared):
            summary = f"the config's {key} is {within!r}, but spec.{field} is {declared!r}"
            yield document.error(rule, summary, (*_CONFIG, key), f"keep spec.{field} only")
    places = ((spec.get("version"), ("spec", "version")), (config.get(VERSION), (*_CONFIG, VERSION)))
    for text, pointer in places:
        if text is not None and not _VERSION_RANGE.fullmatch(text):
            summary = f"expected a version or a range of versions, found {text!r}"
            hint = "write a version such as 1.2.3, or a range such as [1.0,2.0) in quotes"
            yield document.error("connector/invalid-version", summary, pointer, hint)
    yield from exactly_once_rules.check(document)
    yield from _secrets(document, config)
    yield from _annotations(document)


def _secrets(document: Document, config: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key in sorted(document.value["spec"].get("secrets", {})):
        pointer = ("spec", "secrets", key)
        if key in config:
            summary = f"the key {key!r} is in both spec.config and spec.secrets"
            yield document.error("connector/secret-conflict", summary, pointer, "remove it from spec.config")
        if key in _RESERVED:
            summary = f"the key {key!r} cannot be a secret: it is shown in every plan"
            yield document.error("connector/secret-reserved", summary, pointer, "set it in spec")


def _annotations(document: Document) -> Iterator[Diagnostic]:
    for name in sorted(annotations_of(document)):
        if name.startswith(OWN_ANNOTATIONS) and name != ALLOW_UNKNOWN_KEYS:
            summary, place = f"unknown annotation {name!r}", document.locate(("metadata", "annotations", name))
            hint = f"use {ALLOW_UNKNOWN_KEYS!r}, or another prefix for your own annotations"
            rule = "connector/unknown-annotation"
            yield Diagnostic(Severity.WARNING, rule, summary, place, hint, document.connector)


# Warns of secrets in clear text, in every field of a document. No warning repeats a value.

_SECRETS = ("spec", "secrets")
_METADATA, _OFFSETS = "metadata", "offsets"


def check_clear_secrets(document: Document) -> Iterator[Diagnostic]:
    """A warning for each value that is or contains a secret. The document may have other errors."""
    for pointer, kind in clear_secrets(document.value, document.texts):
        yield _warning(document, pointer, f"{'looks like' if kind == BY_KEY else 'contains'} {kind}")


def clear_secrets(
    value: Mapping[str, Any] | list[Any], texts: Mapping[Pointer, str], pointer: Pointer = (), key: str = ""
) -> Iterator[tuple[Pointer, str]]:
    """The place and the kind of each secret. `key` is that of a list. Names in offsets and annotations tell nothing."""
    is_named = not (pointer and (pointer[0] == _METADATA or _OFFSETS in pointer))
    for at, one in value.items() if isinstance(value, Mapping) else enumerate(value):
        name = at if isinstance(at, str) else key
        if isinstance(one, Mapping | list):
            yield from clear_secrets(one, texts, (*pointer, at), name)
        elif one is not None and not isinstance(one, bool):
            text = one if isinstance(one, str) else texts.get((*pointer, at), str(one))
            if (kind := clear_secret(name if is_named else "", text)) and (*pointer, at) != _SECRETS:
                yield (*pointer, at), kind


def _warning(document: Document, pointer: Pointer, found: str) -> Diagnostic:
    is_config, key = pointer[:2] == _CONFIG, pointer[-1]
    what, remedy = ".".join(map(str, pointer)), "remove it: only spec.config can refer to a secret"
    if is_config:
        own = "" if document.resource else f"spec.secrets: {{{key}: {{env: NAME}}}} or "
        what, remedy = f"the value of {key!r}", f"use {own}a ${{provider:...}} reference"
    return Diagnostic(
        Severity.WARNING,
        "connector/clear-secret" if is_config else "document/clear-secret",
        f"{what} {found}, in clear text in Git",
        document.locate(pointer),
        f"{remedy}, and rotate the secret",
        document.connector,
    )
