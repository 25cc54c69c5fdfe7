"""What a new value of a config key means for the offsets of each class. For renamed connectors see cases/plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from families.case_files import cases
from support.files.tables import rows
from support.planner.situations import change, current_offsets, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, OffsetEffect, Plan
from gitops_connect.plan import offset_effects
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
SINK_CLASS = "org.example.Sink"
Config = Mapping[str, str]


def configured(plugin: str, before: Config, after: Config, **more: list[str]) -> Plan:
    desired = wanted("orders", config={"connector.class": plugin, **after}, **more)
    return plan(situation([desired], [seen("orders", config={"connector.class": plugin, **before})], owned=["orders"]))


def effects(plugin: str, before: Config, after: Config, **more: list[str]) -> list[OffsetEffect]:
    return [one for step in configured(plugin, before, after, **more).steps for one in step.offset_effects]


def messages(plugin: str, before: Config, after: Config) -> list[str]:
    return [one.message for one in effects(plugin, before, after)]


SHOP, NEW = {"topic.prefix": "shop"}, {"topic.prefix": "shopnew"}


@pytest.mark.parametrize(("plugin", "before", "after", "effects"), cases("effects"))
def test_another_value_of_a_config_key(plugin: str, before: Config, after: Config, effects: list[str]) -> None:
    assert messages(plugin, before, after) == effects


@pytest.mark.parametrize("case", rows(__file__, "stores"))
def test_where_the_offsets_of_a_source_are_read(case: Mapping[str, Any]) -> None:
    desired = wanted("orders", config={"connector.class": "org.example.Source", **case["after"]})
    there = seen("orders", config={"connector.class": "org.example.Source", **case["before"]})
    made = plan(situation([desired], [there], owned=["orders"], exactly_once=case.get("exactly_once", "unknown")))
    assert [one.message for step in made.steps for one in step.offset_effects] == case["says"]


def test_long_lists_and_values_are_cut() -> None:
    (few,) = messages(SINK_CLASS, {"topics": "z"}, {"topics": ",".join(["z", *(f"t{n}" for n in range(9))])})
    assert few.startswith('topics "t0", "t1", "t2", "t3", "t4" and 4 more are read from now on; ')
    (short,) = messages(SINK_CLASS, {"topics.regex": "a"}, {"topics.regex": "b" * 500})
    assert f'"{"b" * 100}…"' in short


def test_a_secret_value_is_not_shown() -> None:
    (found,) = effects(POSTGRES, SHOP, NEW, secrets=["topic.prefix"])
    assert found.message.startswith("the offsets of server *** are no longer read")
    assert "shop" not in found.message + found.hint


def test_the_hint_for_another_class_is_to_remove_the_offsets_if_it_is_a_source() -> None:
    def hint(before: str, after: str) -> str:
        observed = [seen("orders", config={"connector.class": before, **SHOP})]
        made = plan(
            situation([wanted("orders", config={"connector.class": after, **SHOP})], observed, owned=["orders"])
        )
        return {one.hint for step in made.steps for one in step.offset_effects}.pop()

    assert "(operation: reset)" in hint(MYSQL, POSTGRES)
    assert hint(MYSQL, "org.apache.kafka.connect.file.FileStreamSinkConnector") == ""


def test_the_hint_says_how_to_continue_and_whether_the_schema_history_has_to_be_read_again() -> None:
    (found,) = effects(POSTGRES, SHOP, NEW)
    assert "`gitops-connect offsets get orders --save FILE`" in found.hint
    assert 'replace "shop" with "shopnew" in FILE' in found.hint
    assert "schema.history" not in found.hint
    assert "schema.history" in effects(MYSQL, SHOP, NEW)[0].hint


def test_a_shell_reads_the_name_in_the_command_of_a_hint_as_a_name() -> None:
    before, after = ({"connector.class": POSTGRES, **config} for config in (SHOP, NEW))
    (step, *_) = plan(situation([wanted("$(id)", config=after)], [seen("$(id)", config=before)], owned=["$(id)"])).steps
    assert "`gitops-connect offsets get '$(id)' --save FILE`" in step.offset_effects[0].hint


@pytest.mark.parametrize(("shared", "is_renamed"), [(9, True), (5, False)])
def test_a_new_connector_is_a_renamed_one_only_if_most_of_its_config_is_the_same(shared: int, is_renamed: bool) -> None:
    before = {"file": "/a"} | {f"key.{number}": "old" for number in range(9)}
    after = before | {f"key.{number}": "new" for number in range(shared, 9)}
    made = plan(situation([wanted("other", config=after)], [seen("orders", config=before)], owned=["orders"]))
    found = [one.message for step in made.steps for one in step.offset_effects]
    assert any("orders" in message for message in found) is is_renamed


def test_a_renamed_connector_with_initial_offsets_needs_no_warning() -> None:
    seed = change("initialOffsets/orders-v2", "orders-v2", "seed")
    new = wanted("orders-v2", config={"file": "/a"}, initial_offsets=seed)
    given = situation([new], [seen("orders", config={"file": "/a"})], owned=["orders"], policy=Policy(prune=True))
    offsets = OffsetSituation(manifests={seed.name: current_offsets(a=5)})
    made = plan(replace(given, offsets=offsets))
    assert [step.action for step in made.steps] == [Action.DELETE, Action.CREATE, Action.ALTER, Action.RESUME]
    assert not [one for step in made.steps for one in step.offset_effects]


def test_an_offset_change_of_the_same_plan_needs_no_hint() -> None:
    one = change("seed", "orders")
    given = situation(
        [wanted("orders", config={"file": "/b"})],
        [seen("orders", config={"file": "/a"})],
        owned=["orders"],
        changes=[one],
    )
    offsets = OffsetSituation(
        manifests={one.name: current_offsets(b=5)}, current={ConnectorName("orders"): current_offsets(a=5)}
    )
    (found,) = [each for step in plan(replace(given, offsets=offsets)).steps for each in step.offset_effects]
    assert (found.message[:27], found.hint) == ('the offsets of file "/a" ar', "")


def test_effects_are_not_part_of_the_digest() -> None:
    """A saved plan stays valid if a later version says more about the same steps."""
    new = [wanted("orders-v2", config={"file": "/a"})]
    alone = plan(situation(new, [], owned=["orders"]))
    renamed = plan(situation(new, [seen("orders", config={"file": "/a"})], owned=["orders"]))
    assert not alone.steps[0].offset_effects
    assert renamed.steps[0].offset_effects
    assert alone.digest == renamed.digest


@pytest.mark.parametrize(("old", "new", "config", "expected"), rows(__file__, "classes"))
def test_another_class(old: str, new: str, config: Config, expected: list[str]) -> None:
    assert messages(new, {"connector.class": old, **config}, config) == expected


@pytest.mark.parametrize("plugin", [name for name, one in BUILT_IN.classes.items() if one.shape and one.shape.unit])
def test_the_keys_that_a_class_ties_its_partitions_to_are_among_them(plugin: str) -> None:
    known, shape = {key.keys for key in BUILT_IN.classes[plugin].offset_keys.keys}, BUILT_IN.classes[plugin].shape
    assert known
    assert shape is not None
    assert {one.keys for one in shape.tied if not one.is_list} <= known


def test_each_new_connector_is_compared_with_few_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    likeness = Mock(wraps=offset_effects._likeness)
    monkeypatch.setattr(offset_effects, "_likeness", likeness)
    new = [wanted(f"new-{n}", config={"file": f"/{n}", "topic": "all"}) for n in range(100)]
    old = [seen(f"old-{n}", config={"file": f"/{n}", "topic": "all"}) for n in range(100)]
    made = plan(situation(new, old, owned=[one.name for one in old]))
    assert likeness.call_count == 100, "with the one of the same file"
    assert all(step.offset_effects for step in made.steps)
