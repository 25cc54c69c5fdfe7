"""The commands that show active topics (KIP-558), also on a real worker."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from support.daemon_log import InThread

from acceptance.test_offsets import LINES, Lines
from acceptance.workplace import SINK, Workplace
from gitops_connect.model.names import ClusterName, ConnectorName


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


def test_a_topic_that_is_not_allowed_is_said_by_the_plan_and_is_a_condition_of_the_daemon(at: Workplace) -> None:
    lines, topic = Lines(at), at.name("lines")
    rules = "topics: {allow: [orders], expected: [never]}"
    at.deploy("lines.yaml", lines.document(rules))
    at.await_that(lambda: topics_of(at, "lines"), lambda found: found == [topic])
    message = f"spec.topics does not allow topics that it has used: {topic}"
    expected = "it has used no topic that matches never (spec.topics.expected)"
    at.run("plan").expect(0, out=[f"note: {message}", f"note: {expected}"])
    with InThread(at) as daemon:
        event = daemon.wait("unexpected_topics", connector=topic)
        assert (event["level"], event["message"]) == ("WARNING", message)
        assert daemon.wait("note", connector=topic)["message"] == expected
    at.commit("lines.yaml", lines.document("topics: {allow: [lines*]}"))
    at.run("plan").expect(0, out="match the configuration")


@pytest.mark.on_kafka
def test_a_sink_forgets_topics_that_it_does_not_read_any_more(at: Workplace) -> None:
    at.settings('outdated_topics = "reset"')
    lines, more = Lines(at), at.name("more")

    def sink(key: str, topics: str) -> str:
        return at.document("copy", SINK, "", {key: topics, "file": str(at.directory / "copy.txt")})

    at.deploy("all.yaml", lines.document(), at.source("more", topic=more), sink("topics", f"{at.name('lines')},{more}"))
    (at.directory / "in.txt").write_text("more\n")
    both = sorted([at.name("lines"), more])
    at.await_that(lambda: sorted(topics_of(at, "copy")), lambda found: found == both)
    at.commit("all.yaml", lines.document(), at.source("more", topic=more), sink("topics.regex", "more-.*"))
    reads = f"topics: its config does not read {at.name('lines')}"
    at.run("plan").expect(0, out=["~ configure", "% reset-topics", f"topics: forgets {', '.join(both)}", reads])
    at.apply()
    assert at.name("lines") not in topics_of(at, "copy")
    at.run("plan").expect(0, out="match the configuration")
    (at.directory / "in.txt").write_text("more\nstill more\n")
    at.await_that(lambda: topics_of(at, "copy"), lambda found: found == [more])


def test_the_daemon_logs_topics_that_are_added_and_removed(at: Workplace) -> None:
    lines, topic = Lines(at), at.name("lines")
    at.settings("topic_history = true")
    at.commit("lines.yaml", lines.document())
    with InThread(at) as daemon:
        added = daemon.wait("topic_added", connector=topic)
        assert (added["level"], added["topic"]) == ("INFO", topic)
        assert datetime.fromisoformat(added["since"]) < datetime.now(UTC)
        daemon.await_state(
            lambda state: state.clusters[ClusterName("local")].topics.get(ConnectorName(topic)) == {topic}
        )
        at.commit("lines.yaml", lines.document("state: stopped\nresetTopics: {id: one}"))
        assert daemon.wait("topic_removed", connector=topic)["topic"] == topic


def topics_of(at: Workplace, stem: str) -> list[str]:
    at.states()
    found: list[str] = at.rest("GET", f"/connectors/{at.name(stem)}/topics")[at.name(stem)]["topics"]
    return found


@pytest.mark.on_kafka
def test_active_topics_are_reset_once_for_each_id_and_a_deletion_leaves_none(at: Workplace) -> None:
    lines, topic = Lines(at), at.name("lines")
    lines.run()
    at.await_that(lambda: topics_of(at, "lines"), lambda found: found == [topic])
    at.commit("lines.yaml", lines.document("state: stopped\nresetTopics: {id: one}\nonDelete: {topics: reset}"))
    planned = at.run("plan").expect(0, out=["reset-topics", "spec.resetTopics.id is 'one'", f"topics: forgets {topic}"])
    assert "error" not in planned.err
    at.apply()
    assert topics_of(at, "lines") == []
    at.run("plan").expect(0, out="match the configuration")
    at.deploy("lines.yaml", lines.document("resetTopics: {id: one}\nonDelete: {topics: reset}"))
    with lines.file.open("a") as file:
        file.write("more\n")
    at.await_that(lambda: topics_of(at, "lines"), lambda found: found == [topic])
    at.settings("prune = true\nmax_deletions = 1.0")
    at.deploy("lines.yaml", at.source("other", "state: stopped")).expect(0, said=["delete", "reset-topics"])
    assert topics_of(at, "lines") == []
    at.deploy("lines.yaml", lines.document("state: absent\nresetTopics: {id: two}")).expect(0, said="reset-topics")
    at.run("plan").expect(0, out="match the configuration")
