"""Config keys that a plugin's validation does not define."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import yaml
from offsets.rules.debezium import DEFINED, POSTGRES
from support.planner.situations import DOCUMENT, wanted

from gitops_connect.checks.unknown_keys import FRAMEWORK, unknown_keys
from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.names import ConnectorName

BASE = {
    "connector.class": POSTGRES,
    "topic.prefix": "shop",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "${file:/run/db:password}",
    "database.dbname": "shop",
}
KEYS = yaml.safe_load(Path(__file__).with_name("unknown_keys.yaml").read_text())
NAME = ConnectorName("orders")
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


def reported(
    config: Mapping[str, str], *more: str, defined: Iterable[str] = DEFINED, allow: tuple[str, ...] = ()
) -> list[Diagnostic]:
    connector = wanted("orders", config={**BASE, **config}, allow_unknown_keys=allow)
    return list(unknown_keys(connector, ConfigVerdict(defined=frozenset(defined) | set(more)), BUILT_IN))


def test_a_misspelt_key_is_a_warning_that_suggests_a_key() -> None:
    [warning] = reported({"table.includes.list": "public.orders"})
    assert (warning.rule, warning.severity) == ("connect/unknown-key", Severity.WARNING)
    assert warning.summary == (f"unknown config key 'table.includes.list': {POSTGRES} does not define it")
    assert warning.hint.startswith("did you mean 'table.include.list'? ")
    assert "{gitops-connect/allow-unknown-keys: table.includes.list}" in warning.hint


@pytest.mark.parametrize(("key", "meant"), KEYS["misspelt"].items())
def test_the_suggested_key(key: str, meant: str) -> None:
    [warning] = reported({key: "x"})
    assert warning.hint.startswith(f"did you mean {meant!r}? ")


def test_a_key_that_is_already_set_is_not_suggested() -> None:
    [warning] = reported({"table.includes.list": "x", "table.include.list": "y", "table.exclude.list": "z"})
    assert "'table.include.list'" not in warning.hint


@pytest.mark.parametrize("key", KEYS["read"])
def test_keys_that_are_read_without_being_defined(key: str) -> None:
    assert reported({key: "x"}) == []


def test_keys_that_debezium_reads_are_not_read_by_others() -> None:
    found = reported({"connector.class": "org.example.Other", "driver.socketTimeout": "1", "my.key": "1"})
    assert len(found) == 2
    for name in (POSTGRES, "PostgresConnector", "Postgres"):
        assert reported({"connector.class": name, "driver.socketTimeout": "1"}) == []


def test_converters_and_post_processors_of_debezium_are_listed() -> None:
    listed = {"converters": "isbn, zip", "isbn.type": "X", "zip.type": "Y", "post.processors": "p"}
    assert reported({**listed, "p.type": "Z", "post.processors.p.type": "Z"}) == []
    assert len(reported({"isbn.type": "X"})) == 1


def test_a_transform_that_is_not_listed_is_never_read() -> None:
    [warning] = reported({"transforms": "unwrap", "transforms.unwarp.type": "X"}, "transforms.unwrap.type")
    assert warning.summary == "unknown config key 'transforms.unwarp.type': 'transforms' does not list 'unwarp'"
    assert warning.hint.startswith("did you mean 'transforms.unwrap.type'? ")
    [warning] = reported({"topic.creation.compact.partitions": "1"})
    assert "'topic.creation.groups' does not list 'compact'" in warning.summary
    assert reported({"topic.creation.groups": "compact", "topic.creation.compact.partitions": "1"}) == []


def test_a_misspelt_key_of_a_transform() -> None:
    config = {"transforms": "unwrap", "transforms.unwrap.type": "X"}
    keys = ("transforms.unwrap.type", "transforms.unwrap.drop.tombstones")
    [warning] = reported({**config, "transforms.unwrap.drop.tombstone": "1"}, *keys)
    assert warning.hint.startswith("did you mean 'transforms.unwrap.drop.tombstones'? ")
    assert warning.summary.endswith("'transforms.unwrap.drop.tombstone': X does not define it")
    [warning] = reported({**config, "transforms.unwrap.other": "1"}, *keys)
    assert "did you mean" not in warning.hint


def test_a_transform_that_is_missing_or_defines_nothing_accepts_any_key() -> None:
    config = {"transforms": "unwrap", "transforms.unwrap.type": "X", "transforms.unwrap.any": "1"}
    assert reported(config) == []
    assert reported(config, "transforms.unwrap.type", "transforms.unwrap.plugin.version") == []


def test_keys_that_a_transform_of_debezium_reads_without_defining_them() -> None:
    state = "io.debezium.transforms.ExtractNewRecordState"
    config = {"transforms": "u", "transforms.u.type": state, "transforms.u.replace.null.with.default": "false"}
    keys = ("transforms.u.type", "transforms.u.route.by.field")
    assert reported(config, *keys) == []
    assert len(reported({**config, "transforms.u.type": "org.example.Other"}, *keys)) == 1


def test_mirror_maker_passes_keys_on_to_its_clients() -> None:
    defined = FRAMEWORK | {"source.cluster.alias", "target.cluster.alias", "topics", "replication.factor"}
    config = {
        "connector.class": MIRROR,
        "source.cluster.bootstrap.servers": "a:1",
        "target.cluster.security.protocol": "SSL",
        "source.consumer.isolation.level": "read_committed",
        "consumer.max.poll.records": "1",
        # Every connector of a mirror has the patterns of the mirror.
        **dict.fromkeys(("groups", "groups.exclude", "prometheus.metrics.reporter.listener.enable"), "x"),
    }
    connector = DesiredConnector(NAME, TargetState.RUNNING, {**config, "replication.facto": "1"}, DOCUMENT)
    [warning] = unknown_keys(connector, ConfigVerdict(defined=defined), BUILT_IN)
    assert warning.hint.startswith("did you mean 'replication.factor'? ")


def test_a_plugin_that_defines_no_key_of_its_own_accepts_any_key() -> None:
    assert reported({"my.own": "1", "tasks.maximum": "1"}, defined=FRAMEWORK) == []
    assert reported({"my.own": "1"}, defined=()) == []
    others = ("transforms.a.type", "transforms.a.field", "key.converter.schemas.enable", "producer.override.acks")
    assert reported({"my.own": "1"}, *others, defined=FRAMEWORK) == []


def test_a_plugin_that_reads_more_than_it_defines_gets_warnings_for_similar_keys_only() -> None:
    config = {"connector.class": "org.example.Camel", **{f"camel.{name}": "1" for name in "abcdefgh"}}
    assert [item.summary.split("'")[1] for item in reported({**config, "slot.nam": "x"})] == ["slot.nam"]


def test_a_key_that_the_document_allows() -> None:
    assert reported({"my.key": "1", "other.key": "2"}, allow=("my.key", "other.*")) == []


def test_an_allowance_that_matches_nothing_is_reported() -> None:
    [warning] = reported({"my.key": "1"}, allow=("my.*", "typo.*"))
    assert (warning.rule, warning.severity) == ("connect/unused-allowance", Severity.WARNING)
    assert "'typo.*'" in warning.summary
    [warning] = reported({"slot.name": "x"}, allow=("slot.name",))
    assert "'slot.name'" in warning.summary
