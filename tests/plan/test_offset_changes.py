"""Each situation in offset_changes.yaml has the expected steps. A new case is a new entry there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cli_page import loaded_commands
from support.docs.commands import problem
from support.files.tables import cases
from support.planner.situations import (
    CLASS,
    NOW,
    REVISION,
    change,
    current_offsets,
    full,
    record,
    said,
    seen,
    situation,
    skipping,
    wanted,
)

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredOffsetChange, OnDelete
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeRecord, seed_name
from gitops_connect.model.offsets import OffsetPatch, OffsetText, PartitionText, offset_text, partition_text
from gitops_connect.model.plans import Plan, PlannedOffsetChange, Step
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

SEED = seed_name("a")
Case = Mapping[str, Any]


@pytest.mark.parametrize("case", cases(__file__, "offset_changes.yaml"), ids=lambda case: case["case"])
def test_case(case: Case) -> None:
    made = _plan(case)
    rules = case.get("rules", ["offsets/unacknowledged error"] * len(case.get("needs", [])))
    assert _words(made.steps) == case.get("steps", [])
    assert _words(step for one in made.connectors for step in one.steps) == case.get("shown", case.get("steps", []))
    assert [f"{one.rule} {one.severity.value}" for one in made.diagnostics] == rules
    hints = [f"if this is intended, add `acknowledge: [{one}]`" for one in case.get("needs", [])]
    assert not hints or sorted(one.hint for one in made.diagnostics) == hints
    assert {one.name: one.message for one in made.applied} == case.get("applied", {})
    notes = [note for one in made.connectors for note in said(one)]
    texts = [*notes, *(one.message for one in made.offset_changes), *(one.summary for one in made.diagnostics)]
    assert [one for one in case.get("says", []) if not any(one in text for text in texts)] == [], texts
    assert [one for one in case.get("reasons", []) if not any(one in step.reason for step in made.steps)] == []
    for command in re.findall("`gitops-connect (ledger resolve [^`]*)`", "\n".join(texts)):
        assert problem(words := shlex.split(command), loaded_commands()) == ""
        assert {"--applied", "--not-applied"}.intersection(words), "the command line is complete"
    has_errors = any(one.endswith(" error") for one in rules)
    assert made.complete is not (has_errors or "held" in case or "invalid" in case)
    _check_offset_changes(case, {one.name: one for one in made.offset_changes}, made.steps)
    if "acknowledged" in case:
        changes = {name: {**fields, "acknowledge": case["needs"]} for name, fields in case["changes"].items()}
        allowed = _plan({**case, "changes": changes})
        assert _words(allowed.steps) == case["acknowledged"]
        assert not allowed.diagnostics


def test_the_digest_covers_the_manifest_and_no_current_offset() -> None:
    case: Case = {"changes": {"c": {}}, "declared": {"c": {"a": 30}}}
    first, moved = (_plan({**case, "current": {"a": at}}) for at in (10, 20))
    assert (first.digest, first.fingerprint) == (moved.digest, moved.fingerprint)
    assert _plan({**case, "current": {"a": 10}, "changes": {"c": {"digest": "d2"}}}).digest != first.digest


def test_an_undeclared_connector_is_deleted_as_its_last_document_says() -> None:
    given = situation([wanted("b")], [seen("a"), seen("b")], owned=["a", "b"], policy=Policy(prune=True))
    owned = {**given.ownership, "a": replace(given.ownership["a"], on_delete=OnDelete.RESET)}
    assert [step.action.value for step in plan(replace(given, ownership=owned)).steps] == ["stop", "reset", "delete"]


def _check_offset_changes(case: Case, shown: Mapping[str, PlannedOffsetChange], steps: Iterable[Step]) -> None:
    statuses = {name: one.status.value for name, one in shown.items()}
    assert statuses == case.get("statuses", statuses)
    for name, lacks in case.get("lacks", {}).items():
        assert sorted(one.value for one in shown[name].lacks) == lacks
    found = {name: one.difference for name, one in shown.items() if one.difference is not None}
    for name, counts in case.get("counts", {}).items():
        assert {way.value: count for way, count in found[name].counts.items()} == counts
    for name, (before, after) in case.get("moves", {}).items():
        (move,) = found[name].moves
        assert (move.current, move.declared) == (f'{{"position":{before}}}', f'{{"position":{after}}}')
    external = any(line.external for one in found.values() for line in one.resume)
    assert external is case.get("external", external)
    inexact = [name for name, one in found.items() if not one.exact]
    assert inexact == case.get("inexact", inexact)
    for name, arithmetic in case.get("heap", {}).items():
        heap = shown[name].heap
        assert heap is not None
        assert arithmetic in heap.arithmetic
    sent = {step.offset_change.name: step.offset_change for step in steps if step.offset_change is not None}
    assert {name: sent[name].offsets for name in case.get("sends", {})} == {
        name: _offsets(declared) for name, declared in case.get("sends", {}).items()
    }
    assert {sent[name].is_large for name in sent.keys() & case.get("large", {}).keys()} <= {True}
    assert not [one for one in sent.values() if one.is_large and one.offsets]


def _words(steps: Iterable[Step]) -> list[str]:
    return [
        " ".join(
            [
                step.action.value,
                *([step.initial_state.value] if step.initial_state else []),
                *([step.offset_change.name] if step.offset_change else []),
            ]
        )
        for step in steps
    ]


def _plan(case: Case) -> Plan:
    changes = {
        name: change(name, fields.get("connector", "a"), fields.get("kind", "alter"), **_without(fields))
        for name, fields in case.get("changes", {}).items()
    }
    seed = None if "seed" not in case else change(SEED, "a", "seed", **case["seed"])
    config = _config(case)
    document = case.get("document", {})
    desired = [wanted("other", case["others"])] if "others" in case else []
    if document is not None:
        fields = {**document, "config": {**config, **document.get("config", {})}, "initial_offsets": seed}
        if "on_delete" in fields:
            fields["on_delete"] = OnDelete(fields["on_delete"])
        desired.append(wanted("a", **fields))
    there = case.get("there", "RUNNING")
    return plan(
        situation(
            desired,
            [seen("a", there, config=config)] if there else [],
            owned=["a"] if there else (),
            version=case.get("version", "4.3.1"),
            exactly_once=case.get("exactly_once", "unknown"),
            policy=skipping(case["max_skip"]) if "max_skip" in case else _policy(**case.get("policy", {})),
            held=["a"] if case.get("held") else (),
            invalid=frozenset({"a"}) if case.get("invalid") else frozenset(),
            changes=changes.values(),
            offsets=_situation(case, {**changes, SEED: seed or change(SEED, "a", "seed")}),
        )
    )


def _policy(**more: Any) -> Policy:
    return Policy(**{**more, "exactly_once": ExpectedSupport(more["exactly_once"]) if "exactly_once" in more else None})


def _situation(case: Case, known: Mapping[str, DesiredOffsetChange]) -> OffsetSituation:
    declared = {name: None if one is None else _offsets(one) for name, one in case.get("declared", {}).items()}
    begun = {name: _begun(known.get(name) or change(name, "a"), one) for name, one in case.get("begun", {}).items()}
    records = [_record(known, name, **fields) for name, fields in case.get("records", {}).items()]
    records += [_record(known, name, "in_progress", digest="d1") for name in begun]
    shape = BUILT_IN.shape(full(_config(case)))
    return OffsetSituation(
        {one.name: one for one in records},
        begun,
        {SEED: current_offsets(a=20), **declared},
        {name: _verdict(**one) for name, one in case.get("large", {}).items()},
        {"a": _offsets(case["current"])} if "current" in case else {},
        {"a": SavedOffsets("live.jsonl", 1_000_000, 74_000_000, "s")} if "many" in case else {},
        {"a": case["copies"]} if "copies" in case else {},
        unread={"a": case["unread"]} if "unread" in case else {},
        shapes={} if shape is None else {"a": shape},
        is_new=case.get("is_new", False),
    )


def _config(case: Case) -> dict[str, str]:
    return {"connector.class": case.get("class", CLASS), **case.get("config", {})}


def _offsets(positions: Mapping[str, int | None]) -> OffsetPatch:
    found: dict[PartitionText, OffsetText | None] = {}
    for name, at in positions.items():
        file, _, server = name.partition("server ")
        partition, key = ({"server": server}, "lsn") if server else ({"filename": file}, "position")
        found[partition_text(partition)] = None if at is None else offset_text({key: at})
    return found


def _begun(one: DesiredOffsetChange, fields: Mapping[str, Any]) -> Unfinished:
    offset_change = OffsetChange(one.name, one.connector, one.kind, "d1", REVISION, {}, one.acknowledged)
    if "large" not in fields:
        return Unfinished(replace(offset_change, offsets=_offsets(fields["declared"])), _offsets(fields["before"]))
    refused = (Refusal(fields["refused"]),) if "refused" in fields else ()
    counts = fields["large"]
    review = None if counts is None else Review({}, _difference(counts), refused, partial=True)
    return Unfinished(replace(offset_change, is_large=True), {}, review)


def _verdict(errors: int = 0, **counts: int) -> LargeVerdict:
    entries = max(1_000_000, sum(counts.values()))
    difference = None if errors or not counts else _difference(counts)
    return LargeVerdict(entries, entries, 89 * entries, errors=errors, difference=difference)


def _difference(counts: Mapping[str, int]) -> Difference:
    ways = {Direction(name): count for name, count in counts.items()}
    return Difference(ways, {Direction.FORWARD: counts.get("skip", 0)})


def _record(
    known: Mapping[str, DesiredOffsetChange], name: str, state: str, ago: float = 0, **fields: Any
) -> OffsetChangeRecord:
    """The record of version d1 of a change, `ago` minutes old."""
    one = known.get(name) or change(name, "a", "clear" if name.startswith("onDelete") else "alter")
    return record(replace(one, digest="d1"), state, since=NOW - timedelta(minutes=ago), **fields)


def _without(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in ("connector", "kind")}
