"""The snapshot and the ledger as JSON values of the API. `openapi.yaml` describes each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gitops_connect.daemon.state import ClusterView, PullRequestView, RepositoryView
from gitops_connect.errors import LedgerBusy
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import OffsetChangeRecord
from gitops_connect.model.outcomes import JournalEntry, ReconciliationOutcome, StepOutcome
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.model.reviewed_plans import Approval
from gitops_connect.model.status import Conditions, ConnectorStatus, Health, Sync
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report.plan_json import without_secrets
from gitops_connect.report.problems import problem_value
from gitops_connect.report.words import time_value
from gitops_connect.server.connector_offsets import ReadOffsets
from gitops_connect.server.page_values import ChangeLine, ConfigLine, RolloutLine

Value = dict[str, Any]


def repository_value(view: RepositoryView) -> Value:
    return {
        "revision": view.revision,
        "author": view.author,
        "subject": view.subject,
        "documents": view.documents,
        "errors": len(view.diagnostics.errors),
        "warnings": len(view.diagnostics.warnings),
        "error": view.error,
        "polled": time_value(view.polled),
    }


def cluster_value(view: ClusterView) -> Value:
    """One cluster, with the number of its connectors in each state."""
    return {
        "cluster": view.cluster,
        "connect_version": str(view.plan.connect_version) if view.plan else None,
        "exactly_once": view.plan.exactly_once.value if view.plan and view.plan.exactly_once else None,
        "desired": view.plan.revision if view.plan else None,
        "applied": view.applied,
        "observed": time_value(view.observed),
        "next": time_value(view.next),
        "error": view.error,
        "connectors": len(view.connectors),
        "attention": sum(one.verdict.needs_attention for one in view.connectors),
        "verdicts": {kind.value: sum(one.verdict.kind is kind for one in view.connectors) for kind in VerdictKind},
        "sync": {one.value: sum(each.sync is one for each in view.connectors) for one in Sync},
        "health": {one.value: sum(each.health is one for each in view.connectors) for one in Health},
        "drifted": list(view.plan.drifted) if view.plan else [],
        "suspension": view.plan.suspension.value() if view.plan and view.plan.suspension else None,
        "conditions": condition_values(view.cluster, view.conditions, ConnectorName("")),
    }


def connector_value(one: ConnectorStatus, view: ClusterView | None) -> Value:
    measured = replace(one, lag=view.lag(one.name) if view is not None else None)
    return {**measured.value(), "reason": one.reason.value}


def config_value(line: ConfigLine, directory: str) -> Value:
    """A key of a config; `live` is null if the cluster has the declared value."""
    place = None if line.location is None else str(line.location.under(directory))
    return {"key": line.key, "declared": line.declared, "live": line.live, "location": place}


def rollout_value(line: RolloutLine) -> Value:
    groups = {"failed": line.failed, "rolled_back": line.rolled_back, "waiting": line.waiting, "trying": line.trying}
    names = {group: [one.name for one in found] for group, found in groups.items()}
    return {"commit": line.revision, "stopped": None if line.stopped is None else line.stopped.value(), **names}


def condition_values(cluster: ClusterName, conditions: Conditions, of: ConnectorName | None = None) -> list[Value]:
    """The conditions of one connector (empty: the cluster itself), or all of them, in a fixed order."""
    found = [
        {
            "cluster": cluster,
            "connector": connector,
            "type": one.type.value,
            "status": one.status.value,
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": time_value(one.since),
            "observedCommit": one.revision,
        }
        for (connector, _, _), one in conditions.items()
        if of is None or connector == of
    ]
    return sorted(found, key=lambda value: (value["connector"], value["type"], value["reason"], value["message"]))


def diagnostic_value(one: Diagnostic, cluster: ClusterName | None = None) -> Value:
    """A problem of the documents (None), or one that only a cluster or the ledger reveals."""
    return {"cluster": cluster, **problem_value(one)}


def step_value(outcome: StepOutcome) -> Value:
    """A step of the reconciliation in progress, or of the last one."""
    return {
        "id": outcome.id,
        "connector": outcome.step.connector,
        "action": outcome.step.action.value,
        "offset_change": outcome.step.offset_change.name if outcome.step.offset_change else None,
        "result": outcome.shown_result.value,
        "reason": outcome.step.reason,
        "message": outcome.message,
        "seconds": round(outcome.seconds, 3),
        "finished": time_value(outcome.finished),
    }


def journal_values(entries: Iterable[JournalEntry]) -> list[Value]:
    return [
        {
            "id": one.id,
            "cluster": one.cluster,
            "at": time_value(one.at),
            "commit": one.revision,
            "author": one.author,
            "connector": one.connector,
            "action": one.action.value,
            "offset_change": one.offset_change or None,
            "result": one.result.value,
            "reason": one.reason,
            "message": one.message,
            "seconds": round(one.seconds, 3),
        }
        for one in entries
    ]


def offset_change_value(line: ChangeLine, record: OffsetChangeRecord | None) -> Value:
    """An offset change; the ledger has no record of it if it is only planned."""
    return {
        "cluster": line.cluster,
        "name": line.name,
        "connector": line.connector,
        "operation": line.kind,
        "state": record.state.value if record else None,
        "status": line.state.value,
        "cause": line.view.cause,
        "next_step": line.view.next_step,
        "since": time_value(line.since),
        "commit": line.revision,
        "failures": record.failures if record else 0,
        "final": record.final if record else False,
        "message": record.message if record else "",
        "warning": record.warning if record else "",
        "entries": record.entries if record else None,
        "sent": record.sent if record else None,
    }


def moves_value(difference: Difference | None, limit: int) -> Value | None:
    """The offsets before and after, of at most so many partitions; None if they were not saved."""
    if difference is None:
        return None
    return {
        "counts": {one.value: difference.counts.get(one, 0) for one in Direction},
        "complete": len(difference.moves) <= limit,
        "moves": [
            {
                "partition": without_secrets(move.partition),
                "before": without_secrets(move.current),
                "after": without_secrets(move.declared),
            }
            for move in difference.moves[:limit]
        ],
    }


def offsets_value(found: ReadOffsets | None, limit: int) -> Value | None:
    """The current offsets of a connector, of at most so many partitions."""
    if found is None:
        return None
    return {
        "read": time_value(found.read),
        "counted": found.counted,
        "partitions": [
            {
                "partition": without_secrets(one.partition),
                "current": one.current if isinstance(one.current, int) else without_secrets(one.current),
                "end": one.end,
                "lag": one.records,
                "seconds": None if one.age is None else round(one.age.total_seconds(), 3),
                "moved": one.moved,
                "same_since": time_value(one.since),
                "change": one.change,
            }
            for one in found.lines[:limit]
        ],
    }


def restart_value(record: RestartRecord | None, outlook: RestartOutlook | None) -> Value:
    """The automatic restarts of a connector."""
    return {
        "count": record.count if record else 0,
        "last": time_value(record.last if record else None),
        "limit": outlook.limit if outlook else None,
        "next": time_value(outlook.next if outlook else None),
        "gave_up": outlook.gave_up if outlook else False,
        "why_not": outlook.why_not if outlook else "",
    }


def pull_request_value(view: PullRequestView) -> Value:
    """An open pull request, and the result of its last review."""
    one = view.pull_request
    return {
        "number": one.number,
        "title": one.title,
        "author": one.author,
        "url": one.url,
        "target": one.target,
        "head": view.plan.head,
        "state": view.state.value,
        "summary": view.summary,
        "errors": len(view.plan.diagnostics.errors),
        "digest": view.plan.digest,
        "reviewed": time_value(view.reviewed),
    }


def approval_value(one: Approval) -> Value:
    """Who has approved which plan."""
    return {"digest": one.digest, "who": one.who, "at": time_value(one.at), "place": one.place}


WORDS = ("applied", "unconfirmed", "unchanged", "failed", "postponed")


def outcome_word(result: ReconciliationOutcome | Exception) -> str:
    """`applied`, `unconfirmed` (see `Result`), `unchanged` (there was no step), `failed`, or `postponed`.

    Postponed: another process holds the lease.
    """
    if isinstance(result, LedgerBusy):
        return "postponed"
    if isinstance(result, Exception) or not (result.succeeded or result.interrupted):
        return "failed"
    if result.is_unconfirmed:
        return "unconfirmed"
    return "applied" if result.steps else "unchanged"


def result_value(cluster: ClusterName, result: ReconciliationOutcome | Exception) -> Value:
    value = {"cluster": cluster, "result": outcome_word(result)}
    if isinstance(result, Exception):
        nothing: Value = {"commit": None, "planned": 0, "errors": 0, "steps": []}
        return {**value, **nothing, "error": type(result).__name__, "message": str(result)}
    return {
        **value,
        "commit": result.revision,
        "planned": len(result.plan.steps),
        "errors": len(result.diagnostics.errors),
        "steps": [step_value(step) for step in result.steps],
        "error": "",
        "message": "",
    }
