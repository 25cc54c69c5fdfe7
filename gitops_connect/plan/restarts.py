"""Automatic restarts of connectors that have failed, as Strimzi's proposal 007 has them: which are due, and when.

Only the daemon restarts connectors by itself. A plan of another command has no such step, and shows when the next
restart is due.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase

from gitops_connect.model.capabilities import RESTART_FAILED
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.health import UnhealthyConnector, failures
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, ConnectorPlan, Plan, Step
from gitops_connect.model.restarts import Restart, RestartOutlook, RestartRecord, pause_after
from gitops_connect.plan.manual_pause import manual_pause, why_paused
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.suspended import why_shown_only


def with_outlook(
    situation: Situation, unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> Mapping[ConnectorName, UnhealthyConnector]:
    """Add to each connector with a failed part what its automatic restarts were, and when the next one is due."""
    declared = {one.name: one for one in situation.desired.connectors}
    return {
        name: replace(one, restarts=_outlook(situation, declared[name], situation.observed.connectors[name]))
        if one.failures and name in declared and declared[name].state is TargetState.RUNNING
        else one
        for name, one in unhealthy.items()
    }


def add_restarts(
    situation: Situation, planned: Sequence[ConnectorPlan], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> list[ConnectorPlan]:
    """Add the restarts that are due to the plans of connectors with no other steps than `adopt`, or only blocked ones.

    A restart needs no review. At most `concurrent_restarts`, those that are due for the longest time first: each may
    cause a rebalance.
    """
    idle = (unhealthy[one.name] for one in planned if one.name in unhealthy and _is_idle(one))
    due = sorted(_due(situation, idle))[: situation.policy.concurrent_restarts]
    steps = {name: _step(situation, unhealthy[name], outlook) for _, name, outlook in due}
    return [_with_restart(one, steps[one.name]) if one.name in steps else one for one in planned]


def _is_idle(planned: ConnectorPlan) -> bool:
    return not planned.changes_cluster or _is_blocked(planned)


def _is_blocked(planned: ConnectorPlan) -> bool:
    return planned.unreviewed is not None and not planned.applicable


def _with_restart(planned: ConnectorPlan, restart: Step) -> ConnectorPlan:
    kept = () if _is_blocked(planned) else planned.steps
    return replace(planned, steps=(*kept, restart), applicable=True)


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


def uncounted(situation: Situation, plan: Plan) -> Iterator[ConnectorName]:
    """Connectors whose restarts are no longer counted.

    They have worked for long enough, do not exist, or get another config, which may work.
    """
    configured = {step.connector for step in plan.steps if step.action is Action.CONFIGURE}
    for name, record in situation.restarts.items():
        connector = situation.observed.connectors.get(name)
        is_gone = connector is None and name not in situation.observed.unknown
        has_recovered = connector is not None and not failures(connector) and _is_long_ago(record, situation)
        if is_gone or has_recovered or name in configured:
            yield name


def _is_long_ago(record: RestartRecord, situation: Situation) -> bool:
    return situation.now - record.last >= situation.policy.stable_after


def _outlook(situation: Situation, desired: DesiredConnector, connector: ObservedConnector) -> RestartOutlook:
    record = situation.restarts.get(desired.name)
    count, last = (record.count, record.last) if record is not None else (0, None)
    outlook = RestartOutlook(count, desired.auto_restart.max_restarts, last)
    if why_not := _why_not(situation, desired, connector):
        return replace(outlook, why_not=why_not)
    if count >= outlook.limit:
        return replace(outlook, gave_up=True, why_not=f"gave up after {count} automatic restarts")
    return replace(outlook, next=situation.now if last is None else last + pause_after(count))


def _why_not(situation: Situation, desired: DesiredConnector, connector: ObservedConnector) -> str:
    allowed = desired.auto_restart
    if not situation.policy.auto_restart:
        return "auto_restart is off in the settings"
    if not allowed.enabled:
        return "spec.autoRestart.enabled is false"
    if why_not := why_shown_only(situation, desired) or why_paused(manual_pause(situation, desired)):
        return why_not
    traces = [connector.trace] if connector.state is WorkerState.FAILED else []
    traces += [task.trace for task in connector.tasks if task.state is WorkerState.FAILED]
    for pattern in allowed.never_on:
        if any(_is_in(pattern, trace) for trace in traces):
            return f"the stack trace matches {pattern!r} in spec.autoRestart.neverOn"
    if allowed.only_on and not all(any(_is_in(one, trace) for one in allowed.only_on) for trace in traces):
        return "the stack trace matches no pattern in spec.autoRestart.onlyOn"
    return ""


def _is_in(pattern: str, trace: str) -> bool:
    return fnmatchcase(trace, f"*{pattern}*")


def _due(
    situation: Situation, unhealthy: Iterable[UnhealthyConnector]
) -> Iterator[tuple[datetime, ConnectorName, RestartOutlook]]:
    for one in unhealthy:
        if one.restarts is not None and one.restarts.next is not None and one.restarts.next <= situation.now:
            yield one.restarts.next, one.name, one.restarts


def _step(situation: Situation, one: UnhealthyConnector, outlook: RestartOutlook) -> Step:
    number = f"automatic restart {outlook.count + 1} of {outlook.limit}"
    all_at_once = RESTART_FAILED.is_in(situation.observed.version)
    parts = () if all_at_once else tuple(failed.task for failed in one.failures)
    return Step(one.name, Action.RESTART, f"{number}; {'; '.join(one.problems)}", restart=Restart(parts=parts))
