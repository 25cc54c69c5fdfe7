"""Offset changes as users make them: declared, planned, applied once and never again, and undone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from acceptance.workplace import SINK, Workplace, change
from gitops_connect.model.names import ClusterName

LINES = "one\ntwo\nthree\n"
LOCAL = ClusterName("local")


class Lines:
    """A source that reads one file, and its current offset."""

    def __init__(self, place: Workplace, stem: str = "lines") -> None:
        self.place = place
        self.stem = stem
        self.file = place.directory / f"{stem}.txt"
        self.file.write_text(LINES)

    def document(self, spec: str = "", **config: str) -> str:
        return self.place.source(self.stem, spec, file=str(self.file), topic=self.place.name(self.stem), **config)

    def change(self, name: str, spec: str) -> str:
        return change(name, self.place.name(self.stem), spec)

    def alter(self, name: str, position: int | None, more: str = "") -> str:
        return self.change(name, f"operation: alter\n{self.offsets(position)}\n{more}")

    def offsets(self, position: int | None) -> str:
        return f"offsets: {json.dumps([self.entry(position)])}"

    def entry(self, position: int | None) -> dict[str, Any]:
        return {
            "partition": {"filename": str(self.file)},
            "offset": None if position is None else {"position": position},
        }

    def position(self) -> int | None:
        return self.place.position(self.stem)

    def await_position(self, wanted: int | None) -> None:
        self.place.await_position(self.stem, wanted)

    def run(self, spec: str = "") -> None:
        """Apply the source, and wait until it has read the whole file."""
        self.place.deploy("lines.yaml", self.document(spec))
        self.await_position(len(self.file.read_text()))

    def run_and_stop(self) -> None:
        self.run()
        self.place.deploy("lines.yaml", self.document("state: stopped"))

    def rewind(self, position: int = 4) -> None:
        """Commit a rewind `back`."""
        self.place.commit("c.yaml", self.alter("back", position, "acknowledge: [rewind]"))

    def seed(self, position: int) -> str:
        """The document with these initial offsets."""
        return self.document(f"initialOffsets: {{offsets: {json.dumps([self.entry(position)])}}}")


@pytest.fixture
def lines(at: Workplace) -> Lines:
    return Lines(at)


@pytest.mark.on_kafka
def test_a_change_is_acknowledged_planned_applied_once_and_then_history(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("c.yaml", lines.alter("again-from-two", 4))
    at.run("apply", "--yes").expect(4, err=("c.yaml", "acknowledge: [rewind]"))
    assert at.states() == {"lines": "RUNNING"}, "nothing is stopped"
    at.commit("c.yaml", lines.alter("again-from-two", 4, "acknowledge: [rewind]\nreason: line two was lost"))
    at.run("plan", "--detailed-exitcode").expect(
        2, out=("again-from-two", "line two was lost", "stop", "alter", "resume")
    )
    assert lines.position() == len(LINES)

    at.apply()
    assert at.states() == {"lines": "RUNNING"}
    lines.await_position(len(LINES))

    at.apply().expect(out=("No changes.", "1 offset change was applied before"))
    planned = at.run("plan", "-v", "--detailed-exitcode").expect(0)
    (line,) = (line for line in planned.out.splitlines() if "again-from-two" in line)
    assert "applied" in line
    assert at.git("rev-parse", "HEAD")[:7] in line


def test_the_lines_before_the_initial_offsets_never_come_and_those_after_a_rewind_come_again(
    at: Workplace, lines: Lines
) -> None:
    copy = at.directory / "copy.txt"
    at.commit("copy.yaml", at.document("copy", SINK, "", {"file": str(copy), "topics": at.name("lines")}))
    at.deploy("lines.yaml", lines.seed(8))
    at.await_that(lambda: copy.read_text() if copy.exists() else "", lambda text: text == "three\n")
    at.deploy("c.yaml", lines.alter("again", 4, "acknowledge: [rewind]"))
    at.await_that(copy.read_text, lambda text: text == "three\ntwo\nthree\n")


def test_a_change_of_several_connectors_is_applied_once_to_each(at: Workplace) -> None:
    both = Lines(at, "one"), Lines(at, "two")
    for one in both:
        at.commit(f"{one.stem}.yaml", one.document())
    at.apply()
    for one in both:
        one.await_position(len(LINES))
    names = ", ".join(at.name(one.stem) for one in both)
    text = change("again", "x", "operation: reset\nacknowledge: [reset]")
    text = text.replace('connector: "x"', f"connectors: [{names}]")
    at.commit("again.yaml", text)
    planned = at.run("plan").expect(0).out
    changes = [f"again.{at.name(one.stem)}" for one in both]
    assert all(f"offset change {name}" in planned for name in changes)
    at.apply()
    shown = at.run("ledger", "show").out
    assert all(name in shown for name in changes)
    assert "No changes." in at.run("apply", "--yes").out
    undone = at.run("offsets", "undo", changes[0]).expect(0).out
    assert yaml.safe_load(undone)["spec"]["connector"] == at.name("one")
    assert at.name("two") not in undone
    at.commit("again.yaml", text.replace(f"connectors: [{names}]", f"connector: {at.name('one')}"))
    at.run("plan").expect(said=f"it is recorded as {changes[0]}, and its document names its connectors in another way")


def test_replace_makes_the_set_exact_and_reset_takes_all_away(at: Workplace, lines: Lines) -> None:
    lines.run_and_stop()
    other = {"partition": {"filename": "/elsewhere"}, "offset": {"position": 7}}
    at.set_offsets("lines", other)
    at.deploy(
        "c.yaml", lines.change("exact", f"operation: replace\n{lines.offsets(8)}\nacknowledge: [rewind, tombstone]")
    )
    assert at.offsets("lines") == [lines.entry(8)]

    at.deploy("d.yaml", lines.change("nothing", "operation: reset\nacknowledge: [reset]"))
    assert at.offsets("lines") == []


@pytest.mark.on_kafka
def test_initial_offsets_seed_a_connector_before_it_ever_runs_and_never_again(at: Workplace, lines: Lines) -> None:
    at.commit("lines.yaml", lines.seed(8))
    at.run("plan").expect(out="create (stopped)")
    at.apply()
    lines.await_position(len(LINES))
    assert "No changes." in at.apply().out

    at.rest("DELETE", f"/connectors/{at.name('lines')}")
    at.apply().expect(out=("create ", "an earlier connector of this name left 1 offset behind"))
    assert lines.position() == len(LINES)


@pytest.mark.e2e
def test_a_sink_whose_offsets_cannot_be_read_holds_up_no_other_connector(real: Workplace) -> None:
    """Its offsets are in a Kafka cluster that does not answer: the worker waits for 90 s."""
    real.settings('settle_timeout = "3s"\nparallelism = 1')
    config = {"topics": "lines", "file": str(real.directory / "out.txt")}
    lost = {**config, "admin.override.bootstrap.servers": "127.0.0.1:1"}
    done = real.deploy("c.yaml", real.document("a", SINK, "", lost), real.document("b", SINK, "", config))
    done.expect(
        out="could not be read within 3 s; of a sink, the worker asks the Kafka cluster in its `admin.override."
    )
    assert done.err.index(real.name("b")) < done.err.index(real.name("a")), "b does not wait for a"
    assert "No changes." in real.apply().out


def test_a_connector_can_be_deleted_with_its_offsets(at: Workplace, lines: Lines) -> None:
    lines.run("onDelete: {offsets: reset}")
    at.deploy("lines.yaml", lines.document("onDelete: {offsets: reset}\nstate: absent"))
    assert at.states() == {}
    created = at.deploy("lines.yaml", lines.document("state: stopped"))
    assert "earlier connector" not in created.err
    assert lines.position() is None


def test_a_lost_ledger_replays_nothing(at: Workplace, lines: Lines) -> None:
    lines.run()
    lines.rewind()
    at.apply()
    lines.await_position(len(LINES))
    (at.directory / "state.db").unlink()
    (at.directory / "state.db.key").unlink()

    at.apply().expect(err="offsets/unknown")
    assert lines.position() == len(LINES)
    assert "offsets/unknown" in at.apply().err

    at.run("ledger", "resolve", "back", "--applied", "--yes").expect(0)
    after = at.apply().expect(out="No changes.")
    assert "offsets/unknown" not in after.err
    assert lines.position() == len(LINES)


def test_an_undo_puts_back_partitions_of_every_form_and_of_other_files(at: Workplace, lines: Lines) -> None:
    at.deploy("lines.yaml", lines.document("state: stopped"))
    own, other, third = lines.entry(5), *(Lines(at, stem).entry(7) for stem in ("other", "third"))
    one_more = {"partition": {**own["partition"], "zone": "a"}, "offset": {"position": 9}}
    number = {"partition": {"filename": 5}, "offset": {"position": 1, "more": "kept"}}
    old = sorted((other, own, one_more, number), key=str)
    at.set_offsets("lines", *old)
    replace = f"operation: replace\noffsets: {json.dumps([third])}\nacknowledge: [tombstone, unread]"
    reset = "operation: reset\nacknowledge: [reset]"
    for name, spec, changed, needed in (
        ("wrong", replace, [third], ["tombstone", "unread"]),
        ("again", reset, [], ["unread"]),
    ):
        at.apply_change(name, "lines", spec)
        assert at.offsets("lines") == changed
        at.undo(name)
        at.run("validate").expect(0)
        at.apply()
        assert sorted(at.offsets("lines"), key=str) == old
        document = yaml.safe_load((at.repository / "undo.yaml").read_text())
        assert document["spec"]["acknowledge"] == needed
        at.commit("undo.yaml")


def test_a_change_in_the_same_commit_sets_what_the_connector_then_reads(at: Workplace) -> None:
    lines, file = Lines(at), at.directory / "new.txt"
    at.deploy("lines.yaml", lines.document("state: stopped"))
    at.deploy("skip.yaml", lines.alter("skip", 4))
    file.write_text(LINES)
    at.commit("lines.yaml", at.source("lines", file=str(file), topic=at.name("lines")))
    assert at.run("validate").code == 0, "the first change is history"
    at.run("plan").expect(
        out=f"offsets: the offsets of file {json.dumps(str(lines.file))} are no longer read; without offsets of"
    )
    new = {"partition": {"filename": str(file)}, "offset": {"position": 8}}
    at.commit("continue.yaml", change("continue", at.name("lines"), f"operation: alter\noffsets: {json.dumps([new])}"))
    planned = at.run("plan").expect(out="offsets: the offsets of file")
    assert "hint: to continue" not in planned.out
    at.apply()
    positions = {one["partition"]["filename"]: one["offset"]["position"] for one in at.offsets("lines")}
    assert positions[str(lines.file)] == 4
    assert positions[str(file)] >= 8, "it reads on from there"


def test_the_offsets_of_a_sink_go_with_it_into_another_group(at: Workplace, lines: Lines) -> None:
    lines.run()
    out = {"file": str(at.directory / "out.txt"), "topics": at.name("lines")}
    at.deploy("sink.yaml", at.document("sink", SINK, "", out))
    at.await_that(lambda: at.offsets("sink"), bool)
    saved = at.repository / "group.json"
    assert at.run("offsets", "get", at.name("sink"), "--save", str(saved)).code == 0

    other = {**out, "consumer.override.group.id": at.name("group")}
    at.commit("sink.yaml", at.document("sink", SINK, "state: stopped", other))
    assert f'from "connect-{at.name("sink")}" to "{at.name("group")}"' in at.run("plan").out
    at.apply()
    assert at.offsets("sink") == []

    at.write("group.yaml", change("group", at.name("sink"), "operation: alter\nmanifest: {path: group.json}"))
    at.deploy("sink.yaml", at.document("sink", SINK, "", other))
    at.await_states(lines="RUNNING", sink="RUNNING")
    with lines.file.open("a") as file:
        file.write("four\n")

    def arrived() -> str:
        at.states()
        return (at.directory / "out.txt").read_text()

    assert at.await_that(arrived, lambda text: text.endswith("four\n")) == LINES + "four\n", "nothing came twice"
