"""What the client adds to the endpoints. Their behaviour is in tests/contract, which runs over the real one too."""

from __future__ import annotations

import pytest
from standin.connect import StandIn

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectRefused, NotFound, Rejected
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName

NAME = ConnectorName("orders")
CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}


def test_an_older_worker_refuses_an_initial_state(standin: StandIn, client: ConnectClient) -> None:
    standin.cluster.version = "3.6.2"
    with pytest.raises(Rejected, match='Unrecognized field "initial_state"'):
        client.create(NAME, CONFIG, TargetState.STOPPED)
    client.create(NAME, CONFIG)
    assert client.names() == {NAME}


def test_a_worker_without_stop_says_so_and_not_that_the_connector_is_absent(
    standin: StandIn, client: ConnectClient
) -> None:
    standin.cluster.version = "3.4.1"
    client.create(NAME, CONFIG)
    with pytest.raises(ConnectRefused, match="this worker has no such endpoint") as caught:
        client.stop(NAME)
    assert not isinstance(caught.value, NotFound)


def test_a_name_of_no_use_is_not_sent(standin: StandIn, client: ConnectClient) -> None:
    with pytest.raises(Rejected, match=r"connect cluster local: the connector name 'a/b' is of no use"):
        client.create(ConnectorName("a/b"), CONFIG)
    assert standin.count() == 0


def test_a_name_stays_one_step_of_the_path(standin: StandIn, client: ConnectClient) -> None:
    for name in ("..", ".", "a?b", "a/b"):
        with pytest.raises(ConnectRefused):
            client.pause(ConnectorName(name))
    assert [call.path for call in standin.calls] == [
        "/connectors/../pause",
        "/connectors/./pause",
        "/connectors/a%3Fb/pause",
        "/connectors/a%2Fb/pause",
    ]


def test_a_trace_shows_no_secret(standin: StandIn, client: ConnectClient) -> None:
    client.create(NAME, {**CONFIG, "database.password": "hunter2"})
    standin.cluster.fail(NAME, "java.lang.Error: cannot log in with hunter2")
    assert client.connectors()[0][NAME].trace == "java.lang.Error: cannot log in with ***"


def test_a_tasks_trace_shows_no_secret(standin: StandIn, client: ConnectClient) -> None:
    client.create(NAME, {**CONFIG, "database.password": "hunter2"})
    standin.cluster.fail_task(NAME, 0, "java.lang.Error: cannot log in with hunter2")
    connector = client.connectors()[0][NAME]
    assert (connector.trace, connector.tasks[0].trace) == ("", "java.lang.Error: cannot log in with ***")


def test_a_verdict_shows_no_value_of_a_password_key(standin: StandIn, client: ConnectClient) -> None:
    value = {"name": "odd", "value": "[hidden]", "errors": ["Invalid value hunter2 for configuration odd"]}
    body = {"configs": [{"definition": {"name": "odd", "type": "PASSWORD"}, "value": value}]}
    standin.answer("PUT", ".*/validate", 200, body)
    verdict = client.validate("X", {"connector.class": "X", "odd": "hunter2"})
    assert verdict.errors == {"odd": ("Invalid value *** for configuration odd",)}


def test_a_server_that_masks_passwords(standin: StandIn, client: ConnectClient) -> None:
    standin.cluster.masks_passwords = True
    config = {"connector.class": "MirrorSource", "source.cluster.alias": "a", "sasl.jaas.config": "hunter2"}
    client.create(NAME, config, TargetState.STOPPED)
    assert client.connectors()[0][NAME].config["sasl.jaas.config"] == "********"


def test_transitions_take_effect_later(standin: StandIn, client: ConnectClient) -> None:
    """The stand-in can be as slow as the real one: no status at first, and tasks that outlive a stop."""
    standin.cluster.lag = 2
    client.create(NAME, CONFIG)
    seen = [client.connectors()[0].get(NAME) for _ in range(3)]
    assert [connector and connector.state.value for connector in seen] == [None, None, "RUNNING"]
    client.stop(NAME)
    seen = [client.connectors()[0][NAME] for _ in range(5)]
    assert [(connector.state.value, len(connector.tasks)) for connector in seen] == [
        ("RUNNING", 1),
        ("RUNNING", 1),
        ("STOPPED", 1),
        ("STOPPED", 1),
        ("STOPPED", 0),
    ]
