"""Connectors that do not work: the output of plan, status and describe, and restarts by a document or a command."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.daemon_log import InThread

from acceptance.test_offsets import Lines
from acceptance.workplace import SINK, Workplace
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.status import ConditionType
from gitops_connect.runtime import Runtime, SystemClock
from gitops_connect.sandbox.cluster import Sandbox

LOCAL = ClusterName("local")
REQUESTED = 'restart: {id: "%s", onlyFailed: true}'
GOOD = "No changes. Your connectors match the configuration."


def broken_sink(place: Workplace) -> str:
    """A sink whose task fails, because the directory of its file does not exist."""
    return place.document("sink", SINK, "", {"file": str(place.directory / "missing" / "out.txt"), "topics": "lines"})


def fail(place: Workplace) -> None:
    """Apply a sink, and wait until its task is FAILED. `apply` itself may already report the failure."""
    place.commit("sink.yaml", broken_sink(place))
    place.run("apply", "--yes")
    place.await_that(lambda: place.tasks("sink"), lambda found: found == ["FAILED"])


def assess(place: Workplace, stem: str) -> dict[str, Any]:
    values = json.loads(place.run("status", "-o", "json").out)
    return next(one for one in values if one["name"] == place.name(stem))


@pytest.mark.on_kafka
def test_a_failed_task_is_shown_by_every_command(at: Workplace) -> None:
    fail(at)
    name = at.name("sink")
    problem = (
        f"{name}: task 0 is FAILED: org.apache.kafka.connect.errors.ConnectException: Couldn't find or create file"
    )
    command = f"gitops-connect restart connector {name} --failed"
    planned = at.run("plan", "--detailed-exitcode")
    assert planned.code == 0, "a failed task is nothing that a plan could change"
    assert problem in planned.out
    assert command in planned.out
    assert planned.out.endswith(f"{GOOD} 1 connector is unhealthy.\n")
    applied = at.run("apply", "--yes").expect(out=problem)
    assert applied.out.endswith(f"{GOOD} 1 connector is unhealthy.\n")
    in_markdown = at.run("plan", "-o", "markdown").out
    assert f"- unhealthy: `{name}`: `{problem.removeprefix(f'{name}: ')}" in in_markdown
    assert f"`{command}`" in in_markdown

    (cluster,) = json.loads(at.run("plan", "-o", "json").out)["clusters"]
    (unhealthy,) = [one for one in cluster["unhealthy"] if one["connector"] == name]
    assert [failure["task"] for failure in unhealthy["failures"]] == [0]
    assert unhealthy["restart"] == f"POST /connectors/{name}/restart?includeTasks=true&onlyFailed=true"

    line = assess(at, "sink")
    assert (line["sync"], line["health"], line["state"], line["tasks"]) == ("Synced", "Degraded", "RUNNING", "0/1")
    assert line["message"].startswith("task 0 is FAILED: ")
    at.run("status", "--exit-code").expect(1, err=command)
    assert at.run("status").code == 0
    described = at.run("describe", "connector", name).out
    assert "task 0 is FAILED: " in described
    assert command in described


@pytest.mark.e2e
def test_a_mirror_that_finds_no_topic_is_shown_without_tasks(real: Workplace, sandbox: Sandbox) -> None:
    at, servers = real, {f"{side}.cluster.bootstrap.servers": sandbox.bootstrap for side in ("source", "target")}
    at.commit("mirror.yaml", at.mirror("mirror", topics=at.name("nothing"), **servers))
    no_topic = "no topic of the source cluster matches `topics`"
    at.run("apply", "--yes").expect(
        6, out=("create not confirmed yet: it runs without tasks: " + no_topic, "1 not confirmed")
    )
    at.run("apply", "--yes").expect(0)
    problem = f"{at.name('mirror')}: it is RUNNING and has no tasks: {no_topic}"
    planned = at.run("plan").expect(out=problem)
    assert "hint" not in planned.out, "which would change nothing"
    line = assess(at, "mirror")
    assert (line["sync"], line["health"], line["tasks"]) == ("Synced", "Degraded", "0/0")
    assert at.run("status", "--exit-code").code == 1


def declare_slowly_starting(place: Workplace, milliseconds: int) -> None:
    """Declare a stopped sink whose task waits in its start for so long, for the server of its dead letter queue."""
    config = {"file": str(place.directory / "out.txt"), "topics": "lines", "errors.tolerance": "all"}
    config |= {"errors.deadletterqueue.topic.name": "dead", "admin.override.bootstrap.servers": "127.0.0.1:1"}
    config |= {f"admin.override.{key}.timeout.ms": str(milliseconds) for key in ("default.api", "request")}
    there = {"name": place.name("slow"), "config": {**config, "connector.class": SINK, "tasks.max": "1"}}
    place.rest("POST", "/connectors", {**there, "initial_state": "STOPPED"})
    place.await_states(slow="STOPPED")
    place.commit("slow.yaml", place.document("slow", SINK, "", config))


@pytest.mark.e2e
def test_a_task_that_fails_at_the_end_of_a_long_start_is_never_called_applied(real: Workplace) -> None:
    declare_slowly_starting(real, 10_000)
    real.run("apply", "--yes").expect(1, said="resume FAILED: task 0 is FAILED: ")


@pytest.mark.e2e
def test_a_task_that_starts_for_longer_than_the_timeout_is_not_confirmed_and_not_sent_again(real: Workplace) -> None:
    declare_slowly_starting(real, 60_000)
    real.settings('settle_timeout = "6s"')
    said = ("resume not confirmed yet: expected RUNNING", "but found RUNNING with tasks 0 starting after 6 s")
    real.run("apply", "--yes").expect(6, out=said)
    real.run("apply", "--yes").expect(0, out="No changes")
    line = assess(real, "slow")
    assert (line["sync"], line["health"], line["tasks"]) == ("Synced", "Progressing", "0/1")


def test_a_document_restarts_a_failed_task_once_for_each_id(at: Workplace) -> None:
    fail(at)
    sink = broken_sink(at)
    at.commit("sink.yaml", sink.replace("spec:\n", f"spec:\n  {REQUESTED % 1}\n"))
    at.run("plan").expect(out=("! restart", "spec.restart.id is '1'"))
    first = at.run("apply", "--yes")
    assert (first.code, at.tasks("sink")) == (0, ["FAILED"])
    assert "task 0 is FAILED again: " in first.out
    (at.directory / "missing").mkdir()
    assert "No changes." in at.run("apply", "--yes").out, "this id was carried out"
    at.commit("sink.yaml", sink.replace("spec:\n", f"spec:\n  {REQUESTED % 2}\n"))
    assert at.run("apply", "--yes").code == 0
    assert at.tasks("sink") == ["RUNNING"]
    assert at.run("plan", "--detailed-exitcode").code == 0


@pytest.mark.on_kafka
def test_commands_restart_parts_and_report_what_fails_again(at: Workplace) -> None:
    name = at.name("sink")
    fail(at)
    at.run("restart", "connector", name, "--failed").expect(
        1, err="task 0 is FAILED again: org.apache.kafka.connect.errors.ConnectException: Couldn't find or"
    )
    (at.directory / "missing").mkdir()
    suggested = re.search(r"then run: gitops-connect (.+)", at.run("plan").out)
    assert suggested is not None
    restart = ["restart", "connector", name]
    for command in (suggested[1].split(), [*restart, "--task", "0"], restart):
        ran = at.run(*command)
        assert (ran.code, ran.out) == (0, f"{name} on local was restarted.\n")
        assert at.tasks("sink") == ["RUNNING"]


class TwoHoursLater(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


def later(runtime: Runtime) -> Runtime:
    return replace(runtime, clock=TwoHoursLater())


def add_line(lines: Lines) -> None:
    with lines.file.open("a") as file:
        file.write("one more\n")


def declare_copy(place: Workplace, *sources: Lines) -> None:
    """Apply the sources, and a sink that reads their topics and names each partition that does not move for 1 h."""
    topics = ",".join(place.name(one.stem) for one in sources)
    limits = "health: {offsetsMoveWithin: 1h, partitionsMoveWithin: 1h}"
    sink = place.document("copy", SINK, limits, {"file": str(place.directory / "out.txt"), "topics": f'"{topics}"'})
    place.deploy("all.yaml", *(one.document() for one in sources), sink)


def await_committed(place: Workplace, *stems: str, after: Mapping[str, int] | None = None) -> Mapping[str, int]:
    """Wait until the sink has committed a higher offset of each of these topics than `after`, and return all.

    An exactly-once source also writes a marker after each record.
    """
    before = after or {}

    def committed() -> dict[str, int]:
        found = {one["partition"]["kafka_topic"]: one["offset"]["kafka_offset"] for one in place.offsets("copy")}
        return {stem: found.get(place.name(stem), 0) for stem in ("moving", "still")}

    done: Mapping[str, int] = place.await_that(
        committed, lambda found: all(found[stem] > before.get(stem, 0) for stem in stems)
    )
    return done


def moved(place: Workplace) -> int:
    """The number of partitions that the daemon has seen to move."""
    ledger = place.ledger()
    position = ledger.status.offset_positions.of(LOCAL).get(ConnectorName(place.name("copy")))
    ledger.close()
    return -1 if position is None else sum(one.has_moved for one in position.partitions.values())


@pytest.mark.e2e
def test_a_stuck_partition_among_moving_ones_is_found_across_a_restart_of_the_daemon(real: Workplace) -> None:
    at, moving, still, name = real, Lines(real, "moving"), Lines(real, "still"), real.name("copy")
    declare_copy(at, moving, still)
    first = await_committed(at, "moving", "still")
    with InThread(at):
        at.await_that(lambda: moved(at), lambda found: found == 0)
        add_line(moving)
        add_line(still)
        second = await_committed(at, "moving", "still", after=first)
        at.await_that(lambda: moved(at), lambda found: found == 2)
    assert assess(at, "copy")["health"] == "Healthy"
    assert f"{at.name('still')}/0 since" in at.run("describe", "connector", name).out
    add_line(moving)
    await_committed(at, "moving", after=second)
    with InThread(at, later) as daemon:
        problem = daemon.wait("connector_unhealthy", connector=name)["message"]
        assert problem.startswith(f"1 of 2 partitions does not move: {at.name('still')}/0 since ")
        key = ConnectorName(name), ConditionType.HEALTHY, ""
        found = daemon.await_state(lambda now: key in now.clusters[LOCAL].conditions).clusters[LOCAL]
        assert (found.conditions[key].reason, found.conditions[key].message) == ("OffsetsNotMoving", problem)
        assert not daemon.steps(), "a restart would not help"
        add_line(still)
        daemon.wait("connector_recovered", connector=name)


@pytest.mark.e2e
@pytest.mark.thorough
def test_the_offsets_of_a_sink_are_watched(real: Workplace) -> None:
    at, moving, still = real, Lines(real, "moving"), Lines(real, "still")
    declare_copy(at, moving, still)
    offsets = await_committed(at, "moving", "still")
    command = at.command("offsets", "get", at.name("copy"), "--watch", "--interval", "100ms", "-o", "json")
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert watching.stdout is not None
        lines = (json.loads(line) for line in watching.stdout)
        topics = {next(lines)["partition"]["kafka_topic"] for _ in offsets}
        assert topics == {at.name("moving"), at.name("still")}
        add_line(moving)
        change = next(lines)
        assert change["partition"]["kafka_topic"] == at.name("moving")
        assert (change["before"], change["unit"]) == ({"kafka_offset": offsets["moving"]}, "records")
        assert change["distance"] == change["offset"]["kafka_offset"] - offsets["moving"]
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    assert watching.returncode == 0
