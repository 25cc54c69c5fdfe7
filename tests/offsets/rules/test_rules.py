"""Each rule for the entries of a manifest: violations with their lines and messages, and valid entries."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from families.case_files import cases_with_config, entries
from support.files.manifests import (
    MIRROR,
    OTHER,
    SINK,
    UNREAD,
    declared,
    entry,
    mirrored,
    offsets,
    rules,
    verdict,
)
from support.files.tables import rows, table

from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.offsets.rules.rules import RULES
from gitops_connect.report.code_scanning import rule_explanations

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "manifest-rules.md"
ROW = re.compile(r"^\| \[`(manifest/[a-z-]+)`\]", re.MULTILINE)
"""A row of a table of that page, and the rule that it documents."""

CONFIGS: Mapping[str, Any] = {"mirror": MIRROR, "sink": SINK, "other": OTHER, **table(__file__, "configs")}

WRONG: list[Any] = [
    *entries("wrong", 1),
    *((rule, CONFIGS[config], value, words) for rule, config, value, words in rows(__file__, "wrong")),
    ("range", OTHER, entry({}, {"a": 10**5000}), "offset.a is a number of 16610 bits, expected at most"),
    ("value", MIRROR, mirrored(topic="\ud800"), "partition.topic cannot be written as JSON"),
    ("value", OTHER, entry({"\udfff": 1}, {}), "half of a surrogate pair"),
    ("value", OTHER, entry({}, {"a": float("nan")}), "offset.a cannot be written as JSON: nan"),
    ("value", OTHER, entry({}, {"a": float("inf")}), "offset.a cannot be written as JSON: inf"),
    ("value", OTHER, entry({}, {1: 2}), "offset.1 cannot be written as JSON"),
]
"""Rule, config, value, and a part of the message: those of families and of any class, and values that are not YAML."""


@pytest.mark.parametrize(("rule", "config", "value", "words"), WRONG)
def test_a_broken_rule_is_named_at_its_line(rule: str, config: Mapping[str, str], value: Any, words: str) -> None:
    clean = entry({"kafka_topic": "gone", "kafka_partition": 9} if "topics" in "".join(config) else {"gone": 1}, None)
    found = verdict([clean, value], config)
    first = found.diagnostics.items[0]
    assert (first.location.line, first.rule, first.connector) == (2, f"manifest/{rule}", "orders")
    assert words in first.summary
    assert (found.offsets is None) == any(item.severity is Severity.ERROR for item in found.diagnostics)
    alone = verdict([value], config).diagnostics
    expected = 2 if config["connector.class"] == "MirrorCheckpoint" and "cluster" in value["partition"] else 1
    assert len(alone) == expected, [item.summary for item in alone]


@pytest.mark.parametrize(("config", "value"), entries("right", 0))
def test_what_is_as_it_should_be_is_not_spoken_of(config: Mapping[str, str], value: Any) -> None:
    assert rules(verdict([value], config)) == []
    assert len(declared(verdict([value], config))) == 1


@pytest.mark.parametrize("row", table(__file__, "verdicts").values(), ids=table(__file__, "verdicts"))
def test_a_verdict(row: Mapping[str, Any]) -> None:
    current = offsets(*(entry(*one) for one in row["current"])) if "current" in row else None
    kind = OffsetChangeKind(row.get("kind", "alter"))
    found = verdict([entry(*one) for one in row["entries"]], CONFIGS[row["config"]], current, kind=kind)
    assert rules(found) == [tuple(one) for one in row.get("rules", [])]
    assert (found.offsets is None) == bool(found.errors)
    assert "sent" not in row or declared(found) == [tuple(one) for one in row["sent"]]
    assert "words" not in row or row["words"] in found.diagnostics.items[0].summary


LIVE = offsets(entry({"shard": 1}, {"seq": "a", "n": 5}), entry({"shard": 2}, {"seq": 7, "f": 1.5, "nothing": None}))


@pytest.mark.parametrize(("partition", "offset", "fields"), rows(__file__, "current_types"))
def test_types_are_those_of_the_current_offsets(partition: Any, offset: Any, fields: list[str]) -> None:
    found = verdict([entry(partition, offset)], OTHER, LIVE)
    assert [item.rule for item in found.diagnostics] == ["manifest/current-type"] * len(fields)
    assert [item.summary.split()[0] for item in found.diagnostics] == fields


def test_the_message_of_a_current_type_says_both() -> None:
    (problem,) = verdict([entry({"shard": "1"}, {})], OTHER, LIVE).diagnostics
    expected = 'partition.shard is the string "1", but in the current offsets it is a whole number'
    assert problem.summary == expected


NEVER_READ = entries("never_read", 1)


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
@pytest.mark.parametrize("kind", [OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE])
def test_a_current_partition_may_be_set_whether_it_is_read_or_not(
    rule: str, config: Mapping[str, str], value: Any, kind: OffsetChangeKind
) -> None:
    """The new offset may differ from the current one."""
    current = {**LIVE, **offsets(entry(value["partition"], {"n": 7}))}
    found = verdict([value], config, current, kind=kind)
    assert (found.offsets, rules(found), found.unread) == (offsets(value), [], 0)


@pytest.mark.parametrize(("config", "value"), entries("refused", 0))
def test_what_connect_refuses_or_is_read_wrongly_is_not_acknowledged(config: Mapping[str, str], value: Any) -> None:
    found = verdict([value], config, LIVE, acknowledged=UNREAD)
    assert (found.offsets, found.unread) == (None, 0)
    assert "acknowledge" not in "".join(item.hint for item in found.diagnostics)


@pytest.mark.parametrize(
    "value",
    [
        entry({"topic": "orders", "partition": 0}, {"offset": 7}),
        entry({"cluster": "source", "topic": "orders", "partition": "0"}, {"offset": "7"}),
        entry({"cluster": "source", "topic": "orders", "partition": -1, "zone": 1}, {"offset": 7}),
    ],
)
def test_another_format_can_be_acknowledged(value: Any) -> None:
    """Only what the class is known to have is another format: the cluster is checked as before, and so is a sink."""
    shape = frozenset({Acknowledgement.SHAPE})
    refused, taken = (verdict([value], MIRROR, acknowledged=one) for one in (frozenset(), shape))
    assert refused.offsets is None
    assert (taken.offsets, taken.errors) == (offsets(value), 0)
    assert {rule for _, rule in rules(taken)} == {"other-format"}
    assert [one.summary for one in taken.diagnostics] == [one.summary for one in refused.diagnostics]
    assert verdict([mirrored(cluster="elsewhere")], MIRROR, acknowledged=shape).offsets is None
    assert verdict([entry({"kafka_topic": "a"}, {"kafka_offset": 1})], SINK, acknowledged=shape).offsets is None
    assert verdict([{"partition": "a", "offset": {}}], MIRROR, acknowledged=shape).offsets is None


@pytest.mark.parametrize(("config", "value", "hint"), rows(__file__, "hints"))
def test_a_hint_says_what_to_write(config: str, value: Any, hint: str) -> None:
    assert verdict([value], CONFIGS[config]).diagnostics.items[0].hint == hint


@pytest.mark.parametrize(("config", "current", "declared", "fields"), cases_with_config("contradictions", 0))
def test_a_change_that_another_field_makes_ineffective_is_an_error(
    config: Mapping[str, str], current: Mapping[str, Any], declared: Mapping[str, Any], fields: list[str]
) -> None:
    server = {"Informix": "databaseName", "MongoDb": "server_id"}
    partition = {server.get(config["connector.class"], "server"): "shop"}
    existing = offsets(entry(partition, current))
    found = verdict([entry(partition, declared)], config, existing, acknowledged=UNREAD)
    assert [item.rule for item in found.diagnostics] == ["manifest/contradiction"] * len(fields)
    assert all(f"offset.{field} is changed" in str(found.diagnostics.items) for field in fields)
    assert found.errors == len(fields)
    assert rules(verdict([entry(partition, declared)], config)) == []
    assert rules(verdict([entry(partition, current)], config, existing)) == []


def test_a_contradiction_says_what_decides_and_what_to_do() -> None:
    shop, current = {"server": "shop"}, {"lsn": 600, "lsn_proc": 600}
    changed = entry(shop, {**current, "lsn": 590})
    found = verdict([changed], CONFIGS["postgres"], offsets(entry(shop, current))).diagnostics.items[0]
    assert found.summary == (
        "offset.lsn is changed from 600 to 590, but lsn_proc stays 600: the connector resumes from lsn_proc"
    )
    assert found.hint == "change lsn_proc, or remove it"


@pytest.mark.parametrize(("config", "value", "meant"), entries("meant", 0))
def test_a_hint_names_what_was_probably_meant(config: Mapping[str, str], value: Any, meant: str | None) -> None:
    (found,) = verdict([value], config).diagnostics
    assert found.hint.startswith("did you mean") == (meant is not None)
    assert meant is None or meant in found.hint.split("?")[0].replace('"', "'").split("'")


def test_every_rule_is_explained_and_documented() -> None:
    page = PAGE.read_text()
    assert set(ROW.findall(page)) == set(RULES)
    for rule in RULES:
        assert rule in rule_explanations()
        assert f"| [`{rule}`](rules.md#{rule.replace('/', '')}) |" in page


def test_a_template_is_one() -> None:
    texts = (text for rule in RULES.values() for text in (rule.message, rule.hint))
    names = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
    assert all(name.isidentifier() for name in names)


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
    independent = {name for name, rule in RULES.items() if not rule.compares}
    assert independent == of_the_file | named | {"manifest/schema-broken"}
