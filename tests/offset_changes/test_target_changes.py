"""Offset changes with targets: planned with what the brokers say, resolved again after the stop, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, MemoryCluster, connector
from support.cluster.memory_journal import reconcile_options
from support.cluster.memory_logs import MemoryLogs

from gitops_connect.connect.client import ConnectClient
from gitops_connect.declare import Caches, Declared, declare
from gitops_connect.errors import KafkaUnavailable, NotFound
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.model.outcomes import Result
from gitops_connect.propose import Proposal, ProposeOptions, propose
from gitops_connect.reconcile import reconcile
from gitops_connect.report.text import TextReport
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import ClusterSettings, KafkaSettings, Settings
from gitops_connect.source.checkout import History
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.spark.session import SharedSession

pytestmark = pytest.mark.slow

LOCAL, SINK = ClusterName("local"), ConnectorName("orders-sink")
CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1"}
CONFIG |= {"topics": "a,b,c"}
DOCUMENTS = """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {{name: orders-sink}}
spec:
  class: org.apache.kafka.connect.file.FileStreamSinkConnector
  tasksMax: 1
  config: {{topics: "a,b,c"}}
---
apiVersion: gitops-connect/v1
kind: OffsetChange
metadata: {{name: back}}
spec: {{connector: orders-sink, operation: alter, {what}}}
"""
MINUTE = 60_000


def refused(*_: object) -> NoReturn:
    raise NotFound("no plugin")


def entry(topic: str, offset: int) -> tuple[Any, Any]:
    text = partition_text({"kafka_topic": topic, "kafka_partition": 0})
    return text, offset_text({"kafka_offset": offset})


@dataclass
class Workbench:
    """A sink of two topics with a record each minute, up to now; nothing was ever written to the third topic."""

    directory: Path
    runtime: Runtime
    cluster: MemoryCluster
    logs: MemoryLogs

    def declare(self, what: str, *, committed: datetime | None = None) -> Declared:
        (self.directory / "a.yaml").write_text(DOCUMENTS.format(what=what))
        found = declare(WorkingTree(self.directory), [LOCAL], Caches())
        if committed is None:
            return found
        history = History(lambda *_: Revision("c"), lambda *_: True, lambda _: committed)
        return replace(found, checkout=replace(found.checkout, history=history))

    def propose(self, what: str, **options: Any) -> Proposal:
        return propose(self.runtime, self.declare(what), LOCAL, ProposeOptions(**options))

    def shown(self, what: str) -> str:
        found = self.propose(what)
        return TextReport(coloured=False).plans([found.plan], len(found.diagnostics.errors))

    def errors(self, what: str, **options: Any) -> list[str]:
        found = self.propose(what, **options)
        return [
            f"{one.location.line} {one.rule} {one.summary}"
            for one in (found.diagnostics + found.plan.diagnostics).errors
        ]

    def apply(self, declared: Declared) -> list[tuple[Result, str]]:
        outcome = reconcile(self.runtime, declared, LOCAL, reconcile_options())
        return [(one.result, one.message) for one in outcome.steps]

    @property
    def current(self) -> dict[Any, Any]:
        return dict(self.cluster.stored[SINK])


@pytest.fixture
def bench(tmp_path: Path, sqlite_ledger: Ledger) -> Workbench:
    clock = ManualClock()
    cluster, logs = MemoryCluster(clock), MemoryLogs()
    cluster.put(replace(connector(SINK, RUNNING, CONFIG)))
    now = round(clock.now().timestamp() * 1000)
    for topic in "ab":
        for minute in range(120, 0, -1):
            logs.append(topic, 0, now - minute * MINUTE)
    logs.ends[KafkaPartition("c", 0)] = 0
    cluster.rules.stored.groups[f"connect-{SINK}"] = {("a", 0): 120, ("b", 0): 110}
    cluster.rules.stored.topics |= {"a": [], "b": [], "c": []}
    kafka = KafkaSettings(("127.0.0.1:1",))
    settings = ClusterSettings(
        LOCAL, ("http://127.0.0.1:1",), connect_validate=False, settle_timeout=Duration(20), kafka=kafka
    )
    known = Settings(tmp_path, clusters={LOCAL: settings})
    (tmp_path / "repo").mkdir()
    spark = SharedSession(known.spark, {}, tmp_path / "cache")
    clients = {LOCAL: cast(ConnectClient, cluster)}
    runtime = Runtime(known, sqlite_ledger, clients, {}, spark, clock, open_kafka=lambda *_: logs)
    found = Workbench(tmp_path / "repo", runtime, cluster, logs)
    (found.directory / "a.yaml").write_text(DOCUMENTS.partition("---")[0].format())
    found.apply(declare(WorkingTree(found.directory), [LOCAL], Caches()))  # a new ledger may not know the past
    return found


class TestPlanned:
    def test_the_plan_shows_the_target_and_its_effect(self, bench: Workbench) -> None:
        shown = bench.shown("to: {ago: 1h}, acknowledge: [rewind, skip]")
        assert "to: the first record at or after" in shown
        assert "(1 h before now: the document is not committed)" in shown
        assert "2 rewind (110 records of 59 min reprocessed), 1 new" in shown
        assert "a/0: 120 -> 60    rewind 60 records of 59 min" in shown
        assert "b/0: 110 -> 60    rewind 50 records of 50 min" in shown
        assert "note: no record at or after the time, so these go to the end: c/0" in shown

    def test_ago_counts_from_the_commit(self, bench: Workbench) -> None:
        now = bench.runtime.clock.now()
        declared = bench.declare("to: {ago: 1h}, acknowledge: [rewind]", committed=now - timedelta(minutes=30))
        moves = propose(bench.runtime, declared, LOCAL).plan.offset_changes[0].difference
        assert moves is not None
        assert [one.declared for one in moves.moves] == [entry("a", 30)[1], entry("b", 30)[1], entry("c", 0)[1]]

    @pytest.mark.parametrize(
        ("what", "expected"),
        [
            ("to: {ago: 1h}", "12 offsets/unacknowledged offset change back: 2 partitions are rewound"),
            (
                "to: {topics: oders, position: latest}",
                "12 offsets/target offset change back: the connector does not read",
            ),
            (
                "to: {offset: 200}",
                "12 offsets/target offset change back: a/0: offset 200 is beyond the end (120) by 80",
            ),
            ("to: {shift: -1}, acknowledge: [rewind]", "12 offsets/target offset change back: c/0 has no current"),
            (
                "offsets: [{partition: {kafka_topic: b, kafka_partition: 0}, offset: {kafka_offset: 130}}]",
                "12 offsets/out-of-range offset change back: b/0: offset 130 is beyond the end (120) by 10",
            ),
        ],
    )
    def test_an_error_blocks_the_change(self, bench: Workbench, what: str, expected: str) -> None:
        (error,) = bench.errors(what)
        assert error.startswith(expected)

    def test_deleted_records_are_before_the_start(self, bench: Workbench) -> None:
        del bench.logs.records[KafkaPartition("b", 0)][:100]
        what = "offsets: [{partition: {kafka_topic: b, kafka_partition: 0}, offset: {kafka_offset: 50}}]"
        (error,) = bench.errors(what + ", acknowledge: [rewind]")
        assert error.endswith("b/0: offset 50 is before the start (100): these records were deleted")

    def test_brokers_that_do_not_answer_block_the_change_alone(self, bench: Workbench) -> None:
        bench.logs.error = KafkaUnavailable("no answer")
        for what in ("to: latest", "offsets: [{partition: {kafka_topic: b, kafka_partition: 0}, offset: null}]"):
            found = bench.propose(what)
            assert [(one.rule, one.connector) for one in found.diagnostics.errors] == [("offsets/kafka", SINK)]
            assert "no answer" in found.diagnostics.errors[0].summary
            assert found.plan.steps == ()
        (bench.directory / "a.yaml").write_text(
            DOCUMENTS.replace("alter, {what}", "reset, acknowledge: [reset]").format()
        )
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        steps = propose(bench.runtime, declared, LOCAL).plan.steps
        assert [one.action.value for one in steps] == ["stop", "reset", "resume"]

    def test_without_brokers_only_targets_are_blocked(self, bench: Workbench) -> None:
        cluster = replace(bench.runtime.settings.clusters[LOCAL], kafka=None)
        bench.runtime = replace(bench.runtime, settings=replace(bench.runtime.settings, clusters={LOCAL: cluster}))
        assert bench.errors("to: latest") == [
            "12 offsets/kafka offset change back: the settings do not name its Kafka cluster ([clusters.local.kafka])"
        ]
        what = "offsets: [{partition: {kafka_topic: b, kafka_partition: 0}, offset: {kafka_offset: 999}}]"
        assert [one.action.value for one in bench.propose(what).plan.steps] == ["stop", "alter", "resume"]

    def test_brokers_that_do_not_answer_are_asked_once_for_all_connectors_of_a_plan(self, bench: Workbench) -> None:
        text = DOCUMENTS.format(what="to: latest")
        other = text.replace("orders-sink", "other-sink").replace("name: back", "name: again")
        (bench.directory / "b.yaml").write_text(other)
        bench.cluster.by_hand("configure", ConnectorName("other-sink"), CONFIG)
        bench.logs.error = KafkaUnavailable("no answer")
        assert len(bench.errors("to: latest")) == 2
        assert len(bench.logs.asked) == 1
        assert len(bench.errors("to: latest")) == 2
        assert len(bench.logs.asked) == 2, "the next plan asks again"

    def test_the_brokers_in_a_document_are_not_asked(self, bench: Workbench) -> None:
        override = "topics: x, consumer.override.bootstrap.servers: 'evil:9092'"
        text = DOCUMENTS.replace('topics: "a,b,c"', override).format(what="to: latest")
        (bench.directory / "a.yaml").write_text(text)
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        bench.cluster.by_hand("configure", SINK, dict(declared.states[LOCAL].connectors[0].config))
        (error,) = propose(bench.runtime, declared, LOCAL).diagnostics.errors
        assert "the settings do not name its Kafka cluster ([clusters.local.kafka_clusters.NAME])" in error.summary

    def test_other_brokers_of_a_connector_are_asked_if_the_settings_name_them(self, bench: Workbench) -> None:
        asked = []

        def opened(_: KafkaSettings, where: str) -> MemoryLogs:
            asked.append(where)
            return bench.logs

        known = bench.runtime.settings.clusters[LOCAL]
        cluster = replace(known, kafka_clusters={"eu": KafkaSettings(("eu-1:9092", "eu-2:9092"))})
        settings = replace(bench.runtime.settings, clusters={LOCAL: cluster})
        bench.runtime = replace(bench.runtime, settings=settings, open_kafka=opened)
        servers = "EU-2:9092,eu-3:9092"
        config = f'topics: "a,b,c", consumer.override.bootstrap.servers: "{servers}"'
        config += f', admin.override.bootstrap.servers: "{servers}"'
        (bench.directory / "a.yaml").write_text(
            DOCUMENTS.replace('topics: "a,b,c"', config).format(what="to: latest, acknowledge: [skip]")
        )
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        bench.cluster.by_hand("configure", SINK, dict(declared.states[LOCAL].connectors[0].config))
        assert propose(bench.runtime, declared, LOCAL).diagnostics.errors == ()
        assert asked == ["[clusters.local.kafka_clusters.eu]"]

    def test_the_end_for_a_reader_of_committed_records_is_before_transactions_in_progress(
        self, bench: Workbench
    ) -> None:
        bench.logs.stable[KafkaPartition("b", 0)] = 115
        config = 'topics: "a,b,c", consumer.override.isolation.level: read_committed'
        text = DOCUMENTS.replace('topics: "a,b,c"', config).format(what="to: latest, acknowledge: [skip]")
        (bench.directory / "a.yaml").write_text(text)
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        bench.cluster.by_hand("configure", SINK, dict(declared.states[LOCAL].connectors[0].config))
        (shown,) = propose(bench.runtime, declared, LOCAL).plan.offset_changes
        assert shown.difference is not None
        assert next((one.partition, one.declared) for one in shown.difference.moves) == entry("b", 115)

    def test_a_new_sink_begins_at_its_target(self, bench: Workbench) -> None:
        document = DOCUMENTS.partition("---")[0].format().replace("orders-sink", "new")
        (bench.directory / "b.yaml").write_text(document + "  initialOffsets: {to: [{position: latest}]}\n")
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        assert all(result is Result.APPLIED for result, _ in bench.apply(declared))
        assert bench.cluster.rules.stored.groups["connect-new"] == {("a", 0): 120, ("b", 0): 120, ("c", 0): 0}

    def test_an_unmerged_document_does_not_choose_the_topics(self, bench: Workbench) -> None:
        bench.logs.append("secret", 0, 1)
        bench.cluster.rules.stored.topics["secret"] = []
        text = DOCUMENTS.replace('"a,b,c"', "secret").format(what="to: latest, acknowledge: [skip]")
        (bench.directory / "a.yaml").write_text(text)
        declared = declare(WorkingTree(bench.directory), [LOCAL], Caches())
        bench.cluster.definition = refused  # type: ignore[attr-defined]
        found = propose(bench.runtime, declared, LOCAL, ProposeOptions(untrusted=True))
        assert found.diagnostics.errors == ()
        (shown,) = found.plan.offset_changes
        assert "resolved after the merge" in shown.notes[0]
        assert shown.difference is not None
        assert not shown.difference.moves
        bench.cluster.by_hand("configure", SINK, dict(declared.states[LOCAL].connectors[0].config))
        (shown,) = propose(bench.runtime, declared, LOCAL).plan.offset_changes
        assert shown.difference is not None
        assert [one.partition for one in shown.difference.moves] == [entry("secret", 0)[0]]


class TestApplied:
    WHAT = "to: {ago: 1h}, acknowledge: [rewind]"

    def test_what_is_resolved_after_the_stop_is_sent_and_recorded(self, bench: Workbench) -> None:
        assert all(result is Result.APPLIED for result, _ in bench.apply(bench.declare(self.WHAT)))
        assert bench.current == dict([entry("a", 60), entry("b", 60), entry("c", 0)])
        record = bench.runtime.ledger.offset_changes.of_plan(LOCAL, [OffsetChangeName("back")])["back"]
        assert record.state is OffsetChangeState.SETTLED
        snapshot = bench.runtime.ledger.offset_changes.snapshot(LOCAL, OffsetChangeName("back"))
        assert snapshot == dict([entry("a", 120), entry("b", 110)])
        assert bench.apply(bench.declare(self.WHAT)) == []  # once

    def test_records_that_arrive_after_the_plan_are_in_the_result(self, bench: Workbench) -> None:
        self.after_the_plan(bench, lambda: bench.logs.append("c", 0, 0, count=7))
        bench.apply(bench.declare("to: latest, acknowledge: [skip]"))
        assert bench.current == dict([entry("a", 120), entry("b", 120), entry("c", 7)])

    def test_much_more_than_the_plan_has_shown_is_not_applied(self, bench: Workbench) -> None:
        before = bench.current
        self.after_the_plan(bench, lambda: bench.logs.append("b", 0, 0, count=5000))
        steps = bench.apply(bench.declare("to: latest, acknowledge: [skip]"))
        assert [result for result, _ in steps] == [Result.APPLIED, Result.FAILED, Result.APPLIED]
        assert "the plan showed a skip of 10 records, and now it is a skip of 5,010 records" in steps[1][1]
        assert bench.current == before

    def test_brokers_that_fail_after_the_stop_leave_the_offsets(self, bench: Workbench) -> None:
        before = bench.current

        def fail() -> None:
            bench.logs.error = KafkaUnavailable("no answer")

        self.after_the_plan(bench, fail)
        steps = bench.apply(bench.declare(self.WHAT))
        assert [result for result, _ in steps] == [Result.APPLIED, Result.FAILED, Result.APPLIED]
        assert "its targets could not be resolved: no answer" in steps[1][1]
        assert bench.current == before

    @pytest.mark.parametrize(("error", "minutes"), [(None, 65), (KafkaUnavailable("no answer"), None)])
    def test_what_a_change_did_is_recorded_as_of_the_stop(
        self, bench: Workbench, error: KafkaUnavailable | None, minutes: int | None
    ) -> None:
        """The connector has read on since the plan. Without an answer of the brokers, only the time is missing."""

        def read_on() -> None:
            bench.cluster.rules.stored.groups[f"connect-{SINK}"] = {("a", 0): 120, ("b", 0): 115}
            bench.logs.error = error

        self.after_the_plan(bench, read_on)
        partition = "{kafka_topic: b, kafka_partition: 0}"
        offsets = f"offsets: [{{partition: {partition}, offset: {{kafka_offset: 50}}}}]"
        bench.apply(bench.declare(f"acknowledge: [rewind], {offsets}"))
        (effect,) = bench.runtime.ledger.offset_changes.effects(LOCAL, [OffsetChangeName("back")]).values()
        (move,) = effect.difference.moves
        expected = (*entry("b", 115), entry("b", 50)[1], 65, minutes and minutes * MINUTE)
        assert (move.partition, move.current, move.declared, move.distance, move.time) == expected

    @staticmethod
    def after_the_plan(bench: Workbench, act: Callable[[], None]) -> None:
        """Do something once the connector is stopped."""
        stop = bench.cluster.stop

        def stopped(name: ConnectorName) -> None:
            stop(name)
            act()

        bench.cluster.stop = stopped  # type: ignore[method-assign]
