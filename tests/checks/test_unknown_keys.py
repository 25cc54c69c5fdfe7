"""Config keys that a plugin's validation does not define."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from support.files.tables import rows, table
from support.planner.situations import DOCUMENT, wanted

from gitops_connect.checks.unknown_keys import FRAMEWORK, unknown_keys
from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.names import ConnectorName

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
BASE = {"connector.class": POSTGRES, **table(__file__, "base")}
DEFINED = (FRAMEWORK - {"topics", "topics.regex"}) | {*rows(__file__, "defined")}
CASES = table(__file__, "cases")
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


@pytest.mark.parametrize(("key", "meant"), table(__file__, "misspelt").items())
def test_the_suggested_key(key: str, meant: str) -> None:
    [warning] = reported({key: "x"})
    assert warning.hint.startswith(f"did you mean {meant!r}? ")


def test_a_key_that_is_already_set_or_not_similar_is_not_suggested() -> None:
    [warning] = reported({"table.includes.list": "x", "table.include.list": "y", "table.exclude.list": "z"})
    assert "'table.include.list'" not in warning.hint
    transform = {"transforms": "unwrap", "transforms.unwrap.type": "X", "transforms.unwrap.other": "1"}
    [warning] = reported(transform, "transforms.unwrap.type", "transforms.unwrap.drop.tombstones")
    assert "did you mean" not in warning.hint


@pytest.mark.parametrize("key", rows(__file__, "read"))
def test_keys_that_are_read_without_being_defined(key: str) -> None:
    assert reported({key: "x"}) == []


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_keys_are_unknown(case: dict[str, Any]) -> None:
    defined = {"debezium": DEFINED, "framework": FRAMEWORK, "nothing": ()}[case.get("plugin", "debezium")]
    found = reported(case["config"], *case.get("defined", ()), defined=defined, allow=(*case.get("allow", ()),))
    for warning, texts in zip(found, case["warnings"], strict=True):
        for text in texts:
            assert text in f"{warning.rule}: {warning.summary}: {warning.hint}"
            assert warning.severity is Severity.WARNING


@pytest.mark.parametrize("name", [MIRROR, MIRROR.replace("Source", "Checkpoint"), "MirrorHeartbeat"])
def test_mirror_maker_passes_keys_on_to_its_clients(name: str) -> None:
    defined = FRAMEWORK | {"source.cluster.alias", "target.cluster.alias", "topics", "replication.factor"}
    config = {
        "connector.class": name,
        "source.cluster.bootstrap.servers": "a:1",
        "target.cluster.security.protocol": "SSL",
        "source.consumer.isolation.level": "read_committed",
        "consumer.max.poll.records": "1",
        # The connectors of a mirror often have the same config, in which each has keys of its own.
        **dict.fromkeys(("groups", "groups.exclude", "prometheus.metrics.reporter.listener.enable"), "x"),
        **dict.fromkeys(("sync.topic.acls.enabled", "emit.heartbeats.enabled", "refresh.groups.enabled"), "true"),
    }
    connector = DesiredConnector(NAME, TargetState.RUNNING, {**config, "replication.facto": "1"}, DOCUMENT)
    [warning] = unknown_keys(connector, ConfigVerdict(defined=defined), BUILT_IN)
    assert warning.hint.startswith("did you mean 'replication.factor'? ")
