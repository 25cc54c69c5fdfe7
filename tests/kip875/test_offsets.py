"""KIP-875, Test Plan: offsets tests."""

from __future__ import annotations

import json

import pytest
from contract.under_test import OTHER, TOPIC, entry, sink_entry

from gitops_connect.errors import NotFound, NotStopped, OffsetsNotChanged, OffsetsNotSupported
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch, to_json
from kip875.workbench import ABSENT, ALL, LAST, Kind, Workbench, source_offsets

pytestmark = pytest.mark.e2e

CHANGES = pytest.mark.parametrize("done", ["altered", "reset"])
ACCEPTED = {
    "Movable": "The offsets for this connector have been {done} successfully",
    "": (
        "The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        "connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        "uses."
    ),
}
"""The response for each class that allows the change. The second class does not implement `alterOffsets`."""
REFUSED = {
    "Fixed": (
        OffsetsNotSupported,
        "Failed to modify offsets for connector {name} because it doesn't support external modification of offsets",
    ),
    "Broken": (OffsetsNotChanged, "the offsets are kept elsewhere, and nobody answers there"),
}
"""The client's error and the response for each class that throws: `UnsupportedOperationException`, or another one."""


def answer(bench: Workbench, name: ConnectorName, done: str, patch: OffsetPatch) -> tuple[int, object]:
    """The worker's answer to a request that alters or resets the offsets."""
    if done == "altered":
        return bench.json("PATCH", f"/connectors/{name}/offsets", {"offsets": [*to_json(patch)]})
    return bench.json("DELETE", f"/connectors/{name}/offsets")


def warning(bench: Workbench, name: ConnectorName, done: str, patch: OffsetPatch) -> str:
    """The warning that the client returns after the same request."""
    return bench.client.alter_offsets(name, patch) if done == "altered" else bench.client.reset_offsets(name)


def test_cannot_view_the_offsets_of_a_nonexistent_connector(bench: Workbench) -> None:
    error = {"error_code": 404, "message": f"Connector {ABSENT} not found"}
    assert bench.json("GET", f"/connectors/{ABSENT}/offsets") == (404, error)
    with pytest.raises(NotFound, match=f"Connector {ABSENT} not found"):
        bench.client.offsets(ABSENT)


def test_can_view_the_offsets_of_a_running_connector(bench: Workbench, kind: Kind) -> None:
    """The offsets show the progress: first a part of it, in the end all of it."""
    subject = bench.subject(kind)
    (offset,) = bench.await_that(lambda: bench.client.offsets(subject.name), bool).values()
    assert json.loads(offset)["position" if kind is Kind.SOURCE else "kafka_offset"] >= 1
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.await_state(subject.name, "RUNNING", ["RUNNING"])


@CHANGES
@pytest.mark.parametrize("variant", ACCEPTED, ids=["implemented", "not-implemented"])
def test_sends_the_appropriate_response_where_alter_offsets_is_implemented_and_where_it_is_not(
    bench: Workbench, kind: Kind, variant: str, done: str
) -> None:
    subject, text = bench.subject(kind, TargetState.STOPPED, variant), ACCEPTED[variant].format(done=done)
    assert answer(bench, subject.name, done, subject.offsets(3)) == (200, {"message": text})
    assert bench.client.offsets(subject.name) == (subject.offsets(3) if done == "altered" else {})
    assert warning(bench, subject.name, done, subject.offsets(3)) == ("" if variant else text)


@CHANGES
@pytest.mark.parametrize("variant", REFUSED, ids=["unsupported", "something-else"])
def test_sends_the_appropriate_response_where_alter_offsets_is_unsupported_or_throws_something_else(
    bench: Workbench, kind: Kind, variant: str, done: str
) -> None:
    """Connect passes on the connector's error message. The offsets do not change."""
    subject = bench.subject(kind, variant=variant)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.stop(subject.name)
    error, text = REFUSED[variant][0], REFUSED[variant][1].format(name=subject.name)
    assert answer(bench, subject.name, done, subject.offsets(3)) == (500, {"error_code": 500, "message": text})
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)
    with pytest.raises(error, match=text):
        warning(bench, subject.name, done, subject.offsets(3))
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)


@CHANGES
def test_cannot_alter_or_reset_the_offsets_of_a_nonexistent_connector(bench: Workbench, done: str) -> None:
    text = f"Connector {ABSENT} not found"
    assert answer(bench, ABSENT, done, source_offsets(3)) == (404, {"error_code": 404, "message": text})
    with pytest.raises(NotFound, match=text):
        warning(bench, ABSENT, done, source_offsets(3))


@CHANGES
@pytest.mark.parametrize("state", ["PAUSED", "RUNNING"])
def test_cannot_alter_or_reset_the_offsets_of_a_paused_or_running_connector(
    bench: Workbench, kind: Kind, state: str, done: str
) -> None:
    subject = bench.subject(kind)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    if state == "PAUSED":
        bench.client.pause(subject.name)
    bench.await_state(subject.name, state, [state])
    text = (
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        f"specified connector by issuing a 'PUT' request to the '/connectors/{subject.name}/stop' endpoint"
    )
    assert answer(bench, subject.name, done, subject.offsets(3)) == (400, {"error_code": 400, "message": text})
    with pytest.raises(NotStopped, match=text):
        warning(bench, subject.name, done, subject.offsets(3))
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)


@pytest.mark.parametrize(("processed", "position"), [(ALL, 5), ([], 15)], ids=["rewinds", "skips"])
def test_can_alter_the_offsets_of_a_stopped_connector_which_uses_them_when_it_is_resumed(
    bench: Workbench, kind: Kind, processed: list[int], position: int
) -> None:
    subject = bench.subject(kind, None if processed else TargetState.STOPPED)
    bench.watch(subject)
    bench.await_that(subject.seen, lambda seen: seen == processed)
    bench.stop(subject.name)
    bench.alter(subject.name, subject.offsets(position))
    assert bench.client.offsets(subject.name) == subject.offsets(position)
    bench.run(subject.name)
    bench.await_that(subject.seen, lambda seen: seen == [*processed, *range(position + 1, LAST + 1)])
    bench.await_offsets(subject.name, subject.offsets(LAST))


def test_altering_merges_and_null_resets_one_partition(bench: Workbench, kind: Kind) -> None:
    def offsets(one: int | None, two: int | None) -> OffsetPatch:
        if kind is Kind.SINK:
            return {**sink_entry(TOPIC, one), **sink_entry(OTHER, two)}
        return {**source_offsets(one), **entry({"stream": "b"}, None if two is None else {"position": two})}

    (_, second), name = offsets(None, None), bench.subject(kind, TargetState.STOPPED).name
    bench.alter(name, offsets(3, 0))
    bench.alter(name, {second: offsets(3, 1)[second]})
    assert bench.client.offsets(name) == offsets(3, 1)
    bench.alter(name, offsets(None, 2))
    assert bench.client.offsets(name) == {second: offsets(3, 2)[second]}


def test_can_reset_the_offsets_of_a_stopped_connector_and_once_more(bench: Workbench, kind: Kind) -> None:
    subject = bench.subject(kind)
    bench.watch(subject)
    bench.await_that(subject.seen, lambda seen: seen == ALL)
    bench.stop(subject.name)
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)
    for _ in range(2):
        bench.reset(subject.name)
        assert bench.client.offsets(subject.name) == {}
    bench.run(subject.name)
    bench.await_that(subject.seen, lambda seen: seen == [*ALL, *ALL])
