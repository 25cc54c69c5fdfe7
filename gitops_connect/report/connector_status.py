"""The state of each connector on two axes, as in Argo CD: sync (is Git applied?) and health (does it work?)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gitops_connect.families.health_rules import idle_parts
from gitops_connect.model.desired import DesiredConnector, DesiredState, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.health import HealthReason, UnhealthyConnector
from gitops_connect.model.lag import ConnectorLag
from gitops_connect.model.masking import masked_value
from gitops_connect.model.names import ClusterName, ConnectorName, Revision, found_unaddressable
from gitops_connect.model.observed_state import ObservedConnector, ObservedState, WorkerState
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.plans import Action, ConnectorPlan, Plan, PlannedOffsetChange
from gitops_connect.model.revisions import Revisions, is_commit, origin
from gitops_connect.model.status import Conditions, ConditionType, ConnectorStatus, Health, Sync
from gitops_connect.model.units import duration
from gitops_connect.model.verdicts import Verdict, VerdictKind
from gitops_connect.report import offset_lines, words
from gitops_connect.report.printable import one_line
from gitops_connect.report.verdict_rules import Facts, step_failed, verdict_on
from gitops_connect.report.words import problem_words, remedy, restarted_words

HEADERS = ("CLUSTER", "NAME", "VERDICT", "SYNC", "HEALTH", "STATE", "TASKS", "SINCE", "MESSAGE")

_BEFORE_LAG = HEADERS.index("SINCE")

Problems = Mapping[ConnectorName, Sequence[Diagnostic]]


def status_table(
    statuses: Sequence[ConnectorStatus], *, with_lag: bool
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The headers and the rows of `status`; `with_lag`: with a column for the lag."""
    rows = [one.row() for one in statuses]
    if not with_lag:
        return HEADERS, rows
    lags = [lag_words(one.lag) or "-" for one in statuses]
    both = [(*row[:_BEFORE_LAG], lag, *row[_BEFORE_LAG:]) for row, lag in zip(rows, lags, strict=True)]
    return (*HEADERS[:_BEFORE_LAG], "LAG", *HEADERS[_BEFORE_LAG:]), both


def lag_words(lag: ConnectorLag | None) -> str:
    """`148 (3 h 12 min)`: the unread records, and how long the first one of the worst partition waits."""
    if lag is None:
        return ""
    age = f" ({duration(round(lag.age.total_seconds()) * 1000)})" if lag.records and lag.age is not None else ""
    return f"{'at least ' if lag.unread else ''}{lag.records:,}{age}"


def problems_by_connector(desired: DesiredState, documents: Diagnostics, cluster: Diagnostics) -> Problems:
    """The problems of each connector that block its changes, or that left its config without Connect's validation.

    `cluster` are the problems that only this cluster or the ledger finds. An error in the `documents` of all clusters
    counts if a document for this cluster was left out: other clusters may have a connector of the same name.
    """
    left_out = desired.held | desired.broken_changes
    of_documents = (one for one in documents.errors if one.connector in left_out)
    of_cluster = (one for one in cluster if one.severity is Severity.ERROR or one.rule == "connect/not-validated")
    found: dict[ConnectorName, list[Diagnostic]] = {}
    for one in (*of_documents, *of_cluster):
        if one.connector is not None:
            found.setdefault(one.connector, []).append(one)
    return found


@dataclass(frozen=True, slots=True)
class StatusFindings:
    """What was found out about the connectors of a cluster at `now`, besides their states.

    `unhealthy` are all unhealthy connectors of the cluster, without secrets in their reasons. `problems` are those of
    `problems_by_connector`. `failures` says why a step of a connector failed, if its last step did.
    """

    now: datetime
    unhealthy: Mapping[ConnectorName, UnhealthyConnector] = field(default_factory=dict)
    problems: Problems = field(default_factory=dict)
    failures: Mapping[ConnectorName, str] = field(default_factory=dict)


