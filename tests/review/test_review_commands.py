"""A command counts only if its author has written all of it, and may push."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from support.cluster.manual_clock import START, ManualClock
from support.forge.memory_forge import PULL_REQUEST, MemoryForge
from support.planner.plans_of_steps import plan

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.pull_requests import Comment
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.review.comments import ReviewCommands


def test_an_edited_comment_approves_nothing_and_a_new_one_does(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    shown = reviewed_plan(7, PULL_REQUEST.head, [plan()])
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    commands = ReviewCommands(MemoryForge(), ledger.reviews, ManualClock())
    edited = Comment(1, "wendy", f"gitops-connect approve {shown.digest}", is_edited=True)
    with caplog.at_level(logging.INFO):
        assert not commands.carry_out(PULL_REQUEST, [edited])
        assert list(ledger.reviews.approved([7])) == []
        (record,) = caplog.records
        assert record.getMessage() == "command_rejected"
        assert record.fields["message"] == "the comment was edited; write a new one"  # type: ignore[attr-defined]
        assert commands.carry_out(PULL_REQUEST, [edited, replace(edited, id=2, is_edited=False)])
    assert len(list(ledger.reviews.approved([7]))) == 1
