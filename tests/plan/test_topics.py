"""Active topics in a plan: requested resets, what a deletion leaves, and what a new connector finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import NOW, REVISION, as_observed, said, situation, wanted

from gitops_connect.model.active_topics import ReadTopics, TopicRules
from gitops_connect.model.desired import DesiredConnector, OnDelete
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, WorkerState
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.restart_records import RequestKind
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Policy, Situation
from gitops_connect.plan.topics import resets_seen_before_managed
from gitops_connect.report.offset_lines import LineKind
from gitops_connect.report.plan_view import view

ORDERS = ConnectorName("orders")
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
RESET = wanted("orders", reset_topics="1")
RUNS = as_observed(RESET)
GONE = wanted("orders", "absent", reset_topics="1")
STOPPED = replace(RUNS, state=WorkerState.STOPPED, tasks=())
DONE = {(ORDERS, RequestKind.TOPICS): "1"}


def given(
    desired: DesiredConnector | None,
    observed: ObservedConnector | None = RUNS,
    *,
    owned: Iterable[str] = ("orders",),
    done: Mapping[tuple[ConnectorName, RequestKind], str] | None = None,
    topics: Mapping[str, Iterable[str]] | None = None,
    **more: object,
) -> Situation:
    known = {ConnectorName(name): frozenset(map(TopicName, some)) for name, some in (topics or {}).items()}
    return situation(
        [] if desired is None else [desired],
        [] if observed is None else [observed],
        owned=owned,
        restart_requests=done or {},
        topics=ReadTopics(known),
        **more,
    )


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


@pytest.mark.parametrize(
    ("about", "steps"),
    [
        (given(RESET), ["reset-topics"]),
        (given(RESET, STOPPED), ["resume", "reset-topics"]),
        (given(RESET, done=DONE), []),
        (given(RESET, done={(ORDERS, RequestKind.TOPICS): "0"}), ["reset-topics"]),
        (given(RESET, owned=()), ["adopt"]),
        (given(RESET, None), ["reset-topics", "create"]),
        (given(RESET, None, done=DONE), ["create"]),
        (given(RESET, version="2.4.1"), []),
        (given(RESET, unknown=["orders"]), []),
        (given(RESET, policy=Policy(enforce=False)), []),
        (given(GONE, None, owned=()), ["reset-topics"]),
        (given(GONE, None, owned=(), done=DONE), []),
        (given(GONE), ["delete", "reset-topics"]),
        (given(replace(GONE, on_delete=OnDelete.RESET_WITH_TOPICS)), ["stop", "reset", "delete", "reset-topics"]),
        (given(GONE, owned=()), []),
    ],
)
def test_a_requested_reset_is_planned_once_for_its_id(about: Situation, steps: list[str]) -> None:
    assert actions(plan(about)) == steps


def test_the_topics_that_a_reset_forgets_are_shown_and_no_part_of_the_digest() -> None:
    one, other = (plan(given(RESET, topics={"orders": names})) for names in (["b", "a"], ["c"]))
    (orders,) = view(one, None).connectors
    assert [line.text for line in orders.lines if line.kind is LineKind.EFFECT] == ["topics: forgets a, b"]
    assert one.digest == other.digest != plan(given(replace(RESET, reset_topics="2"))).digest


def test_a_worker_that_cannot_reset_is_named() -> None:
    (orders,) = plan(given(RESET, version="2.4.1")).connectors
    assert "Kafka Connect 2.4.1 cannot return and reset the active topics of connectors" in orders.notes[0]


@pytest.mark.parametrize(
    ("about", "seen"),
    [
        (given(RESET, owned=()), DONE),
        (given(RESET, owned=(), done=DONE), {}),
        (given(RESET), {}),
        (given(RESET, None, owned=()), {}),
        (given(GONE, owned=()), {}),
    ],
)
def test_an_id_of_an_unmanaged_connector_is_recorded_and_not_carried_out(
    about: Situation, seen: Mapping[object, str]
) -> None:
    assert resets_seen_before_managed(about) == seen


@pytest.mark.parametrize("on_delete", OnDelete)
def test_a_deletion_resets_what_connect_leaves_only_if_its_document_says_so(on_delete: OnDelete) -> None:
    offsets = ["stop", "reset"] if on_delete.resets_offsets else []
    topics = ["reset-topics"] if on_delete.resets_topics else []
    gone = given(replace(wanted("orders", "absent"), on_delete=on_delete))
    assert actions(plan(gone)) == [*offsets, "delete", *topics]
    pruned = situation([wanted("other", "absent")], [RUNS], policy=Policy(prune=True))
    before = remember(gone, replace(wanted("orders"), on_delete=on_delete), Origin.CREATED, NOW)
    assert actions(plan(replace(pruned, ownership={ORDERS: before}))) == [*offsets, "delete", *topics]


def test_what_an_interrupted_deletion_has_left_is_reset_before_the_connector_is_forgotten() -> None:
    gone = given(replace(wanted("orders", "absent"), on_delete=OnDelete.KEEP_AND_RESET_TOPICS), None)
    before = remember(gone, replace(wanted("orders"), on_delete=OnDelete.KEEP_AND_RESET_TOPICS), Origin.CREATED, NOW)
    undeclared = replace(situation([wanted("other", "absent")], policy=Policy(prune=True)), ownership={ORDERS: before})
    for about in (gone, undeclared):
        assert (actions(plan(about)), plan(about).forgotten) == (["reset-topics"], ())
    for about in (
        replace(undeclared, policy=Policy()),
        replace(undeclared, ownership={ORDERS: replace(before, on_delete=OnDelete.KEEP)}),
        given(wanted("orders", "absent"), None),
    ):
        assert (actions(plan(about)), plan(about).forgotten) == ([], (ORDERS,))
    assert actions(plan(replace(gone, ownership={}))) == []
    suspended = replace(undeclared, suspensions=Suspensions(Suspension(SuspendedBy.COMMAND, whole_cluster=True)))
    (left,) = [one for one in plan(suspended).connectors if one.name == ORDERS]
    assert left.suspension is not None
    assert not left.applicable


def test_topics_that_an_earlier_connector_left_are_named_before_the_new_one_is_created() -> None:
    left = {"orders": ["e", "d", "c", "b", "a", "f"]}
    (orders,) = plan(given(wanted("orders"), None, topics=left)).connectors
    assert [step.action for step in orders.steps] == [Action.CREATE]
    (note,) = said(orders)
    assert note.startswith("an earlier connector of this name left active topics: a, b, c, d, e and 1 more; to forget")
    assert said(plan(given(wanted("orders"), None)).connectors[0]) == ()
    assert said(plan(given(RESET, None, topics=left)).connectors[0]) == ()


@pytest.mark.parametrize(
    ("rules", "topics", "unexpected", "missing"),
    [
        (TopicRules(), ["a"], [], []),
        (TopicRules(allow=("a*",)), ["ab", "b", "A"], ["A", "b"], []),
        (TopicRules(deny=("ab",)), ["ab", "b"], ["ab"], []),
        (TopicRules(("a*",), ("ab",)), ["aa", "ab"], ["ab"], []),
        (TopicRules(allow=("a",), expected=("b", "c?")), ["a", "b"], [], ["c?"]),
        (TopicRules(expected=("b",)), ["a"], [], ["b"]),
        (TopicRules(deny=("b",), expected=("b",)), ["b"], ["b"], []),
    ],
)
def test_what_a_document_says_of_topics(
    rules: TopicRules, topics: list[TopicName], unexpected: list[str], missing: list[str]
) -> None:
    assert rules.unexpected(topics) == unexpected
    assert rules.missing(frozenset(topics)) == missing


RULED = wanted("orders", topics=TopicRules(allow=("a",), expected=("a", "e")))


def test_topics_that_are_not_allowed_and_those_that_never_came_are_said_and_change_nothing() -> None:
    made = plan(given(RULED, topics={"orders": ["b", "c"]}))
    (orders,) = made.connectors
    assert orders.notes == (
        "spec.topics does not allow topics that it has used: b, c",
        "it has used no topic that matches a, e (spec.topics.expected)",
    )
    assert made.unexpected_topics == {ORDERS: orders.notes[0]}
    assert made.active_topics == 2
    assert made.is_empty
    assert not plan(given(RULED, topics={"orders": ["a", "e"]})).connectors
    assert not plan(given(RULED, None, topics={"orders": ["b"]})).unexpected_topics, "what another connector has left"


def test_a_condition_stays_until_the_topics_are_read_again() -> None:
    key = ORDERS, ConditionType.UNEXPECTED_TOPICS, ""
    before = Condition(key[1], ConditionStatus.TRUE, "TopicNotAllowed", "b", NOW, REVISION)
    assert plan(given(RULED, conditions={key: before})).unexpected_topics == {ORDERS: "b"}
    assert plan(given(RULED, conditions={key: before}, topics={"orders": ["a"]})).unexpected_topics == {}
    assert plan(given(wanted("orders"), conditions={key: before})).unexpected_topics == {}


def test_topics_that_cannot_be_read_are_said() -> None:
    unread = replace(given(RULED), topics=ReadTopics({}, {ORDERS: "topic tracking is disabled"}))
    assert said(plan(unread).connectors[0]) == ("spec.topics is not checked, because topic tracking is disabled",)
    assert "spec.topics has no effect" in said(plan(given(RULED, version="2.4.0")).connectors[0])[0]


def test_sources_that_write_one_topic_are_said_once() -> None:
    names = ("orders", "other", "sink", "unmanaged")
    connectors = [replace(as_observed(wanted(name)), name=ConnectorName(name)) for name in names]
    connectors[2] = replace(connectors[2], type=ConnectorType.SINK)
    topics = {ConnectorName(name): frozenset({TopicName("a"), TopicName("b")}) for name in names}
    topics[ConnectorName("unmanaged")] = frozenset({TopicName("c")})
    made = situation([RULED], connectors, owned=["orders"], topics=ReadTopics(topics))
    assert plan(made).warnings == ("the sources orders, other have written to the same topics: a, b",)
    others = replace(made, desired=situation().desired, ownership={})
    assert plan(others).warnings == ()


@pytest.mark.parametrize(
    ("config", "outdated"),
    [
        ({"topics": "a, b"}, "c"),
        ({"topics.regex": "[ab]"}, "c"),
        ({"topics.regex": "(a+)+"}, ""),
        ({"topics": "${x:y}"}, ""),
    ],
)
def test_topics_that_a_sink_does_not_read_any_more_are_said(config: Mapping[str, str], outdated: str) -> None:
    desired = wanted("orders", topics=TopicRules(allow=("*",)), config={"connector.class": SINK, **config})
    sink = replace(as_observed(desired), type=ConnectorType.SINK)
    notes = [said(one) for one in plan(given(desired, sink, topics={"orders": ["a", "c"]})).connectors]
    expected = f"its config does not read topics that it has used: {outdated}; to forget them, set spec.resetTopics"
    assert notes == ([(expected,)] if outdated else [])


JDBC = {"connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "topic.prefix": "db."}
MIRROR = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "eu",
    "topics": "orders",
}
GROUPS = {"topic.creation.groups": "g, h", "topic.creation.g.include": "x, d.*", "topic.creation.h.include": "y.*"}
ROUTED = {**JDBC, "transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}
UNWRITTEN = "its config does not write topics that it has used: {}; to forget them, set spec.resetTopics"


@pytest.mark.parametrize(
    ("config", "topics", "notes"),
    [
        (JDBC, ["db.a", "other"], [UNWRITTEN.format("other")]),
        (JDBC, ["db.a"], []),
        ({**JDBC, "topic.prefix": "${file:/x:y}"}, ["other"], []),
        (ROUTED, ["other"], []),
        (JDBC | {"transforms": "r", "transforms.r.type": ROUTED["transforms.r.type"][:-11] + "Filter"}, ["db.a"], []),
        (MIRROR, ["eu.orders", "eu.us.heartbeats", "us.orders"], [UNWRITTEN.format("us.orders")]),
        ({"topic": "a"}, ["a", "b"], [UNWRITTEN.format("b")]),
        ({"connector.class": "com.example.Source", "topic.prefix": "x"}, ["other"], []),
        (ROUTED | GROUPS, ["db"], ["it has used no topic that matches topic.creation.h.include"]),
        (ROUTED | GROUPS, [], []),
        (ROUTED | GROUPS | {"topic.creation.h.include": "(a+)+"}, ["db"], []),
    ],
)
def test_topics_that_the_config_of_a_source_does_not_write_are_said(
    config: Mapping[str, str], topics: list[str], notes: list[str]
) -> None:
    desired = wanted("orders", topics=TopicRules(), config=config)
    made = plan(given(desired, as_observed(desired), topics={"orders": topics}))
    assert [note for one in made.connectors for note in said(one)] == notes


def sink(topics: str, name: str = "orders", state: str = "running", **more: object) -> DesiredConnector:
    return wanted(name, state, config={"connector.class": SINK, "topics": topics}, **more)


@pytest.mark.parametrize(
    ("desired", "steps", "outdated", "more"),
    [
        (sink("a"), ["reset-topics"], ["b"], {}),
        (sink("a, b"), [], [], {}),
        (sink("a"), [], [], {"policy": Policy()}),
        (sink("a"), ["adopt"], [], {"owned": ()}),
        (sink("b"), ["configure", "reset-topics"], ["a"], {"observed": as_observed(sink("a, b"))}),
        (sink("b"), [], [], {"observed": as_observed(sink("a, b")), "invalid": [ORDERS]}),
        (sink("a", reset_topics="1"), ["reset-topics"], [], {}),
        (sink("a", state="absent"), ["delete"], [], {"observed": as_observed(sink("a"))}),
        (wanted("orders", config=JDBC), [], [], {}),
    ],
)
def test_a_sink_forgets_topics_that_it_does_not_read_any_more_if_the_settings_say_so(
    desired: DesiredConnector, steps: list[str], outdated: list[str], more: dict[str, Any]
) -> None:
    more = {"policy": Policy(resets_outdated_topics=True), **more}
    observed = more.pop("observed", None) or as_observed(desired)
    made = plan(given(desired, observed, **more, topics={"orders": "ab"}))
    assert [step.action.value for one in made.connectors if one.applicable for step in one.steps] == steps
    resets = [step.topics for step in made.steps if step.topics]
    assert [topic for one in resets for topic in one.outdated] == outdated
    assert all(one.topics == ["a", "b"] for one in resets if one.outdated or one.id), "what is forgotten is shown"


READS = "the source orders is deleted, and other connectors read"


@pytest.mark.parametrize(
    ("config", "known", "warning"),
    [
        (JDBC, {"orders": "abc", "copy": "bcd"}, f"{READS} its topics: copy, new (a, b)"),
        (JDBC, {"orders": "x"}, ""),
        ({"topic": "a"}, {}, f"{READS} its topics: copy, new (a)"),
        ({"topic": "a"}, {"orders": ""}, ""),
        (JDBC, {}, f"{READS} topics that begin with db.: copy (db.orders)"),
        (ROUTED, {}, ""),
    ],
)
def test_the_sinks_that_read_what_a_deleted_source_writes_are_said(
    config: Mapping[str, str], known: Mapping[str, str], warning: str
) -> None:
    absent = wanted("orders", "absent", config=config)
    others = [
        replace(as_observed(one), type=ConnectorType.SINK)
        for one in (sink("a, b, db.orders", "copy"), sink("c", "other"))
    ]
    made = given(absent, as_observed(wanted("orders", config=config)), topics=known)
    made = replace(made, desired=replace(made.desired, connectors=(absent, sink("a", "new"), sink("z", "other"))))
    observed = {**made.observed.connectors, **{one.name: one for one in others}}
    made = replace(made, observed=replace(made.observed, connectors=observed))
    assert plan(made).warnings == ((warning,) if warning else ())
    stays = wanted("orders", config=config)
    assert plan(replace(made, desired=replace(made.desired, connectors=(stays,)))).warnings == ()
