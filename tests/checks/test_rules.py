"""Each rule for the entries of a manifest: what breaks it, at which line, in which words; and what does not."""

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

from gitops_connect.checks.rules import RULES
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import OperationKind
from gitops_connect.report.rules import rule_ids

PAGE = Path(__file__).parents[2] / "docs" / "rules-of-manifests.md"

MYSQL = {"connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "shop"}
POSTGRES = {"connector.class": "PostgresConnector", "database.server.name": "shop"}
SQL_SERVER = {"connector.class": "SqlServer", "topic.prefix": "shop"}
ORACLE = {"connector.class": "Oracle", "topic.prefix": "shop"}
MONGODB = {"connector.class": "MongoDb", "topic.prefix": "shop"}
JDBC = {"connector.class": "io.aiven.connect.jdbc.JdbcSourceConnector"}
CHECKPOINT = {"connector.class": "MirrorCheckpoint"}
HEARTBEAT = {"connector.class": "MirrorHeartbeat", "source.cluster.alias": "eu", "target.cluster.alias": "us"}
SHOP = {"server": "shop"}
BINLOG = {"file": "mysql-bin.000003", "pos": 4}
ZERO = {"offset": 0}
LSN = "0000002b:00000c70:0003"

Case = tuple[str, Mapping[str, str], Any, str]

WRONG: list[Case] = [
    ("entry", MIRROR, [], "this entry is a list, expected a mapping with a partition and an offset"),
    ("entry", OTHER, "text", 'this entry is the text "text", expected'),
    ("no-partition", MIRROR, {"offset": {"offset": 1}}, "this entry has no partition"),
    ("no-partition", SINK, entry(None, {"kafka_offset": 1}), "this entry has no partition"),
    ("no-offset", MIRROR, {"partition": mirrored()["partition"]}, "this entry has no offset"),
    (
        "shape",
        MIRROR,
        entry({"cluster": "source", "topic": "a"}, {"offset": 1}),
        "the partition has no field partition",
    ),
    ("shape", MIRROR, mirrored(zone="a"), 'the partition has a field "zone" that is not looked for'),
    (
        "shape",
        MIRROR,
        entry({"cluster": "source", "topc": "a", "partition": 0}, {"offset": 1}),
        'the partition has a field "topc" where "topic" is expected',
    ),
    ("shape", MIRROR, entry(mirrored()["partition"], {}), "the offset has no field offset"),
    ("shape", FILE_SOURCE, entry({"filename": "/data/orders.txt"}, {"positon": 4}), '"positon" where "position"'),
    ("shape", SINK, entry({"kafka_topic": "orders"}, {"kafka_offset": 1}), "has no field kafka_partition"),
    ("shape", MYSQL, entry(SHOP, {"file": "a.1"}), "the offset has no field pos"),
    (
        "shape",
        SQL_SERVER,
        entry({"server": "shop", "databse": "a"}, {"commit_lsn": LSN}),
        'a field "databse" that is not looked for',
    ),
    ("shape", JDBC, entry({"table": "a"}, {"timestamp_nanos": 1}), "has no field incrementing or timestamp"),
    ("shape", JDBC, entry({"tabel": "a"}, {"incrementing": 1}), '"tabel" where "table"'),
    ("shape", CHECKPOINT, entry({"cluster": "source", "topic": "a", "partition": 0}, {"offset": 0}), ""),
    ("type", MIRROR, mirrored("zero"), 'partition.partition is the text "zero", expected a whole number from 0 to'),
    ("type", MIRROR, mirrored(True), "partition.partition is true, expected"),
    ("type", MIRROR, mirrored(0, 1.0), "offset.offset is the number 1.0, expected a whole number of 0 or more"),
    ("type", MIRROR, mirrored(0, None), "offset.offset is null, expected a whole number"),
    ("type", MIRROR, mirrored(topic=7), "partition.topic is the number 7, expected a text"),
    ("type", MIRROR, entry("text", {"offset": 1}), 'partition is the text "text", expected a mapping'),
    ("type", MIRROR, entry(mirrored()["partition"], 5), "offset is the number 5, expected a mapping"),
    ("type", MIRROR, mirrored(topic=["a"]), "partition.topic is a list, expected a text"),
    ("type", OTHER, entry({"a": {"b": 1}}, {}), "partition.a is a mapping, expected a text, a number, true or false"),
    ("type", OTHER, entry({}, {"a": [1]}), "offset.a is a list, expected"),
    ("type", SINK, sunk(topic=5), "partition.kafka_topic is the number 5, expected a text"),
    ("type", SINK, sunk(partition="0"), 'partition.kafka_partition is the text "0", expected'),
    ("type", FILE_SOURCE, read(position="x"), 'offset.position is the text "x", expected'),
    ("type", MYSQL, entry(SHOP, {**BINLOG, "file": "binlog"}), "expected a text that ends in a dot and a number"),
    ("type", SQL_SERVER, entry(SHOP, {"commit_lsn": "0x2b"}), "expected a text as 0000002b:00000c70:0003"),
    ("type", ORACLE, entry(SHOP, {"scn": "12a"}), "expected a whole number in quotes"),
    ("type", POSTGRES, entry(SHOP, {"lsn": 5, "last_snapshot_record": "true"}), "expected true or false"),
    ("negative", MIRROR, mirrored(-1), "partition.partition is -1, expected 0 or more"),
    ("negative", SINK, sunk(offset=-5), "offset.kafka_offset is -5, expected 0 or more"),
    ("range", SINK, sunk(offset=2**63), "offset.kafka_offset is 9223372036854775808, expected at most"),
    ("range", SINK, sunk(partition=2**31), "is 2147483648, expected at most 2147483647 (32 bits)"),
    ("range", MIRROR, mirrored(2**31), "expected at most 2147483647 (32 bits)"),
    ("range", OTHER, entry({}, {"a": -(2**63) - 1}), "offset.a is -9223372036854775809, expected at most"),
    ("range", OTHER, entry({}, {"a": 10**5000}), "offset.a is a number of 16610 bits, expected at most"),
    ("range", CHECKPOINT, entry({"group": "g", "topic": "a", "partition": 0}, {"offset": 7}), "is 7, expected 0, as"),
    ("value", MIRROR, mirrored(topic="\ud800"), "partition.topic cannot be written as JSON"),
    ("value", OTHER, entry({"\udfff": 1}, {}), "half a character"),
    ("value", OTHER, entry({}, {"a": float("nan")}), "offset.a cannot be written as JSON: nan"),
    ("value", OTHER, entry({}, {"a": float("inf")}), "offset.a cannot be written as JSON: inf"),
    ("value", OTHER, entry({}, {1: 2}), "offset.1 cannot be written as JSON"),
    ("alias", MIRROR, mirrored(cluster="WRONG"), 'partition.cluster is "WRONG", and the connector\'s source.cluster.a'),
    ("alias", {**MIRROR, "source.cluster.alias": "eu"}, mirrored(), 'source.cluster.alias is "eu"'),
    (
        "alias",
        HEARTBEAT,
        entry({"sourceClusterAlias": "eu", "targetClusterAlias": "target"}, {"offset": 0}),
        'partition.targetClusterAlias is "target", and the connector\'s target.cluster.alias is "us"',
    ),
    (
        "file",
        FILE_SOURCE,
        read("/data/other.txt"),
        'partition.filename is "/data/other.txt", and the connector\'s file',
    ),
    (
        "server",
        MYSQL,
        entry({"server": "other"}, BINLOG),
        'partition.server is "other", and the connector\'s topic.pre',
    ),
    ("server", POSTGRES, entry({"server": "a"}, {"lsn": 1}), 'database.server.name is "shop"'),
    ("server", MONGODB, entry({"server_id": "a"}, {"sec": 1, "ord": 1}), "partition.server_id"),
    ("topic", SINK, sunk("other"), 'partition.kafka_topic is "other", which the sink does not read: its topics is'),
    ("topic", {"connector.class": "S", "topics.regex": "o.*"}, sunk("invoices"), 'its topics.regex is "o.*"'),
    ("unknown-field", MIRROR, {**mirrored(), "note": 1}, '"note" is no field of an entry'),
    ("unknown-field", MIRROR, entry(mirrored()["partition"], {"offset": 1, "extra": 2}), "offset.extra is no field of"),
    (
        "unknown-field",
        SINK,
        entry({**sunk()["partition"], "x": [1]}, {"kafka_offset": 1}),
        "partition.x is no field of",
    ),
    ("unknown-field", MYSQL, entry(SHOP, {**BINLOG, "evnt": 1}), "offset.evnt is no field of Debezium for MySQL"),
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
    (JDBC, entry({"query": "query"}, {"timestamp": -5, "timestamp_nanos": 1})),
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


@pytest.mark.parametrize(("config", "value"), [(config, value) for _, config, value, _ in WRONG])
def test_one_mistake_is_said_once(config: Mapping[str, str], value: Any) -> None:
    found = verdict([value], config)
    expected = 2 if config is CHECKPOINT and "cluster" in value["partition"] else 1
    assert len(found.diagnostics) == expected, [item.summary for item in found.diagnostics]


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


def test_a_field_that_stands_in_the_live_offsets_is_known() -> None:
    live = offsets(entry(SHOP, {**BINLOG, "new_in_9": 1}))
    assert rules(verdict([entry(SHOP, {**BINLOG, "new_in_9": 2})], MYSQL, live)) == []
    assert rules(verdict([entry(SHOP, {**BINLOG, "new_in_9": "2"})], MYSQL, live)) == [(1, "live-type")]


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
def test_types_are_those_that_stand(partition: Any, offset: Any, fields: list[str]) -> None:
    found = verdict([entry(partition, offset)], OTHER, LIVE)
    assert [item.rule for item in found.diagnostics] == ["manifest/live-type"] * len(fields)
    assert [item.summary.split()[0] for item in found.diagnostics] == fields


def test_the_message_of_a_live_type_says_both() -> None:
    (problem,) = verdict([entry({"shard": "1"}, {})], OTHER, LIVE).diagnostics
    expected = 'partition.shard is the text "1", and among the offsets that stand it is a whole number'
    assert problem.summary == expected


def test_where_the_class_gives_the_type_wrong_offsets_that_stand_do_not_matter() -> None:
    live = offsets(entry({"cluster": "source", "topic": "orders", "partition": "0"}, {"offset": "9"}))
    assert rules(verdict([mirrored()], MIRROR, live)) == []


def test_numbers_as_they_stand_where_the_class_takes_both() -> None:
    live = offsets(entry(SHOP, {"scn": "100"}))
    assert rules(verdict([entry(SHOP, {"scn": 99})], ORACLE, live)) == [(1, "live-type")]
    assert rules(verdict([entry(SHOP, {"scn": "99"})], ORACLE, live)) == []


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
def test_a_partition_stands_once(first: Any, second: Any, rule: str, words: str) -> None:
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
    ("live-type", OTHER, entry({"shard": "1"}, {"n": 5})),
]


@pytest.mark.parametrize(("rule", "config", "value"), NEVER_READ)
def test_a_partition_that_is_not_read_has_to_be_acknowledged(rule: str, config: Mapping[str, str], value: Any) -> None:
    refused, taken = (verdict([value], config, LIVE, acknowledged=one) for one in (frozenset(), UNREAD))
    for item in refused.diagnostics:
        assert (item.rule, item.severity) == (f"manifest/{rule}", Severity.ERROR)
        assert "if that is meant, add `acknowledge: [unread]`" in item.hint
    assert (refused.offsets, refused.unread) == (None, 1)
    assert [item.summary for item in taken.diagnostics] == [item.summary for item in refused.diagnostics]
    assert {item.severity for item in taken.diagnostics} == {Severity.WARNING}
    assert (taken.offsets, taken.errors) == (offsets(value), 0)


@pytest.mark.parametrize(("rule", "config", "value"), NEVER_READ)
@pytest.mark.parametrize("kind", [OperationKind.ALTER, OperationKind.REPLACE])
def test_a_partition_that_stands_may_be_set_whether_it_is_read_or_not(
    rule: str, config: Mapping[str, str], value: Any, kind: OperationKind
) -> None:
    """Also with another offset than the one that stands."""
    live = {**LIVE, **offsets(entry(value["partition"], {"n": 7}))}
    found = verdict([value], config, live, kind=kind)
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
    """Connect does not take it, or the connector reads the partition and its offset would be wrong."""
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
        "is 'event' meant?",
    ]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_explained_and_documented(rule: str) -> None:
    assert rule in rule_ids()
    assert f"## `{rule}`" in PAGE.read_text()


def test_the_page_documents_no_other_rule() -> None:
    assert set(re.findall(r"^## `(.*)`$", PAGE.read_text(), re.MULTILINE)) == set(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_template_is_one(rule: Any) -> None:
    names = {name for text in (rule.message, rule.hint) for _, name, _, _ in string.Formatter().parse(text) if name}
    assert all(name.isidentifier() for name in names)
