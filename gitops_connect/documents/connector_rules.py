"""Contradictions inside one `Connector` document, which a JSON Schema cannot find."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.documents.fields import CLASS, NAME, TASKS, VERSION, ConnectorFields
from gitops_connect.model.desired import ALLOW_UNKNOWN_KEYS, OWN_ANNOTATIONS, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.masking import BY_KEY, clear_secret

_CONFIG = ("spec", "config")
_RESERVED = (NAME, CLASS, TASKS, VERSION)
_SET = r"(?:\[[^][(),]+\]|[\[(][^][(),]*,[^][(),]*[\])])"
_VERSION_RANGE = re.compile(rf"\s*(?:[^][(),\s]+|{_SET}(?:\s*,\s*{_SET})*)\s*")
"""A version, or sets of versions: `[1.0]`, `[1.0,2.0)`, `(,1.0],[2.0,)` (Maven's `createFromVersionSpec`)."""


def check(fields: ConnectorFields) -> Iterator[Diagnostic]:
    """Every contradiction and other problem of the document."""
    within = fields.config.get(NAME)
    if within is not None and within != fields.name:
        summary = f"the config names the connector {within!r}, but metadata.name is {fields.name!r}"
        yield fields.document.error("connector/name-conflict", summary, (*_CONFIG, NAME), "remove it from the config")
    tasks_max = None if fields.tasks_max is None else str(fields.tasks_max)
    yield from _conflict(fields, "connector/class-conflict", CLASS, "spec.class", fields.connector_class)
    if CLASS not in fields.config and fields.connector_class is None and fields.state is not TargetState.ABSENT:
        hint = "set spec.class to the class of the plugin"
        yield fields.document.error("connector/no-class", "the connector has no class", ("spec",), hint)
    yield from _conflict(fields, "connector/tasks-conflict", TASKS, "spec.tasksMax", tasks_max)
    yield from _conflict(fields, "connector/version-conflict", VERSION, "spec.version", fields.version)
    yield from _version(fields)
    yield from _secrets(fields)
    yield from _annotations(fields)


def _conflict(fields: ConnectorFields, rule: str, key: str, field: str, declared: str | None) -> Iterator[Diagnostic]:
    """The config and a field of `spec` must not say different things."""
    within = fields.config.get(key)
    if within is not None and declared is not None and within != declared:
        shown = declared if key == TASKS else repr(declared)
        summary = f"the config's {key} is {within!r}, but {field} is {shown}"
        yield fields.document.error(rule, summary, (*_CONFIG, key), f"keep {field} only")


def _version(fields: ConnectorFields) -> Iterator[Diagnostic]:
    places = ((fields.version, ("spec", "version")), (fields.config.get(VERSION), (*_CONFIG, VERSION)))
    for text, pointer in places:
        if text is not None and not _VERSION_RANGE.fullmatch(text):
            summary = f"expected a version or a range of versions, found {text!r}"
            hint = "write a version such as 1.2.3, or a range such as [1.0,2.0) in quotes"
            yield fields.document.error("connector/invalid-version", summary, pointer, hint)


def _secrets(fields: ConnectorFields) -> Iterator[Diagnostic]:
    for key in sorted(fields.secrets):
        pointer = ("spec", "secrets", key)
        if key in fields.config:
            summary = f"the key {key!r} is in both spec.config and spec.secrets"
            yield fields.document.error("connector/secret-conflict", summary, pointer, "remove it from spec.config")
        if key in _RESERVED:
            summary = f"the key {key!r} cannot be a secret: it is shown in every plan"
            yield fields.document.error("connector/secret-reserved", summary, pointer, "set it in spec")


def _annotations(fields: ConnectorFields) -> Iterator[Diagnostic]:
    """Warn of a misspelt gitops-connect annotation, which would have no effect."""
    for name in sorted(fields.annotations):
        if name.startswith(OWN_ANNOTATIONS) and name != ALLOW_UNKNOWN_KEYS:
            yield Diagnostic(
                Severity.WARNING,
                "connector/unknown-annotation",
                f"unknown annotation {name!r}",
                fields.document.locate(("metadata", "annotations", name)),
                f"use {ALLOW_UNKNOWN_KEYS!r}, or another prefix for your own annotations",
                fields.name,
            )


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
    """The place and the kind of each secret in a mapping or a list. `key` is the key of the list.

    The names of offsets and annotations do not say what a value is, such as `resume_token`.
    """
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
