"""What blocks a connector is said in the same words by every output."""

from __future__ import annotations

import html
import json
import re

import pytest
from plan.test_precedence import HOLDS, INTENTS, NEVER_MEET, ORDERS
from prometheus_client.parser import text_string_to_metric_families
from server.conftest import Serve
from support.planner.situations import CLUSTER, NOW, REVISION

from gitops_connect.daemon import events
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.pull_requests import CommentOptions, PullRequestPlan
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.conditions import connector_conditions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.precedence import PASSES, Intent
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.report import markdown, plan_json
from gitops_connect.report.connector_status import StatusFindings, connector_statuses
from gitops_connect.report.review_comment import review_comment
from gitops_connect.report.text import TextReport

pytestmark = pytest.mark.slow

OPTIONS = CommentOptions("https://git.example/", None, 65_536)


def held_by(hold: HoldKind) -> Intent:
    """An intent that the hold does not let pass, and that is a step of the plan otherwise."""
    return next(one for one in Intent if one not in PASSES[hold] and (hold, one) not in NEVER_MEET)


@pytest.mark.parametrize("hold", [one for one in HOLDS if one is not HoldKind.DELETION])
def test_every_output_says_the_same(hold: HoldKind, serve: Serve) -> None:
    situation = HOLDS[hold](INTENTS[held_by(hold)][1]())
    made = plan(situation)
    (found,) = (one.holds[0] for one in made.connectors if one.name == ORDERS)
    assert found.kind is hold
    statuses = connector_statuses(
        made, situation.desired, situation.observed, StatusFindings(situation.now, find_unhealthy(situation))
    )
    (status,) = (one for one in statuses if one.name == ORDERS)
    conditions = connector_conditions({}, statuses, made, NOW)

    assert found.words in TextReport(coloured=False, moves=None).plans([made])
    assert found.words in markdown.render([made])
    assert found.words in review_comment(PullRequestPlan(7, REVISION, "main", (made,)), OPTIONS)
    in_json = json.loads(plan_json.render([made], Diagnostics(), plan_json.PlanOrigin(NOW, REVISION)))
    assert {"connector": ORDERS, **found.value()} in in_json["clusters"][0]["holds"]
    assert found.words in status.message
    assert conditions[ORDERS, ConditionType.BLOCKED, ""].message == found.words
    if hold is not HoldKind.SUSPENDED:  # the log has events of its own for suspensions
        assert (ORDERS, found.words) in events.notes(made)

    client = serve()
    state = client.made.served.daemon.state  # type: ignore[attr-defined]
    state.update_cluster(CLUSTER, plan=made, connectors=tuple(statuses), conditions=conditions)
    (shown,) = (one for one in client.get("/api/v1/connectors").json()["connectors"] if one["name"] == ORDERS)
    assert shown["holds"] == [one.value() for one in status.holds]
    page = html.unescape(re.sub("<[^>]+>", "", client.get(f"/clusters/{CLUSTER}/connectors/{ORDERS}").text))
    for part in (found.message, *found.release.split("run: ")):
        assert part.replace("`", "") in page.replace("`", "")
    samples = {
        (sample.labels["cluster"], sample.labels["blocked_by"]): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name == "gitops_connect_connectors_blocked"
    }
    assert samples[CLUSTER, hold.value] >= 1
