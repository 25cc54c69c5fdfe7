from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import change, current_offsets, record, seen, situation, wanted

from gitops_connect.families.health_rules import unhealthy
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.plan.situation import OffsetSituation, Situation
from gitops_connect.report.connector_status import (
    connector_health,
    connector_statuses,
    problems_by_connector,
    revisions_line,
    unplaced,
)


def with_tasks(state: str, *tasks: str) -> ObservedConnector:
    made = [
        TaskStatus(number, WorkerState(task), "w", "Boom: x\n\tat y" * (task == "FAILED"))
        for number, task in enumerate(tasks)
    ]
    return replace(seen("orders", state), tasks=tuple(made))


def statuses(given: Situation, *found: Diagnostic, documents: Iterable[Diagnostic] = ()) -> list[ConnectorStatus]:
    """The statuses of the connectors; `found` are problems that only checks on the cluster find."""
    made = plan(given)
    cluster = Diagnostics.of((*found, *made.diagnostics))
    problems = problems_by_connector(given.desired, Diagnostics.of(documents), cluster)
    return connector_statuses(made, given.desired, given.observed, find_unhealthy(given), problems)


def problem(rule: str, connector: str = "orders", severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic(severity, rule, f"no {rule}", Location("a.yaml", 3, 9), connector=ConnectorName(connector))


@pytest.mark.parametrize(
    ("observed", "health"),
    [
        (None, Health.MISSING),
        (with_tasks("RUNNING", "RUNNING", "RUNNING"), Health.HEALTHY),
        (with_tasks("RUNNING"), Health.DEGRADED),
        (with_tasks("RUNNING", "RUNNING", "UNASSIGNED"), Health.PROGRESSING),
        (with_tasks("RUNNING", "RUNNING", "FAILED"), Health.DEGRADED),
        (with_tasks("FAILED"), Health.DEGRADED),
        (with_tasks("PAUSED", "PAUSED"), Health.SUSPENDED),
        (with_tasks("STOPPED"), Health.SUSPENDED),
        (with_tasks("UNASSIGNED"), Health.PROGRESSING),
    ],
)
def test_health(observed: ObservedConnector | None, health: Health) -> None:
    problem = unhealthy(observed, BUILT_IN) if observed is not None else None
    assert connector_health(observed, problem)[0] is health


def test_each_connector_has_one_line_whatever_is_known_of_it() -> None:
    given = situation(
        [wanted("absent", "absent"), wanted("changed", "stopped"), wanted("new"), wanted("same"), wanted("unknown")],
        [seen("changed"), seen("same"), seen("theirs"), replace(with_tasks("RUNNING", "FAILED"), name="held")],
        held=["held"],
        unknown=["unknown"],
    )
    lines = statuses(given)
    assert {line.name: (line.sync, line.health) for line in lines} == {
        "changed": (Sync.OUT_OF_SYNC, Health.HEALTHY),
        "held": (Sync.UNKNOWN, Health.DEGRADED),
        "new": (Sync.OUT_OF_SYNC, Health.MISSING),
        "same": (Sync.SYNCED, Health.HEALTHY),
        "theirs": (Sync.UNMANAGED, Health.HEALTHY),
        "unknown": (Sync.UNKNOWN, Health.UNKNOWN),
    }
    messages = {line.name: line.message for line in lines}
    assert messages["changed"] == "adopt, stop"
    assert messages["held"] == "task 0 is FAILED: Boom: x; its document has errors"
    assert messages["unknown"] == "its state could not be read: nothing is planned for it"


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


REJECTED, SECRET = problem("connect/invalid-config"), problem("secret/missing")
NEW = {"topic": "new"}


@pytest.mark.parametrize(
    ("desired", "observed", "found", "sync", "reason"),
    [
        (wanted("orders", config=NEW), seen("orders"), REJECTED, Sync.OUT_OF_SYNC, "a.yaml:3:9: no connect/invalid"),
        (
            wanted("orders", config=NEW),
            None,
            REJECTED,
            Sync.OUT_OF_SYNC,
            "the connector is not created; a.yaml:3:9: no connect/",
        ),
        (wanted("orders", "stopped", config=NEW), seen("orders"), REJECTED, Sync.OUT_OF_SYNC, "stop; a.yaml:3:9: no "),
        (wanted("orders"), seen("orders"), SECRET, Sync.UNKNOWN, "a.yaml:3:9: no secret/missing"),
        (wanted("orders"), None, SECRET, Sync.OUT_OF_SYNC, "a.yaml:3:9: no secret/missing"),
    ],
)
def test_what_cannot_be_applied_is_not_in_sync_and_says_why(desired, observed, found, sync, reason) -> None:
    there = [observed] if observed else []
    (line,) = statuses(situation([desired], there, owned=["orders"], invalid=frozenset({"orders"})), found)
    assert line.sync is sync
    assert reason in line.message
    assert not line.is_fine


def test_a_config_that_connect_could_not_check_says_so() -> None:
    unasked = problem("connect/not-validated", severity=Severity.WARNING)
    (line,) = statuses(situation([wanted("orders", config=NEW)], [seen("orders")]), unasked)
    assert (line.sync, line.message) == (Sync.OUT_OF_SYNC, "adopt, configure; a.yaml:3:9: no connect/not-validated")


def test_neither_health_nor_sync_hides_the_other() -> None:
    broken = seen("orders", tasks=["Boom: x"])
    (line,) = statuses(situation([wanted("orders", config=NEW)], [broken], invalid=frozenset({"orders"})), REJECTED)
    assert (line.sync, line.health) == (Sync.OUT_OF_SYNC, Health.DEGRADED)
    assert line.message.startswith("task 0 is FAILED: Boom: x; ")
    assert line.message.endswith("a.yaml:3:9: no connect/invalid-config")


def test_a_document_with_errors_leaves_its_connector_unknown_with_the_first_of_them() -> None:
    errors = [problem("schema/type"), problem("schema/key"), problem("schema/type", "another")]
    (line,) = statuses(situation([], [seen("orders")], owned=["orders"], held=["orders"]), documents=errors)
    assert line.sync is Sync.UNKNOWN
    assert line.message == "a.yaml:3:9: no schema/key (and 1 more: gitops-connect plan shows them)"


def test_an_error_in_a_document_for_another_cluster_says_nothing_of_this_one() -> None:
    (line,) = statuses(situation([wanted("orders")], [seen("orders")]), documents=[problem("schema/type")])
    assert (line.sync, line.message, line.is_fine) == (Sync.SYNCED, "", True)


def test_an_offset_change_with_errors_leaves_its_connector_out_of_sync() -> None:
    given = situation([wanted("orders")], [seen("orders")])
    broken = replace(given, desired=replace(given.desired, broken_changes=frozenset({ConnectorName("orders")})))
    (line,) = statuses(broken, documents=[problem("schema/type")])
    assert (line.sync, line.message) == (Sync.OUT_OF_SYNC, "a.yaml:3:9: no schema/type")


@pytest.mark.parametrize(
    ("given", "sync", "reason"),
    [
        ({"observed": [seen("orders")], "owned": ["orders"]}, Sync.OUT_OF_SYNC, "no longer declared, but kept"),
        (
            {"observed": [seen("orders")], "owned": ["orders"], "complete": False},
            Sync.UNKNOWN,
            "no other document declares it",
        ),
        (
            {"desired": [wanted("orders", "absent")], "observed": [seen("orders")]},
            Sync.OUT_OF_SYNC,
            "the connector is unmanaged",
        ),
        (
            {"desired": [wanted("orders", "stopped")], "observed": [seen("orders")], "version": "3.4.0"},
            Sync.OUT_OF_SYNC,
            "cannot stop connectors",
        ),
    ],
)
def test_what_nobody_will_apply_is_not_in_sync(given: dict[str, Any], sync: Sync, reason: str) -> None:
    (line,) = statuses(situation(**given))
    assert line.sync is sync
    assert reason in line.message


@pytest.mark.parametrize(
    ("state", "observed", "is_fine"),
    [
        ("running", seen("orders"), True),
        ("paused", seen("orders", "PAUSED"), True),
        ("stopped", seen("orders", "STOPPED"), True),
        ("paused", seen("orders"), False),
        ("running", seen("orders", tasks=["Boom"]), False),
        ("running", seen("orders", tasks=[]), False),
        ("running", seen("orders", "UNASSIGNED"), False),
        ("paused", replace(seen("orders", "PAUSED"), tasks=seen("orders", tasks=["Boom"]).tasks), False),
    ],
)
def test_what_is_fine(state: str, observed: ObservedConnector, is_fine: bool) -> None:
    (line,) = statuses(situation([wanted("orders", state)], [observed]))
    assert line.is_fine is is_fine


def test_what_is_unmanaged_is_not_judged_and_shown_with_what_has_failed() -> None:
    (line,) = statuses(situation([], [seen("theirs", tasks=["Boom: x"])]))
    assert (line.sync, line.health, line.is_fine) == (Sync.UNMANAGED, Health.DEGRADED, True)
    assert line.message == "task 0 is FAILED: Boom: x"


COMMIT, OTHER_COMMIT = Revision("1a2b3c4" + 33 * "0"), Revision("9f8e7d6" + 33 * "0")
DIRECTORY, OTHER_DIRECTORY = Revision("worktree-" + 40 * "1"), Revision("worktree-" + 40 * "2")


@pytest.mark.parametrize(
    ("desired", "applied", "line"),
    [
        (COMMIT, None, "cluster local: desired commit 1a2b3c4, nothing applied yet"),
        (COMMIT, OTHER_COMMIT, "cluster local: desired commit 1a2b3c4, last applied commit 9f8e7d6"),
        (COMMIT, DIRECTORY, "cluster local: desired commit 1a2b3c4, last applied from a directory (no commit)"),
        (DIRECTORY, None, "the directory connectors (no commit), nothing applied yet"),
        (DIRECTORY, COMMIT, "the directory connectors (no commit), last applied commit 1a2b3c4"),
        (DIRECTORY, DIRECTORY, "the directory connectors (no commit), last applied with the same content"),
        (DIRECTORY, OTHER_DIRECTORY, "the directory connectors (no commit), last applied with other content"),
    ],
)
def test_the_desired_and_the_last_applied_revision(desired: Revision, applied: Revision | None, line: str) -> None:
    assert revisions_line(ClusterName("local"), desired, applied, "connectors").endswith(line)
