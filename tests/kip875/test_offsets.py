"""KIP-875, Test Plan: offsets tests."""

from __future__ import annotations

import json

import pytest

from gitops_connect.errors import NotFound, NotStopped, OffsetsNotChanged, OffsetsNotSupported
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import offset_text, to_json
from kip875.workbench import ALL, LAST, Kind, Subject, Workbench, await_that, sink_offsets, source_offsets

pytestmark = pytest.mark.e2e

ABSENT = ConnectorName("no-such-connector")
CHANGES = pytest.mark.parametrize(
    ("method", "done"), [("PATCH", "altered"), ("DELETE", "reset")], ids=["alter", "reset"]
)


def change(bench: Workbench, subject: Subject, method: str) -> tuple[int, object]:
    """The worker's answer to a request that alters (PATCH) or resets (DELETE) the offsets."""
    body = {"offsets": [*to_json(subject.offsets(3))]} if method == "PATCH" else None
    return bench.rest(method, f"/connectors/{subject.name}/offsets", body)


def change_by_client(bench: Workbench, subject: Subject, method: str) -> str:
    if method == "PATCH":
        return bench.client.alter_offsets(subject.name, subject.offsets(3))
    return bench.client.reset_offsets(subject.name)


def come_to_the_end(bench: Workbench, subject: Subject) -> Subject:
    """Wait until the connector has reached the last number, and stop it."""
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.stop(subject.name)
    return subject


def test_cannot_view_the_offsets_of_a_nonexistent_connector(bench: Workbench) -> None:
    answer = {"error_code": 404, "message": f"Connector {ABSENT} not found"}
    assert bench.rest("GET", f"/connectors/{ABSENT}/offsets") == (404, answer)
    with pytest.raises(NotFound, match="Connector no-such-connector not found"):
        bench.client.offsets(ABSENT)


def test_can_view_the_offsets_of_a_running_connector(bench: Workbench, kind: Kind) -> None:
    """The offsets show the progress: first a part of it, in the end all of it."""
    subject = bench.subject(kind)
    await_that(lambda: bench.offsets(subject.name), bool)
    (offset,) = bench.offsets(subject.name).values()
    assert json.loads(offset)["position" if kind is Kind.SOURCE else "kafka_offset"] >= 1
    bench.await_offsets(subject.name, subject.offsets(LAST))
    assert bench.states(subject.name) == ("RUNNING", ["RUNNING"])


@CHANGES
def test_sends_the_appropriate_response_where_alter_offsets_is_implemented(
    bench: Workbench, kind: Kind, method: str, done: str
) -> None:
    subject = bench.subject(kind, TargetState.STOPPED)
    message = f"The offsets for this connector have been {done} successfully"
    assert change(bench, subject, method) == (200, {"message": message})
    assert bench.offsets(subject.name) == (subject.offsets(3) if done == "altered" else {})
    assert change_by_client(bench, subject, method) == ""


@CHANGES
def test_sends_the_appropriate_response_where_alter_offsets_is_not_implemented(
    bench: Workbench, kind: Kind, method: str, done: str
) -> None:
    subject = bench.subject(kind, TargetState.STOPPED, variant="")
    message = (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        "uses."
    )
    assert change(bench, subject, method) == (200, {"message": message})
    assert bench.offsets(subject.name) == (subject.offsets(3) if done == "altered" else {})
    assert change_by_client(bench, subject, method) == message


@CHANGES
def test_sends_the_appropriate_response_where_alter_offsets_is_unsupported(
    bench: Workbench, kind: Kind, method: str, done: str
) -> None:
    subject = come_to_the_end(bench, bench.subject(kind, variant="Fixed"))
    message = (
        f"Failed to modify offsets for connector {subject.name} because it doesn't support external modification of "
        "offsets"
    )
    assert change(bench, subject, method) == (500, {"error_code": 500, "message": message}), done
    assert bench.offsets(subject.name) == subject.offsets(LAST)
    with pytest.raises(OffsetsNotSupported, match="doesn't support external modification"):
        change_by_client(bench, subject, method)


@CHANGES
def test_sends_the_appropriate_response_where_alter_offsets_throws_something_else(
    bench: Workbench, kind: Kind, method: str, done: str
) -> None:
    """Connect passes on the connector's error message."""
    subject = come_to_the_end(bench, bench.subject(kind, variant="Broken"))
    message = "the offsets are kept elsewhere, and nobody answers there"
    assert change(bench, subject, method) == (500, {"error_code": 500, "message": message}), done
    assert bench.offsets(subject.name) == subject.offsets(LAST)
    with pytest.raises(OffsetsNotChanged, match="nobody answers there"):
        change_by_client(bench, subject, method)


