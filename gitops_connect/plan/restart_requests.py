"""Restarts that a document requests: each once for its id, as the annotations of Strimzi's proposal 007."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from gitops_connect.model.capabilities import RESTART_FAILED
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectVersion, ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restarts import Restart, RestartKind, RestartRequest
from gitops_connect.plan.situation import Situation

_AT_REST = (WorkerState.STOPPED, WorkerState.PAUSED)


def requested_restarts(situation: Situation, desired: DesiredConnector, before: Collection[Step]) -> Iterator[Step]:
    """The restarts that are due after the other steps of the connector, if it runs then.

    A new `secretVersion` restarts the connector with all its tasks, so it covers all other requests.
    """
    observed = situation.observed.connectors.get(desired.name)
    if observed is None or desired.state is not TargetState.RUNNING or desired.name in situation.observed.unknown:
        return
    if observed.state in _AT_REST and not any(step.action is Action.RESUME for step in before):
        return
    due = [request for request in desired.restarts if _is_due(situation, desired.name, request)]
    whole = [request for request in due if request.kind is RestartKind.SECRETS]
    for request in whole or due:
        restart = restart_for(request, observed, situation.observed.version)
        also = tuple(one for one in due if whole and one is not request)
        reason = "; ".join(map(_reason, (request, *also)))
        yield Step(desired.name, Action.RESTART, reason, restart=replace(restart, also=also))


def _reason(request: RestartRequest) -> str:
    if request.kind is RestartKind.SECRETS:
        return f"spec.secretVersion is {request.id!r}: the worker reads the values of config providers again"
    return f"spec.{request.kind.value}.id is {request.id!r}"


def seen_before_managed(situation: Situation) -> Iterator[tuple[ConnectorName, RestartRequest]]:
    """Requests of connectors that are not managed yet: they are recorded, and not carried out.

    A connector that is created or adopted now needs no restart. With a lost ledger, no request is carried out again.
    """
    for connector in situation.desired.connectors:
        if connector.name not in situation.ownership:
            for request in connector.restarts:
                if situation.restart_requests.get((connector.name, request.kind)) != request.id:
                    yield connector.name, request


def _is_due(situation: Situation, name: ConnectorName, request: RestartRequest) -> bool:
    return name in situation.ownership and situation.restart_requests.get((name, request.kind)) != request.id


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