def connector_statuses(
    plan: Plan, desired: DesiredState, observed: ObservedState, findings: StatusFindings
) -> list[ConnectorStatus]:
    """Every connector that is declared or on the cluster, sorted by name."""
    planned = {one.name: one for one in plan.connectors}
    declared = {one.name: one for one in desired.connectors}
    strays = defaultdict[ConnectorName, list[PlannedOffsetChange]](list)
    for stray in offset_lines.strays_of(plan):
        strays[stray.connector].append(stray)
    unread, unmanaged = observed.unknown.union(plan.unread), frozenset(plan.unmanaged)
    names = declared.keys() | desired.held | observed.connectors.keys() | observed.unknown | planned.keys()
    statuses = []
    for name in sorted(names):
        own = planned.get(name, ConnectorPlan(name))
        subject = _Subject(
            plan,
            own,
            desired,
            declared.get(name),
            observed.connectors.get(name),
            name in unread,
            name in unmanaged,
            (*offset_lines.waiting_of(own), *strays.get(name, ())),
            findings.unhealthy.get(name),
            findings.problems.get(name, ()),
        )
        if not subject.is_gone:
            statuses.append(_status(subject, observed.gone, findings))
    return statuses


def _status(one: _Subject, gone: Collection[str], findings: StatusFindings) -> ConnectorStatus:
    plan, name, ill, observed = one.plan, one.planned.name, one.ill, one.observed
    sync, reason = _sync(one)
    health, why = Health.UNKNOWN, HealthReason.NOT_READ
    if not one.is_unread:
        health, why = connector_health(observed, ill, gone)
    record = plan.restarts.get(name)
    progress, restarted = plan.offset_progress.get(name), restarted_words(record.count, record.last) if record else ""
    well = "; ".join(filter(None, (restarted, one_line(progress.note) if progress is not None else "")))
    facts = Facts(
        plan,
        one.planned,
        sync,
        health,
        why,
        "; ".join(part for part in (reason, *map(offset_lines.waits, one.waiting)) if part),
        one.planned.suspension or (None if sync is Sync.UNMANAGED else plan.suspension),
        findings.now,
        ill,
        one.problems,
        findings.failures.get(name, ""),
        one.location,
    )
    return ConnectorStatus(
        plan.cluster,
        name,
        sync,
        health,
        observed.state.value if observed else "-",
        task_count(observed),
        why,
        verdict_on(facts),
        well if ill is None else problem_words(ill),
        facts.difference,
        suspension=facts.suspension,
        holds=one.planned.holds,
        class_name=one.class_name,
        location=one.location,
        labels=_labels(one.declared),
        parts=tuple(replace(task, trace="") if task.trace else task for task in observed.tasks) if observed else (),
    )


def unread_statuses(
    cluster: ClusterName, desired: DesiredState | None, before: Sequence[ConnectorStatus], verdict: Verdict
) -> list[ConnectorStatus]:
    """The connectors of a cluster that could not be read: those of `before`, or else those that Git declares."""
    unknown: dict[str, Any] = {
        "sync": Sync.UNKNOWN,
        "health": Health.UNKNOWN,
        "reason": HealthReason.NOT_READ,
        "since": None,
    }
    if before or desired is None:
        return [
            replace(one, **unknown, state="-", tasks="-", verdict=verdict, problem="", difference="", parts=())
            for one in before
        ]
    return [
        ConnectorStatus(
            cluster,
            one.name,
            state="-",
            tasks="-",
            verdict=verdict,
            class_name=one.config.get("connector.class", ""),
            location=one.locate(()),
            labels=_labels(one),
            **unknown,
        )
        for one in desired.connectors
        if one.state is not TargetState.ABSENT
    ]


def _labels(declared: DesiredConnector | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(declared.labels.items())) if declared is not None else ()


def failure_of(outcome: StepOutcome) -> str:
    """Which step failed, and why."""
    return f"{outcome.step.action.value} failed: {outcome.message}"


