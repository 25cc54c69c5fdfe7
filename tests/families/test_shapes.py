"""The offset shape of each connector class, and which of two offsets is further."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from families.case_files import cases
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.families import debezium as positions
from gitops_connect.families.family import Family, class_names
from gitops_connect.families.field_kinds import FieldKind
from gitops_connect.families.jdbc import IDS, TIME
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.families.shapes import Shape, compare
from gitops_connect.families.sinks import ANY_SINK, RECORDS, known_sink
from gitops_connect.model.differences import Direction
from gitops_connect.model.manifests import OffsetSchema

REWIND, FORWARD, SAME, CHANGED = Direction.REWIND, Direction.FORWARD, Direction.SAME, Direction.CHANGED
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def shape(name: str, families: Registry = BUILT_IN, /, **config: str) -> Shape:
    found = families.shape({"connector.class": name, **config})
    assert found is not None
    return found


SHAPES = {name: one.shape for name, one in BUILT_IN.classes.items() if one.shape is not None}
SINK = shape("com.example.MySink", topics="a")
LSN = "0000002b:00000c70:0003"


def token(data: str) -> str:
    """A resume token as Debezium 2 and later store it: BSON in Base64."""
    content = b"\x02_data\0" + (len(data) + 1).to_bytes(4, "little") + data.encode() + b"\0"
    return base64.b64encode((len(content) + 5).to_bytes(4, "little") + content + b"\0").decode()


def shards(*gtids: str) -> str:
    listed = [{"keyspace": "shop", "shard": str(at), "gtid": f"MySQL56/{UUID}:{one}"} for at, one in enumerate(gtids)]
    return json.dumps(listed)


@pytest.mark.parametrize(("name", "current", "declared", "way", "distance"), cases("moves"))
def test_direction_and_distance(
    name: str | None, current: dict[str, Any], declared: dict[str, Any], way: str, distance: int | None
) -> None:
    found, direction = SINK if name == "sink" else None if name is None else shape(name), Direction(way)
    assert compare(found, current, declared) == (direction, distance)
    opposite = {FORWARD: REWIND, REWIND: FORWARD}.get(direction, direction)
    assert compare(found, declared, current) == (opposite, distance)


numbers = st.integers(-3, 3)
lsns = st.sampled_from([None, "NULL", "junk", LSN, LSN.upper(), "0000002b:00000c70:0004", "0000002b:00000c71:0000"])
VALUES: dict[FieldKind, st.SearchStrategy[Any]] = {
    positions.LSN: lsns,
    positions.BINLOG_FILE: st.sampled_from(["a.1", "a.02", "b.1", "a.10", "a", 3]),
    positions.GTIDS: st.sampled_from([f"{UUID}:1-5", f"{UUID}:1-3:4-5", f"{UUID}:2", f"{OTHER}:1", "x", "0-1-5", None]),
    positions.DIGITS: st.sampled_from(["1", "01", "20", 1, 20, "x", None]),
    positions.SEQUENCE: st.sampled_from(["1", "01", "20", "NULL", "null", 20, "x", None]),
    positions.TOKEN: st.sampled_from(["82AA", "82aa", "82AABB", "83", token("82AA"), token("83"), "zz", None]),
    positions.VGTID: st.sampled_from([shards("1-5"), shards("1-3:4-5"), shards("1-7", "2"), "[]", "x", 3, None]),
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Shape, dict[str, Any], dict[str, Any]]:
    found = draw(st.sampled_from(list(SHAPES.values())))
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


@pytest.mark.parametrize("full", SHAPES)
def test_each_class_is_known_by_all_its_names(full: str) -> None:
    known = BUILT_IN.classes[full]
    for name in class_names(full) if known.has_aliases else (full,):
        assert shape(name) == known.shape_for({})
    assert known.resume is not None
    assert replace(shape(full), resume=None, unit=SHAPES[full].unit) == SHAPES[full]


def test_the_unit_of_a_jdbc_source_depends_on_its_mode() -> None:
    units = {}
    for mode in ("incrementing", "timestamp", "timestamp+incrementing"):
        found = shape("JdbcSource", mode=mode)
        units[mode] = found.unit
        assert compare(found, {"timestamp": 1000}, {"timestamp": 7000}) == (FORWARD, 6000 if "time" in mode else None)
        assert compare(found, {"incrementing": 7}, {"incrementing": 9}) == (FORWARD, None if "time" in mode else 2)
    assert list(units.values()) == [IDS, TIME, TIME]


@pytest.mark.parametrize("found", SHAPES.values())
def test_a_shape_names_only_its_own_fields(found: Shape) -> None:
    known = set(found.offset.types)
    named = {*found.position, *found.frame, *found.measured, *found.skipped, *found.offset.nullable, *found.if_both}
    named |= {*found.instead, *found.instead.values(), *found.offset.choices}
    named |= {name for one in found.contradictions for name in (one.changed, one.kept)}
    assert named | set(found.offset.any_of) <= known
    assert (found.unit is not None) == bool(found.measured)
    assert {tied.field for tied in found.tied} <= {name for fields in found.partitions for name in fields.required}


def test_the_short_name_is_as_connect_prunes_it() -> None:
    names = class_names("org.apache.kafka.connect.file.FileStreamSourceConnector")
    assert names[1:] == ("FileStreamSourceConnector", "FileStreamSource")
    assert class_names("com.example.Outer$InnerConnector")[1:] == ("InnerConnector", "Inner")


def test_a_sink_is_recognized_by_its_topics() -> None:
    assert shape("com.example.Any", **{"topics.regex": "a.*"}) == SINK
    assert SINK.unit is RECORDS
    assert BUILT_IN.shape({"connector.class": "com.example.Any", "topics": " "}) is None
    assert BUILT_IN.shape({"connector.class": "com.example.Any"}) is None
    assert BUILT_IN.shape({}) is None
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert shape(mirror, topics="orders.*") == shape(mirror)
    assert BUILT_IN.shape({"connector.class": "com.example.MqttSourceConnector", "topics": "a"}) is None


def with_schema(class_name: str, *position: str) -> Shape | None:
    schema = OffsetSchema("com.example.CountSource", "offset-schemas/x", {}, position, "steps")
    return BUILT_IN.with_schemas({schema.class_name: schema}).shape({"connector.class": class_name})


def test_a_schema_of_the_repository_gives_a_position() -> None:
    found = with_schema("com.example.CountSource", "count")
    assert compare(found, {"count": 5}, {"count": 2}) == (REWIND, 3)
    assert compare(found, {"count": "5"}, {"count": "2"}) == (CHANGED, None)
    found = with_schema("com.example.CountSource", "epoch", "count")
    assert compare(found, {"epoch": 2, "count": 2}, {"epoch": 1, "count": 9}) == (REWIND, None)
    assert with_schema("com.example.CountSource") is None
    assert with_schema("FileStreamSource", "count") == shape("FileStreamSource")
    assert found is not None
    assert found.scale.name == "steps"


def test_a_schema_is_found_by_each_name_of_the_class_unless_two_share_it() -> None:
    one, other = (OffsetSchema(f"com.{name}.MineConnector", "p", {}) for name in ("a", "b"))

    def found(name: str, *schemas: OffsetSchema) -> OffsetSchema | None:
        return BUILT_IN.with_schemas({each.class_name: each for each in schemas}).schema({"connector.class": name})

    assert found("com.a.MineConnector", one) is one
    assert found("Mine", one) is one
    assert found("Mine", one, other) is None
    assert found("Other", one) is None


def test_a_simple_name_that_two_different_classes_have_means_neither() -> None:
    other = BUILT_IN.classes["org.apache.kafka.connect.file.FileStreamSourceConnector"]
    families = BUILT_IN.with_family(Family(1, "other", {"com.example.PostgresConnector": other}), "a package")
    assert families.shape({"connector.class": "PostgresConnector"}) is None
    assert shape("com.example.PostgresConnector", families).name == "FileStreamSourceConnector"
    assert shape("JdbcSource", families) == shape("JdbcSource"), "both classes have this shape"


def test_a_simple_name_that_two_sinks_have_means_any_sink_if_they_resume_at_different_positions() -> None:
    hdfs = BUILT_IN.classes["io.confluent.connect.hdfs.HdfsSinkConnector"]
    config = {"connector.class": "HdfsSinkConnector", "topics": "a"}
    assert BUILT_IN.of(config) is hdfs
    same = BUILT_IN.with_family(Family(1, "same", {"com.example.HdfsSinkConnector": hdfs}), "a package")
    assert same.of(config) is hdfs
    other = BUILT_IN.with_family(Family(1, "other", {"com.example.HdfsSinkConnector": known_sink()}), "a package")
    assert other.of(config) is ANY_SINK
    for name in ("S3SinkConnector", "GcsSink", "IcebergSinkConnector", "FileStreamSink"):
        assert BUILT_IN.of({"connector.class": name, "topics": "a"}) is ANY_SINK