@CHANGES
def test_cannot_alter_or_reset_the_offsets_of_a_nonexistent_connector(bench: Workbench, method: str, done: str) -> None:
    absent = Subject(ABSENT, lambda number: source_offsets(a=number), bench.directory, {})
    answer = {"error_code": 404, "message": f"Connector {ABSENT} not found"}
    assert change(bench, absent, method) == (404, answer), done
    with pytest.raises(NotFound, match="no-such-connector not found"):
        change_by_client(bench, absent, method)


@CHANGES
@pytest.mark.parametrize("state", ["PAUSED", "RUNNING"])
def test_cannot_alter_or_reset_the_offsets_of_a_connector_that_is_not_stopped(
    bench: Workbench, kind: Kind, state: str, method: str, done: str
) -> None:
    subject = bench.subject(kind)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    if state == "PAUSED":
        bench.client.pause(subject.name)
    bench.await_state(subject.name, state, [state])
    message = (
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        f"specified connector by issuing a 'PUT' request to the '/connectors/{subject.name}/stop' endpoint"
    )
    assert change(bench, subject, method) == (400, {"error_code": 400, "message": message}), done
    with pytest.raises(NotStopped, match="must be in the STOPPED state"):
        change_by_client(bench, subject, method)
    assert bench.offsets(subject.name) == subject.offsets(LAST)


def test_can_alter_the_offsets_of_a_stopped_connector_which_then_rewinds(bench: Workbench, kind: Kind) -> None:
    subject = bench.subject(kind)
    bench.watch(subject)
    await_that(subject.seen, lambda seen: seen == ALL)
    bench.stop(subject.name)
    bench.alter(subject.name, subject.offsets(5))
    assert bench.offsets(subject.name) == subject.offsets(5)
    bench.resume(subject.name)
    await_that(subject.seen, lambda seen: seen == [*ALL, *range(6, LAST + 1)])
    bench.await_offsets(subject.name, subject.offsets(LAST))


def test_can_alter_the_offsets_of_a_stopped_connector_which_then_skips(bench: Workbench, kind: Kind) -> None:
    subject = bench.subject(kind, TargetState.STOPPED)
    bench.watch(subject)
    bench.alter(subject.name, subject.offsets(15))
    assert bench.offsets(subject.name) == subject.offsets(15)
    bench.resume(subject.name)
    await_that(subject.seen, lambda seen: seen == [16, 17, 18, 19, 20])
    bench.await_offsets(subject.name, subject.offsets(LAST))


def test_altering_merges_and_null_resets_one_partition_of_a_source(bench: Workbench) -> None:
    subject = bench.subject(Kind.SOURCE, TargetState.STOPPED, streams="a,b")
    bench.alter(subject.name, source_offsets(a=3, b=4))
    bench.alter(subject.name, source_offsets(b=7))
    assert bench.offsets(subject.name) == source_offsets(a=3, b=7)
    bench.alter(subject.name, source_offsets(a=None, b=8))
    assert bench.offsets(subject.name) == source_offsets(b=8)


def test_altering_merges_and_null_resets_one_partition_of_a_sink(bench: Workbench) -> None:
    assert bench.numbers is not None
    one, two = bench.numbers.topic, "connect-status"
    name = bench.subject(Kind.SINK, TargetState.STOPPED, topics=f"{one},{two}").name
    bench.alter(name, {**sink_offsets(one, 3), **sink_offsets(two, 0)})
    bench.alter(name, sink_offsets(two, 1))
    assert bench.offsets(name) == {**sink_offsets(one, 3), **sink_offsets(two, 1)}
    bench.alter(name, {**sink_offsets(one, None), **sink_offsets(two, 2)})
    assert bench.offsets(name) == sink_offsets(two, 2)


def test_can_reset_the_offsets_of_a_stopped_connector_and_once_more(bench: Workbench, kind: Kind) -> None:
    subject = bench.subject(kind)
    bench.watch(subject)
    await_that(subject.seen, lambda seen: seen == ALL)
    bench.stop(subject.name)
    assert bench.offsets(subject.name) == subject.offsets(LAST)
    for _ in range(2):
        bench.reset(subject.name)
        assert bench.offsets(subject.name) == {}
    bench.resume(subject.name)
    await_that(subject.seen, lambda seen: seen == [*ALL, *ALL])


def test_numbers_keep_their_type_through_a_change(bench: Workbench) -> None:
    """Connect returns the values that were sent, so that both can be compared as text."""
    name = bench.subject(Kind.SOURCE, TargetState.STOPPED).name
    (partition,) = source_offsets(a=0)
    for offset in ({"position": 2**63 - 1}, {"position": 1.5}, {"position": "1"}, {"at": True, "lsn": None, "é": "ü"}):
        bench.alter(name, {partition: offset_text(offset)})
        assert bench.offsets(name) == {partition: offset_text(offset)}
