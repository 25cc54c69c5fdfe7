"""A connector changes after its offsets were changed: the history stays valid, and the plan shows the effect."""

from __future__ import annotations

import json

import pytest

from acceptance.test_offsets import LINES, Lines, change
from acceptance.workplace import SINK, Workplace


@pytest.mark.on_kafka
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
