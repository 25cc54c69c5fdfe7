"""Checks documents with the published JSON Schemas: every problem of every document, each at its field.

The kind of a document selects its schema, so that the problems are those of the document that the author intended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import gitops_connect
from gitops_connect.checks.schema_errors import SchemaFailure, explain
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, contained_or
from gitops_connect.model.documents import CONNECTOR, KINDS, OFFSET_CHANGE, Document, DocumentCache, Documents
from gitops_connect.model.suggestions import did_you_mean

_SCHEMAS = {CONNECTOR: "connector", OFFSET_CHANGE: "offset-change"}


SchemaCache = DocumentCache[tuple[Diagnostic, ...]]
"""The verdict on each document of the last revision."""


def check(documents: Documents, cache: SchemaCache | None = None) -> Diagnostics:
    """All violations of the schemas in the documents; documents in the cache are not checked again."""
    schemas = {kind: _Schema(name) for kind, name in _SCHEMAS.items()}

    def verdict(document: Document) -> tuple[Diagnostic, ...]:
        work = partial(_check_one, document, schemas)
        return contained_or(lambda bug: (bug,), work, document.location, document.connector)

    verdicts = (cache or SchemaCache()).results(documents.documents, verdict)
    return Diagnostics.of(problem for problems in verdicts for problem in problems)


class _Schema:
    """A schema and its validator, created when the first document needs them."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def value(self) -> dict[str, Any]:
        """The schema itself."""
        return read_schema(self._name)

    @cached_property
    def validator(self) -> Draft202012Validator:
        """The engine, created once: that takes longer than the check of a document."""
        return Draft202012Validator(self.value)


def _check_one(document: Document, schemas: Mapping[str, _Schema]) -> tuple[Diagnostic, ...]:
    meant = OFFSET_CHANGE if document.is_offset_change else CONNECTOR
    kind = document.value.get("kind", meant)
    if kind not in KINDS:
        suggestion = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        hint = f"use one of these kinds: {', '.join(KINDS)}"
        return (document.error("schema/kind", f"unknown kind {kind!r}{suggestion}", ("kind",), hint),)
    schema = schemas[kind]
    failures = [SchemaFailure.of(error) for error in schema.validator.iter_errors(document.value)]
    return tuple(explain(document, failures, schema.value)) if failures else ()


# The place of the published schemas: inside an installed package, or at the top of a checkout.

_PACKAGE = Path(gitops_connect.__file__).parent


def schema_directory() -> Path:
    """The directory of `*.schema.json`. A wheel contains it inside the package (`force-include` in pyproject.toml)."""
    inside = _PACKAGE / "schemas"
    return inside if inside.is_dir() else _PACKAGE.parent / "schemas"


def read_schema(name: str) -> dict[str, Any]:
    """The schema of that name, for example `connector`."""
    schema: dict[str, Any] = json.loads((schema_directory() / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema
