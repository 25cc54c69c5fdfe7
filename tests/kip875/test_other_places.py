"""KIP-875, Test Plan: offsets that are not stored in the default group, topic or cluster.

If it matters, a test exists for both kinds of worker: with support for exactly-once sources, and without.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json

import pytest

from gitops_connect.model.desired import TargetState
from gitops_connect.model.offsets import to_json
from gitops_connect.sandbox.cluster import Sandbox
from kip875.workbench import ALL, LAST, Kind, Subject, Workbench, lines, source_offsets

pytestmark = pytest.mark.e2e

CLIENTS = ("producer", "consumer", "admin")


def view_and_alter(bench: Workbench, subject: Subject) -> None:
    """View and alter the offsets, and check the effect: the numbers after the new offset are reprocessed."""
    bench.await_that(subject.seen, lambda seen: seen == ALL)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.stop(subject.name)
    bench.alter(subject.name, subject.offsets(5))
    assert bench.client.offsets(subject.name) == subject.offsets(5)
    bench.run(subject.name)
    bench.await_that(subject.seen, lambda seen: seen == [*ALL, *range(6, LAST + 1)])
    bench.stop(subject.name)
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)


def view_alter_and_reset(bench: Workbench, subject: Subject) -> None:
    view_and_alter(bench, subject)
    for _ in range(2):
        bench.reset(subject.name)
        assert bench.client.offsets(subject.name) == {}
    bench.run(subject.name)
    bench.await_that(subject.seen, lambda seen: seen == [*ALL, *range(6, LAST + 1), *ALL])


def targeting(cluster: Sandbox) -> dict[str, str]:
    """The config with which a connector uses this Kafka cluster instead of its worker's."""
    return {f"{client}.override.bootstrap.servers": cluster.bootstrap for client in CLIENTS}


def kept(bench: Workbench, subject: Subject, topic: str, **more: str) -> list[object]:
    """The offsets of this source in an offsets topic, up to the first tombstone (None)."""
    file = bench.directory / "offsets.txt"
    bench.record(topic, file, **more)

    def offsets() -> list[object]:
        records = [line.split(" ", 3) for line in lines(file)]
        return [json.loads(value) for _, _, key, value in records if json.loads(key)[0] == subject.name]

    found: list[object] = bench.await_that(offsets, lambda found: None in found)
    return found[: found.index(None)]


def test_can_view_alter_and_reset_the_offsets_of_a_sink_with_an_overridden_consumer_group_id(bench: Workbench) -> None:
    group = {"consumer.override.group.id": bench.name("group")}
    subject = bench.subject(Kind.SINK, **group)
    other = bench.subject(Kind.SINK, TargetState.STOPPED, **group)
    bench.await_offsets(other.name, subject.offsets(LAST))  # it never ran: its offsets are the group's
    view_alter_and_reset(bench, subject)


def test_can_view_alter_and_reset_the_offsets_of_a_source_with_a_custom_offsets_topic(second_bench: Workbench) -> None:
    bench, topic = second_bench, second_bench.name("own-offsets")
    subject = bench.subject(Kind.SOURCE, **{"offsets.storage.topic": topic})
    bench.watch(subject)
    view_alter_and_reset(bench, subject)
    offsets = kept(bench, subject, topic)
    assert {"position": 5} in offsets
    assert offsets[-1] == {"position": LAST}


def test_can_view_and_alter_the_offsets_of_an_exactly_once_source_with_a_custom_offsets_topic(bench: Workbench) -> None:
    subject = bench.subject(Kind.SOURCE, **{"offsets.storage.topic": bench.name("own-offsets")})
    bench.watch(subject)
    view_and_alter(bench, subject)


@pytest.mark.thorough  # the worker cannot close its producer, whose thread then takes half a processor until it ends
def test_a_tombstone_never_reaches_the_custom_offsets_topic_of_an_exactly_once_source(
    bench: Workbench, sandbox: Sandbox
) -> None:
    """Kafka 4.3.1: the worker answers 500 after 90s. This test fails with the first release that supports it.

    The worker writes its own offsets topic first, and then the connector's; but the transaction for the connector's
    topic has been committed by then (`ConnectorOffsetBackingStore`).
    """
    topic = bench.name("own-offsets")
    name = bench.subject(Kind.SOURCE, TargetState.STOPPED, **{"offsets.storage.topic": topic}).name
    bench.alter(name, source_offsets(5))
    body = json.dumps({"offsets": [*to_json(source_offsets(None))]})
    reason = f"Cannot add partition {topic}-0 to transaction"
    logs = [part.log for part in sandbox.status()]
    with contextlib.closing(http.client.HTTPConnection(bench.url.removeprefix("http://"))) as connection:
        connection.request("PATCH", f"/connectors/{name}/offsets", body, {"Content-Type": "application/json"})
        bench.await_that(lambda: any(reason in log.read_text() for log in logs), bool)
    assert bench.client.offsets(name) == source_offsets(5)


def test_can_view_alter_and_reset_the_offsets_of_a_source_that_targets_a_different_kafka_cluster(
    second_bench: Workbench, sandbox: Sandbox
) -> None:
    target = targeting(sandbox)
    subject = second_bench.subject(Kind.SOURCE, **target)
    second_bench.watch(subject, **target)
    view_alter_and_reset(second_bench, subject)


def test_can_view_and_alter_the_offsets_of_an_exactly_once_source_that_targets_a_different_kafka_cluster(
    bench: Workbench, other_sandbox: Sandbox
) -> None:
    target = targeting(other_sandbox)
    subject = bench.subject(Kind.SOURCE, **target)
    bench.watch(subject, **target)
    view_and_alter(bench, subject)


def test_can_view_alter_and_reset_the_offsets_of_a_sink_that_targets_a_different_kafka_cluster(
    bench: Workbench, other_sandbox: Sandbox
) -> None:
    target = targeting(other_sandbox)
    there = dataclasses.replace(bench, counted=bench.count(**target))
    view_alter_and_reset(there, there.subject(Kind.SINK, **target))


def test_a_sink_whose_admin_client_has_another_cluster_has_no_offsets_there(
    bench: Workbench, other_sandbox: Sandbox
) -> None:
    """So Connect would change offsets that nothing reads: plans of such changes are blocked."""
    target = targeting(other_sandbox)
    there = dataclasses.replace(bench, counted=bench.count(**target))
    consumer = "consumer.override.bootstrap.servers"
    subject = there.subject(Kind.SINK, **{consumer: target[consumer]})
    bench.await_that(subject.seen, lambda seen: seen == ALL)
    bench.stop(subject.name)
    assert bench.client.offsets(subject.name) == {}
    bench.client.configure(subject.name, {**bench.client.connectors()[0][subject.name].config, **target})
    bench.await_offsets(subject.name, subject.offsets(LAST))
