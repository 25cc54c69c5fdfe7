"""Offset changes that are shown as numbers only: planned by themselves, and rejected like small ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import change, current_offsets, full, record, seen, situation, skipping, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, DesiredOperation
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, OperationName
from gitops_connect.model.operations import OperationRecord
from gitops_connect.model.plans import OperationStatus, Plan
from gitops_connect.model.worker_heap import GIB
from gitops_connect.plan.connector_operations import declared_partitions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

MANY = SavedOffsets("live.jsonl", 1_000_000, 74_000_000, Digest("s"))


def verdict(errors: int = 0, **counts: int) -> LargeVerdict:
    moves = {Direction(name): count for name, count in counts.items()}
    difference = None if errors else Difference(moves, {Direction.FORWARD: counts.get("skip", 0)})
    return LargeVerdict(1_000_000, 1_000_000, errors=errors, difference=difference)


def about(*records: OperationRecord, **more: Any) -> OffsetSituation:
    known = {one.name: one for one in records}
    return OffsetSituation(known, shapes={ConnectorName("a"): BUILT_IN.shape(full({}))}, **more)  # type: ignore[dict-item]


def planned(*changes: DesiredOperation, offsets: OffsetSituation, there: str | None = "RUNNING", **more: Any) -> Plan:
    desired: DesiredConnector = more.pop("desired", wanted("a"))
    observed = [seen("a", there)] if there else []
    return plan(situation([desired], observed, owned=["a"] if there else (), changes=changes, offsets=offsets, **more))


def statuses(made: Plan) -> dict[str, OperationStatus]:
    return {one.name: one.status for one in made.operations}


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


def test_a_large_change_is_planned_without_its_offsets() -> None:
    made = planned(change("c", "a"), offsets=about(large={"c": verdict(new=999_000, same=1_000)}))
    assert actions(made) == ["stop", "alter", "resume"]
    operation = made.steps[1].operation
    assert operation is not None
    assert operation.is_large
    assert operation.offsets == {}
    (shown,) = made.operations
    assert shown.difference is not None
    assert shown.difference.counts == {Direction.NEW: 999_000, Direction.SAME: 1_000}


@pytest.mark.parametrize(("counts", "steps"), [({"same": 1_000_000}, 1), ({"same": 999_999, "new": 1}, 3)])
def test_a_large_change_without_effect_is_recognized_by_its_counts(counts: dict[str, int], steps: int) -> None:
    made = planned(change("c", "a"), offsets=about(large={"c": verdict(**counts)}))
    assert [step.operation.is_large for step in made.steps if step.operation is not None] == [True]
    assert len(made.steps) == steps


def test_errors_block_a_large_change_and_the_start_of_its_connector() -> None:
    made = planned(change("c", "a"), there="STOPPED", offsets=about(large={"c": verdict(errors=3)}))
    assert statuses(made) == {"c": OperationStatus.WAITING}
    assert actions(made) == []


@pytest.mark.parametrize(
    ("counts", "acknowledge"), [({"rewind": 1}, "rewind"), ({"removed": 2}, "tombstone"), ({"skip": 65_537}, "skip")]
)
def test_the_effects_of_a_large_change_must_be_acknowledged(counts: dict[str, int], acknowledge: str) -> None:
    found = about(large={"c": verdict(**counts)})
    refused = planned(change("c", "a"), offsets=found)
    assert actions(refused) == []
    assert [one.hint for one in refused.diagnostics] == [
        f"if this is intended, add `acknowledge: [{acknowledge}]`",
    ]
    allowed = planned(change("c", "a", acknowledge=[acknowledge]), offsets=found)
    assert actions(allowed) == ["stop", "alter", "resume"]


def test_an_external_position_must_be_acknowledged_by_the_counts_alone() -> None:
    shapes = {ConnectorName("a"): BUILT_IN.shape({"connector.class": "PostgresConnector"})}
    for found, kind, needed in (
        (about(large={"c": verdict(rewind=3)}), "alter", ["external", "rewind"]),
        (about(large={"c": verdict(new=3)}), "alter", ["external"]),
    ):
        given = replace(found, shapes=shapes)  # type: ignore[arg-type]
        refused = planned(change("c", "a", kind), offsets=given)
        assert sorted(one.hint for one in refused.diagnostics) == [
            f"if this is intended, add `acknowledge: [{one}]`" for one in needed
        ]
        allowed = planned(change("c", "a", kind, acknowledge=needed), offsets=given)
        assert "alter" in actions(allowed)


def test_as_many_as_max_skip_may_be_skipped_without_an_acknowledgement() -> None:
    found = about(large={"c": verdict(skip=5)})
    assert actions(planned(change("c", "a"), offsets=found, policy=skipping(5)))
    assert not actions(planned(change("c", "a"), offsets=found, policy=skipping(4)))


def test_a_reset_of_many_offsets_needs_only_their_number() -> None:
    found = about(large_current={"a": MANY})
    made = planned(change("c", "a", "reset", acknowledge=["reset"]), offsets=found)
    assert actions(made) == ["stop", "reset", "resume"]
    (shown,) = made.operations
    assert shown.difference is not None
    assert shown.difference.counts == {Direction.REMOVED: 1_000_000}
    assert not actions(planned(change("c", "a", "reset"), offsets=found))


def test_a_small_change_of_a_connector_with_many_offsets_is_large() -> None:
    """The current offsets do not fit in memory, however small the change is."""
    made = planned(change("c", "a"), offsets=about(large={"c": verdict(same=1)}, large_current={"a": MANY}))
    assert [step.operation.is_large for step in made.steps if step.operation] == [True]


def test_a_large_change_is_the_only_one_of_its_reconciliation() -> None:
    """It was compared with the current offsets, and not with the offsets after the other changes."""
    small, large = {"b": current_offsets(x=1), "d": current_offsets(x=2)}, {"c": verdict(new=9)}
    three = [change(name, "a") for name in "bcd"]
    first = planned(*three, offsets=about(manifests=small, large=large, current={"a": {}}))
    assert statuses(first) == {
        "b": OperationStatus.PLANNED,
        "c": OperationStatus.WAITING,
        "d": OperationStatus.WAITING,
    }
    done = record(three[0], "applied")
    second = planned(*three, offsets=about(done, manifests=small, large=large, current={"a": current_offsets(x=1)}))
    assert statuses(second) == {"c": OperationStatus.PLANNED, "d": OperationStatus.WAITING}
    assert actions(second) == ["stop", "alter", "resume"]


def test_the_current_offsets_are_unknown() -> None:
    unknown = replace(verdict(), difference=None)
    made = planned(
        change("c", "a"), offsets=about(large={"c": unknown}, unread={"a": "its offsets could not be read: no"})
    )
    (shown,) = made.operations
    assert (shown.status, shown.message) == (OperationStatus.WAITING, "its offsets could not be read: no")


def test_leftovers_of_a_connector_that_does_not_exist_are_unknown() -> None:
    made = planned(change("c", "a"), there=None, offsets=about(large={"c": verdict(new=9)}))
    assert actions(made) == ["create", "alter", "resume"]
    (shown,) = made.operations
    assert shown.difference is not None
    assert not shown.difference.exact


def begun(review: Review | None) -> OffsetSituation:
    one = change("c", "a")
    operation = planned(one, offsets=about(large={"c": verdict(new=9)})).steps[1].operation
    assert operation is not None
    known = replace(record(one, "in_progress"), entries=1_000_000, sent=310_000)
    return about(known, unfinished={OperationName("c"): Unfinished(operation, {}, review)}, large_current={"a": MANY})


def test_a_change_in_progress_is_finished_first() -> None:
    left = Review({}, Difference({Direction.NEW: 690_000}), partial=True)
    made = planned(change("c", "a"), there="STOPPED", offsets=begun(left))
    assert statuses(made) == {"c": OperationStatus.UNFINISHED}
    assert actions(made) == ["alter", "resume"]


def test_a_change_after_one_in_progress_waits_for_the_next_reconciliation() -> None:
    left = Review({}, Difference({Direction.NEW: 690_000}), partial=True)
    found = replace(
        begun(left), manifests={"d": current_offsets(x=2)}, current={"a": current_offsets(x=1)}, large_current={}
    )
    made = planned(change("c", "a"), change("d", "a"), there="STOPPED", offsets=found)
    assert statuses(made) == {"c": OperationStatus.UNFINISHED, "d": OperationStatus.WAITING}


def test_a_change_in_progress_is_blocked_if_other_offsets_changed_meanwhile() -> None:
    moved = Review({}, Difference(), (Refusal("it was begun, and others have moved since"),), partial=True)
    made = planned(change("c", "a"), there="STOPPED", offsets=begun(moved))
    assert statuses(made) == {"c": OperationStatus.WAITING}
    assert actions(made) == []


def test_a_change_in_progress_is_not_finished_if_its_connector_was_started_since() -> None:
    made = planned(change("c", "a"), there="RUNNING", offsets=begun(None))
    (shown,) = made.operations
    assert shown.status is OperationStatus.UNKNOWN
    assert "its connector has run since" in shown.message


def sized(new: int, entries: int = 1_000_000, size: int = 89_000_000) -> LargeVerdict:
    return replace(verdict(new=new), entries=entries, size=size)


class TestWorkersMemory:
    def test_the_estimate_is_in_the_plan(self) -> None:
        made = planned(
            change("c", "a"), offsets=about(large={"c": sized(1_000_000)}), policy=Policy(worker_heap=2 * GIB)
        )
        (shown,) = made.operations
        assert shown.heap is not None
        assert 1.0 * GIB < shown.heap.size < 1.5 * GIB
        assert "1,000,000 partitions of 89 bytes" in shown.heap.arithmetic
        assert actions(made) == ["stop", "alter", "resume"]

    def test_a_change_that_does_not_fit_is_rejected_with_the_arithmetic(self) -> None:
        made = planned(change("c", "a"), offsets=about(large={"c": sized(1_000_000)}), policy=Policy(worker_heap=GIB))
        assert actions(made) == []
        (problem,) = made.diagnostics
        assert "each worker would need 1.2" in problem.summary
        assert "1,000,000 partitions of 89 bytes" in problem.summary
        assert "-Xmx" in problem.summary

    def test_the_limit_can_be_lifted(self) -> None:
        made = planned(change("c", "a"), offsets=about(large={"c": sized(9_000_000)}), policy=Policy(worker_heap=0))
        assert actions(made) == ["stop", "alter", "resume"]

    def test_current_offsets_count_and_those_sent_again_do_not(self) -> None:
        known = {"large_current": {"a": MANY}}
        more = about(large={"c": sized(800_000)}, **known)
        assert not actions(planned(change("c", "a"), offsets=more, policy=Policy(worker_heap=2 * GIB)))
        again = replace(verdict(same=1_000_000), size=89_000_000)
        same = about(large={"c": again}, **known)
        assert actions(planned(change("c", "a"), offsets=same, policy=Policy(worker_heap=GIB)))

    def test_several_changes_must_fit_together_and_the_first_one_is_planned(self) -> None:
        two = {"c": sized(1_000_000), "d": sized(1_000_000)}
        made = plan(
            situation(
                [wanted("a"), wanted("b")],
                [seen("a"), seen("b")],
                owned=["a", "b"],
                changes=[change("c", "a"), change("d", "b")],
                offsets=about(large=two),
                policy=Policy(worker_heap=2 * GIB),
            )
        )
        assert statuses(made) == {"c": OperationStatus.PLANNED, "d": OperationStatus.WAITING}
        (problem,) = made.diagnostics
        assert "2,000,000 partitions" in problem.summary

    def test_all_changes_count_for_the_largest_chunk(self) -> None:
        two = {"c": sized(1_000_000), "d": sized(200_000)}
        found = situation([wanted("a"), wanted("b")], offsets=about(large=two, large_current={"a": MANY}))
        assert declared_partitions(found) == (2_200_000, 74_000_000 + 89_000_000 + 17_800_000)

    def test_unsent_offsets_of_a_change_in_progress_count_like_current_offsets(self) -> None:
        left = Review({}, Difference({Direction.NEW: 500_000, Direction.SAME: 1_000_000}))
        found = replace(begun(left), large_current={ConnectorName("a"): MANY})
        assert declared_partitions(situation([wanted("a")], offsets=found)) == (1_500_000, 111_000_000)

    def test_each_copy_counts(self) -> None:
        found = about(large={"c": sized(1_000_000)}, copies={"a": 3})
        made = planned(change("c", "a"), offsets=found, policy=Policy(worker_heap=2 * GIB))
        (problem,) = made.diagnostics
        assert "in 3 copies" in problem.summary
