"""Offset changes with targets on a real broker and worker: written by commands, planned, applied and undone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import SINK, Workplace, change

from gitops_connect.sandbox.cluster import Sandbox

pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
from support.cluster.kafka_topics import Topics

pytestmark = pytest.mark.e2e
MINUTE = 60_000


class Payments:
    """A sink that has written a record for each of the last 120 minutes, from a topic of its own, to its file."""

    def __init__(self, place: Workplace, bootstrap: str) -> None:
        self.place, self.topic, self.file = place, place.name("payments"), place.directory / "out.txt"
        now = round(time.time() * 1000)
        topics = Topics(bootstrap)
        topics.create(self.topic)
        topics.write(self.topic, [now - minute * MINUTE + MINUTE // 2 for minute in range(120, 0, -1)])
        place.settings(more=f'[clusters.local.kafka]\nbootstrap_servers = ["{bootstrap}"]\n')
        place.deploy("sink.yaml", self.document())
        self.await_lines(120)

    def document(self, spec: str = "") -> str:
        converter = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
        converter |= {"consumer.override.metadata.max.age.ms": "1000"}
        return self.place.document("sink", SINK, spec, {"file": str(self.file), "topics": self.topic, **converter})

    def await_lines(self, count: int) -> None:
        def lines() -> int:
            return len(self.file.read_text().splitlines()) if self.file.exists() else 0

        self.place.await_that(lines, lambda found: found == count)

    def offset(self) -> int | None:
        found = self.place.offsets("sink")
        return found[0]["offset"]["kafka_offset"] if found else None

    def lag(self) -> tuple[int, str]:
        """The records and the age that `status` and `offsets get` show."""
        status = self.place.run("status").expect(0).out
        (known,) = (one["lag"] for one in json.loads(self.place.run("status", "-o", "json").out))
        _, row = self.place.run("offsets", "get", self.place.name("sink")).expect(0).out.splitlines()
        end, records, age = re.split(r"   +", row)[2:]
        shown = f"{records} ({age})" if known["records"] else "0"
        assert (end, records, f"   {shown}   " in status) == ("120", str(known["records"]), True)
        return known["records"], age

    def stop(self) -> None:
        """Stop the sink: it commits its offsets."""
        self.place.deploy("sink.yaml", self.document("state: stopped"))
        self.place.await_that(self.offset, lambda found: found == 120)

    def resume(self) -> None:
        self.place.deploy("sink.yaml", self.document())

    def write(self, *arguments: str) -> str:
        """Write a document with a command of `offsets`, and commit it as it is; return what the command prints."""
        file = self.place.repository / "back.yaml"
        verb, *rest = arguments
        ran = self.place.run("offsets", verb, self.place.name("sink"), *rest, "--out", str(file), "--force").expect(0)
        self.place.commit_all()
        return ran.err


@pytest.fixture
def payments(tmp_path: Path, sandbox: Sandbox) -> Iterator[Payments]:
    place = Workplace(tmp_path, tuple(sandbox.worker_urls))
    yield Payments(place, sandbox.bootstrap)
    place.clean()


def test_exactly_the_records_of_the_last_hour_come_again(payments: Payments) -> None:
    payments.stop()
    printed = payments.write("rewind", "--ago", "1h", "--name", "back")
    name = payments.topic
    assert "1 rewind (60 records of 59 min reprocessed)" in printed
    assert f"< {name}/0: 120 -> 60  rewind 60 records of 59 min" in printed
    file = payments.place.repository / "back.yaml"
    assert '  to: {"ago": "1h"}\n  #acknowledge: [rewind]' in file.read_text()
    payments.place.run("plan").expect(4, err="1 partition is rewound, so that 60 records are reprocessed")
    file.write_text(file.read_text().replace("#acknowledge", "acknowledge"))
    payments.place.commit_all()
    payments.place.run("plan").expect(0, out="(1 h before the commit)")
    payments.resume()
    payments.await_lines(180)
    assert payments.place.run("offsets", "history", payments.place.name("sink")).expect(0, out="back")
    payments.stop()
    undone = payments.place.undo("back")
    assert "120" in (payments.place.repository / "undo.yaml").read_text(), undone.err


def test_a_manifest_is_compared_with_the_time_between_the_records(payments: Payments) -> None:
    payments.stop()
    file, name = payments.place.directory / "back.json", payments.place.name("sink")
    payments.place.run("offsets", "get", name, "--save", str(file)).expect(0)
    file.write_text(file.read_text().replace("120", "90"))
    payments.place.run("offsets", "diff", name, str(file)).expect(0, out="1 rewind (30 records of 29 min reprocessed)")


def test_to_the_end_and_to_a_number(payments: Payments) -> None:
    payments.stop()
    payments.write("to", "30")
    file: Path = payments.place.repository / "back.yaml"
    file.write_text(file.read_text().replace("#acknowledge", "acknowledge"))
    payments.place.commit_all()
    payments.place.apply()
    assert payments.offset() == 30
    assert payments.lag() == (90, "1 h 29 min")
    assert "1 skip (90 records of 1 h 29 min skipped)" in payments.write("skip", "--latest", "--name", "all")
    payments.place.apply()
    assert payments.offset() == 120
    assert payments.lag() == (0, "-")


@pytest.mark.parametrize(
    ("offset", "why"), [(200, "offset 200 is beyond the end (120) by 80"), (10, "offset 10 is before the start (20)")]
)
def test_an_offset_out_of_range_is_an_error(payments: Payments, sandbox: Sandbox, offset: int, why: str) -> None:
    Topics(sandbox.bootstrap).delete_before(payments.topic, 20)
    entry = f"{{partition: {{kafka_topic: {payments.topic}, kafka_partition: 0}}, offset: {{kafka_offset: {offset}}}}}"
    spec = f"operation: alter\noffsets: [{entry}]\nacknowledge: [rewind]"
    payments.stop()
    payments.place.commit("c.yaml", change("wrong", payments.place.name("sink"), spec))
    payments.place.run("plan").expect(4, err=f"{payments.topic}/0: {why}")


def test_brokers_that_do_not_answer_hold_that_change_alone(payments: Payments) -> None:
    payments.place.settings(more='[clusters.local.kafka]\nbootstrap_servers = ["127.0.0.1:1"]\ntimeout = "2s"\n')
    payments.place.write("other.yaml", payments.place.source("other", "state: stopped"))
    payments.place.commit("c.yaml", change("back", payments.place.name("sink"), "operation: alter\nto: earliest"))
    payments.place.run("apply", "--yes").expect(4, err="[offsets/kafka]")
    assert payments.place.states() == {"sink": "RUNNING", "other": "STOPPED"}
