"""JSON of Connect <-> model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.connect import wire
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import (
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    TaskStatus,
    WorkerState,
)

texts = st.text(max_size=12)
states = st.sampled_from(WorkerState)
tasks = st.lists(
    st.builds(TaskStatus, st.integers(0, 99), states, texts, texts), max_size=4, unique_by=lambda task: task.id
).map(lambda found: tuple(sorted(found, key=lambda task: task.id)))
connectors = st.builds(
    ObservedConnector,
    texts.map(ConnectorName),
    st.sampled_from(ConnectorType),
    states,
    texts,
    st.dictionaries(texts.filter(lambda key: key != "name"), texts, max_size=4),
    tasks,
    texts,
)


def entity(connector: ObservedConnector) -> dict[str, Any]:
    """A connector as Kafka writes it in the expanded list: tasks in any order, `name` in the config."""
    status = {
        "name": connector.name,
        "connector": _entry(connector.state, connector.worker, connector.trace),
        "tasks": [{"id": task.id, **_entry(task.state, task.worker, task.trace)} for task in reversed(connector.tasks)],
        "type": connector.type.value,
    }
    config = {**connector.config, "name": connector.name}
    info = {"name": connector.name, "config": config, "tasks": [], "type": connector.type.value}
    return {"status": status, "info": info}


def _entry(state: WorkerState, worker: str, trace: str) -> dict[str, Any]:
    return {"state": state.value, "worker_id": worker, "version": "4.3.1"} | ({"trace": trace} if trace else {})


@given(connectors)
def test_a_connector_goes_round(connector: ObservedConnector) -> None:
    assert wire.parse_connectors({connector.name: entity(connector)}) == ({connector.name: connector}, frozenset())


GOOD = ObservedConnector(
    ConnectorName("good"),
    ConnectorType.SINK,
    WorkerState.RUNNING,
    "w:1",
    {"a": "b"},
    (TaskStatus(0, WorkerState.FAILED, "w:1", "t"),),
)


def broken(*path: str | int, value: Any) -> dict[str, Any]:
    found: Any = entity(GOOD)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return found


@pytest.mark.parametrize(
    "bad",
    [
        broken("status", "connector", "state", value="EXPLODED"),
        broken("status", "connector", "state", value=None),
        broken("status", "connector", value=None),
        broken("status", "tasks", 0, "state", value="ZOMBIE"),
        broken("status", "tasks", 0, "id", value=None),
        broken("status", "tasks", value=None),
        broken("status", value=None),
        broken("info", value=None),
        broken("info", "config", value=None),
        broken("info", "config", "n", value=3),
        {},
        None,
    ],
)
def test_what_cannot_be_read_is_unknown_and_takes_nothing_from_the_others(bad: Any) -> None:
    found, unknown = wire.parse_connectors({"good": entity(GOOD), "bad": bad})
    assert found == {"good": GOOD}
    assert unknown == {"bad"}


def test_a_type_that_is_new_is_unknown_and_a_null_value_is_no_value() -> None:
    body = broken("status", "type", value="gateway")
    body["info"]["config"]["gone"] = None
    found, _ = wire.parse_connectors({"good": body})
    assert found[GOOD.name].type is ConnectorType.UNKNOWN
    assert found[GOOD.name].config == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("4.3.1", ConnectVersion(4, 3, 1)),
        ("3.6.2-ccs", ConnectVersion(3, 6, 2)),
        ("3.9", ConnectVersion(3, 9)),
        ("4.1.0-SNAPSHOT", ConnectVersion(4, 1)),
        ("3.5.0.redhat-00004", ConnectVersion(3, 5)),
        ("5.5.1-ccs", ConnectVersion(2, 5)),
        ("6.2.0-ce", ConnectVersion(2, 8)),
        ("7.0.1-ccs", ConnectVersion(3, 0)),
        ("7.9.3-ce", ConnectVersion(3, 9)),
        ("8.0.0-ccs", ConnectVersion(4, 0)),
        ("9.1.0-ccs", ConnectVersion(9, 1)),
        ("unknown", wire.UNKNOWN_VERSION),
        ("", wire.UNKNOWN_VERSION),
    ],
)
def test_versions(text: str, version: ConnectVersion) -> None:
    assert wire.parse_version(text) == version


def test_info() -> None:
    info = wire.parse_info({"version": "7.9.3-ce", "commit": "abc", "kafka_cluster_id": "id"})
    assert (info.version, info.reported, info.commit, info.kafka_cluster_id) == (
        ConnectVersion(3, 9),
        "7.9.3-ce",
        "abc",
        "id",
    )


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        (wire.parse_info, {"status": "ok"}),
        (wire.parse_info, None),
        (wire.parse_names, {"a": 1}),
        (wire.parse_names, [1]),
        (wire.parse_connectors, ["a"]),
        (wire.parse_plugins, {}),
        (wire.parse_plugins, ["x"]),
        (wire.parse_verdict, {}),
        (wire.parse_verdict, {"configs": [1]}),
        (wire.parse_sensitive, {}),
    ],
)
def test_what_is_not_of_connect(parse: Any, body: Any) -> None:
    with pytest.raises(wire.Unreadable):
        parse(body)


def test_a_key_that_is_not_defined_has_no_definition() -> None:
    value = {"name": "odd", "value": "x", "errors": ["Configuration is not defined: odd"]}
    verdict = wire.parse_verdict({"configs": [{"definition": None, "value": value}]})
    assert verdict.errors == {"odd": ("Configuration is not defined: odd",)}
    assert verdict.defined == frozenset()


@pytest.mark.parametrize(
    ("state", "expected"),
    [(TargetState.RUNNING, "RUNNING"), (TargetState.PAUSED, "PAUSED"), (TargetState.STOPPED, "STOPPED")],
)
def test_create_with_a_state(state: TargetState, expected: str) -> None:
    body = wire.create_body(ConnectorName("x"), {"a": "b"}, state)
    assert body == {"name": "x", "config": {"a": "b"}, "initial_state": expected}


def test_create_without_a_state_is_what_every_version_takes() -> None:
    assert wire.create_body(ConnectorName("x"), {"a": "b"}, None) == {"name": "x", "config": {"a": "b"}}


@pytest.mark.parametrize("name", ["", ".", "..", " a", "a ", "a/b", "a%b", "a\\b", "{a}", "a\tb", "a\x7f"])
def test_names_of_no_use(name: str) -> None:
    assert wire.unaddressable(name)


@pytest.mark.parametrize(
    "name", ["orders-sink", "a.b", "a b", "ünï-日本", "a..b", "q?x#y", "a&b=c", 'quote"s', "x" * 300]
)
def test_names_that_can_be_used(name: str) -> None:
    assert wire.unaddressable(name) is None
