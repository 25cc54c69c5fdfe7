"""The verdict on a connector: the first one that applies, what blocks it, and a next step that can be done."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import click
import pytest
import typer
import yaml
from plan.test_precedence import CELLS, HOLDS, INTENTS, ORDERS
from support.planner.situations import CLUSTER, NOW, REVISION, situation, wanted

from gitops_connect.cli.main import app
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.health import FailedPart, HealthReason, UnhealthyConnector
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.model.restart_records import RestartOutlook
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.model.verdicts import NextStep, VerdictKind
from gitops_connect.plan.planner import plan
from gitops_connect.plan.precedence import Intent
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.report.connector_status import StatusFindings, connector_statuses
from gitops_connect.report.verdict_rules import Facts, verdict_on

PLACE = Location("clusters/local/orders.yaml", 4, 3)
FAILED = UnhealthyConnector(ORDERS, (FailedPart(0, "java.io.IOException: no disk"),))
GAVE_UP = RestartOutlook(6, 6, NOW, None, "the limit of 6 restarts is reached", gave_up=True)
ROLLED_BACK = RolledBack(Digest("x"), REVISION, "task 0 is FAILED", ("batch.size",), NOW)
UNREVIEWED = ConnectorPlan(ORDERS, holds=(Hold(HoldKind.UNREVIEWED, "rewind", "merge it"),), applicable=False)
NOTHING = plan(situation([wanted("orders")]))

FACTS: Mapping[VerdictKind, Mapping[str, Any]] = {
    VerdictKind.UNKNOWN: {"health": Health.UNKNOWN},
    VerdictKind.GIVEN_UP: {"health": Health.DEGRADED, "ill": replace(FAILED, restarts=GAVE_UP)},
    VerdictKind.FAILED: {"health": Health.DEGRADED, "ill": FAILED},
    VerdictKind.DEGRADED: {"health": Health.DEGRADED, "ill": UnhealthyConnector(ORDERS, no_tasks="no table")},
    VerdictKind.CHANGE_FAILED: {
        "problems": (Diagnostic(Severity.ERROR, "offsets/failed", "offset change a: it failed once", PLACE, "fix it"),)
    },
    VerdictKind.BLOCKED: {"planned": UNREVIEWED},
    VerdictKind.ROLLED_BACK: {"plan": replace(NOTHING, rolled_back={ORDERS: ROLLED_BACK})},
    VerdictKind.MISSING: {"health": Health.MISSING},
    VerdictKind.DRIFT: {"sync": Sync.OUT_OF_SYNC, "difference": "no longer declared, but kept"},
    VerdictKind.PROGRESSING: {"health": Health.PROGRESSING},
    VerdictKind.SUSPENDED: {"suspension": Suspension(SuspendedBy.COMMAND, who="ana@ops-1", since=NOW)},
    VerdictKind.PAUSED: {"health": Health.SUSPENDED, "reason": HealthReason.PAUSED},
    VerdictKind.STOPPED: {"health": Health.SUSPENDED, "reason": HealthReason.STOPPED},
    VerdictKind.OK: {},
}
"""What makes each verdict apply, apart from `unmanaged`, which has no rule."""
NOT_OF_A_SUSPENDED_ONE = (VerdictKind.MISSING, VerdictKind.DRIFT)
"""Nothing is to be done about these before the connector is resumed."""


def facts(**given: Any) -> Facts:
    usual = {"sync": Sync.SYNCED, "health": Health.HEALTHY, "reason": HealthReason.RUNNING, "difference": ""}
    about = {"plan": NOTHING, "planned": ConnectorPlan(ORDERS), "suspension": None, "now": NOW, "location": PLACE}
    return Facts(**{**usual, **about, **given})


@pytest.mark.parametrize(
    ("one", "other"), [*itertools.combinations_with_replacement(FACTS, 2)], ids=lambda one: one.name
)
def test_the_most_urgent_verdict_that_applies(one: VerdictKind, other: VerdictKind) -> None:
    clash = FACTS[one].keys() & FACTS[other].keys()
    expected = one
    if other is VerdictKind.SUSPENDED and one in NOT_OF_A_SUSPENDED_ONE:
        expected = VerdictKind.SUSPENDED
    if one is not other and clash:
        return  # a connector has one health
    assert verdict_on(facts(**{**FACTS[other], **FACTS[one]})).kind is expected


def test_an_unmanaged_connector_has_no_other_verdict() -> None:
    for given in FACTS.values():
        assert verdict_on(facts(**{**given, "sync": Sync.UNMANAGED})).kind is VerdictKind.UNMANAGED


def test_a_hostile_name_is_no_command() -> None:
    name = ConnectorName("x; touch /tmp/pwn `id`")
    suspended = facts(**FACTS[VerdictKind.SUSPENDED], planned=ConnectorPlan(name))
    for given in (suspended, replace(suspended, ill=FAILED, health=Health.DEGRADED)):
        step = verdict_on(given).next
        assert step is not None
        assert name in shlex.split(step.command)


def test_the_innermost_exception_comes_first() -> None:
    reason = "a.ConnectException: no file Caused by: b.NoSuchFileException: /mnt/x"
    ill = UnhealthyConnector(ORDERS, (FailedPart(0, reason),))
    cause = verdict_on(facts(health=Health.DEGRADED, ill=ill)).cause
    assert cause == "b.NoSuchFileException: /mnt/x (in a.ConnectException: no file)"


def test_a_suspension_needs_attention_after_a_day() -> None:
    for age, needs in ((timedelta(hours=23), False), (timedelta(hours=25), True)):
        found = verdict_on(facts(**FACTS[VerdictKind.SUSPENDED], now=NOW + age))
        assert (found.kind, found.needs_attention) == (VerdictKind.SUSPENDED, needs)


def status_in(hold: HoldKind, intent: Intent) -> ConnectorStatus:
    given = HOLDS[hold](INTENTS[intent][1]())
    findings = StatusFindings(given.now, find_unhealthy(given))
    found = connector_statuses(plan(given), given.desired, given.observed, findings)
    return next(one for one in found if one.name == ORDERS)


OWN_VERDICT = {HoldKind.OBSERVE: VerdictKind.DRIFT, HoldKind.SUSPENDED: VerdictKind.SUSPENDED}
URGENT = (VerdictKind.FAILED, VerdictKind.UNKNOWN)
FOR_ITSELF = {
    Intent.ROLL_BACK: VerdictKind.ROLLED_BACK,
    Intent.CREATE: VerdictKind.MISSING,
    Intent.LIST: VerdictKind.OK,
}
"""What is said of a connector under a hold that lets nothing pass: writing offsets to a ConfigMap changes nothing."""


@pytest.mark.parametrize(("hold", "intent"), CELLS, ids=lambda one: one.name)
def test_the_law_of_precedence_and_the_verdict_agree(hold: HoldKind, intent: Intent) -> None:
    """A connector under a hold is never fine, whatever it is to do, and its strongest hold is what blocks it."""
    status = status_in(hold, intent)
    verdict = status.verdict
    if not status.holds or verdict.kind in URGENT:
        return
    strongest = status.holds[0].kind
    if strongest in OWN_VERDICT and verdict.kind is FOR_ITSELF.get(intent):
        return
    assert verdict.kind is OWN_VERDICT.get(strongest, VerdictKind.BLOCKED)
    assert verdict.blocked_by == ("" if strongest in OWN_VERDICT else strongest.value)
    assert verdict.next is not None


def parses(command: str) -> bool:
    """Whether the command line is one of the program; it is not run."""
    program, *arguments = shlex.split(command)
    context = click.Context(typer.main.get_command(app))
    group: click.Command = context.command
    while isinstance(group, click.Group):
        name, found, arguments = group.resolve_command(context, arguments)
        assert found is not None, command
        group = found
        if not isinstance(group, click.Group):
            group.make_context(name, arguments, parent=context)
    return program == "gitops-connect"


def next_steps() -> dict[str, NextStep]:
    found = [verdict_on(facts(**given)) for given in FACTS.values()]
    found += [verdict_on(facts(sync=Sync.UNMANAGED)), *(status_in(*cell).verdict for cell in CELLS)]
    return {one.next.text: one.next for one in found if one.next is not None}


def test_every_next_step_can_be_done() -> None:
    steps = next_steps().values()
    commands = {one.command for one in steps if one.command}
    assert len(commands) >= 5
    assert [one for one in commands if not parses(one)] == []
    for one in steps:
        assert "gitops-connect " not in one.text or one.command or "approve" in one.text, one.text
        assert not one.add or isinstance(yaml.safe_load(one.add), dict)
    assert any(one.add for one in steps)
    assert {one.cluster for one in (status_in(*cell) for cell in CELLS[:3])} == {CLUSTER}
