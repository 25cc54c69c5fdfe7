"""A connector changes after its offsets were changed: the history stays valid, and the plan shows the effect."""

from __future__ import annotations

import json

import pytest

from acceptance.test_offsets import LINES, Lines, change
from acceptance.workplace import SINK, Workplace


@pytest.fixture
def moved(at: Workplace) -> Lines:
    """A source whose offsets were changed once, and which is now declared with another file."""
    lines = Lines(at)
    at.deploy("lines.yaml", lines.document("state: stopped"))
    at.deploy("skip.yaml", lines.alter("skip", 4))
    assert lines.position() == 4
    (at.directory / "new.txt").write_text(LINES)
    at.commit("lines.yaml", lines.place.source(lines.stem, file=str(at.directory / "new.txt"), topic=at.name("lines")))
    return lines


def test_the_plan_says_that_the_offsets_are_left_unread(at: Workplace, moved: Lines) -> None:
    at.run("plan").expect(
        out=f"offsets: the offsets of file {json.dumps(str(moved.file))} are no longer read; without offsets of"
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
    planned = at.run("plan").expect(out="offsets: the offsets of file")
    assert "hint: to continue" not in planned.out
    at.apply()
    positions = {one["partition"]["filename"]: one["offset"]["position"] for one in at.offsets("lines")}
    assert positions[str(moved.file)] == 4
    assert positions[str(at.directory / "new.txt")] >= 8, "it reads on from there"


def test_a_new_name_is_a_new_connector_with_other_offsets(at: Workplace) -> None:
    at.settings(cluster="prune = true\nmax_deletions = 1.0")
    lines = Lines(at)
    at.commit("lines.yaml", lines.document("state: stopped"))
    sink = {"file": str(at.directory / "out.txt"), "topics": at.name("lines")}
    at.deploy("sink.yaml", at.document("sink", SINK, "state: stopped", sink))
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
    arrived = at.directory / "out.txt"
    at.await_that(arrived.read_text, lambda text: text.endswith("four\n"))
    assert arrived.read_text() == LINES + "four\n", "nothing came twice"
