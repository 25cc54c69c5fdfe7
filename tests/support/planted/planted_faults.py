"""Faults for the entries of each kind of connector, for the families of `planted_connectors`."""

from __future__ import annotations

from support.planted.planted_families import (
    UNKNOWN,
    UNREAD_FIELD,
    Plant,
    Says,
    drop,
    lacks,
    natural,
    plants,
    put,
    small,
    text,
    unkept_fields,
)

LSN = "0000002b:00000c70:0003"
WRONG = Says("type")
LIVE_TYPE = Says("current-type", current=True)
UNREAD_LIVE_TYPE = Says("current-type", current=True, eased=True)


def elsewhere(path: str, rule: str, prefix: str = "e") -> Plant:
    """A partition that the connector does not read, and that is valid otherwise."""
    tie = Says(rule, eased=True, tie=True)
    return put(path, lambda n: f"{prefix}{n}", tie, may_exist=True, name="elsewhere")


def zero(path: str) -> list[Plant]:
    """Faults for a field that has to be 0."""
    others = [one for one in natural(path) if not one.name.endswith((" negative", "-2^63-1"))]
    bound = Says("range")
    return [*others, put(path, lambda n: n, bound, name="other"), put(path, lambda n: -n, bound, name="negative")]


def lsn(path: str) -> list[Plant]:
    return [
        *text(path),
        put(path, "0x2b", WRONG, may_exist=True),
        put(path, "", WRONG, may_exist=True, name="empty text"),
        put(path, f"{LSN} ", WRONG, name="with a blank", may_exist=True),
        put(path, f"{LSN}\n", WRONG, name="with a line feed", may_exist=True),
        put(path, "NULL", may_exist=True),
        put(path, LSN.upper(), name="in capitals", may_exist=True),
    ]


def digits(path: str) -> list[Plant]:
    """Faults for a whole number in quotes, or of 64 bits without. The valid and the current ones here have quotes."""
    return [
        *(one for one in unkept_fields(path) if not one.name.endswith("-2^63-1")),
        put(path, lambda n: -(2**63) - n, Says("negative", unkept=True), name="-2^63-1"),
        put(path, "12a", WRONG),
        put(path, "", WRONG, name="empty text"),
        put(path, "-5", WRONG),
        put(path, "\u0665", WRONG, name="arabic digit"),
        put(path, "9" * 41, WRONG, name="long"),
        put(path, "9" * 40, name="40 digits"),
        put(path, 1.5, WRONG, LIVE_TYPE, name="fraction"),
        put(path, True, WRONG, LIVE_TYPE, name="true"),
        put(path, -7, Says("negative"), LIVE_TYPE, name="negative number"),
        put(path, 5, LIVE_TYPE, name="number"),
    ]


def sequence(path: str) -> list[Plant]:
    """Faults for a whole number of 64 bits in quotes, or NULL."""
    return [
        *text(path),
        put(path, 2**63, Says("type", unkept=True), name="2^63"),
        put(path, "12a", WRONG),
        put(path, "-5", WRONG),
        put(path, str(2**63), WRONG, name="2^63 in quotes"),
        put(path, str(2**63 - 1), name="2^63-1 in quotes"),
        put(path, "NULL", may_exist=True),
        put(path, "null"),
    ]


def name_only(field: str = "server") -> list[Plant]:
    """Faults for a partition that is only a name: Connect accepts any partition."""
    path = f"partition.{field}"
    return [*text(path, eased=True), drop(path, Says("shape", eased=True)), *UNREAD_FIELD]


