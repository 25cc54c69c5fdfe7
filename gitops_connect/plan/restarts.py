"""Automatic restarts of connectors that have failed, as Strimzi's proposal 007 has them: which are due, and when.

Only the daemon restarts connectors by itself. A plan of another command has no such step, and shows when the next
restart is due.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase

from gitops_connect.connect.capabilities import RESTART_FAILED
from gitops_connect.families.health_rules import failures, idle_parts, unhealthy
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.health import HealthReason, UnhealthyConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectVersion, ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.plans import Action, ConnectorPlan, Plan, Step
from gitops_connect.model.restart_records import (
    AutoRestart,
    RequestKind,
    Restart,
    RestartOutlook,
    RestartRequest,
    pause_after,
)
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.holds import manual_pause, why_paused, why_shown_only
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.offset_progress import not_moving, time_words
from gitops_connect.plan.situation import Situation, once


def add_restarts(
    situation: Situation, planned: Sequence[ConnectorPlan], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> list[ConnectorPlan]:
    """Add the restarts that are due, if no step that is applied changes the connector.

    A suspension, mode observe and a manual pause are in the outlook; other holds let restarts pass. At most
    `concurrent_restarts`, those that are due for the longest time first: each may cause a rebalance.
    """
    due = []
    for one in planned:
        if one.name in unhealthy and not (one.applicable and one.changes_cluster):
            outlook = unhealthy[one.name].restarts
            if outlook is not None and outlook.next is not None and outlook.next <= situation.now:
                due.append((outlook.next, one.name, outlook))
    chosen = sorted(due)[: situation.policy.concurrent_restarts]
    steps = {name: _step(situation, unhealthy[name], outlook) for _, name, outlook in chosen}
    return [_with_restart(one, steps[one.name]) if one.name in steps else one for one in planned]


def _with_restart(planned: ConnectorPlan, restart: Step) -> ConnectorPlan:
    if planned.applicable:
        return replace(planned, steps=(*planned.steps, restart))
    return replace(planned, steps=(restart,), applicable=True, held=planned.steps, is_partial=True)


def until_next_restart(plan: Plan, now: datetime) -> float:
    """Seconds until the next restart is due, after this plan was carried out at `now`; infinite if none is."""
    restarted = {step.connector for step in plan.steps if step.action is Action.RESTART}
    times = []
    for one in plan.unhealthy:
        if one.restarts is None or one.restarts.next is None:
            continue
        if one.name in restarted:
            times.append(now + pause_after(one.restarts.count + 1))
        elif one.restarts.next > now or restarted:  # it is due and was left out: the plan had as many as allowed
            times.append(one.restarts.next)
    return max(0.0, (min(times) - now).total_seconds()) if times else math.inf


def uncounted(situation: Situation) -> Iterator[ConnectorName]:
    """Connectors whose restarts are no longer counted: they have worked for long enough, or do not exist."""
    for name, record in situation.restarts.items():
        connector = situation.observed.connectors.get(name)
        is_gone = connector is None and name not in situation.observed.unknown
        is_long_ago = situation.now - record.last >= situation.policy.stable_after
        has_recovered = is_long_ago and connector is not None and not failures(connector)
        if is_gone or has_recovered:
            yield name


def _outlook(situation: Situation, desired: DesiredConnector, connector: ObservedConnector) -> RestartOutlook:
    record = situation.restarts.get(desired.name)
    count, last = (record.count, record.last) if record is not None else (0, None)
    outlook = RestartOutlook(count, desired.auto_restart.max_restarts, last)
    if why_not := _why_not(situation, desired, connector):
        return replace(outlook, why_not=why_not)
    if count >= outlook.limit:
        return replace(outlook, gave_up=True, why_not=f"gave up after {count} automatic restarts")
    if last is None or last > situation.now:  # the clock was set back
        return replace(outlook, next=situation.now)
    return replace(outlook, next=last + pause_after(count))


def _why_not(situation: Situation, desired: DesiredConnector, connector: ObservedConnector) -> str:
    allowed = desired.auto_restart
    if not situation.policy.auto_restart:
        return "auto_restart is off in the settings"
    if not allowed.enabled:
        return "spec.autoRestart.enabled is false"
    return (
        why_shown_only(situation, desired)
        or why_paused(manual_pause(situation, desired))
        or _why_not_after(connector, allowed)
    )


def _why_not_after(connector: ObservedConnector, allowed: AutoRestart) -> str:
    """Why the failures themselves prevent a restart. `spec.autoRestart.onlyOn` can allow one that does not help."""
    parts: list[ObservedConnector | TaskStatus] = [connector, *connector.tasks]
    traces = [part.trace for part in parts if part.state is WorkerState.FAILED]
    for pattern in allowed.never_on:
        if any(_is_in(pattern, trace) for trace in traces):
            return f"the stack trace matches {pattern!r} in spec.autoRestart.neverOn"
    if allowed.only_on and not all(any(_is_in(one, trace) for one in allowed.only_on) for trace in traces):
        return "the stack trace matches no pattern in spec.autoRestart.onlyOn"
    known = [failure.known for failure in failures(connector)]
    lasting = [one.cause for one in known if one is not None and not one.restart_helps]
    if lasting and len(lasting) == len(known) and not allowed.only_on:
        return f"{lasting[0]}, and a restart does not change that"
    return ""


def _is_in(pattern: str, trace: str) -> bool:
    return fnmatchcase(trace, f"*{pattern}*")


def _step(situation: Situation, one: UnhealthyConnector, outlook: RestartOutlook) -> Step:
    number = f"automatic restart {outlook.count + 1} of {outlook.limit}"
    all_at_once = RESTART_FAILED.is_in(situation.observed.version)
    parts = () if all_at_once else tuple(failed.task for failed in one.failures)
    return Step(one.name, Action.RESTART, f"{number}; {'; '.join(one.problems)}", restart=Restart(parts=parts))


# Connectors of the cluster that do not work. They change no step, no digest and no fingerprint.

MOST_TRACES = 4 * 1024 * 1024
"""Characters of the stack traces of a cluster that are kept. The traces of further connectors are left out."""
_NOT_RUNNING = (HealthReason.PROGRESSING.value, HealthReason.NOT_RUNNING.value)


@once
def find_unhealthy(situation: Situation) -> Mapping[ConnectorName, UnhealthyConnector]:
    """Every unhealthy connector on the cluster, unmanaged ones too, by name and in that order.

    A part that does not run, and offsets that do not move, are a problem only once that has lasted for too long. Each
    has the outlook on its automatic restarts. No reason contains a known secret of any connector of the cluster
    (`known_secrets`).
    """
    found = {
        name: one
        for name, connector in sorted(situation.observed.connectors.items())
        if (
            one := unhealthy(connector, situation.families)
            or _not_running(situation, connector)
            or not_moving(situation, name)
        )
    }
    if any(one.failures for one in found.values()):
        known = known_secrets(situation)
        failed = [situation.observed.connectors[name] for name, one in found.items() if one.failures]
        room = MOST_TRACES
        for connector in failed:
            parts = failures(known.mask_traces(connector))
            room -= sum(len(part.trace) for part in parts)
            kept = parts if room >= 0 else tuple(replace(part, trace="") for part in parts)
            found[connector.name] = replace(found[connector.name], failures=kept)
    for desired in situation.desired.connectors:
        one = found.get(desired.name)
        if one is not None and one.failures and desired.state is TargetState.RUNNING:
            outlook = _outlook(situation, desired, situation.observed.connectors[desired.name])
            found[desired.name] = replace(one, restarts=outlook)
    return found


def _not_running(situation: Situation, connector: ObservedConnector) -> UnhealthyConnector | None:
    parts = idle_parts(connector, situation.observed.gone)
    if not parts:
        return None
    before = situation.conditions.get((connector.name, ConditionType.HEALTHY, ""))
    since = before.since if before is not None and before.reason in _NOT_RUNNING else situation.now
    if situation.now - since < situation.policy.degraded_after:
        return None
    lasting = tuple(f"{part} since {time_words(since)}" for part in parts)
    return UnhealthyConnector(connector.name, not_running=lasting, since=since)


def unhealthy_in_plan(
    situation: Situation, planned: Collection[ConnectorPlan], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> tuple[UnhealthyConnector, ...]:
    """Those of the unhealthy connectors that are declared or managed, except those that the plan deletes."""
    declared = {one.name for one in situation.desired.connectors if one.state is not TargetState.ABSENT}
    deleted = {step.connector for one in planned for step in one.steps if step.action is Action.DELETE}
    ours = (declared | situation.desired.held | situation.ownership.keys()) - deleted
    return tuple(one for name, one in unhealthy.items() if name in ours)


# Restarts that a document requests: each once for its id, as the annotations of Strimzi's proposal 007.

_AT_REST = (WorkerState.STOPPED, WorkerState.PAUSED)


def requested_restarts(situation: Situation, desired: DesiredConnector, before: Collection[Step]) -> Iterator[Step]:
    """The restarts that are due after the other steps of the connector, if it runs then.

    A new `secretVersion` restarts the connector with all its tasks, so it covers all other requests.
    """
    observed, due = situation.observed.connectors.get(desired.name), _due(situation, desired)
    if observed is None or not due or _why_at_rest(desired, observed, before):
        return
    whole = [request for request in due if request.kind is RequestKind.SECRETS]
    for request in whole or due:
        restart = restart_for(request, observed, situation.observed.version)
        also = tuple(one for one in due if whole and one is not request)
        reason = "; ".join(_reason(desired, one) for one in (request, *also))
        yield Step(desired.name, Action.RESTART, reason, restart=replace(restart, also=also))


def _due(situation: Situation, desired: DesiredConnector) -> list[RestartRequest]:
    """The requests that were not carried out yet. One that is not managed yet needs no restart."""
    if desired.name not in situation.ownership or desired.name in situation.observed.unknown:
        return []
    done = situation.restart_requests
    return [one for one in desired.restarts if done.get((desired.name, one.kind)) != one.id]


def _why_at_rest(desired: DesiredConnector, observed: ObservedConnector, before: Collection[Step]) -> str:
    is_started = desired.state is TargetState.RUNNING and any(step.action is Action.RESUME for step in before)
    if observed.state in _AT_REST and not is_started:
        return f"is {observed.state.value}"
    return f"is declared {desired.state.value}" if desired.state is not TargetState.RUNNING else ""


def waiting_restarts(situation: Situation, desired: DesiredConnector, before: Collection[Step]) -> Iterator[str]:
    """The requests that wait until the connector runs, in words."""
    observed = situation.observed.connectors.get(desired.name)
    if observed is None or desired.state is TargetState.ABSENT:
        return
    if why := _why_at_rest(desired, observed, before):
        for request in _due(situation, desired):
            yield f"a restart waits until the connector runs, which {why}: {_reason(desired, request)}"


def _reason(desired: DesiredConnector, request: RestartRequest) -> str:
    """The id in the document. A resource of Strimzi has an annotation, and the commit that added it is the id."""
    if request.kind is RequestKind.SECRETS:
        return f"spec.secretVersion is {request.id!r}: the worker reads the values of config providers again"
    tasks = f"{'tasks' if len(request.tasks) > 1 else 'task'} {', '.join(map(str, request.tasks))}: "
    by = f"spec.{request.kind.value}.id is {request.id!r}"
    if request.annotation:
        by = f"the annotation {request.annotation}, which commit {request.id} added"
    return f"{tasks if request.tasks else ''}{by}"


def seen_before_managed(situation: Situation) -> Iterator[tuple[ConnectorName, RestartRequest]]:
    """Requests of connectors that are not managed yet: they are recorded, and not carried out.

    A connector that is created or adopted now needs no restart. With a lost ledger, no request is carried out again.
    """
    for connector in situation.desired.connectors:
        if connector.name not in situation.ownership:
            for request in connector.restarts:
                if situation.restart_requests.get((connector.name, request.kind)) != request.id:
                    yield connector.name, request


def restart_for(request: RestartRequest, observed: ObservedConnector, version: ConnectVersion) -> Restart:
    """What carries out the request on workers of that version."""
    if request.tasks:
        return Restart(parts=request.tasks, request=request)
    if RESTART_FAILED.is_in(version):
        return Restart(request.include_tasks, request.only_failed, request=request)
    states: list[tuple[int | None, WorkerState]] = [(None, observed.state)]
    states += [(task.id, task.state) for task in observed.tasks if request.include_tasks]
    parts = (part for part, state in states if state is WorkerState.FAILED or not request.only_failed)
    return Restart(request.include_tasks, request.only_failed, tuple(parts), request)
