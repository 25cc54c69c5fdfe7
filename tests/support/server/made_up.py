"""A made-up daemon for the tests of its server: two clusters with every state, and a real ledger with history."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from gitops_connect.daemon.state import ClusterView, DaemonState, PullRequestView, Reconciliations, RepositoryView
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.applied_effects import AppliedEffect, EffectApproval
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.health import HealthReason
from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.lag import ConnectorLag, PartitionReading
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision, TopicName
from gitops_connect.model.offset_changes import Acknowledgement, Failure, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import partition_text
from gitops_connect.model.outcomes import ActorKind, JournalEntry, Result, StepOutcome
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.pull_requests import CommitState, OtherPullRequest, PullRequestPlan
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose
from gitops_connect.model.status import (
    Condition,
    Conditions,
    ConditionStatus,
    ConditionType,
    ConnectorStatus,
    Health,
    Sync,
)
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.model.units import Scale, Unit
from gitops_connect.model.verdicts import NextStep, Verdict, VerdictKind
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.server.event_stream import EventStream
from gitops_connect.server.metrics import Metrics
from gitops_connect.server.served import Served, WebhookLog
from gitops_connect.settings.sections import (
    ClusterSettings,
    ForgeKind,
    ForgeSettings,
    RepositorySettings,
    ServerSettings,
    Settings,
)
from support.cluster.manual_clock import ManualClock
from support.files.tables import table
from support.forge.memory_forge import PULL_REQUEST
from support.planner.situations import CLUSTER, REVISION, current_offsets, digest_of, situation_of
from support.planner.situations import change as declared_change

PROD = ClusterName("prod-eu")
URL = "sqlite:///state.db"
KEY = b"k" * 32


@dataclass
class MadeUpDaemon:
    """Records what the server asks for."""

    state: DaemonState
    reconciliations: Reconciliations = field(default_factory=Reconciliations)
    declared: None = None
    is_alive: bool = True
    polls: int = 0
    reviews: int = 0

    def review_now(self) -> None:
        self.reviews += 1

    def poll_now(self) -> None:
        self.polls += 1

    def reconcile_now(self, clusters: Collection[ClusterName]) -> int:
        return self.reconciliations.request(clusters)


@dataclass
class World:
    """The daemon, its ledger, and what the server has of them."""

    daemon: MadeUpDaemon
    ledger: Ledger
    served: Served
    clock: ManualClock


def statuses(cluster: ClusterName, count: int, now: datetime) -> tuple[ConnectorStatus, ...]:
    """Connectors of which every 25th does not work, every 40th is out of sync, and every 30th is paused."""
    return tuple(_status(cluster, number, now - timedelta(minutes=number * 7 % 9000)) for number in range(count))


def _status(cluster: ClusterName, number: int, since: datetime) -> ConnectorStatus:
    system, kind = ("orders", "payments", "inventory", "customers")[number % 4], ("source", "sink")[number % 2]
    fields = next((found for of, rest, found in table(__file__, "states") if number % of == rest), {})
    suspension = Suspension(SuspendedBy.COMMAND, who="ana@ops-1", since=since, reason="INC-4711")
    return _connector(
        cluster, f"{system}-{kind}-{number:04}", since, **fields, suspension=suspension if number % 50 == 2 else None
    )


def _connector(cluster: ClusterName, name: str, since: datetime | None, **fields: Any) -> ConnectorStatus:
    """A healthy connector, apart from these fields."""
    verdict = dict(fields.pop("verdict", {"kind": "OK"}))
    if "next" in verdict:
        verdict["next"] = NextStep(**verdict["next"])
    verdict["kind"] = VerdictKind[verdict["kind"]]
    given = {"sync": "SYNCED", "health": "HEALTHY", "reason": "RUNNING", "state": "RUNNING", "tasks": "4/4", **fields}
    states = {"sync": Sync[given.pop("sync")], "health": Health[given.pop("health")]}
    reason = HealthReason[given.pop("reason")]
    known = {"class_name": f"com.acme.{'Sink' if 'sink' in name else 'Source'}Connector", **given}
    return ConnectorStatus(
        cluster, ConnectorName(name), reason=reason, verdict=Verdict(**verdict), since=since, **states, **known
    )


def made_up_plan(cluster: ClusterName) -> Plan:
    """A plan with creates, changes, a secret, a drift, an offset change to apply, and a blocked one."""
    changes = [
        declared_change("rewind-orders", "orders", "alter"),
        declared_change("reset-lines", "lines", "reset", acknowledge=["reset"]),
    ]
    made = situation_of({**table(__file__, "plan"), "changes": changes})
    found = plan(made)
    outlook = RestartOutlook(3, 6, made.now, made.now + timedelta(minutes=12))
    ill = tuple(replace(one, restarts=outlook) for one in found.unhealthy)
    restarts = {ConnectorName("failed"): RestartRecord(3, made.now)}
    reason = "task 0 is FAILED: java.lang.NumberFormatException"
    rolled_back = {ConnectorName("lines"): RolledBack(Digest("x"), REVISION, reason, ("batch.size",), made.now)}
    found = replace(found, cluster=cluster, digest=Digest("d" * 64))
    return replace(found, unhealthy=ill, restarts=restarts, rolled_back=rolled_back)


def conditions(names: Collection[ConnectorName], since: datetime, *, ready: bool) -> Conditions:
    """The conditions of a cluster and of these connectors."""
    status = ConditionStatus.TRUE if ready else ConditionStatus.FALSE
    message = "all connectors are in sync and work" if ready else "3 connectors are Degraded"
    cluster = ConnectorName("")
    reason = "ReconciliationSucceeded" if ready else "ConnectorsDegraded"
    found = {
        (cluster, ConditionType.READY, ""): Condition(ConditionType.READY, status, reason, message, since, REVISION)
    }
    for name in names:
        for kind in (ConditionType.READY, ConditionType.SYNCED, ConditionType.HEALTHY):
            found[name, kind, ""] = Condition(kind, status, "Failed", "task 0 is FAILED", since, REVISION)
    return found


def fill_ledger(ledger: Ledger, clock: ManualClock) -> None:
    """An applied, a failed and an open offset change, and steps of two authors."""
    now = clock.now()
    for cluster in (CLUSTER, PROD):
        with ledger.lease(cluster, clock) as lease:
            _record_changes(ledger.under(lease).offset_changes, cluster, now)
    planned = made_up_plan(CLUSTER)
    ledger.reviews.record(reviewed_plan(12, REVISION, [planned]), PlanPurpose.REVIEW, now)
    ledger.reviews.approve(Approval(12, digest_of([planned]), "grace", now, "comment 4711 on pull request 12"))
    ledger.status.record_steps(CLUSTER, _around_the_rewind(now))
    for number in range(30):
        cluster = (CLUSTER, PROD)[number % 2]
        step = JournalEntry(
            cluster=cluster,
            at=now - timedelta(minutes=5 * (30 - number)),
            revision=Revision(f"{number % 16:x}" * 40),
            author=("Ada Lovelace", "Grace Hopper")[number % 2],
            actor=(ActorKind.PERSON, ActorKind.AUTOMATIC_RESTART, ActorKind.PERSON)[number % 3],
            who="" if number % 3 == 1 else ("Ada Lovelace", "Grace Hopper")[number % 2],
            commit=Revision("" if number % 3 == 1 else f"{number % 16:x}" * 40),
            pull_request=12 if number % 3 == 2 else None,
            approved_digest="d" * 64 if number % 3 == 2 else "",
            approved_by="grace" if number % 3 == 2 else "",
            request=f"PUT /connectors/orders/{number}",
            answer="HTTP 200",
            connector=ConnectorName("orders"),
            action=(Action.CONFIGURE, Action.RESTART, Action.ALTER)[number % 3],
            offset_change="rewind-orders" if number % 3 == 2 else "",
            result=Result.FAILED if number % 7 == 5 else Result.APPLIED,
            reason="the document was changed: batch.size",
            message="timeout: the connector did not become RUNNING within 120s" if number % 7 == 5 else "",
            seconds=1.25,
        )
        ledger.status.record_steps(cluster, [step])


def made_up_effect(begun: datetime) -> AppliedEffect:
    """A rewind that two people have approved."""
    (partition, current), (_, declared) = (*current_offsets(a=1200).items(), *current_offsets(a=100).items())
    moves = (Move(partition, current, declared, Direction.REWIND, 1100, 5_400_000),)
    unit = Scale(Unit("records", "record", "records"))
    difference = Difference({Direction.REWIND: 1, Direction.SAME: 1}, {Direction.REWIND: 1100}, moves, unit)
    people = ("grace", "<ada>")
    effects = ("rewind of 1 partition (offset change rewind-in-may)",)
    approvals = tuple(EffectApproval(12, Digest("3f2a9c0e"), who, begun, effects) for who in people)
    return AppliedEffect(begun, difference, approvals)


def _around_the_rewind(now: datetime) -> list[JournalEntry]:
    """The steps that stopped and resumed the connector of the applied change."""
    steps = ((Action.STOP, -5), (Action.RESUME, 3))
    return [
        JournalEntry(
            cluster=CLUSTER,
            at=now - timedelta(days=2) + timedelta(seconds=seconds),
            revision=REVISION,
            author="Ada Lovelace",
            connector=ConnectorName("orders"),
            action=action,
            offset_change="",
            result=Result.APPLIED,
            reason="",
            message="",
            seconds=1.0,
        )
        for action, seconds in steps
    ]


def _record_changes(offset_changes: OffsetChangeStore, cluster: ClusterName, now: datetime) -> None:
    def one(name: str, **positions: int) -> OffsetChange:
        offsets = current_offsets(**positions)
        kind, acknowledged = OffsetChangeKind.ALTER, frozenset({Acknowledgement.REWIND})
        return OffsetChange(
            OffsetChangeName(name), ConnectorName("orders"), kind, Digest("d1"), REVISION, offsets, acknowledged
        )

    before = current_offsets(a=1200, b=3400)
    applied, opened = one("rewind-in-may", a=100, b=3400), one("skip-poison-pill", a=1201)
    offset_changes.begin(cluster, applied, before, now - timedelta(days=2), made_up_effect(now - timedelta(days=2)))
    offset_changes.settle(cluster, applied.name, current_offsets(a=100, b=3400), "", now - timedelta(days=2))
    offset_changes.begin(cluster, opened, before, now - timedelta(minutes=1))
    message = "Connect rejected the offsets: position must not be negative"
    offset_changes.fail(cluster, one("rewind-too-far", a=1), Failure(message, final=True), now)


PLACE, WHAT = Location("clusters/local/orders.yaml", 7, 13), "spec.tasksMax: expected a number, found 'four'"
ERROR = Diagnostic(Severity.ERROR, "schema/type", WHAT, PLACE, "write tasksMax: 4", ConnectorName("orders"))
WARNING = Diagnostic(Severity.WARNING, "connector/unknown-key", "nothing reads batch.sise", Location("b.yaml", 3, 5))


def made_up_lag(now: datetime) -> ConnectorLag:
    worst, since, before = KafkaPartition("orders", 3), now - timedelta(hours=3, minutes=12), now - timedelta(minutes=1)
    partitions = tuple(
        PartitionReading(partition_text({"kafka_topic": "orders", "kafka_partition": one}), at, at + lag, lag, moved)
        for one, at, lag, moved in ((3, 56_000, 100, -1000), (0, 1_200, 48, 20), (1, 7, 0, 0))
    )
    return ConnectorLag(148, worst, 100, since, 0, now, len(partitions), partitions, before)


def made_up_state(now: datetime, count: int = 60) -> DaemonState:
    """Two clusters with `count` connectors each, of which one has problems."""
    planned_ones = (
        _connector(CLUSTER, name, minutes and now - timedelta(minutes=minutes), **fields)
        for name, minutes, fields in table(__file__, "planned_connectors")
    )
    many = (*statuses(CLUSTER, count, now), *planned_ones)
    ill = [one.name for one in many if one.health is Health.DEGRADED]
    planned = made_up_plan(CLUSTER)
    views = {
        CLUSTER: ClusterView(
            CLUSTER,
            planned,
            many,
            conditions(ill[:50], now - timedelta(hours=3), ready=False),
            Diagnostics.of([ERROR]),
            tuple(StepOutcome(step, Result.APPLIED, "", 0.5, now) for step in planned.steps[:2]),
            now - timedelta(seconds=20),
            REVISION,
            "",
            now + timedelta(seconds=40),
            {ConnectorName("failed"): frozenset(TopicName(f"<orders>.{number:03}") for number in range(103))},
            dict.fromkeys((many[0].name, ConnectorName("failed")), made_up_lag(now)),
        ),
        PROD: ClusterView(
            PROD,
            replace(made_up_plan(PROD), connectors=(), unhealthy=(), restarts={}),
            statuses(PROD, count, now)[:3],
            conditions([], now - timedelta(days=9), ready=True),
            observed=now - timedelta(seconds=5),
            applied=REVISION,
            next=now + timedelta(seconds=55),
        ),
    }
    state = DaemonState(views)
    subject = "Rewind orders after the outage of Tuesday"
    state.set_repository(RepositoryView(REVISION, "Ada Lovelace", subject, 143, Diagnostics.of([WARNING]), "", now))
    state.set_pull_requests((pull_request(12, now), pull_request(14, now, with_errors=True)))
    return state


def pull_request(number: int, now: datetime, *, with_errors: bool = False) -> PullRequestView:
    """The review of a pull request with a secret in its title and its plan."""
    forge = "https://git.example/shop/connect"
    one = replace(
        PULL_REQUEST,
        number=number,
        title="Rewind <orders> & create new",
        author="ada",
        head_ref=f"refs/pull/{number}/head",
        url=f"{forge}/pulls/{number}",
        files_url=forge,
    )
    plans = (made_up_plan(CLUSTER),)
    others = (OtherPullRequest(9, f"{forge}/pulls/9", (ConnectorName("orders"),)),)
    planned = PullRequestPlan(number, one.head, "main", plans, digest=digest_of(plans), others=others)
    if with_errors:
        problems = Diagnostics.of([ERROR, WARNING])
        planned = replace(planned, diagnostics=problems, unread={PROD: "ConnectUnavailable: no worker answered"})
    state = CommitState.FAILURE if with_errors else CommitState.SUCCESS
    return PullRequestView(one, planned, state, "1 to create, 2 to change", "**1 to create**", now)


def write_ledger(directory: Path) -> None:
    """Create the ledger that `world` uses; the tests copy it, because each step is a transaction of its own."""
    ledger = Ledger.open(URL, directory, KEY)
    fill_ledger(ledger, ManualClock())
    ledger.close()


@contextmanager
def world(directory: Path, state: DaemonState | None = None, **server: object) -> Iterator[World]:
    """The objects of a server over a snapshot and the ledger in the directory, with these settings of `[server]`."""
    clock = ManualClock()
    state = state or made_up_state(clock.now())
    settings = Settings(
        directory,
        repository=RepositorySettings(path="connect"),
        clusters={name: ClusterSettings(name, ("http://127.0.0.1:1",)) for name in state.snapshot.clusters},
        server=ServerSettings(**server),  # type: ignore[arg-type]
        forge=ForgeSettings(ForgeKind.GITEA),
    )
    ledger = Ledger.open(URL, directory, KEY)
    try:
        daemon = MadeUpDaemon(state)
        most = settings.server.metrics_connectors
        served = Served(settings, daemon, ledger, Metrics(state, most), EventStream(state), WebhookLog(clock))
        yield World(daemon, ledger, served, clock)
    finally:
        ledger.close()
