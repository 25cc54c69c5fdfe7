"""What the client adds to the endpoints. tests/contract tests the endpoints, also on a real Connect."""

from __future__ import annotations

import socket
from threading import Barrier

import pytest
from standin.connect import StandIn

from gitops_connect.connect.client import ConnectClient, WorkerProbe
from gitops_connect.errors import ConnectRefused, NotFound, OutcomeUnknown, Rejected
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import offset_text, partition_text

pytestmark = pytest.mark.slow

NAME = ConnectorName("orders")
CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
NUMBERS = {"connector.class": "MovableNumberSource", "topic": "t"}
STREAM, THREE = partition_text({"stream": "a"}), offset_text({"position": 3})
PATCH = {STREAM: THREE}


def test_an_older_worker_says_what_it_cannot_do_and_not_that_the_connector_is_absent(
    standin: StandIn, client: ConnectClient
) -> None:
    standin.cluster.version = "3.6.2"
    with pytest.raises(Rejected, match='Unrecognized field "initial_state"'):
        client.create(NAME, CONFIG, TargetState.STOPPED)
    client.create(NAME, CONFIG)
    client.stop(NAME)
    standin.cluster.version = "3.5.1"
    assert client.offsets(NAME) == {}
    for change in (lambda: client.alter_offsets(NAME, PATCH), lambda: client.reset_offsets(NAME)):
        with pytest.raises(ConnectRefused, match="this worker has no such endpoint"):
            change()
    standin.cluster.version = "3.4.1"
    for request in (lambda: client.offsets(NAME), lambda: client.stop(NAME)):
        with pytest.raises(ConnectRefused, match="this worker has no such endpoint") as caught:
            request()
        assert not isinstance(caught.value, NotFound)


def test_a_name_of_no_use_is_not_sent_and_any_name_stays_one_step_of_the_path(
    standin: StandIn, client: ConnectClient
) -> None:
    with pytest.raises(Rejected, match=r"connect cluster local: the connector name 'a/b' cannot be used"):
        client.create(ConnectorName("a/b"), CONFIG)
    for name in ("..", ".", "a?b", "a/b"):
        with pytest.raises(ConnectRefused):
            client.pause(ConnectorName(name))
    sent = ["..", ".", "a%3Fb", "a%2Fb"]
    assert [call.path for call in standin.calls] == [f"/connectors/{name}/pause" for name in sent]


def test_a_trace_shows_no_secret(standin: StandIn, client: ConnectClient) -> None:
    client.create(NAME, {**CONFIG, "database.password": "hunter2"})
    standin.cluster.fail_task(NAME, 0, "java.lang.Error: cannot log in with hunter2")
    connector = client.connectors()[0][NAME]
    assert (connector.trace, connector.tasks[0].trace) == ("", "java.lang.Error: cannot log in with ***")
    standin.cluster.fail(NAME, "java.lang.Error: cannot log in with hunter2")
    assert client.connectors()[0][NAME].trace == "java.lang.Error: cannot log in with ***"


def test_a_verdict_shows_no_value_of_a_password_key(standin: StandIn, client: ConnectClient) -> None:
    value = {"name": "odd", "value": "[hidden]", "errors": ["Invalid value hunter2 for configuration odd"]}
    body = {"configs": [{"definition": {"name": "odd", "type": "PASSWORD"}, "value": value}]}
    standin.answer("PUT", ".*/validate", 200, body)
    verdict = client.validate("X", {"connector.class": "X", "odd": "hunter2"})
    assert verdict.errors == {"odd": ("Invalid value *** for configuration odd",)}


def test_transitions_take_effect_later(standin: StandIn, client: ConnectClient) -> None:
    """The stand-in can be as slow as a real Connect: no status at first, and tasks that outlive a stop."""
    cluster, seconds = standin.cluster, iter(range(99))
    cluster.now, cluster.delay, cluster.transit = lambda: next(seconds), 4, 4  # each request takes a second
    client.create(NAME, CONFIG)
    seen = [client.connectors()[0].get(NAME) for _ in range(12)]
    states = [connector and (connector.state.value, len(connector.tasks)) for connector in seen]
    assert [*dict.fromkeys(states)] == [None, ("RUNNING", 0), ("RUNNING", 1)]
    client.stop(NAME)
    seen = [client.connectors()[0][NAME] for _ in range(12)]
    states = [(connector.state.value, len(connector.tasks)) for connector in seen if connector]
    assert [*dict.fromkeys(states)] == [("RUNNING", 1), ("STOPPED", 1), ("STOPPED", 0)]


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_whose_answer_is_lost_is_not_sent_again(
    standin: StandIn, client: ConnectClient, method: str, effect: bool
) -> None:
    client.create(NAME, NUMBERS, TargetState.STOPPED)
    before = {partition_text({"stream": "b"}): THREE}
    client.alter_offsets(NAME, before)
    standin.drop(method, ".*/offsets", effect=effect)
    with pytest.raises(OutcomeUnknown):
        client.alter_offsets(NAME, PATCH) if method == "PATCH" else client.reset_offsets(NAME)
    after = {**before, **PATCH} if method == "PATCH" else {}
    assert client.offsets(NAME) == (after if effect else before)
    assert standin.count(method, ".*/offsets") == (2 if method == "PATCH" else 1)


def test_an_answer_that_is_not_connects_leaves_the_outcome_open(standin: StandIn, client: ConnectClient) -> None:
    standin.answer("PATCH|DELETE", ".*/offsets", 200, {"status": "ok"}, times=2)
    for change in (lambda: client.alter_offsets(NAME, PATCH), lambda: client.reset_offsets(NAME)):
        with pytest.raises(OutcomeUnknown, match="this is not an answer of Kafka Connect"):
            change()
    standin.answer("GET", ".*/offsets", 200, {"status": "ok"})
    with pytest.raises(ConnectRefused, match="this is not an answer of Kafka Connect: the list of offsets is missing"):
        client.offsets(NAME)


def test_only_a_worker_of_the_settings_or_that_was_reached_before_can_be_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        worker = f"127.0.0.1:{server.getsockname()[1]}"
        probe = WorkerProbe(["http://connect.example:8083"])
        assert probe.gone({worker, "127.0.0.1:1"}) == frozenset()
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1) == b"", "nothing is sent to the worker"
    assert probe.gone({worker, "127.0.0.1:1"}) == {worker}
    assert WorkerProbe(["http://127.0.0.1:1/"]).gone({"127.0.0.1:1"}) == {"127.0.0.1:1"}


def test_dead_workers_are_tried_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them takes a second."""
    together = Barrier(3)
    monkeypatch.setattr("gitops_connect.connect.client._accepts", lambda _: together.wait(10) < 0)
    workers = {f"127.0.0.1:{port}" for port in (1, 2, 3)}
    assert WorkerProbe([f"http://{one}" for one in workers]).gone(workers) == workers


def test_a_name_that_is_no_address_is_never_gone() -> None:
    assert WorkerProbe([]).gone({"", "no port", "a..b:8083", "host:99999", "host:-1"}) == frozenset()
