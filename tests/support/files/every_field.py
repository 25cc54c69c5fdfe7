"""Documents with every field of their schemas, and hostile values to put into each of these fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.checks import document_schemas
from gitops_connect.documents.desired_state import build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Pointer
from gitops_connect.model.strimzi import StrimziOptions, parse_strimzi_version
from gitops_connect.strimzi.annotations import find_annotated, with_requests
from gitops_connect.strimzi.translation import TranslationCache, translate
from support.files.document_files import LOCAL, connector, files

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ENTRIES = [{"partition": {"filename": "/a"}, "offset": {"position": 1}}]


class Yaml(str):
    """A value that is written as it is, because JSON has no such value."""

    __slots__ = ()


HOSTILE: tuple[Any, ...] = ([], {}, "{x}", "%s %(a)s", -1)
"""A value of each type, and texts that are format strings."""
MORE_HOSTILE: tuple[Any, ...] = (
    *("", "{:>15}", "{0.__class__}", "\0", "a\nb", "x" * 300, 0, 1.5, True, 10**30),
    *([None], [[]], [{}], ["a", 1, None], {"": None}, {"{x}": "{y}"}),
    *map(
        Yaml,
        (
            "1e400",
            ".nan",
            "-.inf",
            "{~: 1}",
            "{1: 2}",
            "{[a]: b}",
            "2026-11-21",
            "!!binary aGk=",
            "!!set {a, b}",
            "!x y",
            '"\\ud800"',
            "0o17",
            "1:30",
            "<<",
        ),
    ),
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
    """The document with another value in that field."""
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


def _own(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "cluster": "local", "labels": {"a": "b"}, "annotations": {"a": "b"}}
    return {"apiVersion": "gitops-connect/v1", "kind": kind, "metadata": metadata, "spec": spec}


_CONNECTOR = {
    "class": SOURCE,
    "version": "1.2",
    "tasksMax": 1,
    "state": "running",
    "config": {"file": "/a", "n": 1},
    "secrets": {"p": {"env": "A"}, "q": {"file": "/x"}},
    "initialOffsets": {"offsets": ENTRIES, "acknowledge": ["rewind"]},
    "rollback": {"watch": "2m", "on": ["failed"]},
    "health": {"offsetsMoveWithin": "1h"},
    "autoRestart": {"enabled": True, "maxRestarts": 2, "onlyOn": ["a"], "neverOn": ["b"]},
    "restart": {"id": "a", "includeTasks": True, "onlyFailed": True},
    "restartTasks": {"id": "b", "tasks": [0]},
    "secretVersion": "1",
    "onManualPause": "revert",
    "onDelete": {"offsets": "keep"},
    "ignore": ["a.*"],
    "mode": "enforce",
    "suspend": False,
}
_CHANGE = {"connector": "other", "operation": "alter", "acknowledge": ["rewind"], "reason": "r"}
_OF_FILE, _OF_URI = {"path": "a.json"}, {"uri": "file:/a", "sha256": _SHA}
OWN = {
    "connector": _own("Connector", "orders", _CONNECTOR),
    "seeded": _own("Connector", "orders", {"class": SOURCE, "initialOffsets": {"manifest": _OF_FILE}}),
    "change": _own("OffsetChange", "skip", {**_CHANGE, "offsets": ENTRIES}),
    "change by file": _own("OffsetChange", "skip", {**_CHANGE, "manifest": _OF_FILE}),
    "change by URI": _own("OffsetChange", "skip", {**_CHANGE, "manifest": _OF_URI}),
}


def _strimzi(api: str, kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"kafka.strimzi.io/{api}",
        "kind": kind,
        "metadata": {"namespace": "k", **metadata},
        "spec": spec,
    }


_OFFSETS = {"listOffsets": {"toConfigMap": {"name": "m"}}, "alterOffsets": {"fromConfigMap": {"name": "m"}}}
_OF_CONNECTOR = {"tasksMax": 1, "state": "running", "autoRestart": {"enabled": True, "maxRestarts": 1}, "version": "1"}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "m", "namespace": "k"},
    "data": {"offsets.json": json.dumps({"offsets": ENTRIES})},
}


def kafka_connector(api: str) -> dict[str, Any]:
    annotations = {
        "strimzi.io/connector-offsets": "alter",
        "strimzi.io/restart": "true",
        "strimzi.io/restart-task": "0",
        "strimzi.io/pause-reconciliation": "false",
    }
    metadata = {"name": "orders", "labels": {"strimzi.io/cluster": "local"}, "annotations": annotations}
    config = {"file": "/a", "p": "${secrets:k/a:b}", "e": "${env:X}"}
    pause = {} if api == "v1" else {"pause": False}
    return _strimzi(
        api, "KafkaConnector", metadata, {"class": SOURCE, "config": config, **_OF_CONNECTOR, **_OFFSETS, **pause}
    )


_SECRET = {"secretName": "s", "key": "k"}
_PASSWORD = {"username": "u", "passwordSecret": {"secretName": "s", "password": "p"}}
_CERTIFICATES = [{"secretName": "s", "certificate": "c"}]
AUTHENTICATIONS: Mapping[str, Mapping[str, Any]] = {
    "tls": {"certificateAndKey": {"secretName": "s", "certificate": "c", "key": "k"}},
    "scram-sha-512": _PASSWORD,
    "plain": _PASSWORD,
    "oauth": {
        "clientId": "c",
        "clientSecret": _SECRET,
        "tokenEndpointUri": "https://h",
        "scope": "s",
        "audience": "a",
        "maxTokenExpirySeconds": 1,
        "accessTokenIsJwt": True,
        "saslExtensions": {"a": "b"},
        "tlsTrustedCertificates": _CERTIFICATES,
    },
    "custom": {"sasl": True, "config": {"sasl.mechanism": "b"}},
}


def mirror_maker(api: str, authentication: str) -> dict[str, Any]:
    """A resource of v1, or of v1beta2 with the older shape, whose clusters authenticate in that way."""

    parts = {"tls": {"trustedCertificates": _CERTIFICATES}, "config": {"x": 1}}
    own = {"type": authentication, **AUTHENTICATIONS[authentication]}
    source = {"alias": "a", "bootstrapServers": "h:9", **parts, "authentication": own}
    target = {"alias": "local", "bootstrapServers": "h:9"}
    connector = {**_OF_CONNECTOR, **_OFFSETS, "config": {"a": 1}}
    mirror = {
        "sourceConnector": connector,
        "checkpointConnector": {},
        "topicsPattern": "a",
        "groupsPattern": "b",
        "topicsExcludePattern": "c",
        "groupsExcludePattern": "d",
    }
    spec: dict[str, Any] = {
        "replicas": 1,
        "rack": {"topologyKey": "k"},
        "metricsConfig": {"type": "jmxPrometheusExporter", "valueFrom": {}},
        "version": "4",
    }
    if api == "v1":
        topics = dict.fromkeys(("configStorageTopic", "offsetStorageTopic", "statusStorageTopic"), "t")
        spec |= {
            "target": {**target, "groupId": "g", **topics},
            "mirrors": [{**mirror, "source": source}],
        }
        spec |= {"tracing": {"type": "opentelemetry"}}
    else:
        spec |= {"connectCluster": "local", "clusters": [source, target], "tracing": {"type": "jaeger"}}
        spec |= {"mirrors": [{**mirror, "sourceCluster": "a", "targetCluster": "local", "heartbeatConnector": {}}]}
        variables, volumes = [{"name": "a", "valueFrom": {}}], [{"name": "v", "secret": {}, "configMap": {}}]
        spec |= {"externalConfiguration": {"env": variables, "volumes": volumes}}
    name = "a->local.MirrorSourceConnector"
    annotations = {
        "strimzi.io/connector-offsets": "alter",
        "strimzi.io/mirrormaker-connector": name,
        "strimzi.io/restart-connector": name,
        "strimzi.io/restart-connector-task": f"{name}:0",
    }
    return _strimzi(api, "KafkaMirrorMaker2", {"name": "local", "annotations": annotations}, spec)


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
    others = {"other.yaml": connector("other"), "a.json": json.dumps(ENTRIES)}
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
    return states[LOCAL], diagnostics
