"""Adds the converters that Strimzi sets in the workers of a `KafkaMirrorMaker2`, and that other workers do not have.

MirrorMaker's connectors write bytes. With another converter, such as the `JsonConverter` that most workers have, the
records in the target cluster would not be those of the source cluster.
Source: `KafkaMirrorMaker2Configuration` of Strimzi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_TARGET = "target.cluster."


def with_worker_converters(connector: ConnectorSpec) -> ConnectorSpec:
    """The connector of a mirror with the converters of its worker: those of the target's config, else bytes.

    A converter in the config of the connector is kept.
    """
    missing = [key for key in _CONVERTERS if key not in connector.config]
    added, places = dict(connector.config), dict(connector.places)
    for key in missing:
        chosen = _chosen(connector, key)
        added |= chosen or {key: _BYTES}
        origin = {name: connector.places.get(f"{_TARGET}{name}", connector.pointer) for name in chosen}
        places |= origin or {key: connector.pointer}
    return replace(connector, config=added, places=places)


def _chosen(connector: ConnectorSpec, key: str) -> Mapping[str, object]:
    """The converter of the worker and its options, as the target's config declares them; empty if it does not."""
    names = [name.removeprefix(_TARGET) for name in connector.config if name.startswith(f"{_TARGET}{key}")]
    declared = {
        name: connector.config[f"{_TARGET}{name}"] for name in names if name == key or name.startswith(f"{key}.")
    }
    return declared if key in declared else {}
