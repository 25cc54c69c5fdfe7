"""`validate` and the history of offset changes: with a ledger, and on a machine without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acceptance.workplace import MIRROR, Ran, Workplace
from acceptance.workplace import change as document
from support.planner.offset_change_values import EARLIER, LOCAL, NOON

from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeRecord, OffsetChangeState

pytestmark = pytest.mark.slow

DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
SKIP = OffsetChangeName("skip")


@pytest.fixture
def at(tmp_path: Path) -> Workplace:
    """A Debezium connector whose server was renamed after `skip` had changed its offsets."""
    place = Workplace(tmp_path, ("http://127.0.0.1:1",))
    place.commit("shop.yaml", place.document("shop", DEBEZIUM, "", {"topic.prefix": "shopnew"}))
    place.commit("skip.yaml", change(place, "skip", "shop"))
    return place


def change(at: Workplace, name: str, server: str) -> str:
    offsets = f"- {{partition: {{server: {server}}}, offset: {{lsn: 5}}}}"
    return document(name, at.name("shop"), f"operation: alter\noffsets:\n  {offsets}")


def remember(at: Workplace, state: OffsetChangeState | None) -> None:
    """Create a ledger with a record of the cluster, and with `skip` in this state; None: without `skip`."""
    ledger = at.ledger()
    ledger.record_attempt(LOCAL, Revision("a" * 40), NOON)
    if state is not None:
        kind = OffsetChangeKind.ALTER
        name = ConnectorName(at.name("shop"))
        ledger.offset_changes.mark(LOCAL, OffsetChangeRecord(SKIP, name, kind, state, None, Revision("a" * 40), NOON))
    ledger.close()


def validate(at: Workplace, *options: str) -> Ran:
    return at.run("validate", "--offline", str(at.repository), *options)


@pytest.mark.parametrize("state", [OffsetChangeState.SETTLED, OffsetChangeState.OPEN])
def test_a_change_that_was_applied_is_not_checked_again(at: Workplace, state: OffsetChangeState) -> None:
    remember(at, state)
    before = (at.directory / "state.db").read_bytes()
    ran = validate(at).expect(0, err="")
    assert ran.out == "no problems in 2 documents\n1 offset change not checked again: already applied\n"
    counted = json.loads(validate(at, "-o", "json").out)
    assert (counted["applied_offset_changes"], counted["notes"], counted["diagnostics"]) == (1, 0, [])
    assert (at.directory / "state.db").read_bytes() == before


@pytest.mark.parametrize("state", [None, OffsetChangeState.FAILED])
def test_a_change_that_is_still_to_be_applied_is_an_error(at: Workplace, state: OffsetChangeState | None) -> None:
    remember(at, state)
    validate(at).expect(
        4,
        out=('error: partition.server is "shop", but the connector\'s topic.prefix is "shopnew"', "[manifest/server]"),
    )


def test_a_change_that_may_have_been_applied_is_a_note(at: Workplace) -> None:
    remember(at, OffsetChangeState.UNKNOWN)
    ran = validate(at)
    assert (ran.code, ran.out.count(": note: ")) == (0, 1)
    assert "run `gitops-connect ledger resolve NAME --applied`" in ran.err


def test_without_a_ledger_a_violation_that_depends_on_the_connector_is_a_note(at: Workplace) -> None:
    ran = validate(at).expect(
        0,
        out=(
            'note: partition.server is "shop", but the connector\'s topic.prefix is "shopnew"',
            "hint: if this change was applied before, no action is needed; otherwise: correct the partition",
        ),
    )
    assert ran.out.endswith("1 note in 2 documents\n")
    assert "were applied before: the ledger " in ran.err
    assert "does not exist" in ran.err
    assert {one.name for one in at.directory.iterdir()} == {"repository", "in.txt", "gitops-connect.toml"}
    value = json.loads(validate(at, "-o", "json").out)
    assert (value["errors"], value["notes"], value["diagnostics"][0]["severity"]) == (0, 1, "note")
    sarif = json.loads(validate(at, "-o", "sarif").out)
    assert [one["level"] for one in sarif["runs"][0]["results"]] == ["note"]
    at.commit("shop.yaml", at.document("shop", MIRROR, "", {"source.cluster.alias": "a"}))
    validate(at).expect(0, out="note: the partition")  # it may have had another class when the change was applied


def test_an_unreachable_ledger_is_reported_and_fails_nothing(at: Workplace) -> None:
    at.settings(more='[state]\nurl = "sqlite:///gone/state.db"')
    validate(at).expect(0, err="gone")
    assert not (at.directory / "gone").exists()


def test_without_a_ledger_a_violation_of_a_general_rule_is_an_error(at: Workplace) -> None:
    entry = "{partition: {server: shop}, offset: {lsn: 5}}"
    at.commit("twice.yaml", change(at, "twice", "shop") + f"    - {entry}\n")
    validate(at).expect(4, out="error: lines 8 and 9 have the same partition")


def test_initial_offsets_are_part_of_the_history(at: Workplace) -> None:
    seed = "initialOffsets:\n  offsets: [{partition: {server: shop}, offset: {lsn: 5}}]"
    at.commit("shop.yaml", at.document("shop", DEBEZIUM, seed, {"topic.prefix": "shopnew"}))
    at.commit("skip.yaml")
    assert validate(at).out.count(": note: ") == 1
    ledger = at.ledger()
    ledger.record_attempt(LOCAL, Revision("a" * 40), NOON)
    name = ConnectorName(at.name("shop"))
    seeded = OffsetChangeName(f"initialOffsets/{name}")
    offset_change = OffsetChange(seeded, name, OffsetChangeKind.SEED, Digest("d"), Revision("a" * 40))
    ledger.offset_changes.begin(LOCAL, offset_change, {}, NOON)
    ledger.offset_changes.settle(LOCAL, seeded, EARLIER, "", NOON)
    ledger.close()
    validate(at).expect(0, out="1 offset change not checked again: already applied")
