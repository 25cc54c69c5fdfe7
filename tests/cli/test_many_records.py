"""The commands with a ledger of very many old offset changes: none reads all of them."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta

import pytest
from acceptance.workplace import Workplace
from sqlalchemy import update
from support.ledger.many_changes import CONNECTORS, OLD, fill, watched
from support.planner.offset_change_values import LOCAL, NOON

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import OPERATIONS
from gitops_connect.offset_changes.recorded_changes import MOST_CHANGES, SUGGESTED
from gitops_connect.runtime import SystemClock

pytestmark = pytest.mark.slow

COMMANDS = {
    "ledger show": (
        0,
        ("old-0", f"note: {OLD - MOST_CHANGES:,} older offset changes not shown; use -o json to list"),
    ),
    "ledger show old-7": (0, ("old-7",)),
    "ledger show none": (1, ("the ledger has no offset change",)),
    "ledger resolve --all --not-applied": (0, ("nothing to resolve",)),
    "ledger resolve old-7 --applied": (0, ("old-7 is already recorded as applied on local",)),
    "offsets history c1": (0, ("old-1", f"{OLD // CONNECTORS - MOST_CHANGES:,} older offset changes not shown")),
    "offsets history c9": (1, ("the ledger has no connector 'c9' on local",)),
    "offsets undo odl-7": (1, ("did you mean 'old-7'?",)),
    "offsets undo old-7": (1, ("the offsets before old-7 are not in the ledger",)),
    "suspend cluster local": (0, ()),
}


@pytest.fixture
def database(at: Workplace) -> Database:
    at.commit("orders.yaml", at.source("orders"))
    at.ledger().close()
    found = Database("sqlite:///state.db", at.directory)
    with closing(found):
        fill(found, LOCAL, NOON)
    return found


def test_no_command_reads_all_changes(at: Workplace, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, (code, expected) in COMMANDS.items():
        with watched(monkeypatch) as statements:
            ran = at.run(*words.split())
        assert ran.code == code, (words, ran)
        assert all(one in ran.out + ran.err for one in expected), (words, ran)
        assert all("USING" in step and "INDEX" in step for step in statements.plans(database)), words
        assert statements.rows <= SUGGESTED, words


def test_json_has_all_changes(at: Workplace, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(json.loads(at.run("ledger", "show", "-o", "json").expect(0, err="").out)) == OLD
    with watched(monkeypatch) as statements:
        found = at.run("offsets", "history", "c1", "-o", "json").expect(0, err="")
    assert len(json.loads(found.out)) == OLD / CONNECTORS
    assert len(statements.executed) < 20


def test_the_later_changes_that_an_undo_undoes_are_named_and_counted(at: Workplace, database: Database) -> None:
    connector = at.name("lines")
    at.deploy("lines.yaml", at.mirror("lines", "state: stopped"))
    at.set_offsets("lines", {"partition": {"cluster": "a", "partition": 0, "topic": "t"}, "offset": {"offset": 9}})
    at.apply_change("one", "lines", "operation: reset\nacknowledge: [reset]")
    of_c1 = update(OPERATIONS).where(OPERATIONS.c.connector == "c1")
    with database.write() as connection:
        connection.execute(of_c1.values(connector=connector, since=SystemClock().now() + timedelta(hours=1)))
    rest = OLD // CONNECTORS - 20
    more = f", and {rest:,} more: run `gitops-connect offsets history {connector}`"
    at.run("offsets", "undo", "one").expect(0, err=("these later offset changes are undone, too: old-1, ", more))
