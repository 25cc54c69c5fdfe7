"""Checks documents with the published JSON Schemas: every problem of every document, each at its field.

The kind of a document selects its schema, so that the problems are those of the document that the author intended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator

from gitops_connect.checks.explanations import explain
from gitops_connect.checks.schema_failures import SchemaFailure
from gitops_connect.checks.schema_files import read_schema
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained
from gitops_connect.model.documents import CONNECTOR, KINDS, OFFSET_CHANGE, Document, Documents
from gitops_connect.model.suggestions import did_you_mean

_SCHEMAS = {CONNECTOR: "connector", OFFSET_CHANGE: "offset-change"}


class SchemaCache:
    """The verdict on each document of the last revision; deleted documents are removed.

    Documents are distinguished by identity: the parser's cache returns the same object for the same content, and while
    an object is stored here, no other object can have its identity.
    """

    def __init__(self) -> None:
        self._verdicts: Mapping[int, tuple[Document, tuple[Diagnostic, ...]]] = {}

    def get(self, document: Document) -> tuple[Diagnostic, ...] | None:
        """The diagnostics of the document, or None if it is not in the cache."""
        known = self._verdicts.get(id(document))
        return known[1] if known is not None else None

    def keep(self, verdicts: Mapping[int, tuple[Document, tuple[Diagnostic, ...]]]) -> None:
        """Replace the content of the cache."""
        self._verdicts = verdicts


def check(documents: Documents, cache: SchemaCache | None = None) -> Diagnostics:
    """All violations of the schemas in the documents; documents in the cache are not checked again."""
    cache = cache if cache is not None else SchemaCache()
    schemas = {kind: _Schema(name) for kind, name in _SCHEMAS.items()}
    verdicts = {}
    for document in documents.documents:
        known = cache.get(document)
        verdicts[id(document)] = (document, known if known is not None else _contained(document, schemas))
    cache.keep(verdicts)
    return Diagnostics.of(problem for _, problems in verdicts.values() for problem in problems)


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


def _contained(document: Document, schemas: Mapping[str, _Schema]) -> tuple[Diagnostic, ...]:
    found = contained(lambda: tuple(_check_one(document, schemas)), document.location, document.connector)
    return (found,) if isinstance(found, Diagnostic) else found


def _check_one(document: Document, schemas: Mapping[str, _Schema]) -> Iterable[Diagnostic]:
    meant = OFFSET_CHANGE if document.is_offset_change else CONNECTOR
    kind = document.value.get("kind", meant)
    if kind not in KINDS:
        return (_unknown_kind(document, kind),)
    schema = schemas[kind]
    failures = [SchemaFailure.of(error) for error in schema.validator.iter_errors(document.value)]
    return explain(document, failures, schema.value) if failures else ()


def _unknown_kind(document: Document, kind: object) -> Diagnostic:
    suggestion = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
    return Diagnostic(
        Severity.ERROR,
        "schema/kind",
        f"unknown kind {kind!r}{suggestion}",
        document.locate(("kind",)),
        f"use one of these kinds: {', '.join(KINDS)}",
        document.connector,
    )
