from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.files.tables import rows, table
from support.planner.situations import NOW, change, current_offsets, record, seen, situation, situation_of, wanted

from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.lag import ConnectorLag
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.revisions import RevisionMark, Revisions
from gitops_connect.model.status import ConnectorStatus, Sync
from gitops_connect.model.verdicts import Verdict, VerdictKind
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.plan.situation import OffsetSituation, Situation
from gitops_connect.report.connector_status import (
    StatusFindings,
    after_steps,
    connector_statuses,
    problems_by_connector,
    revisions_line,
    status_table,
    unplaced,
)

LAG = ConnectorLag(1480, KafkaPartition("orders", 3), 1000, NOW - timedelta(minutes=90), 0, NOW)


def statuses(given: Situation, *found: Diagnostic, documents: Iterable[Diagnostic] = ()) -> list[ConnectorStatus]:
    """The statuses of the connectors; `found` are problems that only checks on the cluster find."""
    made = plan(given)
    cluster = Diagnostics.of((*found, *made.diagnostics))
    problems = problems_by_connector(given.desired, Diagnostics.of(documents), cluster)
    return connector_statuses(
        made, given.desired, given.observed, StatusFindings(given.now, find_unhealthy(given), problems)
    )


def problem(rule: str, connector: str = "orders", severity: str = "error") -> Diagnostic:
    return Diagnostic(
        Severity(severity), rule, f"no {rule}", Location("a.yaml", 3, 9), connector=ConnectorName(connector)
    )


def problems(found: Iterable[Any]) -> list[Diagnostic]:
    return [problem(**one) if isinstance(one, dict) else problem(one) for one in found]


def case_statuses(case: Mapping[str, Any]) -> list[ConnectorStatus]:
    """The statuses in a situation of the table."""
    given = dict(case["given"])
    broken = frozenset(map(ConnectorName, given.pop("broken_changes", ())))
    made = situation_of(given)
    made = replace(made, desired=replace(made.desired, broken_changes=broken))
    return statuses(made, *problems(case.get("found", ())), documents=problems(case.get("documents", ())))


def verdict_words(verdict: Verdict) -> str:
    return f"{verdict.kind.value} by {verdict.blocked_by}" if verdict.blocked_by else verdict.kind.value


CASES = table(__file__, "statuses")


@pytest.mark.parametrize("name", CASES)
def test_the_status_of_each_connector(name: str) -> None:
    found = {
        one.name: [one.sync.value, one.health.value, one.is_fine, one.message, verdict_words(one.verdict)]
        for one in case_statuses(CASES[name])
    }
    assert found == CASES[name]["expect"]


def test_an_offset_change_that_is_due_or_waits_is_out_of_sync_and_named() -> None:
    due, held, done = change("d", "due"), change("h", "held"), change("x", "done")
    lost, lost_here = change("l", "nobody"), change("t", "theirs")
    names = ("due", "held", "done")
    offsets = OffsetSituation(
        records={done.name: record(done, "applied")},
        manifests={due.name: current_offsets(a=1), held.name: current_offsets(a=1)},
        current={ConnectorName("due"): {}, ConnectorName("held"): current_offsets(a=9)},
    )
    given = situation(
        [wanted(name) for name in names],
        [seen(name) for name in (*names, "theirs")],
        owned=names,
        changes=[due, held, done, lost, lost_here],
        offsets=offsets,
    )
    made, lines = plan(given), statuses(given)
    found = {line.name: (line.sync, line.message) for line in lines}
    assert found["due"] == (Sync.OUT_OF_SYNC, "stop, alter, resume (offset change d (alter))")
    assert found["held"][0] is Sync.OUT_OF_SYNC
    assert found["held"][1].startswith("offset change h (alter) is blocked: ")
    assert found["done"] == (Sync.SYNCED, "")
    assert found["theirs"][0] is Sync.UNMANAGED
    assert found["theirs"][1].startswith("offset change t (alter) is blocked: connector 'theirs' is on the cluster")
    assert unplaced(made, lines) == ["local: offset change l (alter) is blocked: connector 'nobody' is not declared"]


@pytest.mark.parametrize(("desired", "applied", "attempted", "line"), rows(__file__, "revisions"))
def test_the_desired_and_the_last_applied_revision(
    desired: Revision, applied: Revision | None, attempted: list[str] | None, line: str
) -> None:
    revision, *result = attempted or [""]
    recorded = Revisions(
        RevisionMark(Revision(revision), NOW, *result) if attempted else None,
        RevisionMark(applied, NOW) if applied else None,
    )
    assert revisions_line(ClusterName("local"), desired, recorded, "connectors").endswith(line)


def test_a_column_for_the_lag_if_the_settings_name_a_kafka_cluster() -> None:
    lags = [LAG, replace(LAG, unread=2, since=None), replace(LAG, records=0, worst=None), None]
    (one,) = statuses(situation_of({"desired": {"orders": {}}, "observed": {"orders": {}}}))
    headers, rows = status_table([replace(one, lag=lag) for lag in lags], with_lag=True)
    assert (headers[6:9], [row[7] for row in rows]) == (
        ("TASKS", "LAG", "SINCE"),
        ["1,480 (1 h 30 min)", "at least 1,480", "0", "-"],
    )
    assert status_table([one], with_lag=False) == (tuple(h for h in headers if h != "LAG"), [one.row()])


@pytest.mark.parametrize("case", rows(__file__, "after steps"), ids=lambda case: str(case["case"]))
def test_a_step_that_has_ended_changes_the_status_of_its_connector(case: Mapping[str, Any]) -> None:
    (before,) = case_statuses({"given": {"desired": {"orders": {}}, "observed": {}}})
    kind = VerdictKind(case.get("before", "progressing"))
    before = replace(before, verdict=Verdict(kind, "why"))
    steps = tuple(Step(before.name, Action(name), "") for name in case["planned"])
    planned = ConnectorPlan(before.name, steps, is_partial=case.get("partial", False))
    ended = [StepOutcome(step, Result(result), "no") for step, result in zip(steps, case["ended"], strict=False)]
    target = TargetState(case["target"]) if "target" in case else None
    found = after_steps(before, planned, ended, target)
    shown = None if found is None else [found.verdict.kind.value, found.sync.value, found.health.value, found.state]
    assert shown == case["expect"]
    assert "detail" not in case or (found is not None and found.verdict.words == case["detail"])
