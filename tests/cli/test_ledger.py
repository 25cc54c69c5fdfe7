"""`ledger show`, `resolve`, `export` and `import`: with a repository and a ledger, and no reachable cluster."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from acceptance.workplace import Ran, Workplace
from acceptance.workplace import change as document
from support.files.tables import rows
from support.planner.offset_change_values import EARLIER, LATER, LOCAL, NOON, SKIP, offsets, record_of
from support.terminal import Terminal

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Failure, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.offsets import to_json
from gitops_connect.runtime import SystemClock

pytestmark = pytest.mark.slow

QUESTION = "Enter a value"
PASSED = OffsetChangeName("passed")
STUCK = "1 of the offsets has moved since"


@pytest.fixture
def at(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path, ("http://127.0.0.1:1",))


@pytest.fixture
def ledger(at: Workplace) -> Ledger:
    return at.ledger()


def change(at: Workplace, name: str, position: int = 20) -> str:
    offsets = f"[{{partition: {{filename: /x}}, offset: {{position: {position}}}}}]"
    return document(name, at.name("orders"), f"operation: alter\nacknowledge: [skip]\noffsets: {offsets}")


def commit(at: Workplace, *documents: str) -> Revision:
    at.commit("orders.yaml", at.source("orders"), *documents)
    return Revision(at.git("rev-parse", "HEAD"))


def known(ledger: Ledger) -> dict[str, OffsetChangeState]:
    return {name: record.state for name, record in ledger.offset_changes.records(LOCAL).items()}


def unknown(name: str) -> OffsetChangeRecord:
    return replace(record_of(SKIP), name=OffsetChangeName(name), state=OffsetChangeState.UNKNOWN)


def table(ran: Ran) -> list[list[str]]:
    return [line.split() for line in ran.out.splitlines()]


def test_changes_are_listed_with_the_newest_first(at: Workplace, ledger: Ledger) -> None:
    ledger.offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("old")), EARLIER, NOON)
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    ledger.offset_changes.settle(LOCAL, SKIP.name, EARLIER, "externally managed", LATER)
    ledger.offset_changes.fail(
        LOCAL, replace(SKIP, name=PASSED), Failure("no\nnever", final=True), LATER + timedelta(hours=1)
    )
    ledger.offset_changes.begin(ClusterName("not in the settings"), SKIP, EARLIER, NOON)
    ran = at.run("ledger", "show").expect(0, err="")
    assert [(row[:7], " ".join(row[7:])) for row in table(ran)] == [
        (["CLUSTER", "NAME", "CONNECTOR", "KIND", "STATE", "SINCE", "COMMIT"], "MESSAGE"),
        (
            ["local", "passed", "orders", "alter", "failed", "2026-11-21T13:05:00Z", "aaaaaaa"],
            "it failed and is not retried: no",
        ),
        (
            ["local", "skip", "orders", "alter", "applied", "2026-11-21T12:05:00Z", "aaaaaaa"],
            "warning: externally managed",
        ),
        (["local", "old", "orders", "alter", "in_progress", "2026-11-21T12:00:00Z", "aaaaaaa"], "-"),
    ]
    values = json.loads(at.run("ledger", "show", "-o", "json").out)
    assert [value["name"] for value in values] == ["passed", "skip", "old"]
    assert values[0] == values[0] | {"final": True, "failures": 1, "message": "no\nnever", "commit": "a" * 40}
    for name, parse in (("json", json.loads), ("yaml", yaml.safe_load)):
        (value,) = parse(at.run("ledger", "show", "old", "-o", name).out)
        assert (value["declared"], value["before"]) == (list(to_json(SKIP.offsets)), list(to_json(EARLIER)))
        assert value["state"] == "in_progress"
    at.run("ledger", "show", "nothing").expect(
        1, out="", err="the ledger has no offset change 'nothing'; run `gitops-connect ledger show` to list all"
    )


def test_of_many_offsets_the_text_shows_the_first(at: Workplace, ledger: Ledger) -> None:
    ledger.offset_changes.begin(LOCAL, replace(SKIP, offsets={}), offsets(*range(25)), NOON)
    text = at.run("ledger", "show", "skip").out
    assert '{"filename":"/0"} -> {"position":0}' in text
    assert text.count("filename") == 20
    assert "and 5 more: use -o json to show all" in text
    assert len(json.loads(at.run("ledger", "show", "skip", "-o", "json").out)[0]["before"]) == 25


def test_unknown_changes_are_marked_as_applied_with_their_declared_offsets(at: Workplace, ledger: Ledger) -> None:
    revision = commit(at, change(at, "passed"), change(at, "fresh"))
    ledger.record_attempt(LOCAL, revision, NOON)
    ledger.offset_changes.mark(LOCAL, unknown("passed"), unknown("withdrawn"))
    ran = at.run("ledger", "resolve", "--all", "--applied", "--yes")
    assert (ran.code, ran.err) == (0, "Marked 2 offset changes as applied.\n")
    assert [row[1] for row in table(ran)] == ["NAME", "passed", "withdrawn"]
    assert known(ledger) == {"passed": OffsetChangeState.SETTLED, "withdrawn": OffsetChangeState.SETTLED}
    at.run("ledger", "resolve", "fresh", "--applied", "--yes")
    records = ledger.offset_changes.records(LOCAL)
    assert records[OffsetChangeName("fresh")].digest == records[PASSED].digest != SKIP.digest
    assert records[OffsetChangeName("fresh")].revision == revision
    assert records[OffsetChangeName("withdrawn")].digest == SKIP.digest
    at.run("ledger", "resolve", "passed", "withdrawn", "--not-applied", "--yes").expect(0)
    assert known(ledger) == {"fresh": OffsetChangeState.SETTLED}, "a mark can be removed"
    commit(at, change(at, "passed").replace("alter", "altr"))
    at.run("ledger", "resolve", "passed", "--applied").expect(
        err="1 error in the documents; run `gitops-connect validate`"
    )


def test_initial_offsets_are_resolved_by_their_name(at: Workplace, ledger: Ledger) -> None:
    seed = "initialOffsets:\n  offsets: [{partition: {filename: /x}, offset: {position: 1}}]"
    at.commit("orders.yaml", at.source("orders", seed))
    name = f"initialOffsets/{at.name('orders')}"
    assert at.run("ledger", "resolve", name, "--applied", "--yes").code == 0
    record = ledger.offset_changes.records(LOCAL)[OffsetChangeName(name)]
    assert (record.state, record.kind.value, record.connector) == (OffsetChangeState.SETTLED, "seed", at.name("orders"))


def test_a_stuck_change_is_marked_as_applied_and_can_still_be_undone(at: Workplace, ledger: Ledger) -> None:
    commit(at, change(at, "skip"))
    ledger.record_attempt(LOCAL, Revision("r"), NOON)
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    assert "nothing to resolve" in at.run("ledger", "resolve", "--all", "--applied", "--yes").err, (
        "the next cycle may finish it"
    )
    ledger.offset_changes.note(LOCAL, SKIP.name, STUCK)
    assert at.run("ledger", "resolve", "--all", "--applied", "--yes").code == 0
    record = ledger.offset_changes.records(LOCAL)[SKIP.name]
    assert (record.state, record.digest) == (OffsetChangeState.SETTLED, SKIP.digest)
    assert ledger.offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER


def test_a_change_that_was_not_applied_is_forgotten_and_planned_again(at: Workplace, ledger: Ledger) -> None:
    shutil.rmtree(at.repository)  # the command does not read it
    ledger.offset_changes.mark(LOCAL, unknown("passed"))
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    assert at.run("ledger", "resolve", "passed", "skip", "--not-applied", "--yes").code == 0
    assert known(ledger) == {}


def test_a_verified_change_is_never_pending_again(at: Workplace, ledger: Ledger) -> None:
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    ledger.offset_changes.settle(LOCAL, SKIP.name, EARLIER, "", NOON)
    before = ledger.export()
    at.run("ledger", "resolve", "skip", "--not-applied", "--yes").expect(
        64, err="offset change skip was applied to local and verified, so it is never applied again"
    )
    assert (
        "note: offset change skip is already recorded as applied on local"
        in at.run("ledger", "resolve", "skip", "--applied", "--yes").err
    )
    assert ledger.export() == before


def test_on_a_new_ledger_only_named_changes_are_marked_as_applied(at: Workplace, ledger: Ledger) -> None:
    """Some declared changes may be new. Only the first reconciliation records those that are not."""
    commit(at, change(at, "passed"))
    at.run("ledger", "resolve", "--all", "--applied", "--yes").expect(
        0, err="the ledger has no record of local yet; run `gitops-connect apply` first"
    )
    assert known(ledger) == {}


@pytest.mark.parametrize(("arguments", "message"), rows(__file__, "refused"))
def test_an_ambiguous_command_is_refused(at: Workplace, ledger: Ledger, arguments: list[str], message: str) -> None:
    commit(at, change(at, "passed"))
    at.run("ledger", "resolve", *arguments).expect(64, err=message)
    assert known(ledger) == {}


def test_a_change_that_changed_during_the_question_is_not_marked(at: Workplace, ledger: Ledger) -> None:
    commit(at, change(at, "passed"))
    with Terminal(at, ["ledger", "resolve", "passed", "--applied"]) as terminal:
        terminal.wait(QUESTION)
        ledger.offset_changes.begin(LOCAL, replace(SKIP, name=PASSED), EARLIER, NOON)
        terminal.type("yes\n")
        assert terminal.code() == 5
    assert "passed changed after it was shown; run the command again" in terminal.seen
    assert known(ledger) == {"passed": OffsetChangeState.OPEN}


def test_nothing_is_written_during_a_reconciliation(at: Workplace, ledger: Ledger) -> None:
    commit(at, change(at, "passed"))
    with ledger.lease(LOCAL, SystemClock()):
        ran = at.run("ledger", "resolve", "passed", "--applied", "--yes")
    assert ran.code == 5
    assert "cluster local is in use by process" in ran.err
    assert known(ledger) == {}


def test_a_ledger_moves_to_another_directory(at: Workplace, ledger: Ledger) -> None:
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    ledger.record_applied(LOCAL, Revision("r"), NOON)
    file = at.directory / "ledger.json"
    assert at.run("ledger", "export").out == (at.run("ledger", "export", str(file)).out or file.read_text())
    at.settings(more='[state]\nurl = "sqlite:///moved.db"')
    ran = at.run("ledger", "import", str(file)).expect(0)
    assert ran.err.startswith("Imported (ownership: 0, operations: 1, ")
    assert ran.err.endswith(", revisions: 1).\n")
    moved = Ledger.open("sqlite:///moved.db", at.directory, None)
    assert moved.offset_changes.records(LOCAL) == ledger.offset_changes.records(LOCAL)
    assert moved.offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER
    assert moved.revisions(LOCAL) == ledger.revisions(LOCAL)
    assert "Nothing to import" in at.run("ledger", "import", str(file)).err


def test_an_import_replaces_other_data_only_with_the_option_replace(at: Workplace, ledger: Ledger) -> None:
    file = at.directory / "ledger.json"
    at.run("ledger", "export", str(file))
    at.run("ledger", "export", str(at.directory / "nowhere" / "ledger.json")).expect(64, err="cannot write")
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    (at.directory / "no-export").write_bytes(b"\xff\xfe")
    at.run("ledger", "import", str(at.directory / "no-export"), "--replace").expect(64, err="no-export")
    at.run("ledger", "import", str(file)).expect(
        64, err="the ledger already contains other data (ownership: 0, operations: 1, "
    )
    assert known(ledger) == {"skip": OffsetChangeState.OPEN}
    assert at.run("ledger", "import", str(file), "--replace").code == 0
    assert known(ledger) == {}
