from __future__ import annotations

from dataclasses import replace

import pytest
from situations import NOW, change, record, seen, situation, stands, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedConnector, TaskStatus, WorkerState
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation
from gitops_connect.report.status import Health, Sync, connector_health, connector_statuses, unplaced


def with_tasks(state: str, *tasks: str) -> ObservedConnector:
    made = [
        TaskStatus(number, WorkerState(task), "w", "Boom: x\n\tat y" * (task == "FAILED"))
        for number, task in enumerate(tasks)
    ]
    return replace(seen("orders", state), tasks=tuple(made))


@pytest.mark.parametrize(
    ("observed", "health"),
    [
        (None, Health.MISSING),
        (with_tasks("RUNNING", "RUNNING", "RUNNING"), Health.HEALTHY),
        (with_tasks("RUNNING"), Health.PROGRESSING),
        (with_tasks("RUNNING", "RUNNING", "UNASSIGNED"), Health.PROGRESSING),
        (with_tasks("RUNNING", "RUNNING", "FAILED"), Health.DEGRADED),
        (with_tasks("FAILED"), Health.DEGRADED),
        (with_tasks("PAUSED", "PAUSED"), Health.SUSPENDED),
        (with_tasks("STOPPED"), Health.SUSPENDED),
        (with_tasks("UNASSIGNED"), Health.PROGRESSING),
    ],
)
def test_health(observed: ObservedConnector | None, health: Health) -> None:
    assert connector_health(observed) is health


def test_each_connector_has_one_line_whatever_is_known_of_it() -> None:
    given = situation(
        [wanted("absent", "absent"), wanted("changed", "stopped"), wanted("new"), wanted("same"), wanted("unknown")],
        [seen("changed"), seen("same"), seen("theirs"), replace(with_tasks("RUNNING", "FAILED"), name="held")],
        held=["held"],
        unknown=["unknown"],
    )
    desired = {one.name: one for one in given.desired.connectors}
    lines = connector_statuses(plan(given), desired, given.desired.held, given.observed)
    assert {line.name: (line.sync, line.health) for line in lines} == {
        "changed": (Sync.OUT_OF_SYNC, Health.HEALTHY),
        "held": (Sync.UNKNOWN, Health.DEGRADED),
        "new": (Sync.OUT_OF_SYNC, Health.MISSING),
        "same": (Sync.SYNCED, Health.HEALTHY),
        "theirs": (Sync.UNMANAGED, Health.HEALTHY),
        "unknown": (Sync.UNKNOWN, Health.UNKNOWN),
    }
    messages = {line.name: line.message for line in lines}
    assert messages["changed"] == "stop"
    assert messages["held"] == "Boom: x"


def test_an_offset_change_that_is_due_or_waits_is_out_of_sync_and_named() -> None:
    due, held, done = change("d", "due"), change("h", "held"), change("x", "done")
    lost, lost_here = change("l", "nobody"), change("t", "theirs")
    names = ("due", "held", "done")
    offsets = OffsetSituation(
        now=NOW,
        records={done.name: record(done, "settled")},
        manifests={due.name: stands(a=1), held.name: stands(a=1)},
        live={ConnectorName("due"): {}, ConnectorName("held"): stands(a=9)},
    )
    given = situation(
        [wanted(name) for name in names],
        [seen(name) for name in (*names, "theirs")],
        owned=names,
        changes=[due, held, done, lost, lost_here],
        offsets=offsets,
    )
    made = plan(given)
    desired = {one.name: one for one in given.desired.connectors}
    lines = connector_statuses(made, desired, given.desired.held, given.observed)
    found = {line.name: (line.sync, line.message) for line in lines}
    assert found["due"] == (Sync.OUT_OF_SYNC, "stop, alter, resume (offset change d (alter))")
    assert found["held"][0] is Sync.OUT_OF_SYNC
    assert found["held"][1].startswith("offset change h (alter) waits: ")
    assert found["done"] == (Sync.SYNCED, "")
    assert found["theirs"][0] is Sync.UNMANAGED
    assert found["theirs"][1].startswith("offset change t (alter) waits: connector 'theirs' is on the cluster")
    assert unplaced(made, lines) == ["local: offset change l (alter) waits: connector 'nobody' is not declared"]
