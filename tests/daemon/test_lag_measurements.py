"""The job of the daemon that measures the lag: when it runs, what it publishes, and what it forgets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from daemon.test_clean_up import WaitingJobs
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, MemoryCluster, connector
from support.cluster.memory_logs import MemoryLogs
from support.planner.offset_change_values import LOCAL

from gitops_connect.connect.client import ConnectClient
from gitops_connect.daemon import lag_measurements
from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.jobs import Jobs
from gitops_connect.errors import ConnectUnavailable, KafkaUnavailable
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.names import ConnectorName
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import ClusterSettings, KafkaSettings, Settings
from gitops_connect.source.checkout import Source
from gitops_connect.spark.session import SharedSession

pytestmark = pytest.mark.slow

SINK = ConnectorName("sink")
JOB = f"measure the lag of {LOCAL}"


class HurriedJobs(WaitingJobs):
    def hurry(self, _: str) -> None:
        """The test says when a job runs."""


class Measuring:
    """A daemon whose jobs run when the test says so, and a sink that has not read 7 records."""

    def __init__(self, directory: Path, ledger: Ledger) -> None:
        self.clock, self.logs, self.jobs = ManualClock(), MemoryLogs(), HurriedJobs()
        self.cluster = MemoryCluster(self.clock)
        self.cluster.put(
            replace(
                connector(
                    SINK,
                    RUNNING,
                    {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": "a"},
                )
            )
        )
        self.logs.append("a", 0, 0, 7)
        self.cluster.rules.stored.groups[f"connect-{SINK}"] = {KafkaPartition("a", 0): 0}
        self.interval, self.directory = 60.0, directory
        self.on_open: Callable[[], None] = lambda: None
        spark, clients = SharedSession(self.settings.spark, {}, directory), {LOCAL: cast(ConnectClient, self.cluster)}
        self.runtime = Runtime(self.settings, ledger, clients, {}, spark, self.clock, open_kafka=self.open)
        load, jobs = lambda: self.settings, lambda *_: cast(Jobs, self.jobs)
        self.daemon = Daemon(self.runtime, cast(Source, None), load=load, jobs=jobs)
        self.daemon.begin()
        self.daemon.leadership.end()
        self.daemon.state.set_leader(is_leader=True)

    @property
    def settings(self) -> Settings:
        kafka = KafkaSettings(("home:9092",), lag_interval=Duration(self.interval))
        cluster = ClusterSettings(LOCAL, ("http://w:1",), kafka=kafka)
        return Settings(self.directory, clusters={LOCAL: cluster})

    def run(self, seconds: float = 60) -> dict[str, int]:
        """Run the job that waits, and let time pass. Returns the records of the lags that are published."""
        work, _ = self.jobs.waiting.pop(JOB)
        work()
        self.clock.seconds += seconds
        return {name: one.records for name, one in self.daemon.state.snapshot.clusters[LOCAL].lags.items()}

    def open(self, *_: object) -> MemoryLogs:
        self.on_open()
        return self.logs

    def reload(self, interval: float) -> None:
        self.interval = interval
        self.daemon._reload()


@pytest.fixture
def measuring(tmp_path: Path) -> Iterator[Measuring]:
    with closing(Ledger.open("sqlite:///state.db", tmp_path, b"k" * 32)) as ledger:
        yield Measuring(tmp_path, ledger)


def test_the_leader_measures_after_each_interval(measuring: Measuring) -> None:
    assert measuring.jobs.waiting[JOB][1] == 60
    assert measuring.run() == {SINK: 7}
    measuring.logs.append("a", 0, 0)
    assert measuring.run() == {SINK: 8}
    assert measuring.jobs.waiting[JOB][1] == 60


def test_a_follower_measures_nothing_and_shows_nothing(measuring: Measuring) -> None:
    measuring.run()
    measuring.daemon.state.set_leader(is_leader=False)
    asked = len(measuring.logs.asked)
    assert measuring.run() == {}
    assert len(measuring.logs.asked) == asked
    assert JOB in measuring.jobs.waiting


def test_a_lag_that_cannot_be_measured_again_is_kept_for_three_intervals(
    measuring: Measuring, caplog: pytest.LogCaptureFixture
) -> None:
    measuring.run()
    measuring.logs.error = KafkaUnavailable("no broker answers")
    with caplog.at_level(logging.WARNING):
        assert [measuring.run(), measuring.run()] == [{SINK: 7}, {SINK: 7}]
    view, now = measuring.daemon.state.snapshot.clusters[LOCAL], datetime.now(UTC)
    shown = [replace(view.lags[SINK], measured=now - timedelta(minutes=minutes)) for minutes in (2, 4)]
    assert [replace(view, lags={SINK: one}).lag(SINK) for one in shown] == [shown[0], None]
    said: list[Any] = [one for one in caplog.records if one.getMessage() == "lag_unknown"]
    assert [one.fields for one in said] == [{"cluster": LOCAL, "message": "no broker answers"}], "it is said once"
    measuring.cluster.look_faults.append(ConnectUnavailable("no worker answers"))
    assert measuring.run() == {SINK: 7}


def test_the_partitions_are_published_with_their_moves_and_are_bounded(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    def partitions() -> list[tuple[str, int, int | None]]:
        measuring.run()
        lags = measuring.daemon.state.snapshot.clusters[LOCAL].lags
        return [(name, one.position, one.moved) for name, lag in sorted(lags.items()) for one in lag.partitions]

    other, partition = ConnectorName("other"), KafkaPartition("a", 0)
    measuring.cluster.put(connector(other, RUNNING, measuring.cluster.present[SINK].config))
    measuring.cluster.rules.stored.groups[f"connect-{other}"] = {partition: 6}
    assert partitions() == [(other, 6, None), (SINK, 0, None)]
    measuring.cluster.rules.stored.groups[f"connect-{SINK}"] = {partition: 2}
    assert partitions() == [(other, 6, 0), (SINK, 2, 2)]
    monkeypatch.setattr(lag_measurements, "_MOST_PARTITIONS", 1)
    assert partitions() == [(SINK, 2, 0)], "that connector has the larger lag"


def test_a_connector_that_is_gone_has_no_lag(measuring: Measuring) -> None:
    measuring.run()
    measuring.cluster.unreadable.add(SINK)
    assert measuring.run() == {SINK: 7}, "it exists"
    measuring.cluster.unreadable.clear()
    del measuring.cluster.rules.connectors[SINK]
    assert measuring.run() == {}


def test_the_interval_changes_at_once(measuring: Measuring) -> None:
    measuring.run()
    measuring.reload(0)
    assert measuring.run() == {}
    assert JOB not in measuring.jobs.waiting
    measuring.reload(30)
    assert measuring.jobs.waiting[JOB][1] == 30


def test_a_measurement_in_progress_is_not_shown_if_the_settings_end_it(measuring: Measuring) -> None:
    measuring.on_open = lambda: measuring.reload(0)
    assert measuring.run() == {}
    assert JOB not in measuring.jobs.waiting
