"""The lag of sinks and mirrors: what is counted, what is unknown, and how many requests it takes."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, Fault, MemoryCluster, connector
from support.cluster.memory_logs import MemoryLogs

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import KafkaUnavailable
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord
from gitops_connect.model.lag import ConnectorLag, PartitionReading
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ClusterName, ConnectorName, Digest
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.offset_changes import connector_lag
from gitops_connect.offset_changes.connector_lag import LagReads, Measurement, partition_lags
from gitops_connect.offset_changes.kafka_positions import KafkaReads
from gitops_connect.report.connector_status import lag_words
from gitops_connect.report.offset_lines import partition_lag_words
from gitops_connect.settings.sections import ClusterSettings, KafkaSettings

SINK, MIRROR = ConnectorName("sink"), ConnectorName("mirror")
SINK_CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": "a,b"}
MIRROR_CONFIG = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "topics": "a.*"}
MIRROR_CONFIG |= {"source.cluster.alias": "eu", "source.cluster.bootstrap.servers": "eu:9092"}
A, B = KafkaPartition("a", 0), KafkaPartition("b", 0)
MINUTE = 60_000
COMMITTED = {"consumer.override.isolation.level": "read_committed"}


class Bench:
    """Two Kafka clusters with a record for each of the last 120 minutes in two topics; a sink, and a mirror of `eu`."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cluster = MemoryCluster(self.clock)
        self.logs = defaultdict[str, MemoryLogs](MemoryLogs)
        now = round(self.clock.now().timestamp() * 1000)
        for where in ("[clusters.local.kafka]", "[clusters.local.kafka_clusters.eu]"):
            for topic in "ab":
                for minute in range(120, 0, -1):
                    self.logs[where].append(topic, 0, now - minute * MINUTE)
        self.home, self.eu = self.logs.values()
        self.groups = cast(dict[str, dict[KafkaPartition, int]], self.cluster.rules.stored.groups)
        self.groups["connect-sink"] = {A: 60, B: 110}
        kafka = KafkaSettings(("home:9092",))
        others = {"eu": KafkaSettings(("eu:9092",))}
        self.settings = ClusterSettings(ClusterName("local"), ("http://w:1",), kafka=kafka, kafka_clusters=others)
        self.put(SINK, SINK_CONFIG)
        self.put(MIRROR, MIRROR_CONFIG, {"cluster": "eu", "topic": "a", "partition": 0})
        self.opened = 0
        self.reads = LagReads(self.settings, BUILT_IN, self.open)

    def open(self, _: object, where: str) -> MemoryLogs:
        self.opened += 1
        return self.logs[where]

    def put(
        self, name: ConnectorName, config: Mapping[str, str], *partitions: dict[str, Any], offset: int = 99
    ) -> None:
        self.cluster.put(replace(connector(name, RUNNING, config)))
        if partitions:
            self.cluster.stored[name] = {partition_text(one): offset_text({"offset": offset}) for one in partitions}

    def measure(self) -> Measurement:
        found = self.cluster.connectors()[0]
        return self.reads.measure(cast(ConnectClient, self.cluster), found, self.clock)

    def lag(self, name: ConnectorName = SINK) -> ConnectorLag:
        return self.measure().lags[name]

    @property
    def words(self) -> dict[str, str]:
        return {name: lag_words(lag) for name, lag in self.measure().lags.items()}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_records_and_their_age(bench: Bench) -> None:
    assert bench.measure().problems == []
    assert bench.words == {SINK: "70 (1 h)", MIRROR: "20 (20 min)"}
    assert (bench.lag().worst, bench.lag().worst_records, bench.lag().unread) == (A, 60, 0)
    assert bench.lag().value()["worst_partition"] == "a/0"
    bench.groups["connect-sink"] = {A: 120, B: 120}
    assert bench.words[SINK] == "0"
    assert (bench.lag().age, bench.lag().value()["worst_partition"]) == (timedelta(), None)


def test_the_requests_do_not_grow_with_the_connectors(bench: Bench) -> None:
    for number in range(50):
        name = ConnectorName(f"s{number}")
        bench.put(name, SINK_CONFIG)
        bench.groups[f"connect-{name}"] = {A: number % 3, KafkaPartition("b", 0): 120}
    assert len(bench.measure().lags) == 52
    assert sorted(bench.home.asked) == ["ranges", "times", "times", "times", "times"]
    assert bench.eu.asked == ["ranges", "times"]
    assert sorted(bench.cluster.offset_looks) == sorted(bench.cluster.connectors()[0])
    assert bench.words["s49"] == "119 (1 h 59 min)"


def test_times_are_searched_a_few_times_only(bench: Bench) -> None:
    for number in range(9):
        bench.put(ConnectorName(f"s{number}"), SINK_CONFIG)
        bench.groups[f"connect-s{number}"] = {A: number}
    lags = bench.measure().lags
    assert bench.home.asked.count("times") == 5
    assert sum(one.since is None for one in lags.values()) == 5


