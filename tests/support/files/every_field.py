"""Documents with every field of their schemas, and hostile values to put into each of these fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitops_connect.checks import document_schemas
from gitops_connect.documents.desired_state import BuildOptions, build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Pointer
from gitops_connect.model.strimzi import StrimziOptions, parse_strimzi_version
from gitops_connect.strimzi.annotations import find_annotated, with_requests
from gitops_connect.strimzi.translation import TranslationCache, translate
from support.files.document_files import LOCAL, connector, files
from support.files.tables import read_yaml

_READ = read_yaml(Path(__file__).with_suffix(".yaml"))


class Yaml(str):
    """A value that is written as it is, because JSON has no such value."""

    __slots__ = ()


HOSTILE: tuple[Any, ...] = ([], {}, "{x}", "%s %(a)s", -1)
"""A value of each type, and texts that are format strings."""
MORE_HOSTILE: tuple[Any, ...] = (
    *("", "{:>15}", "{0.__class__}", "\0", "a\nb", "x" * 300, 0, 1.5, True, 10**30),
    *([None], [[]], [{}], ["a", 1, None], {"": None}, {"{x}": "{y}"}),
    *map(Yaml, _READ["hostile_yaml"]),
)
HOSTILE_KEYS: tuple[str, ...] = ("{x}", "{:>15}", "%s", Yaml("~"), Yaml("1"), Yaml("[a]"))


def text(value: Any) -> str:
    """A document in YAML, with one line for each of its sections."""
    return "".join(f"{_flow(key)}: {_flow(one)}\n" for key, one in value.items())


def _flow(value: Any) -> str:
    if isinstance(value, Yaml):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else json.dumps(value)


def fields(value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Every field of a document, also those that contain other fields."""
    if pointer:
        yield pointer
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from fields(one, (*pointer, key))


def put(document: Any, pointer: Pointer, value: Any) -> Any:
    if not pointer:
        return value
    key, *rest = pointer
    changed = put(document[key] if rest else None, tuple(rest), value)
    if isinstance(document, list):
        return [changed if index == key else one for index, one in enumerate(document)]
    return {**document, key: changed}


def spoiled(document: Any, values: tuple[Any, ...], keys: tuple[str, ...] = ()) -> Iterator[Any]:
    """The document with each of the values in each field, and with each of the keys next to each field."""
    for pointer in fields(document):
        yield from (put(document, pointer, value) for value in values)
        if isinstance(pointer[-1], str):
            yield from (put(document, (*pointer[:-1], key), 1) for key in keys)


OWN: dict[str, Any] = _READ["own"]
CONFIG_MAP: dict[str, Any] = _READ["config_map"]


def kafka_connector(api: str) -> dict[str, Any]:
    resource = {**_READ["kafka_connector"], "apiVersion": f"kafka.strimzi.io/{api}"}
    return resource if api == "v1" else put(resource, ("spec", "pause"), False)


def mirror_maker(api: str, authentication: str) -> dict[str, Any]:
    """A resource of v1, or of v1beta2 with the older shape, whose clusters authenticate in that way."""
    source = ("mirrors", 0, "source") if api == "v1" else ("clusters", 0)
    own = {"type": authentication, **_READ["authentications"][authentication]}
    return put(_READ["mirror_maker"][api], ("spec", *source, "authentication"), own)


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


def declare(content: str, version: str = NEW) -> tuple[DesiredState, Diagnostics]:
    """The state and the problems of a repository with this file, in which another connector is still declared."""
    others = {"other.yaml": connector("other"), "a.json": json.dumps(_READ["entries"])}
    partner = kafka_connector("v1") if content.startswith(text(CONFIG_MAP)[:30]) else CONFIG_MAP
    checkout = files({"a.yaml": content, **others, **({} if "List" in content[:60] else {"b.yaml": text(partner)})})
    options = StrimziOptions(version=parse_strimzi_version(version), workers="KafkaMirrorMaker2" in content)
    documents = translate(load(checkout, ParseCache()), options, TranslationCache())
    annotated = list(find_annotated(documents, options))
    additions = {request.key: "0123456789ab" for one in annotated for request in one.requests}
    documents, requests = with_requests(documents, annotated, additions)
    problems = document_schemas.check(documents)
    states, diagnostics = build(documents, [LOCAL], problems, BuildOptions(checkout.entries, requests))
    assert "other" in {one.name for one in states[LOCAL].connectors}
    return states[LOCAL], diagnostics
