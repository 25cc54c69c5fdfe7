"""KafkaLogs with brokers in this process, whose faults a test chooses. Other tests use real brokers."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitops_connect.errors import KafkaRefused, KafkaUnavailable, UsageError
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import KafkaSettings, SaslMechanism, SecurityProtocol

pytestmark = pytest.mark.slow

kafka = pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
reader = pytest.importorskip("gitops_connect.kafka_log_reader", reason="the client of Kafka is an extra")
admin = pytest.importorskip("confluent_kafka.admin", reason="the client of Kafka is an extra")

Record = tuple[int, int]
WHERE = "[clusters.a.kafka]"
ORDERS, EMPTY = KafkaPartition("orders", 0), KafkaPartition("orders", 1)
NOT_LEADER = kafka.KafkaError(kafka.KafkaError.NOT_LEADER_FOR_PARTITION)


def done(result: object) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(result, kafka.KafkaError):
        future.set_exception(kafka.KafkaException(result))
    elif isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


class Brokers:
    """Answers as AdminClient. Each of `faults` replaces results of one request for offsets."""

    def __init__(self, logs: Mapping[KafkaPartition, list[Record]]) -> None:
        self.logs = logs
        self.faults: deque[Callable[[int], object]] = deque()
        self.topic_errors: dict[str, object] = {}
        self.requests = self.descriptions = 0

    def poll(self, timeout: float) -> int:
        return 0

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        self.descriptions += 1
        counts = {name: sum(one.topic == name for one in self.logs) for name in topics.topic_names}
        unknown = kafka.KafkaError(kafka.KafkaError.UNKNOWN_TOPIC_OR_PART)
        found = {name: Described(count) if count else unknown for name, count in counts.items()}
        return {name: done(self.topic_errors.get(name, one)) for name, one in found.items()}

    def list_topics(self, timeout: float) -> None:
        raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TRANSPORT))

    def list_offsets(self, asked: Mapping[Any, Any], isolation_level: Any, request_timeout: float) -> dict[Any, Any]:
        self.requests += 1
        fault = self.faults.popleft() if self.faults else None
        answers = {one: self.answer(KafkaPartition(one.topic, one.partition), spec) for one, spec in asked.items()}
        results = {one: fault(one.partition) or found if fault else found for one, found in answers.items()}
        return {one: result if isinstance(result, Future) else done(result) for one, result in results.items()}

    def answer(self, partition: KafkaPartition, spec: Any) -> Any:
        records = self.logs[partition]
        if spec is admin.OffsetSpec.earliest():
            found = (records[0][0], -1) if records else (0, -1)
        elif spec is admin.OffsetSpec.latest():
            found = (records[-1][0] + 1, -1) if records else (0, -1)
        elif spec is admin.OffsetSpec.max_timestamp():
            found = max(records, key=lambda one: one[1], default=(-1, -1))
        else:
            found = next((one for one in records if one[1] >= spec.timestamp), (-1, -1))
        return admin.ListOffsetsResultInfo(*found, 0)


class Described:
    def __init__(self, count: int) -> None:
        self.partitions = [None] * count


def logs_of(brokers: Brokers, timeout: float = 5) -> Any:
    logs = real_logs(timeout)
    logs._client = brokers
    return logs


@cache  # a client of librdkafka takes 0.1 s to end
def real_logs(timeout: float) -> Any:
    return reader.KafkaLogs(KafkaSettings(("127.0.0.1:1",), timeout=Duration(timeout)), WHERE)


@st.composite
def log(draw: st.DrawFn) -> list[Record]:
    """Records with gaps between them and any times in this century, and sometimes one in microseconds."""
    gaps = draw(st.lists(st.integers(1, 50), min_size=1, max_size=12))
    times = draw(st.lists(st.integers(0, 4_000_000_000_000), min_size=len(gaps), max_size=len(gaps)))
    if draw(st.booleans()):
        times.sort()
    times[-1] *= draw(st.sampled_from([1, 1, 1000]))
    return [(sum(gaps[: index + 1]), time) for index, time in enumerate(times)]


@example([(1, 0), (5, 2_147_483_647_999)], 4)  # needs all rounds
@given(log(), st.integers(0, 700))
@example([(1, 0), (5, 2_147_483_647_999)], 4)
def test_the_time_of_an_offset_is_the_newest_up_to_it(records: list[Record], offset: int) -> None:
    brokers = Brokers({ORDERS: records, EMPTY: []})
    found = logs_of(brokers).times({ORDERS: offset, EMPTY: 0})
    before = [time for at, time in records if at <= offset]
    expected = max(before) if before else records[0][1]
    assert found.keys() == {ORDERS}
    assert expected - 1000 <= found[ORDERS] <= expected
    assert brokers.requests <= 37


def test_a_steady_log_needs_few_requests() -> None:
    brokers = Brokers({ORDERS: [(offset, 1_700_000_000_000 + 7000 * offset) for offset in range(10_000)]})
    assert logs_of(brokers).times({ORDERS: 4321}) == {ORDERS: 1_700_000_000_000 + 7000 * 4321}
    assert brokers.requests <= 4


def test_a_partition_whose_leader_moves_is_asked_again() -> None:
    brokers = Brokers({ORDERS: [(5, 60_000)], EMPTY: []})
    brokers.faults.extend([lambda partition: NOT_LEADER if partition == 0 else None] * 2)
    assert logs_of(brokers).ranges([ORDERS, EMPTY]) == ({ORDERS: LogRange(5, 6), EMPTY: LogRange(0, 0)}, {})
    assert (brokers.descriptions, brokers.requests) == (3, 4)  # new metadata before each further request


def test_a_broker_that_does_not_answer_is_no_offset() -> None:
    """librdkafka returns -1001 and no error for the partitions of this broker."""
    brokers = Brokers({ORDERS: [(5, 60_000)], EMPTY: []})
    lost = admin.ListOffsetsResultInfo(-1001, -1, -1)
    brokers.faults.append(lambda partition: lost if partition == 0 else None)
    assert logs_of(brokers).ranges([ORDERS, EMPTY])[0][ORDERS] == LogRange(5, 6)
    brokers.faults.extend([lambda partition: lost if partition == 0 else None] * 99)
    found, errors = logs_of(brokers, timeout=0.3).ranges([ORDERS, EMPTY])
    assert (found, errors) == ({EMPTY: LogRange(0, 0)}, {ORDERS: "Local: Broker transport failure"})


def test_a_leader_that_never_comes_back_is_an_error_of_its_partition() -> None:
    brokers = Brokers({ORDERS: [(5, 60_000)], EMPTY: []})
    brokers.faults.extend([lambda partition: NOT_LEADER if partition == 0 else None] * 99)
    found, errors = logs_of(brokers, timeout=0.3).at({ORDERS: 0, EMPTY: 0})
    assert found == {EMPTY: None}
    assert errors == {ORDERS: "Broker: Not leader for partition"}


def test_topics_that_cannot_be_read_are_errors_of_their_partitions() -> None:
    brokers = Brokers({ORDERS: [(5, 60_000)], EMPTY: [], KafkaPartition("secret", 0): []})
    brokers.topic_errors["secret"] = kafka.KafkaError(kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    logs = logs_of(brokers)
    wrong = {
        KafkaPartition("secret", 0): "its principal needs Describe on the topic",
        KafkaPartition("gone", 0): "the topic does not exist",
        KafkaPartition("no topic", 0): "no topic can have this name",
        KafkaPartition("x" * 250, 0): "no topic can have this name",
        KafkaPartition("orders", 2): "the topic has 2 partitions",
        KafkaPartition("orders", -1): "the topic has 2 partitions",
        KafkaPartition("orders", 2**40): "the topic has 2 partitions",
    }
    assert logs.ranges([ORDERS, *wrong]) == ({ORDERS: LogRange(5, 6)}, wrong)
    assert logs.partitions(["orders", "secret", "gone", "no topic", "a\0", ""]) == {"orders": 2}
    assert logs.partitions([]) == {}
    assert logs.at({ORDERS: 2**99, EMPTY: -(2**99)}) == ({ORDERS: None, EMPTY: None}, {})


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (admin.ListOffsetsResultInfo(-7, 5, 0), "its broker answers"),
        (admin.ListOffsetsResultInfo(3, -9, 0), "its broker answers"),
        (RuntimeError("Results length 1 is different"), "Local: Bad message format"),
    ],
)
def test_an_answer_that_cannot_be_true_is_an_error(result: object, reason: str) -> None:
    brokers = Brokers({ORDERS: [(5, 60_000)], EMPTY: []})
    logs = logs_of(brokers)
    for method, asked in ((logs.at, {ORDERS: 0, EMPTY: 0}), (logs.ranges, [ORDERS, EMPTY])):
        brokers.faults.extend([lambda partition: result if partition == 0 else None] * 2)
        found, errors = method(asked)
        if errors:  # the end of a log has no time
            assert found.keys() == {EMPTY}
            assert reason in errors[ORDERS]
        brokers.faults.clear()
    brokers.faults.extend([lambda partition: result if partition == 0 else None] * 2)
    assert logs.times({ORDERS: 5, EMPTY: 0}) in ({}, {ORDERS: 60_000})


def test_no_answer_at_all_ends_with_the_timeout() -> None:
    brokers = Brokers({ORDERS: [(5, 60_000)]})
    brokers.faults.extend([lambda _: Future()] * 9)
    with pytest.raises(KafkaUnavailable, match=r"\[clusters.a.kafka\]: its offsets could not be read: .*Timed out"):
        logs_of(brokers, timeout=0.2).ranges([ORDERS])


def test_a_server_that_never_answers(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = KafkaSettings(
            (f"127.0.0.1:{server.getsockname()[1]}",),
            SecurityProtocol.SASL_PLAINTEXT,
            SaslMechanism.PLAIN,
            "gitops",
            Credential(value="hunter2-of-kafka"),
            timeout=Duration(0.3),
        )
        logs = reader.KafkaLogs(settings, WHERE)
        for read in (
            lambda: logs.partitions(None),
            lambda: logs.partitions(["t"]),
            lambda: logs.ranges([ORDERS]),
            lambda: logs.at({ORDERS: 0}),
            lambda: logs.times({ORDERS: 0}),
        ):
            with pytest.raises(KafkaUnavailable) as failed:
                read()
            assert "hunter2" not in str(failed.value)
    assert capfd.readouterr().err == ""


OAUTH = {
    "bootstrap_servers": ("k:1",),
    "security_protocol": SecurityProtocol.SASL_SSL,
    "sasl_mechanism": SaslMechanism.OAUTHBEARER,
    "username": "gitops",
    "password": Credential(value="hunter2-of-kafka"),
}


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (None, "sasl_mechanism is OAUTHBEARER, but token_url is not set"),
        ("http://login.example.com/token", "token_url: expected a URL that begins with https://"),
        ("http://127.0.0.1@login.example.com/token", "token_url: expected a URL that begins with https://"),
        ("file:///etc/passwd", "token_url: expected a URL that begins with https://"),
    ],
)
def test_the_url_of_tokens_is_needed_and_private(url: str | None, error: str) -> None:
    with pytest.raises(UsageError) as failed:
        reader.KafkaLogs(KafkaSettings(**OAUTH, token_url=url), WHERE)
    assert str(failed.value) == f"{WHERE}: {error}"


@pytest.mark.parametrize("url", ["https://login.example.com/t", "http://localhost:1/t", "http://[::1]:1/t"])
def test_a_client_of_oauth_can_be_created(url: str) -> None:
    reader.KafkaLogs(KafkaSettings(**OAUTH, token_url=url, scope="kafka"), WHERE)


def test_an_answer_of_the_broker_is_no_failed_connection() -> None:
    """An earlier error of a connection does not explain it."""
    logs = logs_of(Brokers({}))
    logs._kafka.last_error = "connection refused"
    refused = kafka.KafkaError(kafka.KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    error = logs._kafka.error("it failed", refused)
    assert isinstance(error, KafkaRefused)
    assert "connection refused" not in str(error)


def test_a_record_has_its_offset_and_its_time() -> None:
    logs = logs_of(Brokers({ORDERS: [(5, 60_000), (9, 50_000), (12, 70_000)]}))
    found = {at: logs.at({ORDERS: at})[0][ORDERS] for at in (0, 60_000, 60_001, 70_001)}
    assert found == {
        0: LoggedRecord(5, 60_000),
        60_000: LoggedRecord(5, 60_000),
        60_001: LoggedRecord(12, 70_000),
        70_001: None,
    }
