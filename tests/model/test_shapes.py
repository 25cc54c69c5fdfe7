"""The offset shape of each connector class, and which of two offsets is further."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.model.differences import Direction
from gitops_connect.model.families import FAMILIES
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.model.resume_rules import RESUME_RULES
from gitops_connect.model.shapes import FieldType, Shape, class_names, compare, schema_of, shape_of
from gitops_connect.model.units import Unit

REWIND, FORWARD, SAME, CHANGED = Direction.REWIND, Direction.FORWARD, Direction.SAME, Direction.CHANGED
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def shape(name: str) -> Shape:
    found = shape_of({"connector.class": name})
    assert found is not None
    return found


SINK = shape_of({"connector.class": "com.example.MySink", "topics": "a"})
MYSQL = {"file": "mysql-bin.000009", "pos": 900}
LSN = "0000002b:00000c70:0003"


def token(data: str) -> str:
    """A resume token as Debezium 2 and later store it: BSON in Base64."""
    content = b"\x02_data\0" + (len(data) + 1).to_bytes(4, "little") + data.encode() + b"\0"
    return base64.b64encode((len(content) + 5).to_bytes(4, "little") + content + b"\0").decode()


def shards(*gtids: str) -> str:
    listed = [{"keyspace": "shop", "shard": str(at), "gtid": f"MySQL56/{UUID}:{one}"} for at, one in enumerate(gtids)]
    return json.dumps(listed)


COMPARISONS: list[tuple[str | None, dict[str, Any], dict[str, Any], Direction, int | None]] = [
    ("sink", {"kafka_offset": 5}, {"kafka_offset": 2}, REWIND, 3),
    ("sink", {"kafka_offset": 5}, {"kafka_offset": 9}, FORWARD, 4),
    ("sink", {"kafka_offset": 5}, {"kafka_offset": 5}, SAME, None),
    ("sink", {"kafka_offset": 5}, {"kafka_offset": "9"}, CHANGED, None),
    ("sink", {"kafka_offset": 1}, {"kafka_offset": True}, CHANGED, None),
    ("sink", {"kafka_offset": 1}, {"kafka_offset": 1.0}, CHANGED, None),
    ("sink", {"kafka_offset": 1}, {}, CHANGED, None),
    ("MirrorSource", {"offset": 10}, {"offset": 4}, REWIND, 6),
    ("FileStreamSource", {"position": 10}, {"position": 30}, FORWARD, 20),
    ("FileStreamSource", {"position": 10}, {"position": 10, "more": 1}, CHANGED, None),
    (None, {"a": 1}, {"a": 1}, SAME, None),
    (None, {"a": 1}, {"a": 2}, CHANGED, None),
    ("MySql", MYSQL, {**MYSQL, "pos": 1000}, FORWARD, 100),
    ("MySql", MYSQL, {"file": "mysql-bin.000010", "pos": 4}, FORWARD, None),
    ("MySql", {**MYSQL, "file": "mysql-bin.999999"}, {**MYSQL, "file": "mysql-bin.1000000"}, FORWARD, None),
    ("MySql", MYSQL, {"file": "other-bin.000010", "pos": 4}, CHANGED, None),
    ("MySql", MYSQL, {**MYSQL, "event": 2}, FORWARD, None),
    ("MySql", {**MYSQL, "event": 0}, {**MYSQL, "row": 1}, FORWARD, None),
    ("MySql", MYSQL, {**MYSQL, "ts_sec": 1}, CHANGED, None),
    ("MySql", MYSQL, {**MYSQL, "pos": 1000, "snapshot": "INITIAL"}, CHANGED, None),
    ("MySql", {**MYSQL, "server_id": 1}, {**MYSQL, "pos": 1000, "server_id": 2}, CHANGED, None),
    ("MySql", MYSQL, {**MYSQL, "pos": 1000, "server_id": 2}, FORWARD, 100),
    ("MySql", {**MYSQL, "gtids": f"{UUID}:1-5"}, {**MYSQL, "gtids": f"{UUID}:1-9"}, FORWARD, None),
    ("MySql", {**MYSQL, "gtids": f"{UUID}:1-5"}, {**MYSQL, "gtids": f"{UUID}:1-3,\n{OTHER}:1"}, CHANGED, None),
    ("MySql", {**MYSQL, "gtids": f"{UUID}:1-5,{OTHER}:1"}, {**MYSQL, "gtids": f"{UUID}:1-2:3-4"}, REWIND, None),
    ("MySql", {**MYSQL, "gtids": f"{UUID}:1-5"}, {**MYSQL, "gtids": f"{UUID}:1-2:3-5", "pos": 901}, FORWARD, 1),
    ("MySql", {**MYSQL, "gtids": f"{UUID}:1-5"}, {**MYSQL, "pos": 901}, CHANGED, None),
    ("MySql", {**MYSQL, "gtids": "nonsense"}, {**MYSQL, "gtids": f"{UUID}:1"}, CHANGED, None),
    ("MariaDb", {**MYSQL, "gtids": "0-1-100"}, {**MYSQL, "gtids": "0-2-90"}, REWIND, None),
    ("MariaDb", {**MYSQL, "gtids": "0-1-100"}, {**MYSQL, "gtids": "0-2-110,1-1-1"}, FORWARD, None),
    ("Postgres", {"lsn_proc": 100, "lsn": 110}, {"lsn_proc": 90, "lsn": 110}, REWIND, 10),
    ("Postgres", {"lsn": 110}, {"lsn": 120}, FORWARD, 10),
    ("Postgres", {"lsn": 110}, {"lsn": 120, "lsn_proc": 120}, FORWARD, 10),
    ("Postgres", {"lsn_proc": 600, "lsn": 600, "lsn_commit": 580, "txId": 7}, {"lsn": 500}, REWIND, 100),
    ("Postgres", {"lsn_proc": 600, "lsn": 700}, {"lsn": 650}, FORWARD, 50),
    ("Postgres", {"lsn_proc": 600, "lsn": 700}, {"lsn_proc": 600, "lsn": 100}, CHANGED, None),
    ("Postgres", {"lsn_proc": None, "lsn": 700}, {"lsn_proc": 600, "lsn": 900}, REWIND, 100),
    ("Postgres", {"lsn": 5, "lsn_events_processed": 3}, {"lsn": 5}, REWIND, None),
    ("SqlServer", {"commit_lsn": LSN}, {"commit_lsn": "0000002B:00000c70:0004"}, FORWARD, None),
    ("SqlServer", {"commit_lsn": LSN, "change_lsn": None}, {"commit_lsn": LSN, "change_lsn": LSN}, FORWARD, None),
    ("SqlServer", {"commit_lsn": LSN}, {"commit_lsn": "NULL"}, REWIND, None),
    ("SqlServer", {"commit_lsn": LSN}, {"commit_lsn": "junk"}, CHANGED, None),
    ("SqlServer", {"commit_lsn": LSN, "event_serial_no": 2}, {"commit_lsn": LSN}, REWIND, None),
    ("Oracle", {"scn": "999"}, {"scn": "1000"}, FORWARD, None),
    ("Oracle", {"scn": 999}, {"scn": "998"}, REWIND, None),
    ("Oracle", {"scn": "9", "commit_scn": "9:1:"}, {"scn": "9", "commit_scn": "8:1:"}, CHANGED, None),
    ("Oracle", {"lcr_position": "00"}, {"lcr_position": "01"}, CHANGED, None),
    ("Informix", {"commit_lsn": "9"}, {"commit_lsn": "10"}, FORWARD, None),
    ("Informix", {"commit_lsn": "9", "change_lsn": "NULL"}, {"commit_lsn": "9", "change_lsn": "8"}, FORWARD, None),
    ("Informix", {"commit_lsn": "9"}, {"commit_lsn": 10}, FORWARD, None),
    ("MongoDb", {"sec": 5, "ord": 1}, {"sec": 5, "ord": 0}, REWIND, None),
    (
        "MongoDb",
        {"sec": 5, "ord": 1, "resume_token": "82AB"},
        {"sec": 9, "ord": 1, "resume_token": "82AA"},
        REWIND,
        None,
    ),
    (
        "MongoDb",
        {"sec": 5, "ord": 1, "resume_token": "eyJ="},
        {"sec": 9, "ord": 1, "resume_token": "82AA"},
        CHANGED,
        None,
    ),
    ("MongoDb", {"sec": 5, "ord": 1, "initsync": True}, {"sec": 9, "ord": 1}, CHANGED, None),
    (
        "MongoDb",
        {"sec": 5, "ord": 1, "resume_token": token("82AB")},
        {"sec": 9, "ord": 1, "resume_token": token("82AA")},
        REWIND,
        None,
    ),
    ("MongoDb", {"sec": 5, "ord": 1, "resume_token": token("82AB")}, {"sec": 4, "ord": 1}, REWIND, None),
    ("Vitess", {"vgtid": "[]"}, {"vgtid": "[1]"}, CHANGED, None),
    ("Vitess", {"vgtid": shards("1-5", "1-9")}, {"vgtid": shards("1-5", "1-7")}, REWIND, None),
    ("Vitess", {"vgtid": shards("1-5", "1-9")}, {"vgtid": shards("1-6", "1-9")}, FORWARD, None),
    ("Vitess", {"vgtid": shards("1-5", "1-9")}, {"vgtid": shards("1-6", "1-8")}, CHANGED, None),
    ("Vitess", {"vgtid": shards("1-5", "1-9")}, {"vgtid": shards("1-5")}, CHANGED, None),
    ("Vitess", {"vgtid": shards("1-5")}, {"vgtid": shards("1-2:3-5")}, CHANGED, None),
    ("JdbcSource", {"incrementing": 5}, {"incrementing": 3}, REWIND, 2),
    ("JdbcSource", {"timestamp": 5, "timestamp_nanos": 1}, {"timestamp": 6, "timestamp_nanos": 0}, FORWARD, None),
    ("JdbcSource", {"timestamp": 5}, {"timestamp": 5, "timestamp_nanos": 0}, CHANGED, None),
    ("JdbcSource", {"timestamp": 5, "incrementing": 7}, {"timestamp": 5, "incrementing": 9}, FORWARD, 2),
    ("JdbcSource", {"timestamp": 5}, {"incrementing": 9}, CHANGED, None),
]


@pytest.mark.parametrize(("name", "current", "declared", "direction", "distance"), COMPARISONS)
def test_direction_and_distance(
    name: str | None, current: dict[str, Any], declared: dict[str, Any], direction: Direction, distance: int | None
) -> None:
    found = SINK if name == "sink" else None if name is None else shape(name)
    assert compare(found, current, declared) == (direction, distance)
    opposite = {FORWARD: REWIND, REWIND: FORWARD}.get(direction, direction)
    assert compare(found, declared, current) == (opposite, distance)


numbers = st.integers(-3, 3)
lsns = st.sampled_from([None, "NULL", "junk", LSN, LSN.upper(), "0000002b:00000c70:0004", "0000002b:00000c71:0000"])
VALUES: dict[FieldType, st.SearchStrategy[Any]] = {
    FieldType.LSN: lsns,
    FieldType.BINLOG: st.sampled_from(["a.1", "a.02", "b.1", "a.10", "a", 3]),
    FieldType.GTIDS: st.sampled_from([f"{UUID}:1-5", f"{UUID}:1-3:4-5", f"{UUID}:2", f"{OTHER}:1", "x", "0-1-5", None]),
    FieldType.DIGITS: st.sampled_from(["1", "01", "20", 1, 20, "x", None]),
    FieldType.SEQUENCE: st.sampled_from(["1", "01", "20", "NULL", "null", 20, "x", None]),
    FieldType.TOKEN: st.sampled_from(["82AA", "82aa", "82AABB", "83", token("82AA"), token("83"), "zz", None]),
    FieldType.VGTID: st.sampled_from([shards("1-5"), shards("1-3:4-5"), shards("1-7", "2"), "[]", "x", 3, None]),
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Shape, dict[str, Any], dict[str, Any]]:
    found = draw(st.sampled_from([*FAMILIES.values(), SINK]))
    assert found is not None
    offsets = [
        {
            name: draw(VALUES.get(kind, st.one_of(numbers, st.none(), st.sampled_from([True, 1.0, "1"]))))
            for name, kind in found.offset.types.items()
            if draw(st.booleans())
        }
        for _ in range(2)
    ]
    return found, offsets[0], offsets[1]


@given(pairs())
def test_a_comparison_in_reverse_has_the_opposite_direction(pair: tuple[Shape, dict[str, Any], dict[str, Any]]) -> None:
    found, current, declared = pair
    direction, distance = compare(found, current, declared)
    assert direction in (REWIND, FORWARD, SAME, CHANGED)
    assert compare(found, declared, current) == ({FORWARD: REWIND, REWIND: FORWARD}.get(direction, direction), distance)
    assert (direction is SAME) == (str(sorted(current.items())) == str(sorted(declared.items())))
    assert compare(found, current, current) == (SAME, None)
    if distance is not None:
        assert distance > 0
        assert direction in (FORWARD, REWIND)


@given(st.lists(st.sampled_from([f"m.{n:06}" for n in (1, 2, 9, 10, 11)]), min_size=2), numbers, numbers)
def test_binlogs_are_in_the_order_of_their_numbers(files: list[str], one: int, other: int) -> None:
    first, second = {"file": files[0], "pos": one}, {"file": files[1], "pos": other}
    expected = [(int(offset["file"][2:]), offset["pos"]) for offset in (first, second)]
    direction, _ = compare(shape("MySql"), first, second)
    assert direction is (SAME if expected[0] == expected[1] else FORWARD if expected[0] < expected[1] else REWIND)


@pytest.mark.parametrize("full", FAMILIES)
def test_each_class_is_known_by_all_its_names(full: str) -> None:
    for name in class_names(full):
        assert replace(shape(name), resume=None, unit=FAMILIES[full].unit) == FAMILIES[full]
        assert shape(name).resume == RESUME_RULES[full].of({})


def test_the_unit_of_a_jdbc_source_depends_on_its_mode() -> None:
    units = {}
    for mode in ("incrementing", "timestamp", "timestamp+incrementing"):
        found = shape_of({"connector.class": "JdbcSource", "mode": mode})
        assert found is not None
        units[mode] = found.unit
        assert compare(found, {"timestamp": 1000}, {"timestamp": 7000}) == (FORWARD, 6000 if "time" in mode else None)
        assert compare(found, {"incrementing": 7}, {"incrementing": 9}) == (FORWARD, None if "time" in mode else 2)
    assert list(units.values()) == [Unit.IDS, Unit.TIME, Unit.TIME]


@pytest.mark.parametrize("found", [*FAMILIES.values(), SINK])
def test_a_shape_names_only_its_own_fields(found: Shape) -> None:
    known = set(found.offset.types)
    named = {*found.position, *found.frame, *found.measured, *found.skipped, *found.offset.nullable, *found.if_both}
    named |= {*found.instead, *found.instead.values(), *found.offset.choices, *(found.fraction or ())}
    named |= {name for one in found.contradictions for name in (one.changed, one.kept)}
    assert named | set(found.offset.any_of) <= known
    assert (found.unit is not None) == bool(found.measured)
    assert {tied.field for tied in found.tied} <= {name for fields in found.partitions for name in fields.required}


def test_the_short_name_is_as_connect_prunes_it() -> None:
    names = class_names("org.apache.kafka.connect.file.FileStreamSourceConnector")
    assert names[1:] == ("FileStreamSourceConnector", "FileStreamSource")
    assert class_names("com.example.Outer$InnerConnector")[1:] == ("InnerConnector", "Inner")


def test_a_sink_is_recognized_by_its_topics() -> None:
    assert shape_of({"connector.class": "com.example.Any", "topics.regex": "a.*"}) == SINK
    assert SINK is not None
    assert SINK.unit is Unit.RECORDS
    assert shape_of({"connector.class": "com.example.Any", "topics": " "}) is None
    assert shape_of({"connector.class": "com.example.Any"}) is None
    assert shape_of({}) is None


def test_a_source_with_topics_is_not_a_sink() -> None:
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert shape_of({"connector.class": mirror, "topics": "orders.*"}) == shape(mirror)
    assert shape_of({"connector.class": "com.example.MqttSourceConnector", "topics": "a"}) is None


def test_a_schema_of_the_repository_gives_a_position() -> None:
    schema = OffsetSchema("com.example.CountSource", "offset-schemas/x", {}, ("count",), "steps")
    found = shape_of({"connector.class": "com.example.CountSource"}, schema)
    assert compare(found, {"count": 5}, {"count": 2}) == (REWIND, 3)
    assert compare(found, {"count": "5"}, {"count": "2"}) == (CHANGED, None)
    two = OffsetSchema("com.example.CountSource", "offset-schemas/x", {}, ("epoch", "count"), "steps")
    found = shape_of({"connector.class": "com.example.CountSource"}, two)
    assert compare(found, {"epoch": 2, "count": 2}, {"epoch": 1, "count": 9}) == (REWIND, None)
    bare = OffsetSchema("com.example.CountSource", "offset-schemas/x", {})
    assert shape_of({"connector.class": "com.example.CountSource"}, bare) is None
    assert shape_of({"connector.class": "FileStreamSource"}, schema) == shape("FileStreamSource")
    assert found is not None
    assert found.scale.name == "steps"


def test_a_schema_is_found_by_each_name_of_the_class_unless_two_share_it() -> None:
    one, other = (OffsetSchema(f"com.{name}.MineConnector", "p", {}) for name in ("a", "b"))
    assert schema_of({"connector.class": "com.a.MineConnector"}, {one.class_name: one}) is one
    assert schema_of({"connector.class": "Mine"}, {one.class_name: one}) is one
    assert schema_of({"connector.class": "Mine"}, {one.class_name: one, other.class_name: other}) is None
    assert schema_of({"connector.class": "Other"}, {one.class_name: one}) is None
