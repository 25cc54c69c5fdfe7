"""Which changes are blocked until someone has reviewed them, and what a reviewed plan covers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.files.tables import rows
from support.planner.situations import (
    CLASS,
    CLUSTER,
    NOW,
    REVISION,
    change,
    current_offsets,
    digest_of,
    offsets_to,
    record,
    said,
    seen,
    situation,
    skipping,
    wanted,
)

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.differences import Direction
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import MOST_PARTITIONS, ConnectorPlan, OffsetChangeStatus, Plan
from gitops_connect.model.reviewed_plans import (
    DestructiveEffect,
    DestructiveKind,
    ReviewedPlan,
    ReviewMode,
    Reviews,
    read_reviewed_plan,
)
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import review_of, reviewed_plan
from gitops_connect.plan.situation import OffsetSituation, Policy, ResolvedTargets, Situation, Unfinished
from gitops_connect.report.connector_status import StatusFindings, connector_statuses

ORDERS = ConnectorName("orders")
BACK = change("back", "orders", acknowledge=["rewind", "skip", "tombstone"])
SHAPE = BUILT_IN.shape({"connector.class": CLASS})


def given(current: Mapping[str, int], declared: Mapping[str, int | None], **more: Any) -> Situation:
    """The connector `orders` at these positions, and an offset change to the declared ones."""
    assert SHAPE is not None
    offsets = OffsetSituation(
        manifests={BACK.name: offsets_to(**declared)},
        current={ORDERS: current_offsets(**current)},
        shapes={ORDERS: SHAPE},
        **more.pop("offsets", {}),
    )
    desired, observed = more.pop("desired", [wanted("orders")]), more.pop("observed", [seen("orders")])
    return situation(
        desired, observed, owned=["orders"], changes=[BACK], offsets=offsets, policy=skipping(10**6), **more
    )


def shown(before: Situation) -> ReviewedPlan:
    return reviewed_plan(7, REVISION, [plan(before)])


def after_review(reviewed: ReviewedPlan, now: Situation, mode: ReviewMode = ReviewMode.REVIEWED) -> Plan:
    """The plan after the merge. In mode MANUAL the reviewed plan was approved."""
    seen_in = {"approved": (reviewed,)} if mode is ReviewMode.MANUAL else {"merged": (reviewed,)}
    return plan(replace(now, reviews=Reviews(mode, pull_request=7, **seen_in)))


def only(made: Plan) -> ConnectorPlan:
    (one,) = made.connectors
    return one


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


def asks(now: Situation) -> tuple[str, ...]:
    """What nobody has reviewed."""
    return tuple(
        what for one in plan(replace(now, reviews=Reviews(ReviewMode.REVIEWED))).unreviewed for what in one.planned
    )


TO = {"a": 100, "b": 100}
UNCERTAIN = ("uncertain (offset change back)",)


@pytest.mark.parametrize("case", rows(__file__, "covered"), ids=lambda case: case["case"])
@pytest.mark.parametrize("mode", [ReviewMode.REVIEWED, ReviewMode.MANUAL])
def test_what_was_reviewed_or_less_is_applied(case: Mapping[str, Any], mode: ReviewMode) -> None:
    made = after_review(shown(given(case["reviewed"], TO)), given(case["now"], TO), mode)
    assert only(made).applicable, only(made).notes


@pytest.mark.parametrize(("mode", "reviewed"), [(ReviewMode.REVIEWED, ["alter"]), (ReviewMode.MANUAL, [])])
def test_the_plan_that_lets_a_step_pass_is_known(mode: ReviewMode, reviewed: list[str]) -> None:
    """In mode REVIEWED only a destructive step needs one; in mode MANUAL every step of a commit."""
    plan_of_7 = shown(given({"a": 10}, TO))
    before = replace(given({"a": 10}, TO), reviews=Reviews(mode, merged=(plan_of_7,)))
    of_merge = only(plan(before))
    found = [one.action.value for one in of_merge.steps if review_of(before.reviews, CLUSTER, of_merge, one)]
    assert found == reviewed
    approved = Reviews(mode, merged=(plan_of_7,), approved=(replace(plan_of_7, pull_request=8),))
    numbers = {
        one.action.value: review.pull_request
        for one in of_merge.steps
        if (review := review_of(approved, CLUSTER, of_merge, one)) is not None
    }
    assert numbers == dict.fromkeys(reviewed or ["stop", "alter", "resume"], 8)
    assert review_of(Reviews(), CLUSTER, of_merge, of_merge.steps[1]) is None


@pytest.mark.parametrize("case", rows(__file__, "uncovered"), ids=lambda case: case["case"])
def test_what_is_more_than_reviewed_is_blocked(case: Mapping[str, Any]) -> None:
    reviewed, now, missing = shown(given(case["reviewed"], TO)), case["now"], (case["missing"],)
    made = after_review(reviewed, given(now, TO))
    assert made.is_empty
    (found,) = made.unreviewed
    assert (found.cluster, found.connector, found.planned) == (CLUSTER, ORDERS, missing)
    asked = reviewed_plan(7, REVISION, [made])
    assert asked == shown(given(now, TO)), "a blocked plan asks for what it would do"
    assert not plan(replace(given(now, TO), reviews=Reviews(ReviewMode.REVIEWED, (reviewed,), (asked,)))).is_empty


@pytest.mark.parametrize("case", rows(__file__, "targets"), ids=lambda case: case["case"])
def test_a_change_with_targets_may_go_a_little_further_than_reviewed(case: Mapping[str, Any]) -> None:
    resolved = {BACK.name: ResolvedTargets(("the end",), (), NOW)}
    reviewed, now = (
        given({"a": case[one]}, {"a": 100_000}, offsets={"resolved": resolved}) for one in ("reviewed", "now")
    )
    made = after_review(shown(reviewed), now)
    assert made.is_empty is bool(case.get("missing"))
    assert [what for one in made.unreviewed for what in one.planned] == case.get("missing", [])
    assert read_reviewed_plan(shown(reviewed).value()) == shown(reviewed)
    assert shown(reviewed).digest == shown(now).digest, "distances are not part of the digest"


def test_a_manifest_with_other_content_is_not_covered() -> None:
    before = given({"a": 120}, TO)
    other = replace(before, desired=replace(before.desired, offset_changes=(replace(BACK, digest=Digest("d2")),)))
    assert after_review(shown(before), other).is_empty


def test_a_reset_covers_every_partition_and_a_removal_only_its_own() -> None:
    acknowledged = change("reset", "orders", acknowledge=["reset"]).acknowledged
    reset = replace(BACK, kind=OffsetChangeKind.RESET, manifest=None, acknowledged=acknowledged)

    def resetting(before: Situation) -> Situation:
        return replace(before, desired=replace(before.desired, offset_changes=(reset,)))

    made = after_review(shown(resetting(given({"a": 1}, {}))), resetting(given({"a": 1, "b": 1}, {})))
    assert actions(made) == ["stop", "reset", "resume"]
    removed = {"a": None, "b": None}
    assert after_review(shown(given({"a": 1}, removed)), given({"a": 1, "b": 1}, removed)).is_empty


def test_the_digest_covers_the_direction_and_no_distance() -> None:
    skip, rewind, farther = (plan(given({"b": at}, TO)) for at in (90, 120, 500))
    assert skip.digest == rewind.digest
    assert digest_of([skip]) != digest_of([rewind])
    assert digest_of([rewind]) == digest_of([farther])
    held = after_review(shown(given({"b": 90}, TO)), given({"b": 120}, TO))
    assert digest_of([held]) == digest_of([rewind])
    assert digest_of([rewind, replace(rewind, cluster="other")]) != digest_of([rewind])  # type: ignore[arg-type]


SECRETS = {
    "a secret": ("database.password", "hunter{}"),
    "a credential in a URL": ("connection.url", "jdbc:postgresql://db/orders?user=me&password=hunter{}"),
    "a key that only the plugin knows to be secret": ("pin", "hunter{}"),
}


@pytest.mark.parametrize("case", SECRETS)
@pytest.mark.parametrize("exists", [True, False])
def test_an_approval_of_one_secret_covers_no_other(case: str, exists: bool) -> None:
    key, value = SECRETS[case]

    def setting(secret: str) -> Situation:
        connector = wanted("orders", config={key: value.format(secret)})
        before = [seen("orders", config={key: value.format("before")})] if exists else []
        passwords = {ORDERS: frozenset({"pin"})}
        return situation([connector], before, owned=["orders"] if exists else [], passwords=passwords)

    reviewed = shown(setting("one"))
    assert after_review(reviewed, setting("one"), ReviewMode.MANUAL).steps
    other = after_review(reviewed, setting("two"), ReviewMode.MANUAL)
    assert other.is_empty
    assert digest_of([other]) != reviewed.digest
    assert shown(replace(setting("one"), key=b"of another ledger")).digest != reviewed.digest, "the digest is not keyed"
    assert "hunter" not in repr(reviewed) + repr(other)


def test_an_approval_of_a_connector_that_runs_covers_none_that_is_created_stopped() -> None:
    runs, stopped = (situation([wanted("orders", state)]) for state in ("running", "stopped"))
    assert actions(after_review(shown(runs), runs, ReviewMode.MANUAL)) == ["create"]
    assert after_review(shown(runs), stopped, ReviewMode.MANUAL).is_empty


def test_the_reviewed_plan_survives_json() -> None:
    for one in (shown(given({"a": 120, "b": 90, "c": 5}, {**TO, "c": None})), ReviewedPlan(7, REVISION, Digest("d"))):
        assert read_reviewed_plan(json.loads(json.dumps(one.value()))) == one
    for wrong in (
        None,
        [],
        {},
        {"pull_request": True, "head": "", "digest": "", "clusters": {}},
        {**one.value(), "clusters": {"c": {"n": {"steps": [], "effects": [{}]}}}},
    ):
        with pytest.raises(ValueError, match=r"not a reviewed plan|is not a valid"):
            read_reviewed_plan(wrong)


def test_of_many_partitions_only_their_number_counts() -> None:
    many = {f"p{number}": 2 for number in range(MOST_PARTITIONS + 1)}
    to = dict.fromkeys(many, 1)
    (effect,) = shown(given(many, to)).connectors[CLUSTER][ORDERS].effects
    assert (effect.partitions, effect.count) == (None, MOST_PARTITIONS + 1)
    assert not effect.covers(replace(effect, count=MOST_PARTITIONS + 2))
    assert effect.covers(replace(effect, count=1, partitions=("x",)))  # type: ignore[arg-type]


def test_an_unknown_distance_covers_all_and_is_covered_by_no_known_one() -> None:
    unknown = DestructiveEffect(DestructiveKind.SKIP, OffsetChangeName("x"), Digest("d"), 1)
    known = replace(unknown, distance=5)
    assert unknown.covers(known)
    assert not known.covers(unknown)


@pytest.mark.parametrize("is_suspended", [False, True])
def test_the_deletion_of_a_suspended_connector_does_not_wait_for_a_review(*, is_suspended: bool) -> None:
    suspensions = Suspensions(connectors={ORDERS: Suspension(SuspendedBy.COMMAND)} if is_suspended else {})
    now = situation(
        [wanted("other")], [seen("other"), seen("orders")], owned=["other", "orders"],
        policy=Policy(prune=True), reviews=Reviews(ReviewMode.MANUAL, pull_request=7), suspensions=suspensions,
    )  # fmt: skip
    made = next(one for one in plan(now).connectors if one.name == ORDERS)
    assert [one.kind for one in made.holds] == [HoldKind.SUSPENDED if is_suspended else HoldKind.UNREVIEWED]


class TestWhatIsNeverBlocked:
    NOTHING = Reviews(ReviewMode.MANUAL, pull_request=7)

    def test_drift_is_undone(self) -> None:
        connector = wanted("orders", config={"file": "/a"})
        drifted = situation(
            [connector], [seen("orders", config={"file": "/b"})], owned=["orders"], reviews=self.NOTHING
        )
        owned = {ORDERS: remember(drifted, connector, Origin.CREATED, NOW)}
        assert actions(plan(replace(drifted, ownership=owned))) == ["configure"]
        assert plan(drifted).is_empty, "the document is new"

    def test_drift_is_undone_while_an_offset_change_waits_for_its_review(self) -> None:
        connector = wanted("orders", config={"file": "/b"})
        now = given({"a": 120}, TO, desired=[connector], reviews=replace(self.NOTHING, mode=ReviewMode.REVIEWED))
        made = only(plan(replace(now, ownership={ORDERS: remember(now, connector, Origin.CREATED, NOW)})))
        assert made.applicable
        assert [step.action.value for step in made.steps] == ["configure"]
        assert made.offset_changes[0].status is OffsetChangeStatus.WAITING
        assert made.offset_changes[0].message == said(made)[0]
        assert made.unreviewed is not None

    def test_a_config_is_rolled_back(self) -> None:
        back = RolledBack(Digest("d"), REVISION, "task 0 is FAILED", ("file",), NOW)
        connector = wanted("orders", config={"file": "/a"}, rolled_back=back)
        now = situation([connector], [seen("orders", config={"file": "/b"})], owned=["orders"], reviews=self.NOTHING)
        assert actions(plan(now)) == ["rollback"]
        held = given({"a": 120}, TO, desired=[connector], reviews=self.NOTHING)
        assert actions(plan(held)) == ["rollback"]

    def test_a_failed_connector_is_restarted(self) -> None:
        failed = seen("orders", tasks=["java.lang.Boom: no"])
        policy = Policy(concurrent_restarts=5)
        now = given({"a": 120}, TO, observed=[failed], reviews=self.NOTHING)
        made = plan(replace(now, policy=policy))
        assert actions(made) == ["restart"]
        (found,) = made.unreviewed
        assert digest_of([made]) == digest_of([plan(replace(now, reviews=self.NOTHING))])
        assert found.asked.effects[0].kind is DestructiveKind.REWIND

    @pytest.mark.parametrize("mode", [ReviewMode.REVIEWED, ReviewMode.MANUAL])
    def test_an_offset_change_in_progress_is_finished(self, mode: ReviewMode) -> None:
        begun = OffsetChange(BACK.name, ORDERS, OffsetChangeKind.ALTER, BACK.digest, REVISION, current_offsets(a=4))
        more = {
            "records": {BACK.name: record(BACK, "in_progress")},
            "unfinished": {BACK.name: Unfinished(begun, current_offsets(a=20))},
        }
        now = given({"a": 20}, TO, observed=[seen("orders", "STOPPED")], offsets=more, reviews=Reviews(mode))
        assert actions(plan(now)) == ["alter", "resume"]
        later = change("later", "orders", acknowledge=["rewind"])
        both = replace(now, desired=replace(now.desired, offset_changes=(BACK, later)))
        manifests = {later.name: current_offsets(a=2)}
        made = only(plan(replace(both, offsets=replace(now.offsets, manifests=manifests))))
        assert [step.action.value for step in made.steps] == ["alter", "resume"]
        assert [one.status for one in made.offset_changes] == [
            OffsetChangeStatus.UNFINISHED,
            OffsetChangeStatus.WAITING,
        ]


def test_a_connector_that_does_not_exist_is_not_created_without_its_offsets() -> None:
    back = RolledBack(Digest("d"), REVISION, "task 0 is FAILED", ("file",), NOW)
    now = given({}, TO, observed=[], desired=[wanted("orders", rolled_back=back)], reviews=Reviews(ReviewMode.MANUAL))
    assert plan(now).is_empty
    assert [step.action.value for step in only(plan(now)).steps][:1] == ["create"]


def test_the_status_is_out_of_sync_and_says_why() -> None:
    now = given({"a": 120}, TO, reviews=Reviews(ReviewMode.REVIEWED))
    made = plan(now)
    (status,) = connector_statuses(made, now.desired, now.observed, StatusFindings(now.now))
    assert status.sync.value == "OutOfSync"
    blocked = (
        "blocked by missing review: rewind of 1 partition (offset change back);"
        " merge a pull request whose plan shows this change, or commit another change"
    )
    assert said(only(made)) == (blocked,)
    assert status.difference == f"stop, alter, resume (offset change back (alter)); {blocked}"


def test_a_suspended_or_observed_connector_is_not_blocked_twice() -> None:
    reviews = Reviews(ReviewMode.MANUAL)
    for desired in (wanted("orders", suspend=True), wanted("orders", mode="observe")):
        assert only(plan(given({"a": 120}, TO, desired=[desired], reviews=reviews))).unreviewed is None


@pytest.mark.parametrize("state", [one for one in WorkerState if one is not WorkerState.DESTROYED])
def test_a_change_of_offsets_that_may_move_needs_a_review(state: WorkerState) -> None:
    """Whether the partition is new to the connector, or has the declared offset."""
    is_sure = state in (WorkerState.STOPPED, WorkerState.PAUSED)
    of_unknown_class = {"connector.class": "org.example.Unknown"}
    new = given({"a": 100}, {"b": 5}, observed=[seen("orders", state.value)])
    same = given(
        {"a": 100},
        {"a": 100},
        desired=[wanted("orders", config=of_unknown_class)],
        observed=[seen("orders", state.value, config=of_unknown_class)],
    )
    for now in (new, same):
        assert asks(now) == (() if is_sure else UNCERTAIN)


def test_a_change_that_is_only_recorded_needs_no_review() -> None:
    now = given({"a": 100}, {"a": 100}, reviews=Reviews(ReviewMode.REVIEWED))
    assert actions(plan(now)) == ["record"]
    assert not asks(now)
    configured = replace(
        now, observed=replace(now.observed, connectors={ORDERS: seen("orders", config={"file": "/a"})})
    )
    assert asks(configured) == UNCERTAIN, "it is stopped for the change"


def test_a_deleted_connector_that_was_managed_may_have_offsets() -> None:
    """Connect keeps them. Without the offsets of a rewind, they were rewound unseen."""
    deleted = given({}, {"a": 100}, observed=[])
    assert asks(deleted) == UNCERTAIN
    assert after_review(shown(given({"a": 120}, {"a": 100})), deleted).steps, "the same change was reviewed"
    new = replace(deleted, ownership={})
    assert not asks(new)
    other, seed = change("other", "orders"), replace(change("seed", "orders"), kind=OffsetChangeKind.SEED)
    for earlier, state, asked in ((other, "applied", UNCERTAIN), (seed, "intended", ())):
        records = {earlier.name: record(earlier, state)}
        assert asks(replace(new, offsets=replace(new.offsets, records=records))) == asked
    seeded = wanted("orders", initial_offsets=replace(BACK, kind=OffsetChangeKind.SEED))
    assert not asks(replace(deleted, desired=replace(deleted.desired, connectors=(seeded,), offset_changes=())))


def test_directions_that_lose_nothing_need_no_review() -> None:
    assert {Direction.NEW, Direction.SAME} == {
        one for one in Direction if one.value not in {kind.value for kind in DestructiveKind}
    }


def test_a_review_covers_nothing_of_what_the_branch_does_anyway() -> None:
    """Otherwise merging any other pull request would release a change that is blocked."""
    on_the_branch = plan(given({"a": 120}, TO, reviews=Reviews(ReviewMode.REVIEWED)))
    assert on_the_branch.unreviewed
    same = given({"a": 120}, TO)
    own = reviewed_plan(8, REVISION, [plan(same)], [on_the_branch])
    assert own.connectors == {CLUSTER: {}}
    assert after_review(own, same).unreviewed
    later = plan(given({"a": 95, "b": 95}, TO, reviews=Reviews(ReviewMode.REVIEWED)))
    earlier = plan(given({"a": 90, "b": 90}, TO))
    moved = reviewed_plan(8, REVISION, [earlier], [later])
    assert moved.connectors == {CLUSTER: {}}, "the connector has moved between the two plans"
    reached = plan(given(TO, TO, reviews=Reviews(ReviewMode.REVIEWED)))
    moved = reviewed_plan(8, REVISION, [plan(same)], [reached])
    for mode in (ReviewMode.REVIEWED, ReviewMode.MANUAL):
        assert after_review(moved, same, mode).unreviewed, "so that another effect was shown (found by seed 73338)"
    failed = given({"a": 95, "b": 95}, TO, observed=[seen("orders", tasks=["java.lang.Boom: no"])])
    failed = replace(failed, policy=Policy(concurrent_restarts=5), reviews=Reviews(ReviewMode.REVIEWED))
    assert actions(plan(failed)) == ["restart"], "the change is held, and another step is not"
    moved = reviewed_plan(8, REVISION, [plan(same)], [plan(failed)])
    assert after_review(moved, same).unreviewed, "found by seed 87852"
    more = given({"a": 120}, TO, desired=[wanted("orders"), wanted("other")])
    (other,) = reviewed_plan(8, REVISION, [plan(more)], [on_the_branch]).connectors[CLUSTER]
    assert other == "other"
