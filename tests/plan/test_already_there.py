"""Offset changes that would change nothing: they are recorded, and their connector is not stopped for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import change, current_offsets, full, record, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, DesiredOperation
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.plans import Plan
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy

AB = current_offsets(a=20, b=5)


def planned(
    *changes: DesiredOperation,
    declared: OffsetPatch | None,
    current: Offsets,
    state: str = "running",
    there: str = "RUNNING",
    config: dict[str, str] | None = None,
    **more: Any,
) -> Plan:
    connector: DesiredConnector = more.pop("connector", wanted("a", state, config=config))
    shapes = {} if (shape := BUILT_IN.shape(connector.config)) is None else {connector.name: shape}
    manifests = {} if declared is None else {one.name: declared for one in changes}
    about = OffsetSituation(more.pop("records", {}), manifests=manifests, current={"a": current}, shapes=shapes)  # type: ignore[dict-item]
    observed = seen("a", there, config=more.pop("observed", config))
    return plan(situation([connector], [observed], owned=["a"], changes=changes, offsets=about, **more))


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


@pytest.mark.parametrize(
    ("one", "declared", "current"),
    [
        (change("c", "a"), current_offsets(a=20), AB),
        (change("c", "a"), {**current_offsets(a=20), **dict.fromkeys(current_offsets(gone=1))}, AB),
        (change("c", "a", "replace"), AB, AB),
        (change("c", "a", "reset", acknowledge=["reset"]), None, {}),
    ],
)
def test_a_change_whose_offsets_already_match_is_only_recorded(one, declared, current) -> None:
    made = planned(one, declared=declared, current=current)
    assert actions(made) == ["record"]
    assert "every offset already matches: recorded as applied, the connector is not stopped" in made.steps[0].reason
    assert not made.is_empty, "or nobody would apply it, and it would be a rewind once the connector has gone on"


@pytest.mark.parametrize(
    ("state", "there", "steps"),
    [
        ("paused", "PAUSED", ["record"]),
        ("stopped", "STOPPED", ["record"]),
        ("running", "FAILED", ["record"]),
        ("running", "UNASSIGNED", ["record"]),
        ("stopped", "RUNNING", ["stop", "alter"]),
        ("running", "PAUSED", ["stop", "alter", "resume"]),
        ("running", "STOPPED", ["alter", "resume"]),
    ],
)
def test_a_connector_that_changes_its_state_gets_the_offsets_too(state, there, steps) -> None:
    assert actions(planned(change("c", "a"), declared=AB, current=AB, state=state, there=there)) == steps


def test_a_connector_that_gets_a_new_config_gets_the_offsets_too() -> None:
    """The connector restarts with that config, from exactly these offsets."""
    made = planned(change("c", "a"), declared=AB, current=AB, config={"topic": "new"}, observed={})
    assert actions(made) == ["stop", "configure", "alter", "resume"]


def test_a_change_without_effect_is_applied_together_with_others_that_have_one() -> None:
    first, second = change("1", "a"), change("2", "a")
    about = OffsetSituation(
        manifests={first.name: AB, second.name: current_offsets(a=30)},
        current={"a": AB},  # type: ignore[dict-item]
        shapes={"a": BUILT_IN.shape(full({}))},  # type: ignore[dict-item]
    )
    made = plan(situation([wanted("a")], [seen("a")], owned=["a"], changes=[first, second], offsets=about))
    assert actions(made) == ["stop", "alter", "alter", "resume"]


def test_several_changes_without_effect_are_recorded_in_their_order() -> None:
    made = planned(change("2", "a"), change("1", "a"), declared=AB, current=AB)
    assert [(step.action.value, step.operation and step.operation.name) for step in made.steps] == [
        ("record", "1"),
        ("record", "2"),
    ]


def test_a_class_that_may_store_its_position_elsewhere_gets_the_request() -> None:
    config = {"connector.class": "org.example.ElsewhereSource"}
    assert actions(planned(change("c", "a"), declared=AB, current=AB, config=config)) == ["stop", "alter", "resume"]


def test_a_reset_without_offsets_must_be_acknowledged() -> None:
    made = planned(change("c", "a", "reset"), declared=None, current={})
    assert actions(made) == []
    assert [one.rule for one in made.diagnostics] == ["offsets/unacknowledged"]


def test_in_mode_observe_the_change_is_shown_and_not_recorded() -> None:
    made = planned(change("c", "a"), declared=AB, current=AB, policy=Policy(enforce=False))
    assert made.is_empty
    (connector,) = made.connectors
    assert [step.action.value for step in connector.steps] == ["record"]


def test_a_recorded_change_is_listed_as_applied() -> None:
    one = change("c", "a")
    made = planned(one, declared=AB, current=current_offsets(a=99), records={one.name: record(one, "applied")})
    assert actions(made) == []
    assert [shown.name for shown in made.applied] == ["c"]


def test_a_seed_whose_connector_was_created_and_stopped_is_recorded() -> None:
    seed = replace(change("initialOffsets/a", "a"), kind=OperationKind.SEED)
    connector = replace(wanted("a", "stopped"), initial_offsets=seed)
    intended = {seed.name: record(seed, "intended")}
    about = OffsetSituation(
        intended,
        manifests={seed.name: AB},
        current={"a": AB},  # type: ignore[dict-item]
        shapes={"a": BUILT_IN.shape(full({}))},  # type: ignore[dict-item]
    )
    made = plan(situation([connector], [seen("a", "STOPPED")], owned=["a"], offsets=about))
    assert actions(made) == ["record"]


@pytest.mark.parametrize(("counts", "steps"), [({"same": 1_000_000}, 1), ({"same": 999_999, "new": 1}, 3)])
def test_a_large_change_without_effect_is_recognized_by_its_counts(counts: dict[str, int], steps: int) -> None:
    one = change("c", "a")
    difference = Difference({Direction(name): count for name, count in counts.items()})
    verdict = LargeVerdict(1_000_000, 1_000_000, difference=difference)
    made = plan(
        situation(
            [wanted("a")],
            [seen("a")],
            owned=["a"],
            changes=[one],
            offsets=OffsetSituation(large={one.name: verdict}),
        )
    )
    assert len(made.steps) == steps
    operation = next(step.operation for step in made.steps if step.operation is not None)
    assert operation.is_large
