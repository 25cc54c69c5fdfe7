"""Whether a connector works after its last step, as pure functions: all of it must be RUNNING for a while.

Many tasks start, and fail at their first `poll` or `put`; Connect still reports the connector RUNNING. A failed task
keeps its status until its successor has started (`WorkerTask.doStart`), without end if there is none. So a part that
was FAILED before the step and still is, with an unchanged trace, says nothing about the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from gitops_connect.apply.effects import (
    RESTART_SECONDS,
    STALE_SECONDS,
    EffectCheck,
    Progress,
    check_effect,
    check_restarted,
    describe,
    differs,
)
from gitops_connect.model.desired import TargetState
from gitops_connect.model.health import FailedPart, failures, runs_without_tasks, why_no_tasks
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, Step

FailedParts = Mapping[FailedPart, str]
"""Every FAILED part, with the whole Java stack trace: its first line is often the same for different failures."""
TASKS_SECONDS = 3.0
"""A connector is RUNNING before it has tasks: they come with the rebalance that follows (DistributedHerder)."""
_SENDS_CONFIG = (Action.CREATE, Action.CONFIGURE)
_RESTARTS = (Action.CONFIGURE, Action.RESTART)
_NOT_RUN = (WorkerState.STOPPED, WorkerState.PAUSED)


def failed_parts(seen: ObservedConnector) -> FailedParts:
    """Every part of a connector that is FAILED now, the connector itself first."""
    traces: dict[int | None, str] = {None: seen.trace, **{task.id: task.trace for task in seen.tasks}}
    return {failure: traces[failure.task] for failure in failures(seen)}


@dataclass(frozen=True, slots=True)
class Watched:
    """A step after which the connector must be RUNNING, with all its tasks, for `min_running` seconds.

    `failed_before` are the parts that were FAILED before the step and have had no other state since.
    """

    min_running: float
    failed_before: FailedParts = field(default_factory=dict)

    def after(self, seen: ObservedConnector) -> Watched:
        """The step with what is left of `failed_before`: a part that works, or fails in another way, was restarted."""
        return Watched(self.min_running, dict(self.failed_before.items() & failed_parts(seen).items()))


def leaves_running(step: Step) -> bool:
    """Whether the connector runs after the step; after a new config, if it ran before."""
    match step.action:
        case Action.CREATE:
            return step.initial_state in (None, TargetState.RUNNING)
        case Action.CONFIGURE | Action.RESUME | Action.RESTART:
            return True
        case Action.ALTER | Action.RESET | Action.RECORD | Action.ADOPT:
            return False
        case Action.STOP | Action.PAUSE | Action.DELETE:
            return False
        case _:
            assert_never(step.action)


def wanted_working(step: Step, watched: Watched) -> str:
    """What must be observed, in words."""
    sent = " and the config that was sent" if step.action in _SENDS_CONFIG else ""
    return f"RUNNING with all its tasks{sent} for {watched.min_running:g} s"


def check_working(
    step: Step, seen: ObservedConnector | None, watched: Watched, *, doubtful: bool = False
) -> EffectCheck:
    """The verdict of a poll on a step that leaves the connector running. `seen` and `doubtful`: see `check_effect`."""
    if seen is None or (step.action is Action.CONFIGURE and seen.state in _NOT_RUN):
        return check_effect(step, seen, doubtful=doubtful)
    is_config = step.action is Action.CONFIGURE
    if step.action in _SENDS_CONFIG and (other := differs(step, seen, doubtful=doubtful and is_config)):
        return other
    if restarted := check_restarted(step, seen, doubtful=doubtful):
        return restarted
    failed = failed_parts(seen)
    if new_failures := [part for part, trace in failed.items() if watched.failed_before.get(part) != trace]:
        # Before the restart that a new config causes, the old task may have failed by itself.
        lasting = STALE_SECONDS if is_config else 0.0
        return EffectCheck(Progress.FAILED, _words(new_failures), lasting, took_effect=True)
    if failed:
        return _check_failed_before(step, failed)
    return _check_running(step, seen, watched)


def _check_failed_before(step: Step, failed: FailedParts) -> EffectCheck:
    if step.action is Action.RESUME:
        # `WorkerTask.transitionTo` and `WorkerConnector.doStart` do not restart a failed part.
        found = f"{_words(failed)}; this part failed before the change, and a resume does not restart it"
        return EffectCheck(Progress.FAILED, found, STALE_SECONDS, took_effect=True)
    return EffectCheck(Progress.PENDING, f"the same failure as before the change: {_words(failed)}", took_effect=True)


def _check_running(step: Step, seen: ObservedConnector, watched: Watched) -> EffectCheck:
    if seen.state is not WorkerState.RUNNING or any(task.state is not WorkerState.RUNNING for task in seen.tasks):
        return EffectCheck(Progress.PENDING, describe(seen))
    if runs_without_tasks(seen):
        warning = f"it runs without tasks: {why_no_tasks(seen)}"
        lasting = max(watched.min_running, TASKS_SECONDS)
    else:
        warning = ""
        lasting = max(watched.min_running, RESTART_SECONDS if step.action in _RESTARTS else 0.0)
    return EffectCheck(Progress.DONE, describe(seen), lasting, took_effect=True, warning=warning)


def _words(failed: Iterable[FailedPart]) -> str:
    """The first failed part, its reason, and the number of other failed parts."""
    first, *more = failed
    part = "it" if first.task is None else first.part
    others = f" (and {len(more)} more of its tasks)" if more else ""
    return f"{part} is FAILED: {first.reason}{others}"
