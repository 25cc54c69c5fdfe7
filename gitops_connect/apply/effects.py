"""When a step has had its effect: what must be observed for each action, as pure functions.

A status does not name the change that caused it, and Kafka updates it some time after it has accepted a change. If the
state before the change may look like the expected state, the state must therefore last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import assert_never

from gitops_connect.families.health_rules import failures, runs_without_tasks, why_no_tasks
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.desired import TargetState
from gitops_connect.model.health import FailedPart
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.sensitivity import is_mask

RESTART_SECONDS = 1.0
"""A running connector may not yet have begun the restart that its new config causes (DistributedHerder's tick)."""
STALE_SECONDS = 3.0
"""A FAILED that lasts longer counts as the state after the change, not as the state before a restart."""
_STOPPED, _PAUSED, _RUNNING = "STOPPED without tasks", "PAUSED with all its tasks", "RUNNING"
_REACHES = {Action.STOP: TargetState.STOPPED, Action.PAUSE: TargetState.PAUSED, Action.RESUME: TargetState.RUNNING}
_INITIAL = {TargetState.STOPPED: _STOPPED, TargetState.PAUSED: _PAUSED, TargetState.RUNNING: _RUNNING, None: _RUNNING}
_SENT = "the config that was sent and a connector that is not FAILED"
_WANTED = {
    Action.ADOPT: "the connector in the ledger",
    Action.CONFIGURE: _SENT,
    Action.ROLL_BACK: _SENT,
    Action.STOP: _STOPPED,
    Action.PAUSE: _PAUSED,
    Action.RESUME: _RUNNING,
    Action.RESTART: _RUNNING,
    Action.RESET_TOPICS: "no active topics",
    Action.DELETE: "no connector with this name",
    Action.ALTER: "the declared offsets",
    Action.RESET: "the declared offsets",
    Action.RECORD: "the declared offsets",
    Action.LIST: "the current offsets in the ConfigMap",
}
FailedParts = Mapping[FailedPart, str]
"""Every FAILED part, with the whole Java stack trace: its first line is often the same for different failures."""
TASKS_SECONDS = 3.0
"""A connector is RUNNING before it has tasks: they come with the rebalance that follows (DistributedHerder)."""
_SENDS_CONFIG = (Action.CREATE, Action.CONFIGURE, Action.ROLL_BACK)
_RESTARTS = (Action.CONFIGURE, Action.ROLL_BACK, Action.RESTART)
_NOT_RUN = (WorkerState.STOPPED, WorkerState.PAUSED)
_AT_REST = {WorkerState.PAUSED, WorkerState.FAILED}
"""A failed task stays failed while its connector is paused; it does no work either."""


class Progress(Enum):
    """How far a step has come. UNCONFIRMED: its change is in place, and nothing shows whether the connector works."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class EffectCheck:
    """The verdict of one poll on a step: its progress, what was found, and how long (seconds) that must last.

    `outlasts_start`: it must last for as long as the connector took to start, too.

    `took_effect`: the requested change is in place, even if the connector does not work with it. `warning`: what to
    report of a step that is done.
    """

    progress: Progress
    found: str
    lasting: float = 0.0
    took_effect: bool = False
    warning: str = ""
    outlasts_start: bool = False


def wanted(step: Step, watched: Watched | None = None, seconds: float = 0.0) -> str:
    """What must be observed, in words. A watched connector must run for so many seconds, or for `min_running`."""
    if watched is not None:
        sent = " and the config that was sent" if step.action in _SENDS_CONFIG else ""
        return f"RUNNING with all its tasks{sent} for {max(seconds, watched.min_running):.4g} s"
    if step.action is Action.CREATE:
        return f"{_INITIAL[step.initial_state]} with the config that was sent"
    return _WANTED[step.action]


def check_effect(
    step: Step, seen: ObservedConnector | None, watched: Watched | None = None, *, doubtful: bool = False
) -> EffectCheck:
    """The verdict of a poll on a step other than a delete.

    `seen` is None if the connector does not exist or has no status yet. With `watched`, the connector must work after
    the step. `doubtful`: the request was sent, and its answer is unknown.
    """
    if seen is None:
        return EffectCheck(Progress.PENDING, "no connector with this name and a status")
    if watched is not None and not (step.action in _SENDS_CONFIG and seen.state in _NOT_RUN):
        return _check_working(step, seen, watched, doubtful=doubtful)
    match step.action:
        case Action.CREATE:
            other = _differs(step, seen, doubtful=False) or _check_paused(step, seen)
            verdict = other or _check_state(step.initial_state or TargetState.RUNNING, seen)
        case Action.CONFIGURE | Action.ROLL_BACK | Action.RESTART:
            other = _differs(step, seen, doubtful=doubtful) or _check_restarted(step, seen, doubtful=doubtful)
            verdict = other or _check_restart(seen)
        case Action.STOP | Action.PAUSE | Action.RESUME:
            verdict = _check_state(_REACHES[step.action], seen)
        case Action.DELETE | Action.ALTER | Action.RESET | Action.LIST | Action.RECORD:
            verdict = EffectCheck(Progress.PENDING, _describe(seen))  # no status shows the effect
        case Action.ADOPT | Action.RESET_TOPICS:
            verdict = EffectCheck(Progress.PENDING, _describe(seen))  # no status shows the effect
        case _:
            assert_never(step.action)
    return verdict


def _check_paused(step: Step, seen: ObservedConnector) -> EffectCheck | None:
    """The verdict on a created connector that someone else has paused or stopped since then: it was created."""
    if not leaves_running(step) or seen.state not in _NOT_RUN:
        return None
    words = f"someone has paused or stopped it: it is {seen.state.value}"
    return EffectCheck(Progress.UNCONFIRMED, words, STALE_SECONDS)


def check_delete(*, gone: bool) -> EffectCheck:
    """A delete is done when no worker lists the name any more. A connector without a status still exists."""
    return EffectCheck(Progress.DONE, "") if gone else EffectCheck(Progress.PENDING, "that the connector still exists")


def _check_state(state: TargetState, seen: ObservedConnector) -> EffectCheck:
    is_failed = seen.state is WorkerState.FAILED
    match state:
        case TargetState.STOPPED:
            is_so = seen.state is WorkerState.STOPPED and not seen.tasks
        case TargetState.PAUSED if is_failed:
            # The worker accepts the pause of a failed connector, and then fails to pause it without reporting it.
            return EffectCheck(Progress.FAILED, f"the connector cannot be paused: {_failure(seen)}", STALE_SECONDS)
        case TargetState.PAUSED:
            is_so = seen.state is WorkerState.PAUSED and all(task.state in _AT_REST for task in seen.tasks)
        case TargetState.RUNNING if is_failed:
            return EffectCheck(Progress.FAILED, _failure(seen), took_effect=True)
        case TargetState.RUNNING:
            is_so = seen.state is WorkerState.RUNNING
        case TargetState.ABSENT:
            raise ValueError("a connector cannot be created as absent")
        case _:
            assert_never(state)
    return EffectCheck(Progress.DONE if is_so else Progress.PENDING, _describe(seen))


def _check_restarted(step: Step, seen: ObservedConnector, *, doubtful: bool) -> EffectCheck | None:
    """The verdict on a restart if the states show it: None if no part is FAILED, or for another action.

    A FAILED that lasts is a new failure: Connect reports each part as RESTARTING before it restarts the part
    (`AbstractHerder.buildRestartPlan`, `Worker`). The restart itself took effect, so this is a warning. If the answer
    is unknown, the states may be those before the restart.
    """
    if step.restart is None:
        return None
    failed = failures(seen)
    if doubtful and (failed or step.restart.request is not None):
        return EffectCheck(Progress.PENDING, f"{_describe(seen)}, which may be the state before the restart")
    if not failed:
        return None
    first, *more = failed
    others = f" (and {len(more)} more parts)" if more else ""
    words = f"{first.part} is FAILED again: {first.reason}{others}"
    return EffectCheck(Progress.DONE, words, STALE_SECONDS, took_effect=True, warning=words)


def _check_restart(seen: ObservedConnector) -> EffectCheck:
    match seen.state:
        case WorkerState.STOPPED | WorkerState.PAUSED:
            return EffectCheck(Progress.DONE, _describe(seen))
        case WorkerState.RUNNING:
            return EffectCheck(Progress.DONE, _describe(seen), RESTART_SECONDS)
        case WorkerState.FAILED:
            return EffectCheck(Progress.FAILED, _failure(seen), STALE_SECONDS, took_effect=True)
        case WorkerState.UNASSIGNED | WorkerState.RESTARTING | WorkerState.DESTROYED:
            return EffectCheck(Progress.PENDING, _describe(seen))


def _differs(step: Step, seen: ObservedConnector, *, doubtful: bool) -> EffectCheck | None:
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
    return f"it is FAILED: {failures(seen)[0].reason}"


def _describe(seen: ObservedConnector) -> str:
    parts = [*(f"{task.id} {task.state.value}" for task in seen.tasks), *(f"{one} starting" for one in seen.starting)]
    if not parts:
        return f"{seen.state.value} without tasks"
    tasks = ", ".join(parts[:5])
    more = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"{seen.state.value} with tasks {tasks}{more}"


# Whether a connector works after its last step, as pure functions: all of it must be RUNNING for a while.
#
# A task is RUNNING once its `start` has returned (`WorkerTask.doStart`), for a source and for a sink. Until then it has
# no status or an old one, and only the list of configured tasks shows that it exists. Many tasks
# fail after that, at their first `poll` or `put`; Connect still reports the connector RUNNING. How long that takes
# depends on the machine. So a connector must run for as long as it took to start: a slow machine lengthens both.
#
# A failed task keeps its status until its successor has started, without end if there is none. So a part that was
# FAILED before the step and still is, with an unchanged trace, says nothing about the step.


def failed_parts(seen: ObservedConnector) -> FailedParts:
    """Every part of a connector that is FAILED now, the connector itself first."""
    traces: dict[int | None, str] = {None: seen.trace, **{task.id: task.trace for task in seen.tasks}}
    return {failure: traces[failure.task] for failure in failures(seen)}


@dataclass(frozen=True, slots=True)
class Watched:
    """A step after which the connector must be RUNNING, with all its tasks, for `min_running` seconds.

    `failed_before` are the parts that were FAILED before the step and have had no other state since. `families` say why
    a connector may have no tasks.
    """

    min_running: float
    failed_before: FailedParts = field(default_factory=dict)
    families: Registry = field(default=BUILT_IN, repr=False)

    def after(self, seen: ObservedConnector) -> Watched:
        """The step with what is left of `failed_before`: a part that works, or fails in another way, was restarted."""
        return replace(self, failed_before=dict(self.failed_before.items() & failed_parts(seen).items()))


def leaves_running(step: Step) -> bool:
    """Whether the connector runs after the step; after a new config, if it ran before."""
    match step.action:
        case Action.CREATE:
            return step.initial_state in (None, TargetState.RUNNING)
        case Action.CONFIGURE | Action.ROLL_BACK | Action.RESUME | Action.RESTART:
            return True
        case Action.ALTER | Action.RESET | Action.RECORD | Action.LIST | Action.ADOPT:
            return False
        case Action.STOP | Action.PAUSE | Action.DELETE | Action.RESET_TOPICS:
            return False


def _check_working(step: Step, seen: ObservedConnector, watched: Watched, *, doubtful: bool) -> EffectCheck:
    is_config = step.action.changes_config
    if step.action in _SENDS_CONFIG and (other := _differs(step, seen, doubtful=doubtful and is_config)):
        return other
    if restarted := _check_restarted(step, seen, doubtful=doubtful):
        return restarted
    failed = failed_parts(seen)
    if new_failures := [part for part, trace in failed.items() if watched.failed_before.get(part) != trace]:
        # Before the restart that a new config causes, the old task may have failed by itself.
        lasting = STALE_SECONDS if is_config else 0.0
        return EffectCheck(Progress.FAILED, _words(new_failures), lasting, took_effect=True)
    if failed and step.action is Action.RESUME:
        # `WorkerTask.transitionTo` and `WorkerConnector.doStart` do not restart a failed part.
        found = f"{_words(failed)}; this part failed before the change, and a resume does not restart it"
        return EffectCheck(Progress.FAILED, found, STALE_SECONDS, took_effect=True)
    if failed:
        return EffectCheck(
            Progress.PENDING, f"the same failure as before the change: {_words(failed)}", took_effect=True
        )
    return _check_all_running(step, seen, watched)


def _check_all_running(step: Step, seen: ObservedConnector, watched: Watched) -> EffectCheck:
    if seen.state is not WorkerState.RUNNING or any(task.state is not WorkerState.RUNNING for task in seen.tasks):
        return EffectCheck(Progress.PENDING, _describe(seen))
    if seen.starting:
        return EffectCheck(Progress.UNCONFIRMED, _describe(seen), math.inf)
    if runs_without_tasks(seen, watched.families):
        found = f"it runs without tasks: {why_no_tasks(seen, watched.families)}"
        lasting = max(watched.min_running, TASKS_SECONDS)
        return EffectCheck(Progress.UNCONFIRMED, found, lasting, outlasts_start=True)
    lasting = max(watched.min_running, RESTART_SECONDS if step.action in _RESTARTS else 0.0)
    return EffectCheck(Progress.DONE, _describe(seen), lasting, took_effect=True, outlasts_start=True)


def _words(failed: Iterable[FailedPart]) -> str:
    first, *more = failed
    part = "it" if first.task is None else first.part
    others = f" (and {len(more)} more of its tasks)" if more else ""
    return f"{part} is FAILED: {first.reason}{others}"
