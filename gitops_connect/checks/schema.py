"""Documents against the published JSON Schemas: every problem of every document, each at its field.

The kind of a document chooses its schema, so that the problems named are those of what the author meant to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator

from gitops_connect.checks.explanations import explain
from gitops_connect.checks.schema_failures import SchemaFailure
from gitops_connect.checks.schema_files import read_schema
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import CONNECTOR, KINDS, OFFSET_CHANGE, Document, Documents
from gitops_connect.model.suggestions import did_you_mean

_SCHEMAS = {CONNECTOR: "connector", OFFSET_CHANGE: "offset-change"}


class SchemaCache:
    """The verdict on each document of the last revision; a document that is gone is forgotten.

    Documents are told apart by identity: the parser's cache gives the same object for the same content, and an object
    that is kept here cannot give its identity to another.
    """

    def __init__(self) -> None:
        self._verdicts: Mapping[int, tuple[Document, tuple[Diagnostic, ...]]] = {}

    def get(self, document: Document) -> tuple[Diagnostic, ...] | None:
        """What was found then, or None."""
        known = self._verdicts.get(id(document))
        return known[1] if known is not None else None

    def keep(self, verdicts: Mapping[int, tuple[Document, tuple[Diagnostic, ...]]]) -> None:
        """Remember these and no others."""
        self._verdicts = verdicts


def check(documents: Documents, cache: SchemaCache | None = None) -> Diagnostics:
    """Everything that is wrong with the shape of the documents; those that the cache knows are not looked at again."""
    cache = cache if cache is not None else SchemaCache()
    schemas = {kind: _Schema(name) for kind, name in _SCHEMAS.items()}
    verdicts = {}
    for document in documents.documents:
        known = cache.get(document)
        verdicts[id(document)] = (document, known if known is not None else tuple(_check_one(document, schemas)))
    cache.keep(verdicts)
    return Diagnostics.of(problem for _, problems in verdicts.values() for problem in problems)


class _Schema:
    """A schema and its validator, made when the first document needs them."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def value(self) -> dict[str, Any]:
        """The schema itself."""
        return read_schema(self._name)

    @cached_property
    def validator(self) -> Draft202012Validator:
        """The engine, made once: that takes longer than to check a document."""
        return Draft202012Validator(self.value)


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
