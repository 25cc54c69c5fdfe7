"""Who or what the history names for each step: for each intent of the planner, and for steps of an earlier commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from plan.test_precedence import (
    BACK,
    CLEAR,
    EARLIER,
    INTENTS,
    ORDERS,
    OTHER,
    PLAIN,
    RUNS,
    STOPPED,
    begun,
    given,
    half_deleted,
    with_back,
)
from support.files.tables import table
from support.planner.situations import REVISION, record, situation

from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.config_histories import ConfigHistory, QueuedConfig
from gitops_connect.model.names import Revision, TopicName
from gitops_connect.model.outcomes import Actor, ActorKind
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.plan.planner import plan
from gitops_connect.plan.precedence import Intent
from gitops_connect.plan.rollbacks import declared_config
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.step_actors import actor_of


def actors(made: Situation, by: str = "") -> dict[str, Actor]:
    """The actor of each step, whose last committer is Ben."""
    made = replace(made, author="Ben")
    (planned,) = plan(made).connectors
    return {step.action.value: actor_of(made, planned, step, by) for step in planned.steps}


@pytest.mark.parametrize("intent", INTENTS, ids=lambda one: one.value)
def test_each_intent_has_its_actor(intent: Intent) -> None:
    action, make = INTENTS[intent]
    found = actors(make())[action.value]
    assert (found.kind.value, found.who) == tuple(table(__file__, "intents")[intent.value])
    assert (found.kind is ActorKind.PERSON) == (found.who == "Ben")


def test_the_steps_around_an_offset_change_are_of_its_commit_although_the_document_was_applied_before() -> None:
    found = actors(with_back(given(PLAIN, RUNS, applied=True)))
    assert found == dict.fromkeys(("stop", "alter", "resume"), Actor(ActorKind.PERSON, "Ben", REVISION))


def begun_earlier() -> Situation:
    made = begun(given(PLAIN, STOPPED, applied=True))
    one = made.offsets.unfinished[BACK.name]
    earlier = replace(one, offset_change=replace(one.offset_change, revision=EARLIER))
    return replace(made, offsets=replace(made.offsets, unfinished={BACK.name: earlier}))


def failed_earlier() -> Situation:
    made = with_back(given(PLAIN, RUNS, applied=True))
    records = {BACK.name: record(BACK, "failed", revision=EARLIER)}
    return replace(made, offsets=replace(made.offsets, records=records), now=made.now.replace(year=2027))


def deleted_earlier() -> Situation:
    made = half_deleted(given(PLAIN, STOPPED, applied=True))
    records = {CLEAR.name: record(CLEAR, "in_progress", revision=EARLIER)}
    return replace(made, offsets=replace(made.offsets, records=records))


def queued_earlier() -> Situation:
    queued = ConfigHistory(queued=QueuedConfig(declared_config(OTHER).digest, EARLIER))
    return replace(given(OTHER, RUNS), config_histories={ORDERS: queued})


OF_EARLIER: Mapping[Action, Callable[[], Situation]] = {
    Action.RESUME: begun_earlier,
    Action.ALTER: failed_earlier,
    Action.DELETE: deleted_earlier,
    Action.CONFIGURE: queued_earlier,
}


@pytest.mark.parametrize("action", OF_EARLIER, ids=lambda one: one.value)
def test_a_step_that_was_caused_by_an_earlier_commit_has_that_commit_and_not_the_last_committer(action: Action) -> None:
    assert actors(OF_EARLIER[action]())[action.value] == Actor(ActorKind.PERSON, "", EARLIER)


def test_a_connector_that_someone_deleted_is_created_again_as_a_correction_of_drift() -> None:
    found = actors(given(PLAIN, None, applied=True))
    assert found == {"create": Actor(ActorKind.DRIFT_CORRECTION, commit=REVISION)}


def test_topics_that_a_sink_no_longer_reads_are_forgotten_by_nobody() -> None:
    step = Step(ORDERS, Action.RESET_TOPICS, "outdated", topics=TopicsReset(outdated=[TopicName("old")]))
    found = actor_of(replace(situation([PLAIN]), author="Ben"), ConnectorPlan(ORDERS, (step,)), step)
    assert found == Actor(ActorKind.TOPIC_CLEANUP)


def test_without_git_the_actor_is_the_person_who_runs_the_command() -> None:
    directory = Revision("worktree-1")
    made = replace(given(OTHER, RUNS), revision=directory)
    assert actors(made, "ana@ops-1")["configure"] == Actor(ActorKind.COMMAND, "ana@ops-1", directory)
    assert actors(given(OTHER, RUNS), "ana@ops-1")["configure"].kind is ActorKind.PERSON