DEBEZIUM = [
    *UNKNOWN,
    put("offset.snapshot", True, name="flag"),
    put("offset.snapshot", False, Says("choice"), name="no flag"),
    put("offset.snapshot", 1, Says("choice")),
    put("offset.snapshot", "INITIAL"),
    put("offset.snapshot", "sometimes", Says("choice")),
    put("offset.snapshot", None, name="null"),
    put("offset.snapshot_completed", "yes", Says("choice")),
    put("offset.snapshot_completed", False, name="flag"),
    put("offset.transaction_id", None, name="null"),
    put("offset.incremental_snapshot_x", "a"),
    put("offset.snapshot_completed", [True], Says("type", unkept=True)),
]
BINLOG = [
    *DEBEZIUM,
    *text("offset.file"),
    put("offset.file", "binlog", WRONG, may_exist=True),
    put("offset.file", "a.b.000001", may_exist=True),
    *natural("offset.pos"),
    *lacks("offset.file", "fil"),
    drop("offset.pos", Says("shape")),
    put("offset.gtids", None, name="null"),
    put("offset.gtids", 5, WRONG),
    put("offset.ts_sec", -5),
    put("offset.row", -5, Says("negative")),
    put("offset.server_id", "5", WRONG),
    put("offset.event", 2**63, Says("range", unkept=True)),
    put("offset.evnt", 1, Says("unknown-field")),
]
LSNS = [
    *DEBEZIUM,
    *lsn("offset.commit_lsn"),
    *lacks("offset.commit_lsn", "commitlsn"),
    put("offset.change_lsn", None, name="null"),
    put("offset.change_lsn", 5, WRONG),
    put("offset.event_serial_no", -1, Says("negative")),
    put("offset.event_serial_no", 3),
]
ZEROS = [*zero("offset.offset"), *lacks("offset.offset", "ofset"), *UNKNOWN]
POSITION = [*natural("offset.position"), *lacks("offset.position", "positon"), *UNKNOWN]
FILENAME = [*text("partition.filename", eased=True), *lacks("partition.filename", "filname"), *UNREAD_FIELD]
SINKS = plants(
    small("partition.kafka_partition"),
    text("partition.kafka_topic"),
    lacks("partition.kafka_partition", "kafka_partitoin"),
    lacks("partition.kafka_topic", "kafka-topic"),
    put("partition.zone", lambda n: [n], Says("unknown-field"), name="extra"),
    elsewhere("partition.kafka_topic", "topic", "t-"),
    put("partition.kafka_topic", lambda n: f"t{n}\n", Says("topic", eased=True, tie=True), name="line feed"),
    put("partition.kafka_topic", lambda n: f"xt{n}", Says("topic", eased=True, tie=True), name="more before"),
    natural("offset.kafka_offset"),
    lacks("offset.kafka_offset", "kafka_ofset"),
    put("offset.metadata", {"a": 2**70}, Says("unknown-field"), name="mapping"),
    put("offset.kafka_offset", 2**63 - 1),
)
FREE = plants(
    put("partition.shard", str, UNREAD_LIVE_TYPE, name="text"),
    put("partition.shard", float, UNREAD_LIVE_TYPE, name="float"),
    put("partition.zone", lambda n: n, UNREAD_LIVE_TYPE, name="number"),
    put("partition.zone", None, name="null"),
    put("partition.more", lambda n: n, name="extra"),
    unkept_fields("partition.shard"),
    unkept_fields("offset.seq"),
    put("offset.seq", str, LIVE_TYPE, name="text"),
    put("offset.seq", 1.0, LIVE_TYPE, name="float"),
    put("offset.seq", False, LIVE_TYPE, name="flag"),
    put("offset.seq", None, name="null"),
    put("offset.seq", -(2**63), name="least"),
    drop("offset.seq"),
    put("offset.ratio", 2, LIVE_TYPE, name="whole"),
    put("offset.ratio", -0.0, name="zero"),
    put("offset.name", 5, LIVE_TYPE, name="number"),
    put("offset.done", "false", LIVE_TYPE, name="text"),
    put("offset.never", "x", name="extra"),
)
MIXED = plants(
    put("offset.seq", lambda n: n if n % 2 else str(n), LIVE_TYPE, name="the other type"),
    put("offset.seq", 1.5, LIVE_TYPE, name="no type that stands"),
    put("offset.seq", None, name="null"),
    put("partition.shard", lambda n: n + 10**6, name="another"),
    put("partition.shard", str, UNREAD_LIVE_TYPE, name="text"),
    unkept_fields("offset.seq"),
)
COUNTS = plants(
    put("partition.shard", str, Says("own-schema", eased=True), UNREAD_LIVE_TYPE, name="text"),
    put("partition.shard", lambda n: n + 0.5, Says("own-schema", eased=True), UNREAD_LIVE_TYPE, name="fraction"),
    put("partition.more", 1, Says("own-schema", eased=True), name="extra"),
    drop("partition.shard", Says("own-schema", eased=True)),
    unkept_fields("partition.shard"),
    put("offset.count", lambda n: -n, Says("own-schema"), name="negative"),
    put("offset.count", str, Says("own-schema"), LIVE_TYPE, name="text"),
    put("offset.count", None, Says("own-schema"), name="null"),
    put("offset.count", 5.0, LIVE_TYPE),
    put("offset.more", 1, Says("own-schema"), name="extra"),
    drop("offset.count", Says("own-schema")),
)
