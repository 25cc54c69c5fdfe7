"""A connector changes after its offsets were changed: the history stays valid, and the plan shows the effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acceptance.test_offsets import LINES, Lines, change
from acceptance.workplace import SINK, Workplace


@pytest.fixture
def moved(at: Workplace) -> Lines:
    """A source whose offsets were changed once, and which is now declared with another file."""
    lines = Lines(at)
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    at.commit("skip.yaml", lines.alter("skip", 4))
    at.apply()
    assert lines.position() == 4
    (at.directory / "new.txt").write_text(LINES)
    at.commit("lines.yaml", lines.place.source(lines.stem, file=str(at.directory / "new.txt"), topic=at.name("lines")))
    return lines


def ledgers(at: Workplace) -> list[Path]:
    return sorted(at.directory.glob("state.db*"))


def test_an_applied_change_stays_valid_although_its_connector_reads_another_file(at: Workplace, moved: Lines) -> None:
    before = [one.read_bytes() for one in ledgers(at)]
    with_ledger = at.run("validate")
    assert (with_ledger.code, with_ledger.err) == (0, "")
    assert with_ledger.out == "no problems in 2 documents\n1 offset change not checked again: already applied\n"
    assert [one.read_bytes() for one in ledgers(at)] == before

    at.commit("again.yaml", moved.alter("again", 8))
    new = at.run("validate")
    assert (new.code, new.out.count("[manifest/file]")) == (4, 1)
    assert "again.yaml:" in new.out


def test_without_the_ledger_it_is_a_note_and_no_ledger_is_made(at: Workplace, moved: Lines) -> None:
    for one in ledgers(at):
        one.unlink()
    without = at.run("validate")
    assert without.code == 0
    assert ": note: partition.filename is " in without.out
    assert "hint: if this change was applied before, no action is needed" in without.out
    assert "1 note in 2 documents" in without.out
    assert "does not exist" in without.err
    assert not ledgers(at)


def test_the_plan_says_that_the_offsets_are_left_unread(at: Workplace, moved: Lines) -> None:
    planned = at.run("plan")
    assert (
        f"offsets: the offsets of file {json.dumps(str(moved.file))} are no longer read; without offsets of"
        in planned.out
    )
    (resource,) = json.loads(at.run("plan", "-o", "json").out)["clusters"][0]["resource_changes"]
    effects = {step["action"]: step["offset_effects"] for step in resource["steps"]}
    assert [one["message"] for one in effects["configure"]]
    assert effects["resume"] == []
    assert "offsets: the offsets of file" in at.run("plan", "-o", "markdown").out
    at.apply()
    at.await_states(lines="RUNNING")
    assert at.run("validate").code == 0


@pytest.mark.on_kafka
def test_a_change_in_the_same_commit_sets_what_the_connector_then_reads(at: Workplace, moved: Lines) -> None:
    new = {"partition": {"filename": str(at.directory / "new.txt")}, "offset": {"position": 8}}
    entries = f"operation: alter\noffsets: {json.dumps([new])}"
    at.commit("continue.yaml", change("continue", at.name("lines"), entries))
    planned = at.run("plan")
    assert "offsets: the offsets of file" in planned.out
    assert "hint: to continue" not in planned.out
    at.apply()
    found = at.rest("GET", f"/connectors/{at.name('lines')}/offsets")["offsets"]
    positions = {one["partition"]["filename"]: one["offset"]["position"] for one in found}
    assert positions[str(moved.file)] == 4
    assert positions[str(at.directory / "new.txt")] >= 8, "it reads on from there"


def test_a_new_name_is_a_new_connector_with_other_offsets(at: Workplace) -> None:
    at.settings(cluster="prune = true\nmax_deletions = 1.0")
    lines = Lines(at)
    at.commit("lines.yaml", lines.document("state: stopped"))
    sink = {"file": str(at.directory / "out.txt"), "topics": at.name("lines")}
    at.commit("sink.yaml", at.document("sink", SINK, "state: stopped", sink))
    at.apply()
    at.commit("lines.yaml", lines.document("state: stopped").replace(at.name("lines") + "}", at.name("v2") + "}"))
    at.commit("sink.yaml", at.document("sink2", SINK, "state: stopped", sink))
    planned = at.run("plan").out
    old, new = at.name("lines"), at.name("v2")
    assert f"offsets: offsets are stored under the connector's name: {new} does not read those of {old}" in planned
    groups = f'from "connect-{at.name("sink")}" to "connect-{at.name("sink2")}"'
    assert f"offsets: the consumer group changes {groups}: without committed offsets" in planned
    assert (
        f"offsets: the offsets of {old} stay stored under its name; {new}, whose config is similar, does not read them"
        in planned
    )


@pytest.mark.e2e
def test_the_offsets_of_a_sink_go_with_it_into_another_group(real: Workplace) -> None:
    at, lines = real, Lines(real)
    lines.run()
    out = {"file": str(at.directory / "out.txt"), "topics": at.name("lines")}
    path = f"/connectors/{at.name('sink')}/offsets"
    at.commit("sink.yaml", at.document("sink", SINK, "", out))
    at.apply()
    at.await_that(lambda: at.rest("GET", path)["offsets"], bool)
    saved = at.repository / "group.json"
    assert at.run("offsets", "get", at.name("sink"), "--save", str(saved)).code == 0

    other = {**out, "consumer.override.group.id": at.name("group")}
    at.commit("sink.yaml", at.document("sink", SINK, "state: stopped", other))
    assert f'from "connect-{at.name("sink")}" to "{at.name("group")}"' in at.run("plan").out
    at.apply()
    assert at.rest("GET", path)["offsets"] == []

    at.write("group.yaml", change("group", at.name("sink"), "operation: alter\nmanifest: {path: group.json}"))
    at.commit("sink.yaml", at.document("sink", SINK, "", other))
    at.apply()
    at.await_states(lines="RUNNING", sink="RUNNING")
    with lines.file.open("a") as file:
        file.write("four\n")
    arrived = at.directory / "out.txt"
    at.await_that(arrived.read_text, lambda text: text.endswith("four\n"))
    assert arrived.read_text() == LINES + "four\n", "nothing came twice"
