"""The conditions of a cluster and its connectors after a reconciliation, from the conditions before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import Revision
from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import origin
from gitops_connect.model.status import (
    Condition,
    ConditionKey,
    Conditions,
    ConditionStatus,
    ConditionType,
    ConnectorStatus,
    Health,
    Sync,
)
from gitops_connect.plan.annotation_warnings import annotation_conditions

_NAMED = 3

_SYNCED = {
    Sync.SYNCED: ConditionStatus.TRUE,
    Sync.OUT_OF_SYNC: ConditionStatus.FALSE,
    Sync.UNKNOWN: ConditionStatus.UNKNOWN,
}
HEALTHY = {
    Health.HEALTHY: ConditionStatus.TRUE,
    Health.SUSPENDED: ConditionStatus.TRUE,
    Health.PROGRESSING: ConditionStatus.UNKNOWN,
    Health.UNKNOWN: ConditionStatus.UNKNOWN,
    Health.DEGRADED: ConditionStatus.FALSE,
    Health.MISSING: ConditionStatus.FALSE,
}
"""Whether a connector works."""


def connector_conditions(
    before: Conditions, statuses: Iterable[ConnectorStatus], plan: Plan, now: datetime
) -> dict[ConditionKey, Condition]:
    """The conditions of every connector that is declared or managed."""
    unhealthy = {one.name: one for one in plan.unhealthy}
    found: dict[ConditionKey, Condition] = {}
    for status in statuses:
        if status.sync is Sync.UNMANAGED:
            continue
        for kind, truth, reason, message, since in _of_connector(status, unhealthy.get(status.name)):
            key = status.name, kind, ""
            known = before.get(key)
            if known is None or (known.status, known.reason, known.message) != (truth, reason, message):
                known = Condition(kind, truth, reason, message, since or now, plan.revision).follows(known)
            found[key] = known
    for name, rolled_back in plan.rolled_back.items():
        key = name, ConditionType.ROLLED_BACK, ""
        found[key] = _rolled_back(rolled_back, now).follows(before.get(key))
    for name, message in plan.unexpected_topics.items():
        key, truth = (name, ConditionType.UNEXPECTED_TOPICS, ""), ConditionStatus.TRUE
        unexpected = Condition(ConditionType.UNEXPECTED_TOPICS, truth, "TopicNotAllowed", message, now, plan.revision)
        found[key] = unexpected.follows(before.get(key))
    return found | annotation_conditions(before, plan, (), now)


def _of_connector(
    status: ConnectorStatus, unhealthy: UnhealthyConnector | None
) -> Iterator[tuple[ConditionType, ConditionStatus, str, str, datetime | None]]:
    """Type, status, reason, message, and since when (None: now). Nearly all are known, so no `Condition` is made."""
    since = None if unhealthy is None else unhealthy.since
    synced, healthy = _SYNCED[status.sync], HEALTHY[status.health]
    yield ConditionType.SYNCED, synced, status.sync.value, status.difference, None
    yield ConditionType.HEALTHY, healthy, status.reason.value, status.problem, since
    if status.is_fine:
        yield ConditionType.READY, ConditionStatus.TRUE, "Ready", "", None
    else:
        parts = {synced, healthy}
        ready = ConditionStatus.FALSE if ConditionStatus.FALSE in parts else ConditionStatus.UNKNOWN
        reason = status.sync.value if healthy is ConditionStatus.TRUE else status.reason.value
        yield ConditionType.READY, ready, reason, status.message, since
    if status.holds:
        hold = status.holds[0]
        yield ConditionType.BLOCKED, ConditionStatus.TRUE, hold.kind.reason, hold.words, hold.since
    if unhealthy is not None and unhealthy.restarts is not None and unhealthy.restarts.gave_up:
        why = unhealthy.restarts.why_not
        yield ConditionType.RESTARTS_GIVEN_UP, ConditionStatus.TRUE, "RestartLimitReached", why, None


def _rolled_back(found: RolledBack, now: datetime) -> Condition:
    keys = ", ".join(found.keys)
    message = f"the config of {origin(found.revision)} was rolled back: {found.reason} (changed keys: {keys})"
    return Condition(ConditionType.ROLLED_BACK, ConditionStatus.TRUE, "ConfigFailed", message, now, found.revision)


def cluster_ready(statuses: Sequence[ConnectorStatus], errors: int, now: datetime, revision: Revision) -> Condition:
    """Whether every connector of the cluster is in sync and healthy, after a reconciliation without failed steps.

    `errors` is the number of errors in documents.
    """
    bad = [one.name for one in statuses if not one.is_fine]
    if not bad and not errors:
        return Condition(ConditionType.READY, ConditionStatus.TRUE, "Ready", "", now, revision)
    parts = []
    if bad:
        names = ", ".join(bad[:_NAMED]) + (", …" if len(bad) > _NAMED else "")
        parts.append(f"{len(bad)} of {len(statuses)} connectors are not ready: {names}")
    if errors:
        parts.append(f"{errors} errors in the documents" if errors > 1 else "1 error in the documents")
    return cluster_failed("ConnectorsNotReady" if bad else "DocumentErrors", "; ".join(parts), now, revision)


def cluster_failed(reason: str, message: str, now: datetime, revision: Revision) -> Condition:
    return Condition(ConditionType.READY, ConditionStatus.FALSE, reason, message, now, revision)


def changes(
    before: Conditions, after: Mapping[ConditionKey, Condition]
) -> tuple[dict[ConditionKey, Condition], list[ConditionKey]]:
    """The conditions to record, and those that have ended."""
    changed = {key: one for key, one in after.items() if (known := before.get(key)) is not one and known != one}
    return changed, [key for key in before if key not in after]
