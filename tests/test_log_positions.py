"""KafkaLogs on a real broker: logs with gaps, and records whose times do not grow with their offsets."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.loopback import in_thread
from support.waiting import await_that

from gitops_connect.errors import KafkaUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.sandbox.cluster import Sandbox
from gitops_connect.settings.sections import KafkaSettings

pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
from support.cluster.kafka_topics import Topics

from gitops_connect.kafka_log_reader import KafkaLogs

pytestmark = pytest.mark.e2e
START, MINUTE = 1_700_000_000_000, 60_000


@pytest.fixture
def topics(sandbox: Sandbox) -> Topics:
    return Topics(sandbox.bootstrap)


@pytest.fixture
def logs(sandbox: Sandbox) -> KafkaLogs:
    return KafkaLogs(KafkaSettings((sandbox.bootstrap,)), "[clusters.c.kafka]")


@pytest.fixture
def topic(tmp_path: Path) -> str:
    """A name that no other test has."""
    return f"log-{tmp_path.parent.name}-{tmp_path.name}"


def found_at(logs: KafkaLogs, topic: str, time: int) -> LoggedRecord | None:
    found, errors = logs.at({KafkaPartition(topic, 0): time})
    assert errors == {}
    return found[KafkaPartition(topic, 0)]


def ends(logs: KafkaLogs, topic: str, *, committed_only: bool = False) -> tuple[int, int]:
    found, errors = logs.ranges([KafkaPartition(topic, 0)], committed_only=committed_only)
    assert errors == {}
    return found[KafkaPartition(topic, 0)].start, found[KafkaPartition(topic, 0)].end


def written(logs: KafkaLogs, topic: str, offset: int) -> int:
    return logs.times({KafkaPartition(topic, 0): offset})[KafkaPartition(topic, 0)]


def test_times_of_the_producer(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    topics.create(topic, 2)
    topics.write(topic, [START + one * MINUTE for one in range(100)])
    assert logs.partitions([topic, f"{topic}-none"]) == {topic: 2}
    assert logs.partitions(None)[topic] == 2
    assert f"{topic}-none" not in logs.partitions(None)
    full, empty = KafkaPartition(topic, 0), KafkaPartition(topic, 1)
    assert logs.ranges([full, empty]) == ({full: LogRange(0, 100), empty: LogRange(0, 0)}, {})
    assert logs.at({full: START + 30 * MINUTE, empty: 0})[0] == {
        full: LoggedRecord(30, START + 30 * MINUTE),
        empty: None,
    }
    assert found_at(logs, topic, START + 30 * MINUTE + 1) == LoggedRecord(31, START + 31 * MINUTE)
    assert found_at(logs, topic, START + 99 * MINUTE + 1) is None
    assert logs.times({full: 0, empty: 0}) == {full: START}
    for offset in (1, 50, 98, 99, 100, 5000):
        expected = START + min(offset, 99) * MINUTE
        assert expected - 1000 <= written(logs, topic, offset) <= expected


def test_times_that_do_not_grow(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    """One of them is in microseconds."""
    topics.create(topic)
    topics.write(topic, [START + one * MINUTE for one in (10, 50, 20, 30, 60)] + [START * 1000, START + 61 * MINUTE])
    assert found_at(logs, topic, START + 20 * MINUTE) == LoggedRecord(1, START + 50 * MINUTE)
    newest = [START + one * MINUTE for one in (10, 50, 50, 50, 60)] + [START * 1000] * 3
    for offset, expected in enumerate(newest):
        assert expected - 1000 <= written(logs, topic, offset) <= expected


def test_times_of_the_broker(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    topics.create(topic, message_timestamp_type="LogAppendTime")
    stored = [topics.write(topic, [0, 0, 0])[0] for _ in range(3)]
    assert found_at(logs, topic, 0) == LoggedRecord(0, stored[0])
    assert found_at(logs, topic, stored[1]) in (LoggedRecord(0, stored[0]), LoggedRecord(3, stored[1]))
    for offset in range(10):
        expected = stored[min(offset, 8) // 3]
        assert expected - 1000 <= written(logs, topic, offset) <= expected


def test_transactions(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    """Each ends with a marker, which has an offset, too, and the time of the broker. It is written a moment later."""
    topics.create(topic)
    topics.transaction(topic, [START + one * MINUTE for one in range(3)], end="commit")
    await_that(lambda: ends(logs, topic) == (0, 4))
    topics.transaction(topic, [START + one * MINUTE for one in (3, 4)], end="abort")
    await_that(lambda: ends(logs, topic) == (0, 7))
    still_open = topics.transaction(topic, [START + 5 * MINUTE])
    assert ends(logs, topic) == (0, 8)
    assert ends(logs, topic, committed_only=True) == (0, 7)
    marker = found_at(logs, topic, START + 2 * MINUTE + 1)
    assert marker is not None
    assert marker.offset == 3
    assert marker.timestamp > START + 5 * MINUTE
    assert START + 2 * MINUTE - 1000 <= written(logs, topic, 2) <= START + 2 * MINUTE
    assert marker.timestamp - 1000 <= written(logs, topic, 3) <= marker.timestamp
    still_open.abort_transaction(30)
    await_that(lambda: ends(logs, topic) == ends(logs, topic, committed_only=True) == (0, 9))


def test_deleted_records(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    topics.create(topic)
    topics.write(topic, [START + one * MINUTE for one in range(10)])
    topics.delete_before(topic, 4)
    assert ends(logs, topic) == (4, 10)
    assert found_at(logs, topic, 0) == LoggedRecord(4, START + 4 * MINUTE)
    assert written(logs, topic, 1) == START + 4 * MINUTE
    topics.delete_before(topic, 10)
    assert ends(logs, topic) == (10, 10)
    assert found_at(logs, topic, 0) is None
    assert logs.times({KafkaPartition(topic, 0): 4}) == {}


@pytest.mark.thorough
def test_compacted_records(topics: Topics, logs: KafkaLogs, topic: str) -> None:
    """The log cleaner runs every 15 s."""
    topics.create(topic, cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0.0")
    topics.write(topic, [START + one * MINUTE for one in range(5)], "same")
    topics.write(topic, [START + 5 * MINUTE], "other")
    topics.write(topic, [START + 6 * MINUTE], "third")
    first = LoggedRecord(4, START + 4 * MINUTE)
    await_that(lambda: found_at(logs, topic, 0) == first, seconds=60)
    assert written(logs, topic, 0) == written(logs, topic, 3) == START + 4 * MINUTE
    assert ends(logs, topic) == (0, 7)


class LateBroker(socketserver.ThreadingTCPServer):
    """Passes on what clients send, and the answers only after `late` is set."""

    daemon_threads = True

    def __init__(self, broker: tuple[str, int]) -> None:
        self.broker, self.late = broker, threading.Event()
        super().__init__(("127.0.0.1", 0), LateAnswers)


class LateAnswers(socketserver.BaseRequestHandler):
    server: LateBroker

    def handle(self) -> None:
        with socket.create_connection(self.server.broker) as broker, suppress(OSError):
            sender = threading.Thread(target=pump, args=(self.request, broker), daemon=True)
            sender.start()
            self.server.late.wait(30)
            pump(broker, self.request)


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while found := source.recv(65536):
            target.sendall(found)


@pytest.fixture
def late(sandbox: Sandbox) -> Iterator[LateBroker]:
    host, port = sandbox.bootstrap.split(":")
    server = LateBroker((host, int(port)))
    with in_thread(server):
        yield server


def test_an_answer_after_the_timeout(topics: Topics, topic: str, late: LateBroker) -> None:
    """It is no answer to the next question."""
    topics.create(topic, 3)
    settings = KafkaSettings((f"127.0.0.1:{late.server_address[1]}",), timeout=Duration(1))
    logs = KafkaLogs(settings, "[clusters.c.kafka]")
    with pytest.raises(KafkaUnavailable, match=r"^\[clusters.c.kafka\]: its topics could not be read: .*Timed out"):
        logs.ranges([KafkaPartition(topic, 0)])
    late.late.set()
    assert await_that(lambda: partitions_if_any(logs, topic)) == {topic: 3}
    assert logs.ranges([KafkaPartition(topic, 2)]) == ({KafkaPartition(topic, 2): LogRange(0, 0)}, {})


def partitions_if_any(logs: KafkaLogs, topic: str) -> object:
    try:
        return logs.partitions([topic])
    except KafkaUnavailable:
        return None
