"""Manifests that exist only in memory, one entry per line, and what the checks report about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import Manifest, ManifestEntry, ManifestVerdict, OffsetSchema
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.rules.small import check

FILE = "offsets/orders.jsonl"
ORDERS = ConnectorName("orders")
UNREAD = frozenset({Acknowledgement.UNREAD})

MIRROR = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "source.cluster.alias": "source"}
SINK = {"connector.class": "com.example.MySink", "topics": "orders, invoices"}
FILE_SOURCE = {"connector.class": "FileStreamSource", "file": "/data/orders.txt"}
OTHER = {"connector.class": "com.example.Counter"}


def entry(partition: Any, offset: Any) -> dict[str, Any]:
    return {"partition": partition, "offset": offset}


def mirrored(partition: Any = 0, offset: Any = 5, **more: Any) -> dict[str, Any]:
    """An entry of `MIRROR`; `more` are further fields of its partition."""
    return entry({"cluster": "source", "topic": "orders", "partition": partition, **more}, {"offset": offset})


def sunk(topic: Any = "orders", partition: Any = 0, offset: Any = 5) -> dict[str, Any]:
    return entry({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset})


def read(name: Any = "/data/orders.txt", position: Any = 5) -> dict[str, Any]:
    return entry({"filename": name}, {"position": position})


def offsets(*entries: Mapping[str, Any]) -> Offsets:
    """The current offsets, with these entries."""
    return {partition_text(one["partition"]): offset_text(one["offset"]) for one in entries}


def manifest(entries: Iterable[Any]) -> Manifest:
    """A manifest whose first entry is in line 1."""
    listed = tuple(ManifestEntry(value, Location(FILE, line)) for line, value in enumerate(entries, 1))
    return Manifest(Location(FILE), listed)


def context_of(
    config: Mapping[str, str] | None = None,
    current: Offsets | None = None,
    schema: OffsetSchema | None = None,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
    families: Registry = BUILT_IN,
) -> ManifestContext:
    if schema is not None and config is not None:
        families = families.with_schemas({config["connector.class"]: schema})
    shape = families.shape(config) if config is not None else None
    return ManifestContext(ORDERS, config, current, schema, acknowledged, shape)


def verdict(
    entries: Iterable[Any],
    config: Mapping[str, str] | None = None,
    current: Offsets | None = None,
    *,
    kind: OffsetChangeKind = OffsetChangeKind.ALTER,
    schema: OffsetSchema | None = None,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
) -> ManifestVerdict:
    return check(manifest(entries), context_of(config, current, schema, acknowledged), kind)


def rules(found: ManifestVerdict) -> list[tuple[int, str]]:
    """The line and the rule, without its prefix, of each problem that was found."""
    return [(item.location.line, item.rule.removeprefix("manifest/")) for item in found.diagnostics]


def declared(found: ManifestVerdict) -> list[tuple[Any, Any]]:
    """Partition and offset of each entry that may be sent, as values."""
    assert found.offsets is not None, [item.summary for item in found.diagnostics]
    return [(json.loads(one), offset and json.loads(offset)) for one, offset in sorted(found.offsets.items())]
