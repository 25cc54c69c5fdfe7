"""Offset changes with each result that `alterOffsets` allows (KIP-875), also if the connector fails afterwards."""

from __future__ import annotations

import json

import pytest

from acceptance.workplace import SINK, Workplace, change


class Numbers:
    """A source that counts to 20; the name of its class begins with `prefix`."""

    def __init__(self, place: Workplace, prefix: str) -> None:
        self.place = place
        self.plugin = f"org.example.fixtures.{prefix}NumberSource"

    def commit(self, spec: str = "", **config: str) -> None:
        given = {"topic": self.place.name("numbers"), "until": "20", "streams": "a", **config}
        self.place.commit("numbers.yaml", self.place.document("numbers", self.plugin, spec, given))

    def run(self) -> None:
        self.commit()
        self.place.apply()
        self.await_position(20)

    def position(self) -> int | None:
        return self.place.position("numbers")

    def await_position(self, wanted: int) -> None:
        self.place.await_position("numbers", wanted)

    def move(self, offset_change: str = "alter", position: int = 5) -> None:
        """Commit the change `back`: a rewind to the position, or a reset."""
        entry = {"partition": {"stream": "a"}, "offset": {"position": position}}
        alter = f"operation: alter\noffsets: {json.dumps([entry])}\nacknowledge: [rewind]"
        spec = alter if offset_change == "alter" else "operation: reset\nacknowledge: [reset]"
        self.place.commit("back.yaml", change("back", self.place.name("numbers"), spec))


@pytest.mark.parametrize("spec", ["alter", "reset"])
@pytest.mark.on_kafka
def test_offsets_that_may_be_managed_externally_are_changed_with_one_warning(at: Workplace, spec: str) -> None:
    numbers = Numbers(at, "")
    numbers.run()
    numbers.move(spec)
    ran = at.apply()
    warning = "this class does not check offsets, and may also store its position elsewhere"
    assert (ran.out + ran.err).count(warning) == 1
    assert "externally" not in ran.out + ran.err
    assert warning in at.run("offsets", "history", at.name("numbers")).out
    numbers.await_position(20)


@pytest.mark.parametrize("spec", ["alter", "reset"])
def test_a_plugin_that_rejects_the_change_is_asked_once_and_keeps_running(at: Workplace, spec: str) -> None:
    numbers = Numbers(at, "Fixed")
    numbers.run()
    numbers.move(spec)
    at.run("apply", "--yes").expect(1, err="doesn't support external modification of offsets")
    assert at.states() == {"numbers": "RUNNING"}
    assert numbers.position() == 20

    again = at.run("apply", "--yes").expect(err="it failed and is not retried")
    assert "stop" not in again.out


def test_a_change_that_fails_in_the_plugin_changes_nothing_and_is_retried_later(at: Workplace) -> None:
    numbers = Numbers(at, "Broken")
    numbers.run()
    numbers.move()
    at.run("apply", "--yes").expect(1, err="nobody answers there")
    assert at.states() == {"numbers": "RUNNING"}
    assert numbers.position() == 20
    assert "next retry at" in at.run("apply", "--yes").err

    numbers.move(position=6)
    retried = at.run("apply", "--yes")
    assert "~ alter" in retried.out, "a changed document is tried again at once"


@pytest.mark.e2e
def test_a_poison_pill_is_skipped_by_a_commit(real: Workplace) -> None:
    at = real
    given, arrived, topic = at.directory / "given.txt", at.directory / "arrived.txt", at.name("poisoned")
    given.write_text('{"n": 1}\nno JSON\n{"n": 3}\n')
    json_only = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": '"false"',
        "errors.tolerance": "none",
        "consumer.override.max.poll.records": '"1"',
    }
    sink = at.document("sink", SINK, "", {"file": str(arrived), "topics": topic, **json_only})
    at.commit("connectors.yaml", at.source("source", file=str(given), topic=topic), sink)
    at.run("apply", "--yes")  # the exit code is 1 if the sink has already read the record
    at.await_that(lambda: at.tasks("sink"), lambda found: found == ["FAILED"])

    entry = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 2}}
    spec = f"operation: alter\noffsets: {json.dumps([entry])}\nreason: record 1 is no JSON"
    at.deploy("skip.yaml", change("skip-poison-pill", at.name("sink"), spec))
    at.await_that(lambda: arrived.read_text().splitlines(), lambda found: found[-1:] == ["{n=3}"])
    assert at.tasks("sink") == ["RUNNING"]


FAILED = "FAILED: task 0 is FAILED: org.apache.kafka.connect.errors.ConnectException: number {} is no longer there"


class AgingNumbers(Numbers):
    """Its task fails at the first poll if it resumes before `oldest`."""

    def __init__(self, place: Workplace) -> None:
        super().__init__(place, "Movable")
        place.settings('min_running = "1.5s"')

    def commit(self, spec: str = "", **config: str) -> None:
        super().commit(spec, **{"oldest": "10", "interval.ms": "300", **config})


def test_an_offset_change_that_kills_the_task_is_a_failure_and_its_undo_leads_back(at: Workplace) -> None:
    numbers = AgingNumbers(at)
    numbers.run()
    numbers.move()
    at.run("apply", "--yes").expect(
        1,
        out="2 of 3 steps applied, 1 failed",
        err=(f"resume {FAILED.format(5)}", "to restore the offsets, run: gitops-connect offsets undo back"),
    )
    assert (numbers.position(), at.tasks("numbers")) == (5, ["FAILED"])

    again = at.run("apply", "--yes")
    assert "1 rewind" not in again.out, "what was applied is not applied again"
    assert numbers.position() == 5

    at.undo("back")
    at.apply()
    assert (numbers.position(), at.tasks("numbers")) == (20, ["RUNNING"])


@pytest.mark.on_kafka
def test_a_new_connector_whose_initial_offsets_kill_its_task_is_ours_and_its_undo_leads_back(at: Workplace) -> None:
    numbers = AgingNumbers(at)
    entry = {"partition": {"stream": "a"}, "offset": {"position": 5}}
    numbers.commit(f"initialOffsets: {{offsets: {json.dumps([entry])}}}")
    ran = at.run("apply", "--yes").expect(1, err=f"resume {FAILED.format(5)}")
    seed = f"initialOffsets/{at.name('numbers')}"
    assert f"gitops-connect offsets undo {seed}; fix its config in the repository, and apply again" in ran.err
    assert "adopt" not in at.run("plan").out

    at.undo(seed)
    at.apply()
    assert at.tasks("numbers") == ["RUNNING"]
