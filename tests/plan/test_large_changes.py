"""The memory that several large offset changes need together. For single ones see offset_changes.yaml."""

from __future__ import annotations

from support.planner.situations import REVISION, change, seen, situation, wanted

from gitops_connect.connect.worker_heap import GIB
from gitops_connect.model.differences import Difference, Direction, Review
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.plans import OffsetChangeStatus
from gitops_connect.plan.connector_changes import declared_partitions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

A, C, D = ConnectorName("a"), OffsetChangeName("c"), OffsetChangeName("d")
MANY = {A: SavedOffsets("live.jsonl", 1_000_000, 74_000_000, Digest("s"))}


def sized(new: int) -> LargeVerdict:
    return LargeVerdict(1_000_000, 1_000_000, 89_000_000, difference=Difference({Direction.NEW: new}))


def test_several_changes_must_fit_together_and_the_first_one_is_planned() -> None:
    both, changes = [wanted("a"), wanted("b")], [change("c", "a"), change("d", "b")]
    offsets = OffsetSituation(large={C: sized(1_000_000), D: sized(1_000_000)})
    policy = Policy(worker_heap=2 * GIB)
    made = plan(situation(both, map(seen, "ab"), owned="ab", changes=changes, offsets=offsets, policy=policy))
    assert [one.status for one in made.offset_changes] == [OffsetChangeStatus.PLANNED, OffsetChangeStatus.WAITING]
    (problem,) = made.diagnostics
    assert "2,000,000 partitions" in problem.summary


def test_all_changes_count_for_the_largest_chunk() -> None:
    offsets = OffsetSituation(large={C: sized(1_000_000), D: sized(200_000)}, large_current=MANY)
    found = situation([wanted("a"), wanted("b")], offsets=offsets)
    assert declared_partitions(found) == (2_200_000, 74_000_000 + 89_000_000 + 17_800_000)


def test_unsent_offsets_of_a_change_in_progress_count_like_current_offsets() -> None:
    left = Review({}, Difference({Direction.NEW: 500_000, Direction.SAME: 1_000_000}))
    offset_change = OffsetChange(C, A, OffsetChangeKind.ALTER, Digest("d"), REVISION, is_large=True)
    offsets = OffsetSituation(unfinished={C: Unfinished(offset_change, {}, left)}, large_current=MANY)
    assert declared_partitions(situation([wanted("a")], offsets=offsets)) == (1_500_000, 111_000_000)
