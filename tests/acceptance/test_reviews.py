"""A pull request from its plan to the cluster: what was reviewed is applied, and what was not is blocked."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_journal import reconcile_options

from acceptance.test_offsets import LINES, LOCAL, Lines
from acceptance.workplace import Workplace
from gitops_connect.declare import Caches, declare
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose, ReviewedPlan, ReviewMode, Reviews
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.propose import propose
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import open_merge, open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings

NOW = ManualClock().now()


def review(at: Workplace, head_ref: str) -> ReviewedPlan:
    """Plan a pull request, and record what its comment shows."""
    settings = load_settings(at.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(open_merge(settings, head_ref)) as source:
        declared = declare(source, settings.clusters, Caches())
        shown = reviewed_plan(7, declared.revision, [propose(runtime, declared, LOCAL).plan])
        runtime.ledger.reviews.record(shown, PlanPurpose.REVIEW, NOW)
        return shown


def after_merge(at: Workplace) -> ReconciliationOutcome:
    """A reconciliation of the daemon after the merge of pull request 7; it records what is blocked."""
    settings = load_settings(at.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(open_source(settings, None)) as source:
        store = runtime.ledger.reviews
        reviews = Reviews(
            ReviewMode.REVIEWED, tuple(store.plans([7], PlanPurpose.REVIEW)), tuple(store.approved([7])), 7
        )
        options = replace(reconcile_options(lambda _plan: None), reviews=reviews)
        outcome = reconcile(runtime, declare(source, settings.clusters, Caches()), LOCAL, options)
        if outcome.plan.unreviewed:
            store.record(reviewed_plan(7, outcome.revision, [outcome.plan]), PlanPurpose.APPROVAL, NOW)
        return outcome


def approve(at: Workplace, plan: ReviewedPlan) -> bool:
    with closing(open_runtime(load_settings(at.directory / "gitops-connect.toml", {}))) as runtime:
        return runtime.ledger.reviews.approve(Approval(7, plan.digest, "ana", NOW, "https://git.example/7#1"))


@pytest.mark.parametrize("moves", [False, True])
def test_offsets_that_moved_after_the_review_block_the_change_until_it_is_approved(at: Workplace, moves: bool) -> None:
    lines = Lines(at)
    lines.run()
    at.git("checkout", "--quiet", "-b", "topic")
    at.commit("c.yaml", lines.alter("from-two", 4, "acknowledge: [rewind, skip]"))
    at.git("checkout", "--quiet", "main")
    at.commit("notes.txt", "the target branch goes on")
    shown = review(at, "refs/heads/topic")
    assert [one.words for one in shown.connectors[LOCAL][next(iter(shown.connectors[LOCAL]))].effects] == [
        "rewind of 1 partition (offset change from-two)"
    ]
    at.git("merge", "--quiet", "--no-edit", "topic")
    if moves:
        at.by_hand("stop", "lines")
        at.rest("PATCH", f"/connectors/{at.name('lines')}/offsets", {"offsets": [lines.entry(0)]})
        blocked = after_merge(at)
        assert blocked.plan.is_empty
        (change,) = blocked.plan.unreviewed
        assert change.planned == ("skip of 1 partition by 4 bytes of the file (offset change from-two)",)
        assert lines.position() == 0
        assert approve(at, reviewed_plan(7, blocked.revision, [blocked.plan]))
    assert after_merge(at).plan.unreviewed == ()
    lines.await_position(len(LINES))
    assert at.states() == {"lines": "RUNNING"}
