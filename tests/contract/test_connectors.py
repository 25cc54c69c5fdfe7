"""The behaviour of connectors, tested on the stand-in and on a real Connect."""

from __future__ import annotations

import pytest

from contract.under_test import OVER_HTTP, SOURCE, Contract, entry
from gitops_connect.errors import AlreadyExists, ConnectRefused, NotFound, Rejected
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.observe import observe

pytestmark = pytest.mark.slow

ABSENT = ConnectorName("no-such-connector")


def test_the_worker_names_its_version_and_cluster(contract: Contract) -> None:
    info = contract.client.info()
    assert info.version.major >= 3
    assert info.reported.startswith(f"{info.version.major}.{info.version.minor}.")
    assert info.commit
    assert info.kafka_cluster_id
    status, body = contract.json("GET", "/")
    assert (status, body.keys() >= {"version", "commit", "kafka_cluster_id"}) == (200, True)


def test_a_created_connector_runs_with_the_config_that_was_sent(contract: Contract) -> None:
    config = contract.source()
    name = contract.create("run", config)
    found = contract.await_state(name, "RUNNING", ["RUNNING"])
    assert found.config == config
    assert found.type is ConnectorType.SOURCE
    assert found.worker
    assert found.trace == ""


@pytest.mark.parametrize(
    ("state", "tasks"), [(TargetState.STOPPED, []), (TargetState.PAUSED, []), (TargetState.RUNNING, ["RUNNING"])]
)
def test_a_connector_is_created_in_its_state(contract: Contract, state: TargetState, tasks: list[str]) -> None:
    name = contract.create("born", contract.source(), state)
    contract.await_state(name, state.name, tasks)


def test_a_new_connector_is_listed_at_once_and_never_absent(contract: Contract) -> None:
    """Until its first status, the connector is missing from the expanded list, and its state is unknown."""
    name = contract.create("new", contract.source())
    state = observe(contract.client, [name, ABSENT])
    assert name in state.connectors.keys() | state.unknown
    assert ABSENT not in state.connectors.keys() | state.unknown
    assert name in contract.client.names()


def test_the_same_name_cannot_be_created_twice(contract: Contract) -> None:
    name = contract.create("twice", contract.source())
    with pytest.raises(AlreadyExists, match=f"Connector {name} already exists"):
        contract.client.create(name, contract.source())
    body = {"name": name, "config": contract.source()}
    answer = {"error_code": 409, "message": f"Connector {name} already exists"}
    assert contract.json("POST", "/connectors", body) == (409, answer)


def test_an_invalid_config_is_refused_with_every_error_and_creates_nothing(contract: Contract) -> None:
    name = contract.name("bad")
    with pytest.raises(Rejected) as caught:
        contract.client.create(name, {"connector.class": SOURCE, "tasks.max": "many"})
    assert 'Missing required configuration "topic" which has no default value.' in str(caught.value)
    assert "Invalid value many for configuration tasks.max: Not a number of type INT" in str(caught.value)
    assert "You can also find" not in str(caught.value)
    with pytest.raises(Rejected, match=r"Failed to find any class.*matches org\.example\.Nope \(HTTP 400"):
        contract.client.create(name, {"connector.class": "org.example.Nope"})
    quoted = {"database.password": "hunter2", "plain": "hunter3"}
    with pytest.raises(Rejected, match="contains no connector type") as caught:
        contract.client.create(name, quoted, sensitive=["plain"])
    assert "hunter" not in str(caught.value)
    status, body = contract.json("POST", "/connectors", {"name": name, "config": contract.source(), "bogus": 1})
    assert (status, body["message"].startswith('Unrecognized field "bogus"')) == (500, True)
    assert name not in contract.client.names()


def test_a_config_is_replaced_as_a_whole_and_an_equal_one_is_accepted(contract: Contract) -> None:
    name = contract.running("change", contract.source(extra="1"))
    changed = contract.source(topic="other")
    for _ in range(2):
        contract.client.configure(name, changed)
        assert contract.await_state(name, "RUNNING", ["RUNNING"]).config == changed


def test_a_config_put_to_an_absent_connector_creates_it(contract: Contract) -> None:
    name = contract.name("put")
    status, body = contract.json("PUT", f"/connectors/{name}/config", {**contract.source(), "n": "3", "b": "true"})
    assert (status, body["name"], body["config"]["n"], body["config"]["b"]) == (201, name, "3", "true")
    contract.await_state(name, "RUNNING", ["RUNNING"])