def test_what_a_connector_does_not_read_any_more_is_not_counted(bench: Bench) -> None:
    bench.put(SINK, SINK_CONFIG | {"topics": "b"})
    foreign = [{"cluster": "us", "topic": "a", "partition": 0}, {"cluster": "eu", "topic": "b", "partition": 0}]
    bench.put(MIRROR, MIRROR_CONFIG, *foreign, {"cluster": "eu", "topic": "a", "partition": 0}, offset=109)
    assert bench.words == {SINK: "10 (10 min)", MIRROR: "10 (10 min)"}


def test_the_group_of_the_config_counts(bench: Bench) -> None:
    bench.put(SINK, SINK_CONFIG | {"consumer.override.group.id": "mine"})
    assert SINK not in bench.words, "it has committed nothing"
    bench.groups["mine"] = {A: 119}
    assert bench.words[SINK] == "1 (1 min)"
    bench.put(SINK, SINK_CONFIG | {"consumer.override.group.id": "${file:x:y}"})
    assert SINK not in bench.words
    bench.put(SINK, SINK_CONFIG | {"consumer.override.bootstrap.servers": "other:1"})
    assert SINK not in bench.words, "the settings do not name its Kafka cluster"


@pytest.mark.parametrize(
    ("excluded", "is_counted"),
    [
        ("x", True),
        ("b,a", False),
        ("(?i)A.*", False),
        ("A", True),
        ("", True),
        ("(a+)+b", False),
        ("${file:x:y}", False),
    ],
)
def test_topics_that_a_mirror_excludes(bench: Bench, excluded: str, is_counted: bool) -> None:
    """Nothing is counted if it is not certain what the mirror reads."""
    bench.put(MIRROR, MIRROR_CONFIG | {"topics.exclude": excluded})
    assert (MIRROR in bench.words) is is_counted


def test_a_position_before_the_start_or_after_the_end(bench: Bench) -> None:
    bench.home.records[A] = bench.home.records[A][100:]
    bench.groups["connect-sink"] = {A: 5, B: 500}
    assert bench.words[SINK] == "20 (20 min)"


def test_transactions_in_progress_are_no_lag_for_readers_of_committed_records(bench: Bench) -> None:
    bench.home.stable[A] = 65
    assert bench.lag().records == 70
    bench.put(SINK, SINK_CONFIG | COMMITTED)
    assert bench.lag().records == 15
    bench.eu.stable[A] = 101
    bench.put(MIRROR, MIRROR_CONFIG | {"source.consumer.isolation.level": "read_committed"})
    assert bench.lag(MIRROR).records == 1


def test_what_could_not_be_read_is_unknown(bench: Bench) -> None:
    bench.home.unread[A] = "its leader does not answer"
    found = bench.measure()
    assert lag_words(found.lags[SINK]) == "at least 10 (10 min)"
    assert found.problems == ["partition a/0: its leader does not answer"]
    bench.home.unread[B] = "its leader does not answer"
    found = bench.measure()
    assert found.lags.keys() == {MIRROR}
    assert found.problems[0].endswith("/0 (and 1 more): its leader does not answer")


def test_a_kafka_cluster_or_a_connector_that_fails_stops_nothing_else(bench: Bench) -> None:
    bench.home.error = KafkaUnavailable("no broker answers")
    found = bench.measure()
    assert (found.lags.keys(), found.problems) == ({MIRROR}, ["no broker answers"])
    bench.home.error = None
    bench.cluster.faults["offsets", SINK].append(Fault.of("ConnectRefused: no Describe"))
    bench.put(ConnectorName("other"), SINK_CONFIG)
    bench.groups["connect-other"] = {A: 120}
    found = bench.measure()
    assert (found.lags.keys(), found.problems) == ({MIRROR, "other"}, ["the offsets of connector sink: no Describe"])


def test_a_machine_without_a_temporary_directory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    found = bench.measure()
    assert (found.lags, found.problems) == (
        {},
        ["cannot write to the directory /nowhere: No such file or directory"],
    )


def test_a_client_that_failed_is_opened_again(bench: Bench) -> None:
    bench.measure()
    bench.measure()
    assert bench.opened == 2
    bench.home.error = KafkaUnavailable("the password is wrong")
    bench.measure()
    bench.home.error = None
    assert bench.words[SINK] == "70 (1 h)"
    assert bench.opened == 4


