"""Every field of every document is given a value of another type, and texts that are format strings.

Each of them is a diagnostic, or is accepted. None is an exception, also not one that is contained.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import every_field
import pytest
from document_files import LOCAL, connector, files
from every_field import (
    CONFIG_MAP,
    HOSTILE,
    HOSTILE_KEYS,
    MORE_HOSTILE,
    OWN,
    kafka_connector,
    mirror_maker,
    spoiled,
    text,
)

from gitops_connect.checks import document_schemas
from gitops_connect.checks.schema_files import read_schema
from gitops_connect.desired.desired_state import build
from gitops_connect.desired.load import ParseCache, load
from gitops_connect.desired.strimzi.annotated import find_annotated, with_requests
from gitops_connect.desired.strimzi.translation import TranslationCache, translate
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.strimzi import StrimziOptions, parse_strimzi_version

NEW, OLD, PRESERVING = "1.2", "0.45", "0.22"
"""Operators that read v1; that read only the older API versions; and that keep unknown fields."""
RESOURCES = {
    **{
        f"KafkaConnector {api} {version}": (kafka_connector(api), version)
        for api, version in (("v1", NEW), ("v1beta2", OLD))
    },
    f"KafkaConnector {PRESERVING}": (kafka_connector("v1beta2"), PRESERVING),
    "ConfigMap": (CONFIG_MAP, NEW),
    "List": ({"apiVersion": "v1", "kind": "List", "items": [kafka_connector("v1"), CONFIG_MAP]}, NEW),
}
MIRRORS = {
    **{f"v1 {kind}": (mirror_maker("v1", kind), NEW) for kind in ("custom", "tls", "scram-sha-512", "plain")},
    **{f"v1beta2 {kind}": (mirror_maker("v1beta2", kind), OLD) for kind in ("oauth", "tls", "scram-sha-512", "plain")},
    f"preserving {PRESERVING}": (mirror_maker("v1beta2", "plain"), PRESERVING),
}

DOCUMENTS = {**{name: (document, NEW) for name, document in OWN.items()}, **RESOURCES, **MIRRORS}


def declare(content: str, version: str = NEW) -> Diagnostics:
    """All problems of a repository with this file, in which another connector is still declared."""
    others = {"other.yaml": connector("other"), "a.json": json.dumps(every_field.ENTRIES)}
    partner = kafka_connector("v1") if content.startswith(text(CONFIG_MAP)[:30]) else CONFIG_MAP
    checkout = files({"a.yaml": content, **others, **({} if "List" in content[:60] else {"b.yaml": text(partner)})})
    options = StrimziOptions(version=parse_strimzi_version(version), workers="KafkaMirrorMaker2" in content)
    documents = translate(load(checkout, ParseCache()), options, TranslationCache())
    annotated = list(find_annotated(documents, options))
    additions = {request.key: "0123456789ab" for one in annotated for request in one.requests}
    documents, requests = with_requests(documents, annotated, additions)
    problems = document_schemas.check(documents)
    states, diagnostics = build(documents, [LOCAL], problems, checkout.entries, requests)
    assert "other" in {one.name for one in states[LOCAL].connectors}
    return diagnostics


def try_all(document: Any, values: tuple[Any, ...], keys: tuple[str, ...], version: str = NEW) -> None:
    for changed in spoiled(document, values, keys):
        content = text(changed)
        for bug in declare(content, version).bugs:
            raise AssertionError(content) from bug.bug


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in MIRRORS else []) for name in DOCUMENTS]
)
def test_null_in_every_field(name: str) -> None:
    document, version = DOCUMENTS[name]
    assert not declare(text(document), version).errors
    try_all(document, (None,), (), version)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] if name in MIRRORS else []) for name in DOCUMENTS]
)
def test_hostile_values_in_every_field(name: str) -> None:
    document, version = DOCUMENTS[name]
    try_all(document, HOSTILE, HOSTILE_KEYS[:1], version)


@pytest.mark.thorough
@pytest.mark.timeout(1200)
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
