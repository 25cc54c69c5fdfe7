"""The public JSON of a plan, `schemas/plan.schema.json`, which `plan --out` saves and other programs read.

The format follows Terraform's (`resource_changes`, `change.actions`, `before`, `after`). It is separate from the inner
types, so that these can change. It contains no secret: a sensitive key is listed in `before_sensitive` or
`after_sensitive`, without its value, and a secret inside another value, such as the password in a URL, is masked. Only
offsets are exact. The placeholders of config providers are shown.
Readers ignore keys that they do not know; `format_version` says which keys they can rely on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_connect.model.credentials import MASK
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.masking import mask
from gitops_connect.model.names import Revision
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Plan, PlannedOffsetChange, Step
from gitops_connect.model.units import Scale
from gitops_connect.report import offset_lines, words
from gitops_connect.report.problems import problem_value
from gitops_connect.report.summary import summarise
from gitops_connect.report.table import as_json
from gitops_connect.report.words import unhealthy_value

FORMAT_VERSION = "1.9"


@dataclass(frozen=True, slots=True)
class PlanOrigin:
    """`path` is set if a directory was read instead of a commit. `directory` precedes the path of every document."""

    made: datetime
    revision: Revision
    path: str | None = None
    directory: str = ""


def render(plans: Sequence[Plan], diagnostics: Diagnostics, origin: PlanOrigin) -> str:
    """The document, indented, with its keys in a fixed order."""
    errored = bool(diagnostics.errors)
    document = {
        "format_version": FORMAT_VERSION,
        "timestamp": origin.made.isoformat(timespec="seconds"),
        "commit": origin.revision,
        "path": origin.path,
        "untrusted": any(plan.untrusted for plan in plans),
        "applyable": any(not plan.is_empty for plan in plans) and not any(plan.refusals for plan in plans),
        "complete": all(plan.complete for plan in plans) and not errored,
        "errored": errored,
        "summary": summarise(plans),
        "clusters": [_cluster(plan, origin.directory) for plan in plans],
        "diagnostics": [problem_value(item) for item in diagnostics],
    }
    return as_json(document)


def _cluster(plan: Plan, directory: str) -> dict[str, Any]:
    return {
        "cluster": plan.cluster,
        "connect_version": str(plan.connect_version),
        "exactly_once": plan.exactly_once.value if plan.exactly_once else None,
        "digest": plan.digest,
        "live_fingerprint": plan.fingerprint,
        "resource_changes": [_resource(one, directory) for one in plan.connectors if one.steps],
        "notes": {connector.name: list(connector.notes) for connector in plan.connectors if connector.notes},
        "holds": [
            {"connector": connector.name, **one.value()} for connector in plan.connectors for one in connector.holds
        ],
        "offset_changes": offset_changes(plan, directory),
        "resource_drift": list(plan.drifted),
        "unhealthy": [unhealthy_value(one) for one in plan.unhealthy],
        "adopted": list(plan.adopted),
        "unmanaged": list(plan.unmanaged),
        "suspension": None if plan.suspension is None else plan.suspension.value(),
        "suspended": [
            {"connector": one.name, **one.suspension.value(), "steps": 0 if one.applicable else len(one.steps)}
            for one in plan.connectors
            if one.suspension is not None
        ],
        "warnings": list(plan.warnings),
        "refusals": list(plan.refusals),
    }


_ACTIONS = {"create": "create", "change": "update", "delete": "delete", "keep": "no-op"}


def _resource(connector: ConnectorPlan, directory: str) -> dict[str, Any]:
    changes, blocked = [change for step in connector.steps for change in step.changes], connector.unreviewed
    return {
        "name": connector.name,
        "location": str(connector.location.under(directory)) if connector.location else None,
        "applicable": connector.applicable,
        "unreviewed": None
        if blocked is None
        else {"planned": list(blocked.planned), "reviewed": list(blocked.reviewed)},
        "change": {
            "actions": [_ACTIONS[words.kind(connector)]],
            "before": _values((one, one.shown_before) for one in changes),
            "after": _values((one, one.shown_after) for one in changes),
            "before_sensitive": _hidden((one, one.shown_before) for one in changes),
            "after_sensitive": _hidden((one, one.shown_after) for one in changes),
        },
        "steps": [_step(step) for step in connector.steps],
    }


def _values(shown: Iterable[tuple[Change, str | None]]) -> dict[str, str]:
    """The values by key, without those of sensitive keys that are nothing but a mask."""
    return {one.key: value for one, value in shown if value is not None and not (one.sensitive and value == MASK)}


def _hidden(shown: Iterable[tuple[Change, str | None]]) -> list[str]:
    """The sensitive keys of which something is masked."""
    return [one.key for one, value in shown if one.sensitive and value is not None and MASK in value]


def _step(step: Step) -> dict[str, Any]:
    return {
        "action": step.action.value,
        "endpoint": endpoint(step),
        "initial_state": step.initial_state.value if step.initial_state else None,
        "reason": step.reason,
        "offset_change": step.offset_change.name if step.offset_change else None,
        "keys": [change.key for change in step.changes],
        "topics": None if step.topics is None or step.topics.topics is None else sorted(step.topics.topics),
        "offset_effects": [{"message": one.message, "hint": one.hint} for one in step.offset_effects],
        "delivery": None
        if step.delivery is None
        else {"before": step.delivery.before.value, "after": step.delivery.after.value},
    }


_REQUESTS = {
    Action.CREATE: "POST /connectors",
    Action.CONFIGURE: "PUT {}/config",
    Action.ROLL_BACK: "PUT {}/config",
    Action.STOP: "PUT {}/stop",
    Action.PAUSE: "PUT {}/pause",
    Action.RESUME: "PUT {}/resume",
    Action.ALTER: "PATCH {}/offsets",
    Action.RESET: "DELETE {}/offsets",
    Action.RESET_TOPICS: "PUT {}/topics/reset",
    Action.DELETE: "DELETE {}",
    Action.ADOPT: None,
    Action.RECORD: None,
    Action.LIST: "GET {}/offsets",
}


def endpoint(step: Step) -> str | None:
    """The request that the step sends; None if the step only writes to the ledger."""
    path, restart = words.connector_path(step.connector), step.restart
    if restart is None:
        request = _REQUESTS[step.action]
        return None if request is None else request.replace("{}", path)
    parts = ("" if task is None else f"/tasks/{task}" for task in restart.parts)
    single = ", ".join(f"POST {path}{part}/restart" for part in parts)
    query = f"includeTasks={str(restart.include_tasks).lower()}&onlyFailed={str(restart.only_failed).lower()}"
    return single or f"POST {path}/restart?{query}"


def offset_changes(plan: Plan, directory: str) -> list[dict[str, Any]]:
    """The changes of connectors in the order of their execution, then those without a connector, then applied ones."""
    of_connectors = [one for connector in plan.connectors for one in connector.offset_changes]
    due = {one.name for one in offset_lines.to_apply(plan)}
    everything = [*of_connectors, *offset_lines.strays_of(plan), *plan.applied]
    return [_change(one, directory, due=one.name in due) for one in everything]


def _change(offset_change: PlannedOffsetChange, directory: str, *, due: bool) -> dict[str, Any]:
    location, difference, heap = offset_change.location, offset_change.difference, offset_change.heap
    return {
        "name": offset_change.name,
        "connector": offset_change.connector,
        "operation": offset_change.kind.value,
        "status": offset_change.status.value,
        "due": due,
        "message": offset_change.message,
        "lacks": sorted(one.value for one in offset_change.lacks),
        "reason": offset_change.reason,
        "location": str(location.under(directory)) if location else None,
        "digest": offset_change.digest,
        "difference": None if difference is None else difference_value(difference),
        "targets": list(offset_change.targets),
        "notes": list(offset_change.notes),
        "worker_heap": None if heap is None else {"bytes": heap.size, "arithmetic": heap.arithmetic},
    }


def value(text: PartitionText | OffsetText | None) -> Any:
    """The JSON object of a canonical text."""
    return None if text is None else json.loads(text)


def without_secrets(text: PartitionText | OffsetText | None) -> Any:
    """The JSON object of a canonical text, without secrets. To find them takes 20 times as long as to read the text."""
    try:
        return None if text is None else json.loads(mask(text))
    except ValueError:  # the secret has quotes, too
        return {MASK: MASK}


def difference_value(difference: Difference, of_text: Callable[[Any], Any] = value) -> dict[str, Any]:
    """Every direction with its count, and every move; of a difference that Spark has computed, the largest moves.

    `of_text` makes a JSON value of a partition or an offset.
    """
    return {
        "exact": difference.exact,
        "unit": difference.scale.name,
        "counts": {one.value: difference.counts.get(one, 0) for one in Direction},
        "distances": {one.value: difference.distances[one] for one in Direction if one in difference.distances},
        "moves": [_move(move, difference.scale, of_text) for move in difference.moves],
        "resume": [
            {"aspect": line.aspect.name.lower(), "message": line.message, "external": line.external}
            for line in difference.resume
        ],
    }


def _move(move: Move, scale: Scale, of_text: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        "partition": of_text(move.partition),
        "current": of_text(move.current),
        "declared": of_text(move.declared),
        "direction": move.direction.value,
        "distance": move.distance,
        **({"time": move.time} if move.time is not None else {}),
        "also_written": offset_lines.also_written(move, scale) or None,
    }
