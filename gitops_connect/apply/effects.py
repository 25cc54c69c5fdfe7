"""When a step has had its effect: what must be observed for each action, as pure functions.

A status does not name the change that caused it, and Kafka updates it some time after it has accepted a change. If the
state before the change may look like the expected state, the state must therefore last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from gitops_connect.families.health_rules import failures, summary
from gitops_connect.model.desired import TargetState
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.sensitivity import is_mask

RESTART_SECONDS = 1.0
"""A running connector may not yet have begun the restart that its new config causes (DistributedHerder's tick)."""
STALE_SECONDS = 3.0
"""A FAILED that lasts longer counts as the state after the change, not as the state before a restart."""
_STOPPED, _PAUSED, _RUNNING = "STOPPED without tasks", "PAUSED with all its tasks", "RUNNING"
_INITIAL = {TargetState.STOPPED: _STOPPED, TargetState.PAUSED: _PAUSED, TargetState.RUNNING: _RUNNING, None: _RUNNING}
_WANTED = {
    Action.ADOPT: "the connector in the ledger",
    Action.CONFIGURE: "the config that was sent and a connector that is not FAILED",
    Action.STOP: _STOPPED,
    Action.PAUSE: _PAUSED,
    Action.RESUME: _RUNNING,
    Action.RESTART: _RUNNING,
    Action.DELETE: "no connector with this name",
    Action.ALTER: "the declared offsets",
    Action.RESET: "the declared offsets",
    Action.RECORD: "the declared offsets",
    Action.LIST: "the current offsets in the ConfigMap",
}
_AT_REST = {WorkerState.PAUSED, WorkerState.FAILED}
"""A failed task stays failed while its connector is paused; it does no work either."""


class Progress(Enum):
    """How far a step has come."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EffectCheck:
    """The verdict of one poll on a step: its progress, what was found, and how long (seconds) that must last.

    `took_effect`: the requested change is in place, even if the connector does not work with it. `warning`: what to
    report of a step that is done.
    """

    progress: Progress
    found: str
    lasting: float = 0.0
    took_effect: bool = False
    warning: str = ""


def wanted(step: Step) -> str:
    """What must be observed, in words."""
    if step.action is Action.CREATE:
        return f"{_INITIAL[step.initial_state]} with the config that was sent"
    return _WANTED[step.action]


def check_effect(step: Step, seen: ObservedConnector | None, *, doubtful: bool = False) -> EffectCheck:
    """The verdict of a poll on a step other than a delete.

    `seen` is None if the connector does not exist or has no status yet. `doubtful`: the request was sent, and its
    answer is unknown.
    """
    if seen is None:
        return EffectCheck(Progress.PENDING, "no connector with this name and a status")
    match step.action:
        case Action.CREATE:
            verdict = differs(step, seen, doubtful=False) or _check_initial(step.initial_state, seen)
        case Action.CONFIGURE | Action.RESTART:
            other = differs(step, seen, doubtful=doubtful) or check_restarted(step, seen, doubtful=doubtful)
            verdict = other or _check_restart(seen)
        case Action.STOP:
            verdict = _check_stopped(seen)
        case Action.PAUSE:
            verdict = _check_paused(seen)
        case Action.RESUME:
            verdict = _check_running(seen)
        case (
            Action.DELETE | Action.ALTER | Action.RESET | Action.LIST | Action.RECORD | Action.ADOPT
        ):  # no status shows
            verdict = EffectCheck(Progress.PENDING, describe(seen))
        case _:
            assert_never(step.action)
    return verdict


def check_delete(*, gone: bool) -> EffectCheck:
    """A delete is done when no worker lists the name any more. A connector without a status still exists."""
    return EffectCheck(Progress.DONE, "") if gone else EffectCheck(Progress.PENDING, "that the connector still exists")


def _check_initial(state: TargetState | None, seen: ObservedConnector) -> EffectCheck:
    match state:
        case TargetState.STOPPED:
            return _check_stopped(seen)
        case TargetState.PAUSED:
            return _check_paused(seen)
        case TargetState.RUNNING | None:
            return _check_running(seen)
        case TargetState.ABSENT:
            raise ValueError("a connector cannot be created as absent")
        case _:
            assert_never(state)


def _check_stopped(seen: ObservedConnector) -> EffectCheck:
    return _reached(seen, is_so=seen.state is WorkerState.STOPPED and not seen.tasks)


def _check_paused(seen: ObservedConnector) -> EffectCheck:
    if seen.state is WorkerState.FAILED:
        # The worker accepts the pause of a failed connector, and then fails to pause it without reporting it.
        return EffectCheck(Progress.FAILED, f"the connector cannot be paused: {_failure(seen)}", STALE_SECONDS)
    tasks_rest = all(task.state in _AT_REST for task in seen.tasks)
    return _reached(seen, is_so=seen.state is WorkerState.PAUSED and tasks_rest)


def _check_running(seen: ObservedConnector) -> EffectCheck:
    if seen.state is WorkerState.FAILED:
        return EffectCheck(Progress.FAILED, _failure(seen))
    return _reached(seen, is_so=seen.state is WorkerState.RUNNING)


def check_restarted(step: Step, seen: ObservedConnector, *, doubtful: bool) -> EffectCheck | None:
    """The verdict on a restart if the states show it: None if no part is FAILED, or for another action.

    A FAILED that lasts is a new failure: Connect reports each part as RESTARTING before it restarts the part
    (`AbstractHerder.buildRestartPlan`, `Worker`). The restart itself took effect, so this is a warning. If the answer
    is unknown, the states may be those before the restart.
    """
    if step.restart is None:
        return None
    failed = failures(seen)
    if doubtful and (failed or step.restart.request is not None):
        return EffectCheck(Progress.PENDING, f"{describe(seen)}, which may be the state before the restart")
    if not failed:
        return None
    first, *more = failed
    others = f" (and {len(more)} more parts)" if more else ""
    words = f"{first.part} is FAILED again: {first.reason}{others}"
    return EffectCheck(Progress.DONE, words, STALE_SECONDS, took_effect=True, warning=words)


def _reached(seen: ObservedConnector, *, is_so: bool) -> EffectCheck:
    return EffectCheck(Progress.DONE if is_so else Progress.PENDING, describe(seen))


def _check_restart(seen: ObservedConnector) -> EffectCheck:
    match seen.state:
        case WorkerState.STOPPED | WorkerState.PAUSED:
            return EffectCheck(Progress.DONE, describe(seen))
        case WorkerState.RUNNING:
            return EffectCheck(Progress.DONE, describe(seen), RESTART_SECONDS)
        case WorkerState.FAILED:
            return EffectCheck(Progress.FAILED, _failure(seen), STALE_SECONDS)
        case WorkerState.UNASSIGNED | WorkerState.RESTARTING | WorkerState.DESTROYED:
            return EffectCheck(Progress.PENDING, describe(seen))
        case _:
            assert_never(seen.state)


def differs(step: Step, seen: ObservedConnector, *, doubtful: bool) -> EffectCheck | None:
    """Pending, with the keys, while the config differs from the config that was sent.

    Keys that a server adds are ignored. A masked value counts as equal, but it is no evidence that a request without an
    answer was received.
    """
    changed = {change.key for change in step.changes} if doubtful else set()
    keys = [
        key
        for key, value in step.config.items()
        if seen.config.get(key) != value and (key in changed or not is_mask(seen.config.get(key, "")))
    ]
    keys += [change.key for change in step.changes if change.after is None and change.key in seen.config]
    if not keys:
        return None
    hint = "if the server sets them itself, list them in spec.ignore"
    return EffectCheck(Progress.PENDING, f"another config (keys that differ: {', '.join(sorted(keys))}); {hint}")


def _failure(seen: ObservedConnector) -> str:
    return f"it is FAILED: {summary(seen.trace)}"


def describe(seen: ObservedConnector) -> str:
    """The state of the connector and of its first tasks."""
    if not seen.tasks:
        return f"{seen.state.value} without tasks"
    tasks = ", ".join(f"{task.id} {task.state.value}" for task in seen.tasks[:5])
    more = f" and {len(seen.tasks) - 5} more" if len(seen.tasks) > 5 else ""
    return f"{seen.state.value} with tasks {tasks}{more}"
