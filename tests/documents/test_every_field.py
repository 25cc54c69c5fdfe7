"""Every field of every document is given a value of another type, and texts that are format strings.

Each of them is a diagnostic, or is accepted. None is an exception, also not one that is contained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.files import every_field
from support.files.every_field import (
    DOCUMENTS,
    HOSTILE,
    HOSTILE_KEYS,
    MIRRORS,
    MORE_HOSTILE,
    NEW,
    OWN,
    declare,
    spoiled,
    text,
)

from gitops_connect.checks.document_schemas import read_schema


def try_all(document: Any, values: tuple[Any, ...], keys: tuple[str, ...], version: str = NEW) -> None:
    for changed in spoiled(document, values, keys):
        content = text(changed)
        for bug in declare(content, version)[1].bugs:
            raise AssertionError(content) from bug.bug


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in MIRRORS else []) for name in DOCUMENTS]
)
def test_null_in_every_field(name: str) -> None:
    document, version = DOCUMENTS[name]
    assert not declare(text(document), version)[1].errors
    try_all(document, (None,), (), version)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] if name in MIRRORS else []) for name in DOCUMENTS]
)
def test_hostile_values_in_every_field(name: str) -> None:
    document, version = DOCUMENTS[name]
    try_all(document, HOSTILE, HOSTILE_KEYS[:1], version)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_more_hostile_values_in_every_field(name: str) -> None:
    document, version = DOCUMENTS[name]
    try_all(document, MORE_HOSTILE, HOSTILE_KEYS[1:], version)


def properties(schema: Mapping[str, Any], pointer: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, one in schema.get("properties", {}).items():
        yield from ((*pointer, key), *properties(one, (*pointer, key)))


@pytest.mark.parametrize(("kind", "schema"), [("Connector", "connector"), ("OffsetChange", "offset-change")])
def test_the_documents_have_every_field_of_the_schemas(kind: str, schema: str) -> None:
    there = {pointer for one in OWN.values() if one["kind"] == kind for pointer in every_field.fields(one)}
    declared_elsewhere = {("spec", "initialOffsets", "manifest", name) for name in ("uri", "sha256")}
    assert set(properties(read_schema(schema))) - there <= declared_elsewhere
