"""How connectors respond to a change of their offsets (`alterOffsets`), and what Connect checks before that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from standin.plugins import Refused, find

Entries = Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
Config = Mapping[str, str]


def ask(config: Config, entries: Entries) -> bool:
    """True if the class implements `alterOffsets` and accepts the change; False if it does not implement it."""
    plugin = find(config["connector.class"])
    if plugin is None:
        return True
    simple = plugin.name.rpartition(".")[2]
    if simple.startswith("Fixed"):
        text = f"Failed to modify offsets for connector {config['name']}"
        raise Refused(500, f"{text} because it doesn't support external modification of offsets")
    if simple.startswith("Broken"):
        raise Refused(500, "the offsets are kept elsewhere, and nobody answers there")
    if simple in _SOURCES:
        _SOURCES[simple](config, entries)
    return simple not in ("NumberSource", "RecordSink", "PostgresConnector")


def check_primitive(entries: Entries) -> None:
    """Check what Connect itself requires of a source's partitions and offsets (`OffsetUtils.validateFormat`)."""
    kinds: dict[type, str] = {dict: "MAP", list: "ARRAY"}
    for entity in (entity for entry in entries for entity in entry if entity is not None):
        for field, value in entity.items():
            kind = kinds.get(type(value))
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                kind = "class java.math.BigInteger"
            if kind:
                text = f"Offsets may only contain primitive types as values, but field {field} contains {kind}"
                raise Refused(500, text)


def sink_patch(entries: Entries) -> dict[tuple[str, int], int | None]:
    """`SinkUtils.parseSinkConnectorOffsets`: numbers may be strings, and the last entry of a partition wins."""
    return {_topic_partition(partition): _kafka_offset(offset) for partition, offset in entries}


def _topic_partition(partition: dict[str, Any] | None) -> tuple[str, int]:
    if partition is None:
        raise Refused(400, "The partition for a sink connector offset cannot be null or missing")
    if not {"kafka_topic", "kafka_partition"} <= partition.keys():
        text = "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
        raise Refused(400, text)
    if partition["kafka_topic"] is None:
        raise Refused(400, "Kafka topic names must be valid strings and may not be null")
    if partition["kafka_partition"] is None:
        raise Refused(400, "Kafka partitions must be valid numbers and may not be null")
    return java(partition["kafka_topic"]), _integer(partition["kafka_partition"], "partition", 32)


def _kafka_offset(offset: dict[str, Any] | None) -> int | None:
    if offset is None:
        return None
    if "kafka_offset" not in offset:
        raise Refused(400, "The offset for a sink connector should either be null or contain the key 'kafka_offset'")
    return _integer(offset["kafka_offset"], "offset", 64)


def _integer(value: Any, what: str, bits: int) -> int:
    text = java(value)
    try:
        number = int(text)
    except ValueError:
        number = 2**bits
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        message = f"Failed to parse the following Kafka {what} value in the provided offsets: '{text}'. "
        raise Refused(400, f"{message}{what.title()} values for sink connectors need to be integers.")
    return number


def java(value: Any) -> str:
    """The value as Java's `toString` writes it."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case dict():
            return "{" + ", ".join(f"{key}={java(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(java, value)) + "]"
        case _:
            return str(value)


def _file_source(config: Config, entries: Entries) -> None:
    if "file" not in config:
        text = "Offsets cannot be modified if the 'file' configuration is unspecified. This is because stdin is used"
        raise Refused(500, f"{text} for input and offsets are not tracked.")
    for partition, offset in entries:
        if offset is not None:
            _check_position(partition, offset)


def _check_position(partition: dict[str, Any] | None, offset: dict[str, Any]) -> None:
    key = "The value for the 'position' key in the offset"
    if "position" not in offset:
        raise Refused(500, "Offset objects should either be null or contain the key 'position'")
    if not _is_integer(offset["position"], 64):
        raise Refused(500, f"{key} is expected to be a Long value")
    if offset["position"] < 0:
        raise Refused(500, f"{key} should be a non-negative value")
    if partition is None:
        raise Refused(500, "Partition objects cannot be null")
    if "filename" not in partition:
        raise Refused(500, "Partition objects should contain the key 'filename'")


def _is_integer(value: Any, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _mirror(*texts: str, number: bool = True, only_zero: bool = False) -> Callable[[Config, Entries], None]:
    """The checks of one MirrorMaker connector: the strings of its partitions, then `partition`, then the offset."""

    def check(config: Config, entries: Entries) -> None:
        for partition, offset in entries:
            if offset is None:
                continue
            if partition is None:
                raise Refused(500, "Source partition may not be null")
            where = f"Source partition {java(partition)}"
            for key in texts:
                _require(partition, key, where)
                if not isinstance(partition[key], str):
                    raise _invalid(where, partition[key], key, "must be a string")
            if number:
                _require_number(partition, "partition", where, 32)
            where = f"Source offset {java(offset)} for source partition {java(partition)}"
            _require_number(offset, "offset", where, 64, only_zero=only_zero)

    return check


def _require(entity: Mapping[str, Any], key: str, where: str) -> None:
    if key not in entity:
        raise Refused(500, f"{where} is missing the '{key}' key, which is required")


def _require_number(entity: Mapping[str, Any], key: str, where: str, bits: int, *, only_zero: bool = False) -> None:
    _require(entity, key, where)
    if not _is_integer(entity[key], bits):
        raise _invalid(where, entity[key], key, "must be an integer")
    if only_zero and entity[key] != 0:
        text = f"{where} has an invalid value {entity[key]} for the '{key}' key; the only accepted value is 0"
        raise Refused(500, text)
    if entity[key] < 0:
        raise _invalid(where, entity[key], key, "cannot be negative")


def _invalid(where: str, value: Any, key: str, why: str) -> Refused:
    return Refused(500, f"{where} has an invalid value {java(value)} for the '{key}' key, which {why}")


_SOURCES: dict[str, Callable[[Config, Entries], None]] = {
    "FileStreamSourceConnector": _file_source,
    "MirrorSourceConnector": _mirror("cluster", "topic"),
    "MirrorCheckpointConnector": _mirror("group", "topic", only_zero=True),
    "MirrorHeartbeatConnector": _mirror("sourceClusterAlias", "targetClusterAlias", number=False, only_zero=True),
}
