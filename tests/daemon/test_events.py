"""The log events, and how often each one is logged."""

from __future__ import annotations

import ast
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.docs.package_source import MODULES, nodes
from support.log_events import FIELDS
from support.planner.situations import change, seen, situation, wanted

from gitops_connect.daemon import events
from gitops_connect.errors import ConnectUnavailable, LedgerBusy
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.plan.planner import plan

ROOT = Path(__file__).parents[2]


def test_only_new_items_are_news() -> None:
    news = events.NewItems()
    assert news.of(["a", "b"]) == ["a", "b"]
    assert news.of(["a", "b"]) == []
    assert news.of(["b", "c"]) == ["c"]
    assert news.of(["a", "c"]) == ["a"], "what comes back is news again"


def test_every_event_and_field_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "log-events.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    documented = {row[1].strip(" `"): re.findall(r"`([a-z_]+)`", row[4]) for row in rows if len(row) == 6}
    counts = [name for row in rows if len(row) == 4 for name in re.findall(r"`([a-z_]+)`", row[1])]
    documented["reconciliation_finished"] += counts
    steps = {f"step_{result.value}": documented["step_applied"] for result in Result}
    assert documented.keys() - {"library"} == FIELDS.keys()
    for event, known in FIELDS.items():
        fields = {name.rstrip("?") for name in known.split()}
        assert fields <= set(steps.get(event, documented[event])), event


@pytest.mark.slow
def test_every_event_of_the_package_is_in_the_table() -> None:
    calls = [call for module in MODULES for call in nodes(module) if isinstance(call, ast.Call)]
    said = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] in ("say", "say_error")]
    texts = [text.value for call in said for text in call.args[:2] if isinstance(text, ast.Constant)]
    names = {text for text in texts if isinstance(text, str) and " " not in text}
    assert len(names) >= 28
    assert names <= FIELDS.keys()


def test_a_warning_of_connect_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    wanted_of = change("a", "orders")
    offset_change = OffsetChange(
        wanted_of.name, wanted_of.connector, OffsetChangeKind.ALTER, wanted_of.digest, Revision("r")
    )
    step = Step(ConnectorName("orders"), Action.ALTER, "offset change a", offset_change=offset_change)
    outcome = StepOutcome(step, Result.APPLIED, "offsets may be managed externally")
    with caplog.at_level(logging.INFO):
        for one in (outcome, replace(outcome, message="")):
            events.step_ended(ClusterName("local"), Revision("r"), one)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert [record.__dict__["fields"]["offset_change"] for record in caplog.records] == ["a", "a"]


def test_a_step_with_a_bug_is_logged_with_its_connector_and_the_traceback(caplog: pytest.LogCaptureFixture) -> None:
    step = Step(ConnectorName("orders"), Action.RESUME, "state: stopped -> running")
    events.step_ended(ClusterName("local"), Revision("r"), StepOutcome(step, Result.FAILED, "a bug", bug=KeyError("x")))
    _, bug = caplog.records
    assert bug.exc_info is not None
    assert bug.__dict__["fields"] == {
        "cluster": "local",
        "connector": "orders",
        "action": "resume",
        "reason": "KeyError",
    }


def test_a_failed_reconciliation_is_logged_with_its_cluster_and_next_retry(caplog: pytest.LogCaptureFixture) -> None:
    for error in (ConnectUnavailable("nobody answers"), LedgerBusy("another process acts"), RuntimeError("a bug")):
        events.cycle_broken_off(ClusterName("local"), Revision("r"), error, 1.26)
    told = [(one.levelname, one.getMessage(), one.__dict__["fields"]) for one in caplog.records]
    assert [(level, event, fields.get("revision"), fields.get("retry_in")) for level, event, fields in told] == [
        ("ERROR", "reconciliation_failed", "r", 1.3),
        ("WARNING", "reconciliation_postponed", None, None),
        ("ERROR", "bug", "r", 1.26),
    ]
    assert {fields["cluster"] for _, _, fields in told} == {"local"}
    assert told[0][2]["reason"] == "ConnectUnavailable"


def test_the_progress_of_a_large_change_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    progress = SendingProgress(OffsetChangeName("skip"), ConnectorName("orders"), 5, 20, rate=2.4, remaining=6.25)
    with caplog.at_level(logging.INFO):
        events.sending(ClusterName("local"), Revision("r"), progress)
    named = {"cluster": "local", "revision": "r", "connector": "orders", "offset_change": "skip"}
    assert caplog.records[0].__dict__["fields"] == named | {"done": 5, "entries": 20, "rate": 2, "remaining": 6}


def test_a_step_that_is_abandoned_is_logged_with_its_connector_and_offset_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    offset_change = OffsetChange(
        OffsetChangeName("skip"), ConnectorName("orders"), OffsetChangeKind.ALTER, Digest("d"), Revision("r")
    )
    for one in (offset_change, None):
        step = Step(ConnectorName("orders"), Action.ALTER, "offset change skip", offset_change=one)
        events.abandoned(ClusterName("local"), step, 30)
    first, second = (record.__dict__["fields"] for record in caplog.records)
    assert first == second | {"offset_change": "skip"}
    assert (second["cluster"], second["connector"], second["action"]) == ("local", "orders", "alter")
    assert (second["offset_change"], second["reason"]) == (None, "offset change skip")


def test_a_blocked_offset_change_and_offsets_that_a_step_leaves_unread_are_noted_once() -> None:
    given = situation(
        [wanted("orders", "absent"), wanted("more", config={"file": "/b"})],
        [seen("more", config={"file": "/a"})],
        owned=["more"],
        changes=[change("a", "orders"), change("b", "nobody")],
    )
    noted = dict(events.notes(plan(given)))
    assert noted.pop(ConnectorName("orders")) == "offset change a (alter) is blocked: its connector is declared absent"
    assert noted.pop(ConnectorName("more")).startswith('offsets: the offsets of file "/a" are no longer read')
    assert not noted, "that the connector of b is not declared is reported as a problem of its document"


def test_many_connectors_that_wait_for_the_same_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        events.noted(ClusterName("local"), [*((f"c{number}", "blocked") for number in range(1000)), ("more", "kept")])
    assert [record.__dict__["fields"] for record in caplog.records] == [
        {"cluster": "local", "connectors": 1000, "message": "c0, c1, c2, …: blocked"},
        {"cluster": "local", "connector": "more", "message": "kept"},
    ]


def test_a_connector_that_the_cluster_does_not_report_has_not_recovered(caplog: pytest.LogCaptureFixture) -> None:
    orders, more = ConnectorName("orders"), ConnectorName("more")
    desired = [wanted("orders"), wanted("more")]
    failed = [seen("orders", tasks=["Boom"]), seen("more", tasks=[])]
    with caplog.at_level(logging.INFO):
        known = events.health_seen(plan(situation(desired, failed)), frozenset())
        known = events.health_seen(plan(situation(desired, [seen("more")], unknown=["orders"])), known)
        assert known == {orders}
        assert events.health_seen(plan(situation(desired, [seen("orders"), seen("more")])), known) == frozenset()
    logged = [(record.getMessage(), record.__dict__["fields"]["connector"]) for record in caplog.records]
    assert logged == [
        ("connector_unhealthy", more),
        ("connector_unhealthy", orders),
        ("connector_recovered", more),
        ("connector_recovered", orders),
    ]
