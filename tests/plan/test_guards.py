from __future__ import annotations

import pytest
from support.planner.situations import seen, situation, wanted

from gitops_connect.errors import UnsafePlan
from gitops_connect.plan.guards import enforce
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Policy


def prune_down_to(kept: int, of: int) -> tuple[str, ...]:
    names = [f"connector-{number:02}" for number in range(of)]
    policy = Policy(prune=True, max_deletions=0.3)
    return plan(situation(map(wanted, names[:kept]), map(seen, names), owned=names, policy=policy)).refusals


def test_a_share_of_deletions_within_the_limit_and_a_single_one_are_let_through() -> None:
    assert prune_down_to(7, 10) == prune_down_to(1, 2) == ()


def test_a_larger_share_is_refused_with_the_figures_and_the_setting() -> None:
    (refusal,) = prune_down_to(6, 10)
    assert "TooManyDeletions: 4 of 10 managed connectors would be deleted, but at most 3 are allowed" in refusal
    assert "[clusters.local] max_deletions = 0.3" in refusal


def test_a_protected_connector_is_not_deleted_by_prune_nor_by_its_document() -> None:
    policy = Policy(prune=True, protected=("payments-*",), max_deletions=1)
    names = ["payments-in", "payments-out"]
    made = plan(situation([wanted("payments-in", "absent")], map(seen, names), owned=names, policy=policy))
    assert [refusal.split(" ")[2] for refusal in made.refusals] == names
    with pytest.raises(UnsafePlan, match="nothing was changed"):
        enforce(made)
