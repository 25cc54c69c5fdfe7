"""The commands that show active topics (KIP-558), also on a real worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acceptance.test_offsets import LINES, Lines
from acceptance.workplace import SINK, Workplace


@pytest.mark.on_kafka
def test_the_topics_of_a_source_and_of_the_sink_that_reads_them_are_shown(at: Workplace) -> None:
    lines, copy, topic = Lines(at), at.name("copy"), at.name("lines")
    file = str(at.directory / "copy.txt")
    sink = at.document("copy", SINK, "", {"topics": topic, "file": file})
    at.deploy("all.yaml", lines.document(), sink)

    def users() -> list[Any]:
        at.states()
        rows = json.loads(at.run("get", "topics", "--topic", topic, "-o", "json").expect(0).out)
        return [[row["connector"], row["type"], row["topic"]] for row in rows]

    at.await_position("lines", len(LINES))
    at.await_that(users, lambda found: found == [[copy, "sink", topic], [topic, "source", topic]])
    described = json.loads(at.run("describe", "connector", copy, "-o", "json").expect(0).out)
    assert described[0]["Active topics"] == [topic]
    at.rest("DELETE", f"/connectors/{copy}")
    gone = at.await_that(lambda: at.run("get", "topics", copy), lambda ran: ran.code != 0)
    gone.expect(1, err=f"error: there is no connector {copy!r} on local")
    assert users() == [[topic, "source", topic]]
    at.run("doctor").expect(0, out="topic tracking is enabled")