def after_steps(
    before: ConnectorStatus, planned: ConnectorPlan, ended: Sequence[StepOutcome], target: TargetState | None
) -> ConnectorStatus | None:
    """The status while the steps of the connector are applied, and after the last one; None if it was deleted.

    `before` is its status before the first step, `target` the declared state. Until the next reconciliation, nothing is
    known of the connector but what Connect said while a step was verified.
    """
    last, total = ended[-1], len(planned.steps)
    if not last.result.is_in_place:
        if last.step.action is Action.RESTART:
            return before
        return replace(before, verdict=step_failed(failure_of(last), before.location))
    if len(ended) < total:
        following = planned.steps[len(ended)].action.value
        detail = f"{len(ended)} of {total} steps done, next: {following}"
        return replace(before, verdict=Verdict(VerdictKind.PROGRESSING, detail=detail))
    if target in (None, TargetState.ABSENT):
        return None if last.step.action is Action.DELETE else before
    if planned.is_partial or before.suspension is not None or before.verdict.kind in _LASTING:
        return before  # something is not applied, and the verdict says what
    state, health, reason, kind = _AFTER[target]
    if last.result is Result.UNCONFIRMED:
        health, reason, kind = Health.PROGRESSING, HealthReason.PROGRESSING, VerdictKind.PROGRESSING
    known: dict[str, Any] = {"state": state, "health": health, "reason": reason, "tasks": "-", "parts": ()}
    fresh: dict[str, Any] = {"verdict": Verdict(kind), "problem": "", "difference": "", "since": None}
    return replace(before, sync=Sync.SYNCED, **known, **fresh)


_LASTING = (VerdictKind.BLOCKED, VerdictKind.ROLLED_BACK, VerdictKind.SUSPENDED)
"""Verdicts that the steps of a plan do not end."""
_AFTER = {
    TargetState.RUNNING: ("RUNNING", Health.HEALTHY, HealthReason.RUNNING, VerdictKind.OK),
    TargetState.PAUSED: ("PAUSED", Health.SUSPENDED, HealthReason.PAUSED, VerdictKind.PAUSED),
    TargetState.STOPPED: ("STOPPED", Health.SUSPENDED, HealthReason.STOPPED, VerdictKind.STOPPED),
}


def with_since(statuses: Iterable[ConnectorStatus], conditions: Conditions) -> list[ConnectorStatus]:
    """The same with the time since when each connector has its health, as far as the conditions know it."""
    dated = []
    for status in statuses:
        healthy = conditions.get((status.name, ConditionType.HEALTHY, ""))
        is_same = healthy is not None and healthy.reason == status.reason.value
        dated.append(replace(status, since=healthy.since) if healthy is not None and is_same else status)
    return dated


@dataclass(frozen=True, slots=True)
class _Subject:
    plan: Plan
    planned: ConnectorPlan
    desired: DesiredState
    declared: DesiredConnector | None
    observed: ObservedConnector | None
    is_unread: bool
    is_unmanaged: bool
    waiting: tuple[PlannedOffsetChange, ...]
    """Its blocked offset changes."""
    ill: UnhealthyConnector | None
    problems: Sequence[Diagnostic]

    @property
    def location(self) -> Location | None:
        return self.planned.location if self.declared is None else self.declared.locate(())

    @property
    def class_name(self) -> str:
        config = self.declared.config if self.declared is not None else self.observed.config if self.observed else {}
        return config.get("connector.class", "")

    @property
    def is_gone(self) -> bool:
        """Whether it is declared absent, and is."""
        is_absent = self.declared is not None and self.declared.state is TargetState.ABSENT
        return is_absent and self.observed is None and not self.is_unread

    @property
    def is_left_alone(self) -> bool:
        """Whether nothing but its adoption or an automatic restart is planned, and no offset change is blocked."""
        planned = self.planned
        steps = (*planned.steps, *planned.held)
        by_git = tuple(one for one in steps if one.restart is None or one.restart.request is not None)
        return not (replace(planned, steps=by_git).changes_cluster or planned.offset_changes)


def _sync(one: _Subject) -> tuple[Sync, str]:
    printed = _summary(one)
    errors = [problem for problem in one.problems if problem.severity is Severity.ERROR]
    if one.is_unmanaged:
        return Sync.UNMANAGED, found_unaddressable(one.planned.name) or printed
    if why := _why_unknown(one, errors):
        return Sync.UNKNOWN, printed or why
    if one.declared is None:
        return Sync.OUT_OF_SYNC, printed or "no longer declared, but kept"
    differs = bool(errors) or one.planned.out_of_sync
    is_applied = one.is_left_alone and not differs and _is_in_place(one.declared, one.observed)
    return (Sync.SYNCED if is_applied else Sync.OUT_OF_SYNC), printed