def test_an_invalid_config_leaves_the_connector_as_it_was(contract: Contract) -> None:
    name = contract.running("keep", contract.source())
    with pytest.raises(Rejected, match="Value must be at least 1"):
        contract.client.configure(name, contract.source(**{"tasks.max": "0"}))
    assert contract.await_state(name, "RUNNING").config == contract.source()


def test_null_and_another_name_are_refused_in_a_config(contract: Contract) -> None:
    name = contract.name()
    status, body = contract.json("PUT", f"/connectors/{name}/config", {**contract.source(), "x": None})
    assert (status, "Null value can not be supplied as the configuration value." in body["message"]) == (400, True)
    status, body = contract.json("PUT", f"/connectors/{name}/config", {**contract.source(), "name": "other"})
    text = f"Connector name configuration (other) doesn't match connector name in the URL ({name})"
    assert (status, body["message"]) == (400, text)


def test_a_running_connector_is_paused_resumed_and_stopped(contract: Contract) -> None:
    name = contract.running("walk", contract.source())
    contract.client.pause(name)
    contract.await_state(name, "PAUSED", ["PAUSED"])
    contract.run(name)
    for _ in range(2):  # a transition to the current state does nothing
        contract.stop(name)
    contract.client.pause(name)
    contract.await_state(name, "PAUSED", [])
    contract.run(name)


@pytest.mark.parametrize(("verb", "state", "tasks"), [("stop", "STOPPED", []), ("pause", "PAUSED", ["PAUSED"])])
def test_a_connector_that_does_not_run_takes_a_config_and_stays_as_it_is(
    contract: Contract, verb: str, state: str, tasks: list[str]
) -> None:
    name = contract.running("quiet", contract.source())
    getattr(contract.client, verb)(name)
    contract.await_state(name, state, tasks)
    contract.client.configure(name, contract.source(topic="later"))
    assert contract.await_state(name, state, tasks).config["topic"] == "later"


def test_a_connector_that_cannot_start_fails_until_it_is_stopped_or_gets_a_new_config(contract: Contract) -> None:
    """To pause and resume, Connect answers 202, and it stays FAILED. The next start, with a new config, pauses it."""
    name = contract.create("fail", contract.mirror())
    assert "KafkaException" in contract.await_state(name, "FAILED", []).trace
    for verb in ("resume", "pause"):
        assert contract.json("PUT", f"/connectors/{name}/{verb}")[0] == 202
    contract.await_state(name, "FAILED")
    contract.client.configure(name, contract.mirror(topics="x"))
    contract.await_state(name, "PAUSED", [])
    contract.client.resume(name)
    contract.await_state(name, "FAILED", [])
    contract.client.stop(name)
    assert contract.await_state(name, "STOPPED", []).trace == ""


def test_a_task_can_fail_in_a_running_connector(contract: Contract) -> None:
    file = contract.directory / "missing" / "out.txt"
    name = contract.create("task", contract.sink(file=str(file)))
    found = contract.await_state(name, "RUNNING", ["FAILED"] * 2)
    assert found.type is ConnectorType.SINK
    assert "Couldn't find or create file" in found.tasks[0].trace
    contract.client.pause(name)
    contract.await_state(name, "PAUSED", ["FAILED"] * 2)
    contract.stop(name)


def test_a_deleted_connector_is_gone_and_can_be_deleted_again(contract: Contract) -> None:
    name = contract.create("gone", contract.source())
    contract.client.delete(name)
    contract.await_absence(name)
    contract.client.delete(name)
    answer = {"error_code": 404, "message": f"Connector {name} not found"}
    assert contract.json("DELETE", f"/connectors/{name}") == (404, answer)


def test_an_absent_connector_is_not_found(contract: Contract) -> None:
    for call in (contract.client.stop, contract.client.pause, contract.client.resume):
        with pytest.raises(NotFound, match=f"Unknown connector {ABSENT}"):
            call(ABSENT)
    answer = {"error_code": 404, "message": "HTTP 404 Not Found"}
    assert contract.json("PUT", "/connectors/x/nothing") == (404, answer), "no absent connector, but no such endpoint"


ODD = ("with space", "ünï-日本", "a..b", "semi;colon", "q?x#y", "plus+plus", 'quote"s', "a&b=c", "colon:x", "@at")


