"""Contradictions inside one `Connector` document, which a JSON Schema cannot find."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_connect.desired.fields import CLASS, NAME, TASKS, VERSION, ConnectorFields
from gitops_connect.model.desired import ALLOW_UNKNOWN_KEYS, OWN_ANNOTATIONS, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Pointer

_RESERVED = (NAME, CLASS, TASKS, VERSION)
_SET = r"(?:\[[^][(),]+\]|[\[(][^][(),]*,[^][(),]*[\])])"
_VERSION_RANGE = re.compile(rf"\s*(?:[^][(),\s]+|{_SET}(?:\s*,\s*{_SET})*)\s*")
"""A version, or sets of versions: `[1.0]`, `[1.0,2.0)`, `(,1.0],[2.0,)` (Maven's `createFromVersionSpec`)."""


def check(fields: ConnectorFields) -> Iterator[Diagnostic]:
    """Every contradiction and other problem of the document."""
    yield from _names(fields)
    yield from _class(fields)
    yield from _tasks(fields)
    yield from _version(fields)
    yield from _secrets(fields)
    yield from _annotations(fields)


def _names(fields: ConnectorFields) -> Iterator[Diagnostic]:
    within = fields.config.get(NAME)
    if within is not None and within != fields.name:
        summary = f"the config names the connector {within!r}, but metadata.name is {fields.name!r}"
        yield _error(fields, "connector/name-conflict", summary, ("spec", "config", NAME), "remove it from the config")


def _class(fields: ConnectorFields) -> Iterator[Diagnostic]:
    within = fields.config.get(CLASS)
    if within is not None and fields.connector_class is not None and within != fields.connector_class:
        summary = f"the config's connector.class is {within!r}, but spec.class is {fields.connector_class!r}"
        yield _error(fields, "connector/class-conflict", summary, ("spec", "config", CLASS), "keep spec.class only")
    if within is None and fields.connector_class is None and fields.state is not TargetState.ABSENT:
        hint = "set spec.class to the class of the plugin"
        yield _error(fields, "connector/no-class", "the connector has no class", ("spec",), hint)


def _tasks(fields: ConnectorFields) -> Iterator[Diagnostic]:
    within = fields.config.get(TASKS)
    if within is not None and fields.tasks_max is not None and within != str(fields.tasks_max):
        summary = f"the config's tasks.max is {within!r}, but spec.tasksMax is {fields.tasks_max}"
        yield _error(fields, "connector/tasks-conflict", summary, ("spec", "config", TASKS), "keep spec.tasksMax only")


def _version(fields: ConnectorFields) -> Iterator[Diagnostic]:
    within = fields.config.get(VERSION)
    if within is not None and fields.version is not None and within != fields.version:
        summary = f"the config's {VERSION} is {within!r}, but spec.version is {fields.version!r}"
        yield _error(
            fields, "connector/version-conflict", summary, ("spec", "config", VERSION), "keep spec.version only"
        )
    places = ((fields.version, ("spec", "version")), (within, ("spec", "config", VERSION)))
    for text, pointer in places:
        if text is not None and not _VERSION_RANGE.fullmatch(text):
            summary = f"expected a version or a range of versions, found {text!r}"
            hint = "write a version such as 1.2.3, or a range such as [1.0,2.0) in quotes"
            yield _error(fields, "connector/invalid-version", summary, pointer, hint)


def _secrets(fields: ConnectorFields) -> Iterator[Diagnostic]:
    for key in sorted(fields.secrets):
        pointer = ("spec", "secrets", key)
        if key in fields.config:
            summary = f"the key {key!r} is in both spec.config and spec.secrets"
            yield _error(fields, "connector/secret-conflict", summary, pointer, "remove it from spec.config")
        if key in _RESERVED:
            summary = f"the key {key!r} cannot be a secret: it is shown in every plan"
            yield _error(fields, "connector/secret-reserved", summary, pointer, "set it in spec")


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


def _error(fields: ConnectorFields, rule: str, summary: str, pointer: Pointer, hint: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, summary, fields.document.locate(pointer), hint, fields.name)
