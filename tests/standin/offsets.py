"""The rules of `/connectors/X/offsets`: who may change what, and what Connect answers (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standin import movers
from standin.cluster import Cluster, Connector, Target, type_of
from standin.plugins import Refused
from standin.records import Pair, Stored, TopicPartition, group_of, topics_of

_ALL_DONE = "The offsets for this connector have been {done} successfully"
_PERHAPS_ELSEWHERE = (
    "The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
    "connector manages offsets externally, they will need to be manually {done} in the system that the connector uses."
)
_IN_USE = (
    "Failed to {do} consumer group offsets for connector {name} either because its tasks haven't stopped completely "
    "yet or the connector was resumed before the request to {do} its offsets could be successfully completed. …"
)
Entry = tuple[dict[str, Any] | None, dict[str, Any] | None]


def listed(cluster: Cluster, name: str) -> dict[str, Any]:
    """GET: the current offsets."""
    connector = _connector(cluster, name)
    cluster.pass_time(name)
    return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in _pairs(cluster, connector)]}


def _pairs(cluster: Cluster, connector: Connector) -> list[Pair]:
    """The entries that Connect returns. A source's offset with a null partition is stored, and never returned."""
    if not _is_sink(connector):
        return [pair for pair in cluster.stored.sources.get(connector.name, {}).values() if pair[0] is not None]
    return cluster.stored.committed(group_of(connector.name, connector.config))


def alter(cluster: Cluster, name: str, body: Any) -> dict[str, Any]:
    """PATCH: merges the entries; a null offset removes its partition."""
    entries = _entries(body)
    connector = _stopped_connector(cluster, name)
    if _is_sink(connector):
        patch = movers.sink_patch(entries)
        managed = movers.ask(connector.config, entries)
        _alter_group(cluster, connector, patch)
    else:
        movers.check_primitive(entries)
        managed = movers.ask(connector.config, entries)
        for partition, offset in entries:
            cluster.stored.set_source(name, partition, offset)
    return _message("altered", managed=managed)


def reset(cluster: Cluster, name: str) -> dict[str, Any]:
    """DELETE: removes all offsets, and the group of a sink."""
    connector = _stopped_connector(cluster, name)
    managed = movers.ask(connector.config, [(partition, None) for partition, _ in _pairs(cluster, connector)])
    if _is_sink(connector):
        group = group_of(name, connector.config)
        if _subscriptions(cluster, group):
            raise Refused(500, _IN_USE.format(do="reset", name=name))
        cluster.stored.groups.pop(group, None)
    else:
        cluster.stored.sources.pop(name, None)
    return _message("reset", managed=managed)


def _message(done: str, *, managed: bool) -> dict[str, Any]:
    return {"message": (_ALL_DONE if managed else _PERHAPS_ELSEWHERE).format(done=done)}


def _connector(cluster: Cluster, name: str) -> Connector:
    connector = cluster.connectors.get(name)
    if connector is None or name in cluster.leaving:
        raise Refused(404, f"Connector {name} not found")
    return connector


def _is_sink(connector: Connector) -> bool:
    return type_of(connector.config) == "sink"


def _stopped_connector(cluster: Cluster, name: str) -> Connector:
    """The connector, if it is STOPPED and has no tasks: right after a stop, Connect may answer that it is not."""
    cluster.group.require_leader()
    connector = _connector(cluster, name)
    cluster.pass_time(name)
    if connector.target is not Target.STOPPED or (connector.reported and connector.reported.tasks):
        text = "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        text += f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        raise Refused(400, text)
    return connector


def _entries(body: Any) -> list[Entry]:
    if isinstance(body, list):
        java_class = "org.apache.kafka.connect.runtime.rest.entities.ConnectorOffsets"
        raise Refused(500, f"Cannot deserialize value of type `{java_class}` from Array value")
    _check_fields(body, {"offsets"}, "ConnectorOffsets")
    if not body.get("offsets"):
        raise Refused(400, "Partitions / offsets need to be provided for an alter offsets request")
    for entry in body["offsets"]:
        _check_fields(entry, {"partition", "offset"}, "ConnectorOffset")
        if any(value is not None and not isinstance(value, dict) for value in entry.values()):
            raise Refused(
                500, "Cannot construct instance of `java.util.LinkedHashMap` (although at least one Creator …)"
            )
    return [(entry.get("partition"), entry.get("offset")) for entry in body["offsets"]]


def _check_fields(entity: Mapping[str, Any], known: set[str], java_class: str) -> None:
    if strange := sorted(entity.keys() - known):
        full = f"org.apache.kafka.connect.runtime.rest.entities.{java_class}"
        raise Refused(500, f'Unrecognized field "{strange[0]}" (class {full}), not marked as ignorable')


def _subscriptions(cluster: Cluster, group: str) -> list[str]:
    """The topics of all members of a group, which are the tasks of all connectors that use it."""
    members = (
        connector
        for connector in cluster.connectors.values()
        if _is_sink(connector)
        and group_of(connector.name, connector.config) == group
        and connector.reported
        and connector.reported.tasks
    )
    return [topic for member in members for topic in topics_of(cluster.stored, member.config)]


def _alter_group(cluster: Cluster, connector: Connector, patch: Mapping[TopicPartition, int | None]) -> None:
    """As the broker does it: partition by partition, so that valid ones are changed even if others are rejected.

    Offsets are set only in a group without members, and removed only for topics that no member has subscribed to.
    """
    if any(offset is not None and offset < 0 for offset in patch.values()):
        raise Refused(500, f"Failed to modify offsets for sink connector {connector.name}")
    group = group_of(connector.name, connector.config)
    busy = _subscriptions(cluster, group)
    if (busy and any(offset is not None for offset in patch.values())) or any(topic in busy for topic, _ in patch):
        raise Refused(500, _IN_USE.format(do="alter", name=connector.name))
    nulls_last = sorted(patch.items(), key=lambda item: item[1] is None)
    accepted = [_commit(cluster.stored, group, key, offset) for key, offset in nulls_last]
    if not all(accepted):
        raise Refused(500, f"Failed to alter consumer group offsets for connector {connector.name}")


def _commit(stored: Stored, group: str, key: TopicPartition, offset: int | None) -> bool:
    """False if the broker rejects it. Setting an offset creates the group; removing one requires the group."""
    topic, number = key
    if topic not in stored.topics or number != 0 or (offset is None and group not in stored.groups):
        return False
    committed = stored.groups.setdefault(group, {})
    if offset is None:
        committed.pop(key, None)
    else:
        committed[key] = offset
    return True
