"""Offset changes as users make them: declared, planned, applied once, and never again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import zstandard
from support.cluster.memory_journal import reconcile_options

from acceptance.workplace import SINK, Workplace
from gitops_connect.declare import Caches, declare
from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import Plan
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings

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
        """The current offset; None if the source has no offset."""
        found = self.place.rest("GET", f"/connectors/{self.place.name(self.stem)}/offsets")["offsets"]
        return found[0]["offset"]["position"] if found else None

    def await_position(self, wanted: int | None) -> None:
        self.place.await_that(self.position, lambda found: found == wanted)

    def run(self, spec: str = "") -> None:
        """Apply the source, and wait until it has read the whole file."""
        self.place.commit("lines.yaml", self.document(spec))
        self.place.apply()
        self.await_position(len(self.file.read_text()))


def change(name: str, connector: str, spec: str) -> str:
    lines = "".join(f"  {line}\n" for line in spec.splitlines())
    return (
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\n"
        f"metadata: {{name: {name}}}\nspec:\n  connector: {json.dumps(connector)}\n{lines}"
    )


@pytest.fixture
def lines(at: Workplace) -> Lines:
    return Lines(at)


def cycle(place: Workplace, approve: Callable[[Plan], None]) -> Any:
    """One reconciliation as in the daemon; `approve` gets the plan before the first change."""
    settings = load_settings(place.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(open_source(settings, None)) as source:
        return reconcile(runtime, declare(source, settings.clusters, Caches()), LOCAL, reconcile_options(approve))


@pytest.mark.on_kafka
def test_a_change_is_planned_applied_once_and_then_history(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("c.yaml", lines.alter("again-from-two", 4, "acknowledge: [rewind]\nreason: line two was lost"))
    planned = at.run("plan", "--detailed-exitcode")
    assert planned.code == 2
    assert "again-from-two" in planned.out
    assert "line two was lost" in planned.out
    assert "stop" in planned.out
    assert "alter" in planned.out
    assert "resume" in planned.out
    assert lines.position() == len(LINES)

    at.apply()
    assert at.states() == {"lines": "RUNNING"}
    lines.await_position(len(LINES))

    again = at.apply()
    assert "No changes." in again.out
    assert "1 offset change was applied before" in again.out
    planned = at.run("plan", "-v", "--detailed-exitcode")
    assert planned.code == 0
    (line,) = (line for line in planned.out.splitlines() if "again-from-two" in line)
    assert "applied" in line
    assert at.git("rev-parse", "HEAD")[:7] in line


def test_a_change_that_is_there_already_is_recorded_and_its_connector_is_left_alone(
    at: Workplace, lines: Lines
) -> None:
    lines.run()
    at.commit("c.yaml", lines.alter("to-the-end", len(LINES)))
    planned = at.run("plan", "--detailed-exitcode", "-o", "json")
    assert planned.code == 2
    (resource,) = json.loads(planned.out)["clusters"][0]["resource_changes"]
    assert [step["action"] for step in resource["steps"]] == ["record"]

    applied = at.apply()
    assert "record applied" in applied.err
    assert "stop" not in applied.err
    assert at.states() == {"lines": "RUNNING"}
    assert "No changes." in at.apply().out
    assert "nothing was sent" in at.run("offsets", "history", at.name("lines")).out

    with lines.file.open("a") as file:
        file.write("four\n")
    lines.await_position(len(LINES) + len("four\n"))
    assert "No changes." in at.apply().out, "it is history, wherever the connector goes"
    undone = at.run("offsets", "undo", "to-the-end")
    assert json.dumps(lines.entry(len(LINES))["offset"]) in undone.out.replace("'", '"')


@pytest.mark.e2e
def test_the_lines_come_again(real: Workplace) -> None:
    at, lines = real, Lines(real)
    copy = at.directory / "copy.txt"
    sink = at.document("copy", SINK, "", {"file": str(copy), "topics": at.name("lines")})
    at.commit("copy.yaml", sink)
    lines.run()
    at.await_that(lambda: copy.read_text() if copy.exists() else "", lambda text: text == LINES)
    at.commit("c.yaml", lines.alter("again", 4, "acknowledge: [rewind]"))
    at.apply()
    at.await_that(copy.read_text, lambda text: text == LINES + "two\nthree\n")


@pytest.mark.parametrize(("state", "after"), [("stopped", "STOPPED"), ("paused", "PAUSED")])
def test_a_connector_that_does_not_run_stays_as_it_is(at: Workplace, lines: Lines, state: str, after: str) -> None:
    lines.run()
    at.commit("lines.yaml", lines.document(f"state: {state}"))
    at.apply()
    at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
    at.apply()
    assert at.states() == {"lines": after}
    assert lines.position() == 4


def test_what_is_not_acknowledged_is_refused_with_its_place_and_nothing_is_stopped(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("c.yaml", lines.alter("back", 4))
    ran = at.run("apply", "--yes")
    assert ran.code == 4
    assert "c.yaml" in ran.err
    assert "acknowledge: [rewind]" in ran.err
    assert at.states() == {"lines": "RUNNING"}
    assert lines.position() == len(LINES)


@pytest.mark.on_kafka
def test_replace_makes_the_set_exact_and_reset_takes_all_away(at: Workplace, lines: Lines) -> None:
    lines.run("state: running")
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    other = {"partition": {"filename": "/elsewhere"}, "offset": {"position": 7}}
    at.rest("PATCH", f"/connectors/{at.name('lines')}/offsets", {"offsets": [other]})
    at.commit(
        "c.yaml", lines.change("exact", f"operation: replace\n{lines.offsets(8)}\nacknowledge: [rewind, tombstone]")
    )
    at.apply()
    assert at.rest("GET", f"/connectors/{at.name('lines')}/offsets") == {"offsets": [lines.entry(8)]}

    at.commit("d.yaml", lines.change("nothing", "operation: reset\nacknowledge: [reset]"))
    at.apply()
    assert at.rest("GET", f"/connectors/{at.name('lines')}/offsets") == {"offsets": []}


@pytest.mark.on_kafka
def test_a_null_resets_one_partition(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    at.commit("c.yaml", lines.alter("all-of-it", None, "acknowledge: [tombstone]"))
    at.apply()
    assert lines.position() is None


def test_a_rewritten_change_is_an_error_and_a_withdrawn_one_is_history(at: Workplace, lines: Lines) -> None:
    lines.run("state: running")
    at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
    at.apply()
    lines.await_position(len(LINES))
    at.commit("c.yaml", lines.alter("back", 8, "acknowledge: [rewind]"))
    rewritten = at.run("apply", "--yes")
    assert rewritten.code == 4
    assert "rewritten" in rewritten.err
    assert "another name" in rewritten.err
    assert lines.position() == len(LINES)

    at.commit("c.yaml")
    assert "No changes." in at.apply().out


def test_several_changes_of_one_connector_run_in_the_order_of_their_names(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    at.commit("c.yaml", lines.alter("2-second", 8), lines.alter("1-first", 4, "acknowledge: [rewind]"))
    at.apply()
    assert lines.position() == 8


@pytest.mark.e2e
def test_the_lines_before_the_initial_offsets_never_come(real: Workplace) -> None:
    at, lines = real, Lines(real)
    copy = at.directory / "copy.txt"
    at.commit("copy.yaml", at.document("copy", SINK, "", {"file": str(copy), "topics": at.name("lines")}))
    entry = json.dumps([lines.entry(8)])
    at.commit("lines.yaml", lines.document(f"initialOffsets: {{offsets: {entry}}}"))
    at.apply()
    at.await_that(lambda: copy.read_text() if copy.exists() else "", lambda text: text == "three\n")


@pytest.mark.on_kafka
def test_initial_offsets_seed_a_connector_before_it_ever_runs_and_never_again(at: Workplace, lines: Lines) -> None:
    entry = json.dumps([lines.entry(8)])
    at.commit("lines.yaml", lines.document(f"initialOffsets: {{offsets: {entry}}}"))
    planned = at.run("plan")
    assert "create (stopped)" in planned.out
    at.apply()
    lines.await_position(len(LINES))
    assert "No changes." in at.apply().out

    at.rest("DELETE", f"/connectors/{at.name('lines')}")
    again = at.apply()
    assert "create " in again.out
    assert "an earlier connector of this name left 1 offset behind" in again.out
    assert lines.position() == len(LINES)


def test_a_connector_that_was_there_before_is_not_seeded(at: Workplace, lines: Lines) -> None:
    lines.run()
    entry = json.dumps([lines.entry(4)])
    at.commit("lines.yaml", lines.document(f"initialOffsets: {{offsets: {entry}}}"))
    ran = at.apply()
    assert "so they are not applied" in ran.out
    assert lines.position() == len(LINES)


@pytest.mark.on_kafka
def test_a_connector_can_be_deleted_with_its_offsets(at: Workplace, lines: Lines) -> None:
    lines.run("onDelete: {offsets: reset}")
    at.commit("lines.yaml", lines.document("onDelete: {offsets: reset}\nstate: absent"))
    at.apply()
    assert at.states() == {}
    at.commit("lines.yaml", lines.document("state: stopped"))
    created = at.apply()
    assert "earlier connector" not in created.err
    assert lines.position() is None


def test_a_pruned_connector_takes_its_offsets_along_as_its_document_said_last(at: Workplace, lines: Lines) -> None:
    at.settings("prune = true")
    at.commit("other.yaml", at.source("other", "state: stopped"))
    lines.run("onDelete: {offsets: reset}")
    at.commit("lines.yaml")
    assert "reset" in at.run("plan").out
    at.apply()
    assert at.states() == {"other": "STOPPED"}
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    assert lines.position() is None


def test_offsets_that_stay_behind_are_announced_when_the_connector_comes_back(at: Workplace, lines: Lines) -> None:
    lines.run()
    at.commit("lines.yaml", lines.document("state: absent"))
    at.apply()
    at.commit("lines.yaml", lines.document())
    created = at.apply()
    assert "an earlier connector of this name left 1 offset behind" in created.out


def test_offsets_that_move_until_the_connector_is_stopped_are_reviewed_again(at: Workplace, lines: Lines) -> None:
    """A change that was a skip in the plan is a rewind when it is to be applied."""
    lines.run()
    at.commit("c.yaml", lines.alter("skip-a-line", len(LINES) + 5))

    def read_on(plan: Plan) -> None:
        assert [step.action.value for step in plan.steps] == ["stop", "alter", "resume"]
        with lines.file.open("a") as file:
            file.write("four\nfive\nsix\n")
        lines.await_position(len(lines.file.read_text()))

    outcome = cycle(at, read_on)
    assert [step.result.value for step in outcome.steps] == ["applied", "failed", "applied"]
    assert "blocked, because the current offsets changed after the plan was made" in outcome.steps[1].message
    assert at.states() == {"lines": "RUNNING"}
    assert lines.position() == len(lines.file.read_text())


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".jsonl", ".csv", ".jsonl.gz", ".jsonl.zst"])
def test_a_manifest_may_be_a_file_of_any_format(at: Workplace, lines: Lines, suffix: str) -> None:
    lines.run()
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.apply()
    entry = lines.entry(4)
    path = at.repository / f"offsets/back{suffix}"
    path.parent.mkdir()
    path.write_bytes(_written(entry, suffix))
    spec = f"operation: alter\nmanifest: {{path: offsets/back{suffix}}}\nacknowledge: [rewind]"
    at.commit("c.yaml", lines.change("back", spec))
    at.apply()
    assert lines.position() == 4


def _written(entry: dict[str, Any], suffix: str) -> bytes:
    filename, position = entry["partition"]["filename"], entry["offset"]["position"]
    line = (json.dumps(entry) + "\n").encode()
    return {
        ".json": json.dumps({"offsets": [entry]}).encode(),
        ".yaml": f"offsets:\n- partition: {{filename: {filename}}}\n  offset: {{position: {position}}}\n".encode(),
        ".jsonl": line,
        ".csv": f"partition.filename,offset.position\n{filename},{position}\n".encode(),
        ".jsonl.gz": gzip.compress(line),
        ".jsonl.zst": zstandard.compress(line),
    }[suffix]


class TestLedger:
    @pytest.mark.on_kafka
    def test_a_lost_ledger_replays_nothing(self, at: Workplace, lines: Lines) -> None:
        lines.run()
        at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
        at.apply()
        lines.await_position(len(LINES))
        (at.directory / "state.db").unlink()
        (at.directory / "state.db.key").unlink()

        found = at.apply()
        assert "offsets/unknown" in found.err
        assert lines.position() == len(LINES)
        assert "offsets/unknown" in at.apply().err

        adopted = at.run("ledger", "resolve", "back", "--applied", "--yes")
        assert adopted.code == 0, adopted
        after = at.apply()
        assert "No changes." in after.out
        assert "offsets/unknown" not in after.err
        assert lines.position() == len(LINES)

    def test_what_was_not_applied_is_done_after_all_when_somebody_says_so(self, at: Workplace, lines: Lines) -> None:
        lines.run()
        (at.directory / "state.db").unlink()
        (at.directory / "state.db.key").unlink()
        at.commit("lines.yaml", lines.document("state: stopped"))
        at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
        at.apply()
        assert lines.position() == len(LINES)
        assert at.run("ledger", "resolve", "back", "--not-applied", "--yes").code == 0
        at.apply()
        assert lines.position() == 4

    def test_it_can_be_carried_elsewhere(self, at: Workplace, lines: Lines) -> None:
        lines.run()
        at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
        at.apply()
        lines.await_position(len(LINES))
        assert at.run("ledger", "export", str(at.directory / "ledger.json")).code == 0
        (at.directory / "state.db").unlink()
        (at.directory / "state.db.key").unlink()
        imported = at.run("ledger", "import", str(at.directory / "ledger.json"))
        assert imported.code == 0, imported
        assert "No changes." in at.apply().out


class TestUndo:
    @pytest.mark.on_kafka
    def test_the_previous_offsets_are_current_again(self, at: Workplace, lines: Lines) -> None:
        lines.run()
        at.commit("lines.yaml", lines.document("state: stopped"))
        at.apply()
        at.commit("c.yaml", lines.alter("back", 4, "acknowledge: [rewind]"))
        at.apply()
        assert lines.position() == 4
        undone = at.run("offsets", "undo", "back", "--out", str(at.repository / "undo.yaml"))
        assert undone.code == 0, undone
        assert lines.position() == 4
        at.git("add", "--all")
        at.git("commit", "--quiet", "--message", "undo")
        at.apply()
        assert lines.position() == len(LINES)


class TestBadInput:
    def refused(self, at: Workplace, lines: Lines, spec: str, connector: str | None = None) -> str:
        """The error for the change; the connector still runs, and its offsets are unchanged."""
        lines.run()
        at.commit("c.yaml", change("bad", connector or at.name("lines"), spec))
        ran = at.run("apply", "--yes")
        assert ran.code == 4, ran
        assert at.states() == {"lines": "RUNNING"}
        assert lines.position() == len(LINES)
        return ran.err

    def test_an_empty_file(self, at: Workplace, lines: Lines) -> None:
        (at.repository / "empty.jsonl").touch()
        said = self.refused(at, lines, "operation: alter\nmanifest: {path: empty.jsonl}")
        assert "empty.jsonl:1:1: error" in said
        assert "manifest/empty" in said

    @pytest.mark.parametrize("mebibytes", [64, pytest.param(1024, marks=pytest.mark.thorough)])
    def test_a_gigabyte_of_braces(self, at: Workplace, lines: Lines, mebibytes: int) -> None:
        with (at.repository / "braces.json").open("wb") as file:
            for _ in range(mebibytes):
                file.write(b"{" * 1024 * 1024)
        said = self.refused(at, lines, "operation: alter\nmanifest: {path: braces.json}")
        assert "braces.json:1:2: error" in said
        assert "manifest/syntax" in said

    def test_a_manifest_for_a_connector_that_is_not_there(self, at: Workplace, lines: Lines) -> None:
        said = self.refused(at, lines, f"operation: alter\n{lines.offsets(4)}", connector=f"{at.name('lines')}x")
        assert "c.yaml:" in said
        assert "is not declared" in said
        assert f"did you mean '{at.name('lines')}'" in said

    def test_a_manifest_for_the_wrong_type_of_connector(self, at: Workplace, lines: Lines) -> None:
        entry = {"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 4}}
        said = self.refused(at, lines, f"operation: alter\noffsets: {json.dumps([entry])}")
        assert "manifest/shape" in said
        assert "filename" in said

    def test_a_manifest_that_is_not_there(self, at: Workplace, lines: Lines) -> None:
        said = self.refused(at, lines, "operation: alter\nmanifest: {path: offsets/missing.jsonl}")
        assert "c.yaml:" in said
        assert "offsets/missing.jsonl" in said