def test_connectors_are_read_first_if_the_workers_did_not_answer_in_time(bench: Bench) -> None:
    more = ConnectorName("mirror2")
    bench.put(more, MIRROR_CONFIG, {"cluster": "eu", "topic": "a", "partition": 0})
    bench.cluster.threads = lambda *_: ThreadPoolExecutor(1)  # type: ignore[method-assign]
    bench.cluster.faults["offsets", MIRROR].append(Fault.of("ConnectUnavailable: no worker answers"))
    found = bench.measure()
    assert (found.lags, found.problems) == ({}, ["the offsets of connector mirror: no worker answers"])
    bench.cluster.offset_looks.clear()
    assert bench.measure().lags.keys() == {SINK, MIRROR, more}
    assert bench.cluster.offset_looks == [more, SINK, MIRROR]


def test_a_mirror_with_too_many_offsets_is_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ConnectorName] = []

    def save(name: ConnectorName, file: Path, _: int, **__: float) -> Offsets | SavedOffsets:
        if name == SINK:
            return bench.cluster.offsets(name)
        read.append(name)
        return SavedOffsets(str(file), 10**7, 10**9, Digest("d"))

    monkeypatch.setattr(bench.cluster, "save_offsets", save)
    assert bench.measure().lags.keys() == bench.measure().lags.keys() == {SINK}
    assert read == [MIRROR]


def test_a_kafka_cluster_is_not_asked_without_an_interval(bench: Bench) -> None:
    kafka = replace(bench.settings.kafka_clusters["eu"], lag_interval=Duration(0))
    settings = replace(bench.settings, kafka_clusters={"eu": kafka})
    bench.reads = LagReads(settings, BUILT_IN, bench.open)
    assert bench.measure().lags.keys() == {SINK}
    assert bench.eu.asked == []


@pytest.mark.parametrize("timestamp", [2**63 - 1, 10**18])
def test_a_time_that_no_calendar_has(bench: Bench, timestamp: int) -> None:
    bench.home.records[A] = [LoggedRecord(offset, timestamp) for offset in range(120)]
    assert bench.words[SINK] == "70"
    assert bench.lag().value()["seconds"] is None


def test_a_time_in_the_future_is_no_negative_age(bench: Bench) -> None:
    bench.clock.seconds -= 7200
    assert bench.lag().age == timedelta()


@pytest.mark.parametrize("partition", [-1, 10**30, None, "0", 0.5])
def test_hostile_partitions_and_offsets(bench: Bench, partition: Any) -> None:
    bench.put(MIRROR, MIRROR_CONFIG, {"cluster": "eu", "topic": "a\n\x1b", "partition": partition}, offset=-(10**30))
    assert bench.measure().lags.keys() == {SINK}


def test_the_partitions_of_a_measurement_are_kept_the_largest_lag_first(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (partition_text({"kafka_topic": topic, "kafka_partition": 0}) for topic in "ab")
    assert bench.lag().partitions == (PartitionReading(first, 60, 120, 60), PartitionReading(second, 110, 120, 10))
    assert bench.lag().counted == 2
    assert bench.lag(MIRROR).partitions[0].partition == partition_text({"cluster": "eu", "topic": "a", "partition": 0})
    long = KafkaPartition("b" * 500, 0)
    bench.home.append(long.topic, 0, 0)
    bench.put(SINK, SINK_CONFIG | {"topics": f"a,b,{long.topic}"})
    bench.groups["connect-sink"][long] = 0
    assert (bench.lag().counted, len(bench.lag().partitions)) == (3, 2), "no topic has such a name"
    monkeypatch.setattr(connector_lag, "MOST_KEPT", 1)
    assert [one.partition for one in bench.lag().partitions] == [first]
    assert (bench.lag().records, bench.lag().counted) == (71, 3)


def test_a_measurement_says_how_far_each_partition_has_moved_since_the_one_before(bench: Bench) -> None:
    before = bench.lag()
    assert before.after(None) is before
    bench.groups["connect-sink"] = {A: 50, B: 112, KafkaPartition("a", 1): 0}
    bench.home.append("a", 1, 0)
    bench.clock.seconds += 60
    later = bench.lag().after(before)
    assert [(one.position, one.moved) for one in later.partitions] == [(50, -10), (112, 2), (0, None)]
    assert (later.before, later.measured) == (before.measured, before.measured + timedelta(minutes=1))


def test_the_lag_of_each_partition(bench: Bench) -> None:
    shape = BUILT_IN.shape(SINK_CONFIG)
    assert shape is not None
    assert shape.log is not None
    offsets = {
        partition_text({"kafka_topic": topic, "kafka_partition": 0}): offset_text({"kafka_offset": at})
        for topic, at in {"a": 60, "b": 120, "gone": 3}.items()
    }
    found = partition_lags(KafkaReads(bench.settings, bench.open), shape, shape.log, SINK_CONFIG, offsets)
    assert [(one.end, one.records) for one in found.values()] == [(120, 60), (120, 0)]
    now = bench.clock.now()
    assert [partition_lag_words(one, now) for one in found.values()] == [("120", "60", "1 h"), ("120", "0", "-")]
