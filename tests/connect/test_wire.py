"""Conversion between the JSON of Connect and the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.connect import wire
from gitops_connect.documents.yaml import parse
from gitops_connect.model.desired import TargetState
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import (
    ClusterInfo,
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import OffsetPatch, offset_text, partition_text

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
    texts,
    st.sets(st.integers(100, 110)).map(lambda found: tuple(sorted(found))),
)


def entity(connector: ObservedConnector) -> dict[str, Any]:
    """A connector as Kafka writes it in the expanded list: tasks in any order, `name` in the config."""
    status = {
        "name": connector.name,
        "connector": _entry(connector.state, connector.worker, connector.trace, connector.version),
        "tasks": [
            {"id": task.id, **_entry(task.state, task.worker, task.trace, connector.version)}
            for task in reversed(connector.tasks)
        ],
        "type": connector.type.value,
    }
    config = {**connector.config, "name": connector.name}
    numbers = (*(task.id for task in connector.tasks), *connector.starting)
    configured = [{"connector": connector.name, "task": number} for number in numbers]
    info = {"name": connector.name, "config": config, "tasks": configured, "type": connector.type.value}
    return {"status": status, "info": info}


def _entry(state: WorkerState, worker: str, trace: str, version: str) -> dict[str, Any]:
    return {"state": state.value, "worker_id": worker, "version": version or None} | ({"trace": trace} if trace else {})


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
    version="4.3.1",
)


def broken(*path: str | int, value: Any) -> dict[str, Any]:
    found: Any = entity(GOOD)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return found


@pytest.mark.parametrize("bad", [*(broken(*path, value=value) for path, value in rows(__file__, "broken")), {}, None])
def test_what_cannot_be_read_is_unknown_and_takes_nothing_from_the_others(bad: Any) -> None:
    found, unknown = wire.parse_connectors({"good": entity(GOOD), "bad": bad})
    assert found == {"good": GOOD}
    assert unknown == {"bad"}


def test_equal_strings_of_documents_and_of_answers_are_one_object_because_thousands_of_connectors_have_them() -> None:
    first, second = (parse(Blob(path, path, b"batch.size: 1000 records")).documents[0] for path in ("a", "b"))
    answered = wire.parse_config(json.loads('{"batch.size": "1000 records"}'))
    for (key, value), *others in zip(first.value.items(), second.value.items(), answered.items(), strict=True):
        assert all(key is other and value is same for other, same in others)


def test_a_type_that_is_new_is_unknown_and_a_null_value_is_no_value() -> None:
    body = broken("status", "type", value="gateway")
    body["info"]["config"]["gone"] = None
    found, _ = wire.parse_connectors({"good": body})
    assert found[GOOD.name].type is ConnectorType.UNKNOWN
    assert found[GOOD.name].config == {"a": "b"}


@pytest.mark.parametrize(("text", "version"), rows(__file__, "versions"))
def test_versions(text: str, version: list[int]) -> None:
    assert wire.parse_version(text) == ConnectVersion(*version)


def test_info() -> None:
    info = wire.parse_info({"version": "7.9.3-ce", "commit": "abc", "kafka_cluster_id": "id"})
    assert info == ClusterInfo(ConnectVersion(3, 9), "7.9.3-ce", "abc", "id")


@pytest.mark.parametrize(("parse", "body"), rows(__file__, "strange"))
def test_what_is_not_of_connect(parse: str, body: Any) -> None:
    with pytest.raises(wire.UnreadableAnswer):
        getattr(wire, parse)(body)


@pytest.mark.parametrize(("body", "message"), rows(__file__, "no_active_topics"))
def test_what_are_not_the_active_topics_of_the_connector(body: Any, message: str) -> None:
    with pytest.raises(wire.UnreadableAnswer, match=message):
        wire.parse_active_topics(ConnectorName("orders"), body)


def test_active_topics_are_bounded() -> None:
    def parse(*topics: str) -> frozenset[TopicName]:
        return wire.parse_active_topics(ConnectorName("orders"), {"orders": {"topics": list(topics)}})

    longest, most = "x" * 249, ["x"] * wire.MOST_TOPICS
    assert (parse(longest, "a", "a"), parse(*most), parse()) == ({longest, "a"}, {"x"}, frozenset())
    for topics, message in (([longest + "x"], "no valid name: 'x{40}'$"), ([*most, "x"], "has 100,001 active topics")):
        with pytest.raises(wire.UnreadableAnswer, match=message):
            parse(*topics)


def test_a_key_that_is_not_defined_has_no_definition() -> None:
    value = {"name": "odd", "value": "x", "errors": ["Configuration is not defined: odd"]}
    verdict = wire.parse_verdict({"configs": [{"definition": None, "value": value}]})
    assert verdict.errors == {"odd": ("Configuration is not defined: odd",)}
    assert verdict.defined == frozenset()


def test_a_key_that_the_plugin_defines_and_does_not_validate_has_no_value() -> None:
    definition = {"name": "pin", "type": "PASSWORD"}
    verdict = wire.parse_verdict({"configs": [{"definition": definition, "value": None}]})
    assert (verdict.errors, verdict.sensitive, verdict.defined) == ({}, {"pin"}, {"pin"})
    with pytest.raises(wire.UnreadableAnswer):
        wire.parse_verdict({"configs": [{"definition": None, "value": None}]})


@pytest.mark.parametrize("state", [TargetState.RUNNING, TargetState.PAUSED, TargetState.STOPPED])
def test_create_with_a_state_and_as_every_version_takes_it(state: TargetState) -> None:
    body = {"name": "x", "config": {"a": "b"}}
    assert wire.create_body(ConnectorName("x"), {"a": "b"}, state) == {**body, "initial_state": state.name}
    assert wire.create_body(ConnectorName("x"), {"a": "b"}, None) == body


plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
objects = st.dictionaries(texts, plain, max_size=3)
patches = st.lists(st.tuples(objects, st.none() | objects), max_size=5).map(
    lambda pairs: {partition_text(one): None if two is None else offset_text(two) for one, two in pairs}
)


@given(patches)
def test_offsets_go_round_through_json_and_none_is_no_offset(patch: OffsetPatch) -> None:
    body = json.loads(json.dumps(wire.offsets_body(patch)))
    assert wire.parse_offsets(body) == {partition: offset for partition, offset in patch.items() if offset is not None}


def test_offsets_are_canonical_text_and_1_is_not_1_0() -> None:
    body = {"offsets": [{"partition": {"b": 1, "a": 1.0}, "offset": {"z": "1", "y": 1.0e2}}]}
    assert wire.parse_offsets(body) == {'{"a":1.0,"b":1}': '{"y":100.0,"z":"1"}'}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        *rows(__file__, "no_offsets"),
        ({"offsets": [{"partition": {"a": "\ud800"}, "offset": {}}]}, r"offsets\[0\]: "),
    ],
)
def test_what_is_no_list_of_offsets_is_unreadable(body: Any, words: str) -> None:
    with pytest.raises(wire.UnreadableAnswer, match=words):
        wire.parse_offsets(body)


@pytest.mark.parametrize("done", ["altered", "reset"])
def test_only_the_plain_message_of_success_is_no_warning(done: str) -> None:
    assert wire.parse_warning({"message": f"The offsets for this connector have been {done} successfully"}) == ""
    for message in (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if …",
        f"The offsets for this connector have been {done} successfully, but",
        "",
    ):
        assert wire.parse_warning({"message": message}) == message


@pytest.mark.parametrize("body", [None, [], {}, {"message": None}, "altered successfully"])
def test_an_answer_without_a_message_is_unreadable(body: Any) -> None:
    with pytest.raises(wire.UnreadableAnswer):
        wire.parse_warning(body)
