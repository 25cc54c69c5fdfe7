"""Each rule for the entries of a manifest: violations with their lines and messages, and valid entries."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from manifests import (
    FILE_SOURCE,
    MIRROR,
    OTHER,
    SINK,
    UNREAD,
    declared,
    entry,
    mirrored,
    offsets,
    read,
    rules,
    sunk,
    verdict,
)

from gitops_connect.checks.rules import DEPENDENT, RULES
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import OperationKind
from gitops_connect.report.rules import RULE_EXPLANATIONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "manifest-rules.md"
ROW = re.compile(r"^\| \[`(manifest/[a-z-]+)`\]", re.MULTILINE)
"""A row of a table of that page, and the rule that it documents."""

MYSQL = {"connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "shop"}
POSTGRES = {"connector.class": "PostgresConnector", "database.server.name": "shop"}
SQL_SERVER = {"connector.class": "SqlServer", "topic.prefix": "shop"}
ORACLE = {"connector.class": "Oracle", "topic.prefix": "shop"}
MONGODB = {"connector.class": "MongoDb", "topic.prefix": "shop"}
JDBC = {"connector.class": "io.aiven.connect.jdbc.JdbcSourceConnector"}
CHECKPOINT = {"connector.class": "MirrorCheckpoint"}
HEARTBEAT = {"connector.class": "MirrorHeartbeat", "source.cluster.alias": "eu", "target.cluster.alias": "us"}
QUERY = {**JDBC, "query": "SELECT 1"}
INC = {**JDBC, "table.whitelist": 'inc, shop.orders, "Mixed"'}
INCLUDED = {"connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "table.include.list": "public\\.i.*, x"}
ON_POSTGRES = {**INC, "connection.url": "jdbc:postgresql://db/shop"}
VITESS = {"connector.class": "Vitess", "topic.prefix": "shop"}
INFORMIX = {"connector.class": "Informix"}
VGTID = '[{"keyspace":"shop","shard":"-80","gtid":"MySQL56/3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"}]'
SHOP = {"server": "shop"}
BINLOG = {"file": "mysql-bin.000003", "pos": 4}
ZERO = {"offset": 0}
LSN = "0000002b:00000c70:0003"

Case = tuple[str, Mapping[str, str], Any, str]

WRONG: list[Case] = [
    ("entry", MIRROR, [], "this entry is a list, expected a mapping with a partition and an offset"),
    ("entry", OTHER, "text", 'this entry is the string "text", expected'),
    ("no-partition", MIRROR, {"offset": {"offset": 1}}, "this entry has no partition"),
    ("no-partition", SINK, entry(None, {"kafka_offset": 1}), "this entry has no partition"),
    ("no-offset", MIRROR, {"partition": mirrored()["partition"]}, "this entry has no offset"),
    (
        "shape",
        MIRROR,
        entry({"cluster": "source", "topic": "a"}, {"offset": 1}),
        "the partition has no field partition",
    ),
    ("shape", MIRROR, mirrored(zone="a"), 'the partition has a field "zone" that the connector does not look up'),
    (
        "shape",
        MIRROR,
        entry({"cluster": "source", "topc": "a", "partition": 0}, {"offset": 1}),
        'the partition has the field "topc", expected "topic"',
    ),
    ("shape", MIRROR, entry(mirrored()["partition"], {}), "the offset has no field offset"),
    ("shape", FILE_SOURCE, entry({"filename": "/data/orders.txt"}, {"positon": 4}), '"positon", expected "position"'),
    ("shape", SINK, entry({"kafka_topic": "orders"}, {"kafka_offset": 1}), "has no field kafka_partition"),
    ("shape", MYSQL, entry(SHOP, {"file": "a.1"}), "the offset has no field pos"),
    (
        "shape",
        SQL_SERVER,
        entry({"server": "shop", "databse": "a"}, {"commit_lsn": LSN}),
        'a field "databse" that the connector does not look up',
    ),
    ("shape", JDBC, entry({"table": "a"}, {"timestamp_nanos": 1}), "has no field incrementing or timestamp"),
    ("shape", JDBC, entry({"tabel": "a"}, {"incrementing": 1}), '"tabel", expected "table"'),
    ("shape", CHECKPOINT, entry({"cluster": "source", "topic": "a", "partition": 0}, {"offset": 0}), ""),
    ("type", MIRROR, mirrored("zero"), 'partition.partition is the string "zero", expected a whole number from 0 to'),
    ("type", MIRROR, mirrored(True), "partition.partition is true, expected"),
    ("type", MIRROR, mirrored(0, 1.0), "offset.offset is the number 1.0, expected a whole number of 0 or more"),
    ("type", MIRROR, mirrored(0, None), "offset.offset is null, expected a whole number"),
    ("type", MIRROR, mirrored(topic=7), "partition.topic is the number 7, expected a string"),
    ("type", MIRROR, entry("text", {"offset": 1}), 'partition is the string "text", expected a mapping'),
    ("type", MIRROR, entry(mirrored()["partition"], 5), "offset is the number 5, expected a mapping"),
    ("type", MIRROR, mirrored(topic=["a"]), "partition.topic is a list, expected a string"),
    ("type", OTHER, entry({"a": {"b": 1}}, {}), "partition.a is a mapping, expected a string, a number, true or false"),
    ("type", OTHER, entry({}, {"a": [1]}), "offset.a is a list, expected"),
    ("type", SINK, sunk(topic=5), "partition.kafka_topic is the number 5, expected a string"),
    ("type", SINK, sunk(partition="0"), 'partition.kafka_partition is the string "0", expected'),
    ("type", FILE_SOURCE, read(position="x"), 'offset.position is the string "x", expected'),
    ("type", MYSQL, entry(SHOP, {**BINLOG, "file": "binlog"}), "expected a string that ends in a dot and a number"),
    ("type", SQL_SERVER, entry(SHOP, {"commit_lsn": "0x2b"}), "expected a string such as 0000002b:00000c70:0003"),
    ("type", ORACLE, entry(SHOP, {"scn": "12a"}), "expected a whole number in quotes"),
    ("type", POSTGRES, entry(SHOP, {"lsn": 5, "last_snapshot_record": "true"}), "expected true or false"),
    ("negative", MIRROR, mirrored(-1), "partition.partition is -1, expected 0 or more"),
    ("negative", SINK, sunk(offset=-5), "offset.kafka_offset is -5, expected 0 or more"),
    ("range", SINK, sunk(offset=2**63), "offset.kafka_offset is 9223372036854775808, expected at most"),
    ("range", SINK, sunk(partition=2**31), "is 2147483648, expected at most 2147483647 (32 bits)"),
    ("range", MIRROR, mirrored(2**31), "expected at most 2147483647 (32 bits)"),
    ("range", OTHER, entry({}, {"a": -(2**63) - 1}), "offset.a is -9223372036854775809, expected at most"),
    ("range", OTHER, entry({}, {"a": 10**5000}), "offset.a is a number of 16610 bits, expected at most"),
    (
        "range",
        CHECKPOINT,
        entry({"group": "g", "topic": "a", "partition": 0}, {"offset": 7}),
        "is 7, expected 0, the only value",
    ),
    ("value", MIRROR, mirrored(topic="\ud800"), "partition.topic cannot be written as JSON"),
    ("value", OTHER, entry({"\udfff": 1}, {}), "half of a surrogate pair"),
    ("value", OTHER, entry({}, {"a": float("nan")}), "offset.a cannot be written as JSON: nan"),
    ("value", OTHER, entry({}, {"a": float("inf")}), "offset.a cannot be written as JSON: inf"),
    ("value", OTHER, entry({}, {1: 2}), "offset.1 cannot be written as JSON"),
    ("alias", MIRROR, mirrored(cluster="WRONG"), 'partition.cluster is "WRONG", but the connector\'s source.cluster.a'),
    ("alias", {**MIRROR, "source.cluster.alias": "eu"}, mirrored(), 'source.cluster.alias is "eu"'),
    (
        "alias",
        HEARTBEAT,
        entry({"sourceClusterAlias": "eu", "targetClusterAlias": "target"}, {"offset": 0}),
        'partition.targetClusterAlias is "target", but the connector\'s target.cluster.alias is "us"',
    ),
    (
        "file",
        FILE_SOURCE,
        read("/data/other.txt"),
        'partition.filename is "/data/other.txt", but the connector\'s file',
    ),
    (
        "server",
        MYSQL,
        entry({"server": "other"}, BINLOG),
        'partition.server is "other", but the connector\'s topic.pre',
    ),
    ("server", POSTGRES, entry({"server": "a"}, {"lsn": 1}), 'database.server.name is "shop"'),
    ("server", MONGODB, entry({"server_id": "a"}, {"sec": 1, "ord": 1}), "partition.server_id"),
    ("topic", SINK, sunk("other"), 'partition.kafka_topic is "other", which the connector does not read: its t'),
    ("topic", {"connector.class": "S", "topics.regex": "o.*"}, sunk("invoices"), 'its topics.regex is "o.*"'),
    ("topic", {**MIRROR, "topics": "orders,b"}, mirrored(topic="order"), 'read: its topics is "orders,b"'),
    ("topic", {**MIRROR, "topics": "o.*|b"}, mirrored(topic="to"), 'read: its topics is "o.*|b"'),
    (
        "database",
        {**SQL_SERVER, "database.names": "a, inventory"},
        entry({"server": "shop", "database": "inventry"}, {"commit_lsn": LSN}),
        'partition.database is "inventry", but the connector\'s database.names is "a, inventory"',
    ),
    (
        "table",
        INC,
        entry({"table": "incc"}, {"incrementing": 1}),
        'partition.table is "incc", which the connector does not read: its table.whitelist is "inc, shop.orders',
    ),
    ("table", INC, entry({"table": "MIXED"}, {"incrementing": 1}), 'partition.table is "MIXED", which'),
    (
        "table",
        INC,
        entry({"protocol": "1", "table": "public.incc"}, {"incrementing": 1}),
        "does not read: its table.wh",
    ),
    ("table", INC, entry({"protocol": "1", "table": "orders"}, {"incrementing": 1}), "does not read: its table.whitel"),
    ("table", INC, entry({"protocol": "2", "table": "inc"}, {"incrementing": 1}), 'partition.protocol is "2", which'),
    (
        "table",
        ON_POSTGRES,
        entry({"protocol": "1", "table": "inc"}, {"incrementing": 1}),
        "on PostgreSQL the full name of a table includes its schema, as in public.inc",
    ),
    (
        "table",
        INCLUDED,
        entry({"protocol": "1", "table": "public.b"}, {"incrementing": 1}),
        "its table.include.list is",
    ),
    (
        "table",
        {**JDBC, "table.blacklist": "a"},
        entry({"table": "a"}, {"incrementing": 1}),
        'its table.blacklist is "a"',
    ),
    ("table", {**INC, "mode": "bulk"}, entry({"table": "inc"}, {"incrementing": 1}), 'its mode is "bulk"'),
    ("table", INC, entry({"query": "query"}, {"incrementing": 1}), "it has no query"),
    ("table", QUERY, entry({"query": "SELECT 1"}, {"incrementing": 1}), 'its query is {"query": "query"}'),
    ("table", QUERY, entry({"table": "inc"}, {"incrementing": 1}), "its query is set"),
    (
        "task",
        VITESS,
        entry({"server": "shop", "task_key": "task0_2_1"}, {"vgtid": VGTID}),
        'partition.task_key is "task0_2_1", which the connector does not read: its vitess.offset.storage.p',
    ),
    (
        "choice",
        POSTGRES,
        entry(SHOP, {"lsn": 5, "messageType": "UPSERT"}),
        'offset.messageType is the string "UPSERT", expected "INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE"',
    ),
    ("choice", POSTGRES, entry(SHOP, {"lsn": 5, "messageType": 5}), "offset.messageType is the number 5"),
    (
        "choice",
        MYSQL,
        entry(SHOP, {**BINLOG, "snapshot": "sometimes"}),
        'expected true, "true", "INITIAL", "BLOCKING", "INCREMENTAL" or null',
    ),
    ("choice", ORACLE, entry(SHOP, {"scn": "5", "snapshot": False}), "offset.snapshot is false, expected true"),
    ("choice", SQL_SERVER, entry(SHOP, {"commit_lsn": LSN, "snapshot": 1}), "offset.snapshot is the number 1"),
    ("choice", MYSQL, entry(SHOP, {**BINLOG, "snapshot_completed": "yes"}), 'expected true, false, "true", "false" or'),
    (
        "contradiction",
        JDBC,
        entry({"table": "a"}, {"timestamp": 1_700_000_000_456, "timestamp_nanos": 123_000_000}),
        "offset.timestamp_nanos is 123000000, but timestamp is 1700000000456: the connector takes the fraction of",
    ),
    (
        "range",
        JDBC,
        entry({"table": "a"}, {"timestamp": 5, "timestamp_nanos": 10**9}),
        "offset.timestamp_nanos is 1000000000, expected at most 999999999, the nanoseconds of a second",
    ),
    ("negative", JDBC, entry({"table": "a"}, {"timestamp": 5, "timestamp_nanos": -1}), "is -1, expected 0 or more"),
    ("type", INFORMIX, entry({"databaseName": "a"}, {"commit_lsn": 5}), "expected a whole number in quotes, or NULL"),
    (
        "type",
        ORACLE,
        entry(SHOP, {"scn": "5", "commit_scn": "5:1"}),
        "expected a string such as 2868506:1:0400050048030000",
    ),
    ("type", VITESS, entry(SHOP, {"vgtid": "current"}), "expected a string with a JSON list of the keyspaces and sh"),
    ("type", SQL_SERVER, entry(SHOP, {"commit_lsn": f"{LSN}0"}), "expected a string such as 0000002b"),
    ("unknown-field", MIRROR, {**mirrored(), "note": 1}, '"note" is not a field of an entry'),
    (
        "unknown-field",
        MIRROR,
        entry(mirrored()["partition"], {"offset": 1, "extra": 2}),
        "offset.extra is not a field of",
    ),
    (
        "unknown-field",
        SINK,
        entry({**sunk()["partition"], "x": [1]}, {"kafka_offset": 1}),
        "partition.x is not a field of",
    ),
    ("unknown-field", MYSQL, entry(SHOP, {**BINLOG, "evnt": 1}), "offset.evnt is not a field of Debezium for MySQL"),
]

RIGHT: list[tuple[Mapping[str, str], Any]] = [
    (MIRROR, mirrored()),
    (MIRROR, mirrored(2**31 - 1, 2**63 - 1)),
    (MIRROR, entry({"cluster": "WRONG", "what": 1}, None)),
    ({**MIRROR, "source.cluster.alias": "${env:ALIAS}"}, mirrored(cluster="anything")),
    ({**MIRROR, "source.cluster.alias": "eu"}, mirrored(cluster="eu")),
    ({"connector.class": "MirrorSource"}, mirrored(cluster="any")),
    ({"connector.class": "MirrorHeartbeat"}, entry({"sourceClusterAlias": "a", "targetClusterAlias": "target"}, ZERO)),
    (CHECKPOINT, entry({"group": "g", "topic": "a", "partition": 0}, {"offset": 0})),
    (HEARTBEAT, entry({"sourceClusterAlias": "eu", "targetClusterAlias": "us"}, {"offset": 0})),
    (SINK, sunk("invoices")),
    (SINK, entry({"kafka_topic": "long-gone", "kafka_partition": 0}, None)),
    ({"connector.class": "S", "topics.regex": "o.*"}, sunk("orders")),
    ({"connector.class": "S", "topics.regex": r"\p{Alpha}+"}, sunk("0")),
    ({"connector.class": "S", "topics": "${file:a:b}"}, sunk("anything")),
    (FILE_SOURCE, read()),
    ({"connector.class": "FileStreamSource"}, read("/any")),
    (MYSQL, entry(SHOP, {**BINLOG, "gtids": None, "ts_sec": 5, "transaction_id": None, "snapshot": True})),
    (MYSQL, entry(SHOP, {**BINLOG, "transaction_data_collection_order_shop.orders": 5, "incremental_snapshot_x": "a"})),
    (POSTGRES, entry(SHOP, {"lsn": 1, "lsn_proc": None, "txId": 4, "ts_usec": -5})),
    (SQL_SERVER, entry({"server": "shop", "database": "db"}, {"commit_lsn": LSN, "change_lsn": None})),
    (SQL_SERVER, entry(SHOP, {"commit_lsn": "NULL", "event_serial_no": 1})),
    (ORACLE, entry(SHOP, {"scn": "123", "commit_scn": "1:1:2"})),
    (ORACLE, entry(SHOP, {"scn": 123})),
    (ORACLE, entry(SHOP, {"lcr_position": "00ff"})),
    (MONGODB, entry({"server_id": "shop", "rs": "rs0"}, {"sec": 1, "ord": 1, "resume_token": None})),
    (JDBC, entry({"protocol": "1", "table": "db.orders"}, {"incrementing": -1})),
    (QUERY, entry({"query": "query"}, {"timestamp": -5, "timestamp_nanos": 995_000_001})),
    (JDBC, entry({"table": "orders"}, {"timestamp": 1_700_000_000_123})),
    (JDBC, entry({"table": "orders"}, {"timestamp": 1_700_000_000_000, "timestamp_nanos": 0})),
    ({**JDBC, "query": "${file:a:b}"}, entry({"table": "orders"}, {"incrementing": 1})),
    *((INC, entry({"table": name}, {"incrementing": 1})) for name in ("inc", "orders", "Mixed")),
    *(
        (INC, entry({"protocol": "1", "table": name}, {"incrementing": 1}))
        for name in ("inc", "public.inc", "shop.public.inc", "shop.orders", "public.Mixed")
    ),
    (INCLUDED, entry({"protocol": "1", "table": "public.inc"}, {"incrementing": 1})),
    (INCLUDED, entry({"table": "anything"}, {"incrementing": 1})),
    ({**INCLUDED, "connector.class": "JdbcSource"}, entry({"protocol": "1", "table": "b"}, {"incrementing": 1})),
    ({**INC, "table.names.qualify": "false"}, entry({"protocol": "1", "table": "inc"}, {"incrementing": 1})),
    ({**MIRROR, "topics": "orders, shop.*"}, mirrored(topic="shops")),
    ({**MIRROR, "topics": "orders"}, mirrored(topic="eu.heartbeats")),
    ({**MIRROR, "topics": "other", "topic.filter.class": "com.example.Mine"}, mirrored()),
    ({**SQL_SERVER, "database.names": "a, Shop"}, entry({"server": "shop", "database": "SHOP"}, {"commit_lsn": LSN})),
    (VITESS, entry(SHOP, {"vgtid": VGTID})),
    (
        {**VITESS, "vitess.offset.storage.per.task": "true"},
        entry({"server": "shop", "task_key": "task0_2_1"}, {"vgtid": VGTID}),
    ),
    (INFORMIX, entry({"databaseName": "shop"}, {"commit_lsn": "5", "change_lsn": "NULL", "begin_lsn": None})),
    (ORACLE, entry(SHOP, {"scn": "5", "commit_scn": "2868506:1:0400-0500,9:2:"})),
    (ORACLE, entry(SHOP, {"scn": "5", "commit_scn": "2868506:a:b:1"})),
    (POSTGRES, entry(SHOP, {"lsn": 1, "snapshot": "INITIAL", "snapshot_completed": "true", "messageType": "BEGIN"})),
    (POSTGRES, entry(SHOP, {"lsn": 1, "lsn_proc": 9, "snapshot": None, "messageType": None})),
    (OTHER, entry({}, {})),
    (OTHER, entry({"a": None, "b": 1.5}, {"c": True, "d": "x", "e": -5})),
    ({}, entry({"kafka_topic": 5}, {"kafka_offset": "x"})),
]


@pytest.mark.parametrize(("rule", "config", "value", "words"), WRONG)
def test_a_broken_rule_is_named_at_its_line(rule: str, config: Mapping[str, str], value: Any, words: str) -> None:
    clean = entry({"kafka_topic": "gone", "kafka_partition": 9} if "topics" in "".join(config) else {"gone": 1}, None)
    found = verdict([clean, value], config)
    first = found.diagnostics.items[0]
    assert (first.location.line, first.rule, first.connector) == (2, f"manifest/{rule}", "orders")
    assert words in first.summary
    assert (found.offsets is None) == any(item.severity is Severity.ERROR for item in found.diagnostics)
    alone = verdict([value], config).diagnostics
    expected = 2 if config is CHECKPOINT and "cluster" in value["partition"] else 1
    assert len(alone) == expected, [item.summary for item in alone]


@pytest.mark.parametrize(("config", "value"), RIGHT)
def test_what_is_as_it_should_be_is_not_spoken_of(config: Mapping[str, str], value: Any) -> None:
    assert rules(verdict([value], config)) == []
    assert len(declared(verdict([value], config))) == 1


def test_what_the_config_is_may_be_unknown() -> None:
    assert rules(verdict([sunk("any"), mirrored(cluster="x"), entry([], {})], None)) == [(3, "type")]


def test_unknown_fields_of_a_sink_are_left_out_as_connect_does() -> None:
    value = entry({**sunk()["partition"], "x": 1}, {"kafka_offset": 1, "metadata": "m"})
    found = verdict([value], SINK)
    assert rules(found) == [(1, "unknown-field"), (1, "unknown-field")]
    assert declared(found) == [(sunk()["partition"], {"kafka_offset": 1})]
    assert rules(verdict([value, sunk()], SINK))[-1] == (2, "conflict")


def test_unknown_fields_of_a_source_are_sent() -> None:
    found = verdict([entry(mirrored()["partition"], {"offset": 1, "note": "n"})], MIRROR)
    assert declared(found) == [(mirrored()["partition"], {"offset": 1, "note": "n"})]


def test_a_field_of_the_current_offsets_is_known() -> None:
    current = offsets(entry(SHOP, {**BINLOG, "new_in_9": 1}))
    assert rules(verdict([entry(SHOP, {**BINLOG, "new_in_9": 2})], MYSQL, current)) == []
    assert rules(verdict([entry(SHOP, {**BINLOG, "new_in_9": "2"})], MYSQL, current)) == [(1, "current-type")]


LIVE = offsets(entry({"shard": 1}, {"seq": "a", "n": 5}), entry({"shard": 2}, {"seq": 7, "f": 1.5, "nothing": None}))


@pytest.mark.parametrize(
    ("partition", "offset", "fields"),
    [
        ({"shard": 1}, {"seq": "b", "n": 6}, []),
        ({"shard": 1}, {"seq": 8}, ["offset.seq"]),
        ({"shard": 2}, {"seq": "b"}, ["offset.seq"]),
        ({"shard": 3}, {"seq": "b"}, []),
        ({"shard": 3}, {"seq": 8}, []),
        ({"shard": 3}, {"seq": True}, ["offset.seq"]),
        ({"shard": 3}, {"f": 1}, ["offset.f"]),
        ({"shard": 3}, {"n": 6.0}, ["offset.n"]),
        ({"shard": 3}, {"n": None, "nothing": 5, "never": 5}, []),
        ({"shard": "1"}, {"n": 6}, ["partition.shard"]),
        ({"shard": 1.0}, {"n": "6"}, ["offset.n", "partition.shard"]),
    ],
)
def test_types_are_those_of_the_current_offsets(partition: Any, offset: Any, fields: list[str]) -> None:
    found = verdict([entry(partition, offset)], OTHER, LIVE)
    assert [item.rule for item in found.diagnostics] == ["manifest/current-type"] * len(fields)
    assert [item.summary.split()[0] for item in found.diagnostics] == fields


def test_the_message_of_a_current_type_says_both() -> None:
    (problem,) = verdict([entry({"shard": "1"}, {})], OTHER, LIVE).diagnostics
    expected = 'partition.shard is the string "1", but in the current offsets it is a whole number'
    assert problem.summary == expected


def test_if_the_class_gives_the_type_wrong_current_offsets_do_not_matter() -> None:
    current = offsets(entry({"cluster": "source", "topic": "orders", "partition": "0"}, {"offset": "9"}))
    assert rules(verdict([mirrored()], MIRROR, current)) == []


def test_numbers_as_in_the_current_offsets_if_the_class_accepts_both() -> None:
    current = offsets(entry(SHOP, {"scn": "100"}))
    assert rules(verdict([entry(SHOP, {"scn": 99})], ORACLE, current)) == [(1, "current-type")]
    assert rules(verdict([entry(SHOP, {"scn": "99"})], ORACLE, current)) == []


@pytest.mark.parametrize("kind", [OperationKind.REPLACE, OperationKind.SEED])
def test_null_offsets_say_nothing_in_a_replace_and_a_seed(kind: OperationKind) -> None:
    tombstone = entry(mirrored()["partition"], None)
    assert rules(verdict([mirrored(1), tombstone], MIRROR, {}, kind=kind)) == [(2, "tombstone")]
    assert rules(verdict([mirrored(1)], MIRROR, {}, kind=kind)) == []


def test_a_tombstone_for_nothing_is_mentioned() -> None:
    tombstone = entry(mirrored()["partition"], None)
    assert rules(verdict([tombstone], MIRROR, {})) == [(1, "nothing-to-remove")]
    assert rules(verdict([tombstone], MIRROR, offsets(mirrored()))) == []
    assert rules(verdict([tombstone], MIRROR, None)) == []
    assert declared(verdict([tombstone], MIRROR, {})) == [(mirrored()["partition"], None)]


def test_a_sink_takes_no_tombstone_for_a_partition_of_another_shape() -> None:
    assert rules(verdict([entry({"kafka_topic": "orders"}, None)], SINK)) == [(1, "shape")]


@pytest.mark.parametrize(
    ("first", "second", "rule", "words"),
    [
        (mirrored(), mirrored(), "duplicate", "lines 1 and 3 have the same partition, with the same offset"),
        (mirrored(0, 5), mirrored(0, 6), "conflict", 'with the offsets {"offset":5} and {"offset":6}'),
        (mirrored(), entry(mirrored()["partition"], None), "conflict", '{"offset":5} and null'),
        (entry(mirrored()["partition"], None), entry(mirrored()["partition"], None), "duplicate", "lines 1 and 3"),
    ],
)
def test_a_partition_is_declared_once(first: Any, second: Any, rule: str, words: str) -> None:
    found = verdict([first, mirrored(9), second], MIRROR)
    assert rules(found) == [(3, rule)]
    assert words in found.diagnostics.items[0].summary
    assert found.offsets is None


def test_the_order_of_keys_makes_no_other_partition() -> None:
    turned = entry(dict(reversed(mirrored()["partition"].items())), {"offset": 5})
    assert rules(verdict([mirrored(), turned], MIRROR)) == [(2, "duplicate")]


NEVER_READ: list[tuple[str, Mapping[str, str], Any]] = [
    ("alias", MIRROR, mirrored(cluster="WRONG")),
    ("shape", MIRROR, mirrored(zone="a")),
    ("file", FILE_SOURCE, read("/data/other.txt")),
    ("type", FILE_SOURCE, read(5)),
    ("server", MYSQL, entry({"server": "other"}, BINLOG)),
    ("shape", MYSQL, entry({"filename": "/data/orders.txt"}, BINLOG)),
    ("type", MYSQL, entry({"server": 5}, BINLOG)),
    ("topic", SINK, sunk("other")),
    ("topic", {**MIRROR, "topics": "orders"}, mirrored(topic="other")),
    (
        "database",
        {**SQL_SERVER, "database.names": "a"},
        entry({"server": "shop", "database": "b"}, {"commit_lsn": LSN}),
    ),
    ("table", INC, entry({"table": "incc"}, {"incrementing": 5})),
    ("task", VITESS, entry({"server": "shop", "task_key": "b"}, {"vgtid": VGTID})),
    ("current-type", OTHER, entry({"shard": "1"}, {"n": 5})),
]


@pytest.mark.parametrize(("rule", "config", "value"), NEVER_READ)
def test_a_partition_that_is_not_read_has_to_be_acknowledged(rule: str, config: Mapping[str, str], value: Any) -> None:
    refused, taken = (verdict([value], config, LIVE, acknowledged=one) for one in (frozenset(), UNREAD))
    for item in refused.diagnostics:
        assert (item.rule, item.severity) == (f"manifest/{rule}", Severity.ERROR)
        assert "if this is intended, add `acknowledge: [unread]`" in item.hint
    assert (refused.offsets, refused.unread) == (None, 1)
    assert [item.summary for item in taken.diagnostics] == [item.summary for item in refused.diagnostics]
    assert {item.severity for item in taken.diagnostics} == {Severity.WARNING}
    assert (taken.offsets, taken.errors) == (offsets(value), 0)


@pytest.mark.parametrize(("rule", "config", "value"), NEVER_READ)
@pytest.mark.parametrize("kind", [OperationKind.ALTER, OperationKind.REPLACE])
def test_a_current_partition_may_be_set_whether_it_is_read_or_not(
    rule: str, config: Mapping[str, str], value: Any, kind: OperationKind
) -> None:
    """The new offset may differ from the current one."""
    current = {**LIVE, **offsets(entry(value["partition"], {"n": 7}))}
    found = verdict([value], config, current, kind=kind)
    assert (found.offsets, rules(found), found.unread) == (offsets(value), [], 0)


@pytest.mark.parametrize(
    ("config", "value"),
    [
        (MIRROR, entry({"cluster": "WRONG", "topic": "orders", "zone": "a"}, {"offset": 5})),
        (MIRROR, mirrored("0", cluster="WRONG")),
        (FILE_SOURCE, entry({"cluster": "source"}, {"position": 5})),
        (SINK, sunk("other", "0")),
        (MIRROR, mirrored(0, -1)),
        (OTHER, entry({"shard": 1}, {"seq": 8})),
        (OTHER, entry({"shard": {}}, {"seq": 8})),
    ],
)
def test_what_connect_refuses_or_is_read_wrongly_is_not_acknowledged(config: Mapping[str, str], value: Any) -> None:
    """Connect would refuse the entry, or the connector would read the partition with a wrong offset."""
    found = verdict([value], config, LIVE, acknowledged=UNREAD)
    assert (found.offsets, found.unread) == (None, 0)
    assert "acknowledge" not in "".join(item.hint for item in found.diagnostics)


def test_hints_say_what_to_write() -> None:
    hints = [
        verdict([value], config).diagnostics.items[0].hint
        for value, config in [
            (mirrored("0"), MIRROR),
            (mirrored(0, 7.0), MIRROR),
            (sunk(topic=5), SINK),
            (entry(SHOP, {**BINLOG, "evnt": 1}), MYSQL),
        ]
    ]
    assert hints == [
        "write 0, without quotes",
        "write 7, without a fraction",
        'write "5", in quotes',
        "did you mean 'event'?",
    ]


POSTGRES_NOW = {"lsn": 600, "lsn_proc": 600, "lsn_commit": 580, "txId": 7, "ts_usec": 5}
MYSQL_NOW = {**BINLOG, "pos": 900, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5", "event": 2, "row": 1}
POSITION = {"file": "mysql-bin.000001", "pos": 900}
LATER = "0000002b:00000c70:0009"
MONGODB_NOW = {"sec": 9, "ord": 1, "resume_token": "82AB"}
Changed = tuple[Mapping[str, str], Mapping[str, Any], Mapping[str, Any], list[str]]

CHANGED: list[Changed] = [
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn": 590}, ["lsn"]),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn": 500}, ["lsn"]),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn": 700}, ["lsn"]),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn": 500, "lsn_proc": 500}, []),
    (POSTGRES, POSTGRES_NOW, {"lsn": 500, "lsn_commit": 580}, []),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn_proc": 590}, []),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "lsn": 700, "lsn_proc": 700}, []),
    (POSTGRES, POSTGRES_NOW, {"lsn": 500}, []),
    (POSTGRES, POSTGRES_NOW, {"lsn": 500, "lsn_proc": None}, []),
    (POSTGRES, POSTGRES_NOW, {**POSTGRES_NOW, "txId": 8}, []),
    (MYSQL, MYSQL_NOW, {**MYSQL_NOW, "pos": 4}, ["pos"]),
    (MYSQL, MYSQL_NOW, {**MYSQL_NOW, **POSITION, "event": 0, "row": 0}, ["file"]),
    ({**MYSQL, "gtid.ignore.on.recovery": "true"}, MYSQL_NOW, {**MYSQL_NOW, **POSITION, "event": 0, "row": 0}, []),
    (MYSQL, MYSQL_NOW, POSITION, []),
    (MYSQL, {**BINLOG, "row": 1, "event": 2}, {**BINLOG, "pos": 90, "row": 1, "event": 2}, []),
    (MYSQL, MYSQL_NOW, {**MYSQL_NOW, "pos": 4, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-4"}, []),
    (SQL_SERVER, {"commit_lsn": LATER, "change_lsn": LSN}, {"commit_lsn": LSN, "change_lsn": LSN}, ["commit_lsn"]),
    (SQL_SERVER, {"commit_lsn": LATER, "change_lsn": "NULL"}, {"commit_lsn": LSN, "change_lsn": "NULL"}, []),
    (SQL_SERVER, {"commit_lsn": LATER, "change_lsn": LSN}, {"commit_lsn": LSN, "change_lsn": None}, []),
    (INFORMIX, {"commit_lsn": "9", "begin_lsn": "7"}, {"commit_lsn": "6", "begin_lsn": "7"}, ["commit_lsn"]),
    (INFORMIX, {"commit_lsn": "9", "begin_lsn": "7"}, {"commit_lsn": "8", "begin_lsn": "7"}, []),
    (ORACLE, {"scn": "90", "commit_scn": "95:1:"}, {"scn": "50", "commit_scn": "95:1:"}, ["scn"]),
    (ORACLE, {"scn": "90", "commit_scn": "95:1:"}, {"scn": "94", "commit_scn": "95:1:"}, []),
    (ORACLE, {"scn": "90", "commit_scn": "95:1:"}, {"scn": "50"}, []),
    (ORACLE, {"scn": "90", "lcr_position": "0a"}, {"scn": "50", "lcr_position": "0a"}, ["scn"]),
    (MONGODB, MONGODB_NOW, {**MONGODB_NOW, "sec": 8}, ["sec"]),
    (MONGODB, MONGODB_NOW, {**MONGODB_NOW, "sec": 8, "ord": 5}, ["sec"]),
    (MONGODB, MONGODB_NOW, {"sec": 8, "ord": 5}, []),
]


@pytest.mark.parametrize(("config", "current", "declared", "fields"), CHANGED)
def test_a_change_that_another_field_makes_ineffective_is_an_error(
    config: Mapping[str, str], current: Mapping[str, Any], declared: Mapping[str, Any], fields: list[str]
) -> None:
    server = {INFORMIX["connector.class"]: "databaseName", MONGODB["connector.class"]: "server_id"}
    partition = {server.get(config["connector.class"], "server"): "shop"}
    existing = offsets(entry(partition, current))
    found = verdict([entry(partition, declared)], config, existing, acknowledged=UNREAD)
    assert [item.rule for item in found.diagnostics] == ["manifest/contradiction"] * len(fields)
    assert all(f"offset.{field} is changed" in str(found.diagnostics.items) for field in fields)
    assert found.errors == len(fields)
    assert rules(verdict([entry(partition, declared)], config)) == []
    assert rules(verdict([entry(partition, current)], config, existing)) == []


def test_a_contradiction_says_what_decides_and_what_to_do() -> None:
    current = offsets(entry(SHOP, POSTGRES_NOW))
    found = verdict([entry(SHOP, {**POSTGRES_NOW, "lsn": 590})], POSTGRES, current).diagnostics.items[0]
    assert found.summary == (
        "offset.lsn is changed from 600 to 590, but lsn_proc stays 600: the connector resumes from lsn_proc"
    )
    assert found.hint == "change lsn_proc, or remove it"


@pytest.mark.parametrize(
    ("config", "value", "meant"),
    [
        (INC, entry({"table": "incc"}, {"incrementing": 1}), "inc"),
        (INC, entry({"table": "order"}, {"incrementing": 1}), "orders"),
        (INC, entry({"protocol": "1", "table": "shop.oders"}, {"incrementing": 1}), "shop.orders"),
        (MIRROR, mirrored(cluster="sorce"), "source"),
        (FILE_SOURCE, read("/data/order.txt"), "/data/orders.txt"),
        (MYSQL, entry({"server": "Shop"}, BINLOG), "shop"),
        (SINK, sunk("invoice"), "invoices"),
        ({**MIRROR, "topics": "orders,b"}, mirrored(topic="order"), "orders"),
        (POSTGRES, entry(SHOP, {"lsn": 5, "messageType": "insert"}), "INSERT"),
        (SINK, sunk("far-fetched"), None),
    ],
)
def test_a_hint_names_what_was_probably_meant(config: Mapping[str, str], value: Any, meant: str | None) -> None:
    (found,) = verdict([value], config).diagnostics
    assert found.hint.startswith("did you mean") == (meant is not None)
    assert meant is None or meant in found.hint.split("?")[0].replace('"', "'").split("'")


def test_every_rule_is_explained_and_documented() -> None:
    page = PAGE.read_text()
    for rule in RULES:
        assert rule in RULE_EXPLANATIONS
        assert f"| [`{rule}`](rules.md#{rule.replace('/', '')}) |" in page


def test_the_page_documents_no_other_rule() -> None:
    assert set(ROW.findall(PAGE.read_text())) == set(RULES)


def test_a_template_is_one() -> None:
    texts = (text for rule in RULES.values() for text in (rule.message, rule.hint))
    names = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
    assert all(name.isidentifier() for name in names)


def test_which_rules_depend_on_the_connector_is_data() -> None:
    ties = {"manifest/alias", "manifest/file", "manifest/server", "manifest/topic"}
    of_the_class = {"manifest/shape", "manifest/type", "manifest/range", "manifest/negative", "manifest/own-schema"}
    assert ties | of_the_class | {"manifest/unknown-field", "manifest/current-type"} <= DEPENDENT <= RULES.keys()


def test_what_is_wrong_with_the_manifest_alone_depends_on_nothing_else() -> None:
    page = PAGE.read_text()
    of_the_file = set(ROW.findall(page.split("## The file")[1].split("## An entry")[0]))
    named = set(
        re.findall(
            r"`(manifest/[a-z-]+)`",
            " ".join(page.split()).split("errors in any case: ")[1].split(" Every other rule")[0],
        )
    )
    assert len(of_the_file) == 8
    assert RULES.keys() - DEPENDENT == of_the_file | named | {"manifest/schema-broken"}
