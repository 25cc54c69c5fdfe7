"""What decides where a connector of each class resumes: the rules, and which of them apply to a config and a change."""

from __future__ import annotations

import pytest
from support.files.tables import rows

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.resume import ResumeCondition, ResumeRules, one_of
from gitops_connect.families.sinks import ANY_SINK
from gitops_connect.model.differences import Direction, ResumeAspect, ResumeLine

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
REWIND, FORWARD, NEW, REMOVED = Direction.REWIND, Direction.FORWARD, Direction.NEW, Direction.REMOVED
RULES = {name: one.resume for name, one in BUILT_IN.classes.items() if one.resume is not None}


def lines(class_name: str, *directions: Direction, **config: str) -> tuple[ResumeLine, ...]:
    given = {key.replace("_", "."): value for key, value in config.items()}
    shape = BUILT_IN.shape({"connector.class": class_name, **given})
    assert shape is not None
    assert shape.resume is not None
    return shape.resume.lines(directions)


def test_the_effect_of_a_rewind_of_postgresql_depends_on_its_config() -> None:
    def risks(**config: str) -> str:
        return " ".join(line.message for line in lines(POSTGRES, REWIND, **config) if line.aspect is ResumeAspect.RISK)

    assert "the task fails" in risks()
    assert "takes a new snapshot" in risks(snapshot_mode="when_needed")
    assert "the task fails" not in risks(snapshot_mode="when_needed")
    assert "starts at the slot's position" in risks(offset_mismatch_strategy="trust_slot")
    assert "the task fails" not in risks(lsn_flush_mode="manual")
    for config in ({}, {"flush_lsn_source": "false"}, {"lsn_flush_mode": "manual"}):
        assert "an unchanged `lsn_commit` skips the transactions up to that LSN" in risks(**config)
        assert "no row is read again" not in risks(**config)


@pytest.mark.parametrize(("class_name", "direction", "config", "external"), rows(__file__, "external"))
def test_an_acknowledgement_is_asked_for_only_if_the_offset_alone_does_not_decide(
    class_name: str, direction: str, config: dict[str, str], external: bool
) -> None:
    assert any(line.external for line in lines(class_name, Direction(direction), **config)) is external


def test_only_rules_that_concern_the_moves_are_listed_and_each_once() -> None:
    assert lines(POSTGRES) == ()
    assert lines(POSTGRES, Direction.SAME) == ()
    both = lines(POSTGRES, REWIND, FORWARD)
    assert set(both) == {*lines(POSTGRES, REWIND), *lines(POSTGRES, FORWARD)}
    assert len(both) == len(set(both))
    assert [line.aspect for line in both] == sorted([line.aspect for line in both], key=list(ResumeAspect).index)


def test_which_lines_a_sink_has_depends_on_where_it_stores_its_position() -> None:
    def said(class_name: str, *directions: Direction, **config: str) -> str:
        return " ".join(line.message for line in lines(class_name, *directions, topics="a", **config))

    retention = "the topic must still have the records"
    assert retention in said("io.confluent.connect.s3.S3SinkConnector", REWIND)
    assert "of another name contains the records a second time" in said(
        "io.confluent.connect.s3.S3SinkConnector", REWIND
    )
    assert retention in said("org.apache.iceberg.connect.IcebergSinkConnector", REWIND)
    assert retention in said("SnowflakeSinkConnector", REWIND)
    assert retention not in said("SnowflakeSinkConnector", REWIND, snowflake_ingestion_method="SNOWPIPE_STREAMING")
    assert "another name and these offsets" in said("SnowflakeStreamingSinkConnector", REMOVED)
    migrated = said("SnowflakeStreamingSinkConnector", REMOVED, snowflake_streaming_classic_offset_migration="strict")
    assert "the token of the channel of version 3 decides" in migrated
    assert "another name and these offsets" not in migrated
    assert "the first record" not in said("HdfsSinkConnector", REMOVED)


def test_an_offset_of_unknown_direction_may_move_either_way() -> None:
    assert lines(POSTGRES, Direction.CHANGED) == lines(POSTGRES, REWIND, FORWARD)


@pytest.mark.parametrize("rules", [*RULES.values(), ANY_SINK.resume])
def test_every_rule_can_be_met(rules: ResumeRules) -> None:
    for rule in rules.rules:
        config = {}
        for condition in rule.when:
            key, values = condition.keys[0]
            if not condition.negated:
                config[key] = sorted(values)[0]
        met = rules.of(config).rules
        assert rule.message in [one.message for one in met]
        assert rule.directions
        assert not rule.message.endswith(".")


def test_the_first_key_of_a_config_decides_and_an_empty_one_is_none() -> None:
    condition = ResumeCondition((("new", frozenset({"a"})), ("old", frozenset({"b"}))), default=True)
    assert condition.holds({})
    assert condition.holds({"new": " A "})
    assert condition.holds({"new": "", "old": "B"})
    assert not condition.holds({"new": "x", "old": "b"})
    assert not (~condition).holds({})
    assert not one_of("k", "v").holds({})


def test_which_classes_need_a_warning_after_a_change_that_they_did_not_check() -> None:
    assert {name.rpartition(".")[2] for name, rules in RULES.items() if rules.unchecked} == {
        "PostgresConnector",
        "HdfsSinkConnector",
        "IcebergSinkConnector",
        "SnowflakeSinkConnector",
        "SnowflakeStreamingSinkConnector",
    }
    assert not RULES["org.apache.iceberg.connect.IcebergSinkConnector"].unchecked
    other = BUILT_IN.shape({"connector.class": "org.example.AnySink", "topics": "a"})
    assert other is not None
    assert other.resume is not None
    assert "may also store its position elsewhere" in other.resume.unchecked