def test_odd_names_are_addressed_as_they_are(contract: Contract) -> None:
    names = [contract.stopped(text, contract.source()) for text in ODD]
    for name in names:
        contract.client.configure(name, contract.source(topic="odd"))
    for name in names:
        assert contract.await_state(name, "STOPPED").config["topic"] == "odd"
        contract.client.delete(name)
        contract.await_absence(name)


@OVER_HTTP
@pytest.mark.parametrize("text", ["sl/ash", "per%cent", "back\\slash"])
def test_names_that_cannot_be_addressed_are_refused_before_connect_takes_them(contract: Contract, text: str) -> None:
    """Connect would create the connector, but could not be asked for it, because Jetty refuses its path."""
    with pytest.raises(Rejected, match="cannot be used"):
        contract.client.create(ConnectorName(text), contract.source())
    for call in (contract.client.stop, contract.client.delete):
        with pytest.raises(ConnectRefused, match="rejected before it reached Connect"):
            call(ConnectorName(text))


def test_a_name_in_curly_brackets_is_created_and_answered_with_500(contract: Contract) -> None:
    plain = contract.name().replace("-", "")
    name = ConnectorName("{" + plain + "}")
    contract.made.append(name)
    status, body = contract.json("POST", "/connectors", {"name": name, "config": contract.source()})
    assert (status, body["message"]) == (500, f"The template variable '{plain}' has no value")
    assert name in contract.client.names()


def test_blanks_around_a_name_are_cut_off(contract: Contract) -> None:
    name = contract.name()
    status, body = contract.json("POST", "/connectors", {"name": f" {name} ", "config": contract.source()})
    assert (status, body["name"]) == (201, name)


def test_the_shape_of_the_expanded_list_and_of_one_connector(contract: Contract) -> None:
    name = contract.running("shape", contract.source())
    status, body = contract.json("GET", "/connectors?expand=status&expand=info")
    entity = body[name]
    assert status == 200
    assert entity.keys() == {"status", "info"}
    assert entity["status"].keys() == {"name", "connector", "tasks", "type"}
    assert entity["status"]["connector"].keys() >= {"state", "worker_id"}
    assert entity["status"]["tasks"][0].keys() >= {"id", "state", "worker_id"}
    assert entity["info"].keys() == {"name", "config", "tasks", "type"}
    assert entity["info"]["tasks"] == [{"connector": name, "task": 0}]
    assert entity["info"]["config"]["name"] == name
    assert contract.json("GET", f"/connectors/{name}")[1].keys() == {"name", "config", "tasks", "type"}
    assert contract.json("GET", f"/connectors/{name}/config") == (200, {**contract.source(), "name": name})
    assert contract.json("GET", f"/connectors/{name}/status")[1]["connector"]["state"] == "RUNNING"
    for endpoint, text in (
        ("", f"Connector {ABSENT} not found"),
        ("/status", f"No status found for connector {ABSENT}"),
    ):
        assert contract.json("GET", f"/connectors/{ABSENT}{endpoint}") == (404, {"error_code": 404, "message": text})


@pytest.mark.slow
def test_a_task_can_run_for_a_moment_and_fail_at_its_first_poll(contract: Contract) -> None:
    name = contract.create("brief", contract.numbers(until="20", oldest="10", **{"interval.ms": "1500"}))
    contract.await_offsets(name, entry({"stream": "a"}, {"position": 20}))
    contract.stop(name)
    contract.client.alter_offsets(name, entry({"stream": "a"}, {"position": 5}))
    contract.run(name)
    found = contract.await_state(name, "RUNNING", ["FAILED"])
    first = "org.apache.kafka.connect.errors.ConnectException: number 5 is no longer there, the oldest is 10"
    assert found.tasks[0].trace.splitlines()[0] == first


def test_a_failed_task_is_restarted_by_a_new_config_and_by_a_stop_and_not_by_a_pause(contract: Contract) -> None:
    config = contract.numbers(until="20", oldest="10")
    name = contract.stopped("brief", config)
    contract.client.alter_offsets(name, entry({"stream": "a"}, {"position": 5}))
    contract.client.resume(name)
    contract.await_state(name, "RUNNING", ["FAILED"])
    contract.client.pause(name)
    contract.await_state(name, "PAUSED", ["FAILED"])
    contract.client.resume(name)
    contract.await_state(name, "RUNNING", ["FAILED"])
    contract.client.configure(name, {**config, "oldest": "4"})
    contract.await_state(name, "RUNNING", ["RUNNING"])
    contract.stop(name)
    assert contract.client.connectors()[0][name].tasks == ()