def _why_unknown(one: _Subject, errors: Sequence[Diagnostic]) -> str:
    """Why it is unknown whether Git is applied; empty if it is known.

    A config that lacks the value of a secret cannot be compared.
    """
    if one.is_unread:
        return "its state could not be read"
    if one.planned.name in one.desired.held:
        return "its document has errors"
    if one.declared is None and not one.desired.complete:
        return "some documents could not be read, and no other document declares it"
    lacks_secret = bool(errors) and all(error.rule == "secret/missing" for error in errors)
    return "the value of a secret is missing" if lacks_secret and one.observed is not None and one.is_left_alone else ""


def _is_in_place(declared: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether the connector is as declared, although no step is planned.

    A worker may be too old to stop the connector, and an unmanaged connector is not deleted.
    """
    if observed is None or declared.state is TargetState.ABSENT:
        return False
    return declared.state is not TargetState.STOPPED or observed.state is WorkerState.STOPPED


def _summary(one: _Subject) -> str:
    """The plan, or why there is none; then the first problem that is not reported yet, and the number of others."""
    waiting = [change.message for change in one.waiting if change.message]
    fresh = [problem for problem in one.problems if not any(message in problem.summary for message in waiting)]
    parts = [_planned(one.planned)]
    if fresh:
        more = f" (and {len(fresh) - 1} more: gitops-connect plan shows them)" if len(fresh) > 1 else ""
        parts.append(f"{fresh[0].location}: {one_line(fresh[0].summary)}{more}")
    return "; ".join(part for part in parts if part)


def _planned(planned: ConnectorPlan) -> str:
    drift = "drift: " if planned.drifted else ""
    steps = ", ".join(step.action.value for step in planned.steps)
    done = [offset_lines.label(one) for one in planned.offset_changes if one.name in offset_lines.carried_out(planned)]
    changes = f" ({', '.join(done)})" if done else ""
    held = list(words.hold_lines(planned))
    own = [f"{drift}{steps}{changes}"] if planned.changes_cluster else planned.notes
    return "; ".join([*own, *held])


def connector_health(
    observed: ObservedConnector | None, problem: UnhealthyConnector | None, gone: Collection[str] = ()
) -> tuple[Health, HealthReason]:
    """The health by the states. `problem` is None if the connector works, `gone` are workers that do not answer."""
    if observed is None:
        return Health.MISSING, HealthReason.MISSING
    if problem is not None:
        return Health.DEGRADED, problem.reason
    if observed.state in (WorkerState.PAUSED, WorkerState.STOPPED):
        is_paused = observed.state is WorkerState.PAUSED
        return Health.SUSPENDED, HealthReason.PAUSED if is_paused else HealthReason.STOPPED
    if observed.is_running and not idle_parts(observed, gone):
        return Health.HEALTHY, HealthReason.RUNNING
    return Health.PROGRESSING, HealthReason.PROGRESSING


def task_count(observed: ObservedConnector | None) -> str:
    """Running tasks over all tasks."""
    if observed is None:
        return "-"
    running = sum(task.state is WorkerState.RUNNING for task in observed.tasks)
    return f"{running}/{len(observed.tasks) + len(observed.starting)}"


def unplaced(plan: Plan, statuses: Sequence[ConnectorStatus]) -> list[str]:
    """A sentence for each blocked offset change whose connector has no row."""
    shown = {status.name for status in statuses if status.cluster == plan.cluster}
    return [
        f"{plan.cluster}: {offset_lines.waits(one)}"
        for one in offset_lines.strays_of(plan)
        if one.connector not in shown
    ]


def suspended_cluster(plan: Plan) -> Iterator[str]:
    """A sentence if the whole cluster is suspended."""
    if plan.suspension is not None:
        yield f"cluster {plan.cluster}: suspended {one_line(plan.suspension.origin)}"


def revisions_line(cluster: ClusterName, desired: Revision, recorded: Revisions, directory: str) -> str:
    """The desired and the last applied revision of a cluster, and the attempt of a revision that is not applied.

    `directory` is read instead of Git, if it is set.
    """
    last = _last_applied(desired, recorded.applied.revision if recorded.applied else None)
    tried = recorded.attempted
    if tried is not None and (recorded.applied is None or tried.result or tried.revision != recorded.applied.revision):
        none = "no revision applied completely yet" if recorded.applied is None else last
        result = f": {one_line(tried.result)}" if tried.result else ""
        last = f"{none}, last attempted {_from(tried.revision)}{result}"
    if is_commit(desired):
        return f"cluster {cluster}: desired {origin(desired)}, {last}"
    return f"cluster {cluster}: desired state from the directory {directory} (no commit), {last}"


def _last_applied(desired: Revision, applied: Revision | None) -> str:
    if applied is None:
        return "nothing applied yet"
    if is_commit(applied) or is_commit(desired):
        return f"last applied {_from(applied)}"
    return f"last applied with {'the same' if applied == desired else 'other'} content"


def _from(revision: Revision) -> str:
    return origin(revision) if is_commit(revision) else "from a directory (no commit)"


# One connector as a value for `get` and `describe`, with its sensitive values masked

CONNECTOR_HEADERS = ("CLUSTER", "NAME", "TYPE", "STATE", "TASKS", "CLASS", "OWNED")


@dataclass(frozen=True, slots=True)
class PluginView:
    """What a worker returns about a connector's class: its config keys of type PASSWORD, and its installed versions."""

    passwords: Collection[str]
    installed: tuple[str, ...] = ()


def connector_row(cluster: str, observed: ObservedConnector, owned: Ownership | None) -> dict[str, str]:
    """One line of `get connectors`."""
    return {
        "cluster": cluster,
        "name": observed.name,
        "type": observed.type.value,
        "state": observed.state.value,
        "tasks": task_count(observed),
        "class": observed.config.get("connector.class", "-").rpartition(".")[2],
        "owned": owned.origin.value if owned else "-",
    }


def describe_connector(
    cluster: str,
    observed: ObservedConnector,
    problem: UnhealthyConnector | None,
    owned: Ownership | None,
    plugin: PluginView,
) -> dict[str, Any]:
    """Everything about one connector. The caller must have masked secrets in its stack traces, also in `problem`."""
    return {
        "Name": observed.name,
        "Cluster": cluster,
        "Type": observed.type.value,
        "State": observed.state.value,
        "Health": connector_health(observed, problem)[0].value,
        **({"Problems": list(problem.problems)} if problem is not None else {}),
        **({"Hint": remedy(problem)} if problem is not None and problem.failures else {}),
        "Worker": observed.worker,
        "Plugin": _plugin(observed, plugin),
        "Ownership": _ownership(owned),
        "Config": {
            key: masked_value(key, value, sensitive=key in plugin.passwords)
            for key, value in sorted(observed.config.items())
        },
        "Tasks": [
            {
                "Id": task.id,
                "State": task.state.value,
                "Worker": task.worker,
                **({"Trace": task.trace} if task.trace else {}),
            }
            for task in observed.tasks
        ],
        **({"Trace": observed.trace} if observed.trace else {}),
    }


def _plugin(observed: ObservedConnector, plugin: PluginView) -> dict[str, str]:
    """The class, and its versions as far as they are known: in the config, running (from Kafka 4.1 on), installed."""
    class_name = observed.config.get("connector.class", "-")
    versions = {
        "Requested version": observed.config.get("connector.plugin.version", ""),
        "Running version": observed.version,
        "Installed versions": ", ".join(plugin.installed),
    }
    return {"Class": class_name, **{name: text for name, text in versions.items() if text}}


def _ownership(owned: Ownership | None) -> Any:
    if owned is None:
        return "unmanaged"
    since = owned.since.isoformat(timespec="seconds")
    return {"Origin": owned.origin.value, "Since": since, "Applied": owned.revision}
