"""The steps of one connector, in the order in which they run, each with its reason.

The state changes before the config: if Connect rejects a config, a connector that should be stopped is stopped anyway.
A step that starts a connector (resume, or pause after a stop) comes after its config.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitops_connect.connect.capabilities import GET_OFFSETS, INITIAL_STATE, STOP
from gitops_connect.connect.validation import installed_versions
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.revisions import origin
from gitops_connect.plan.config_diff import ConfigDiff, diff
from gitops_connect.plan.connector_operations import OperationsPlan
from gitops_connect.plan.guards import delete
from gitops_connect.plan.known_secrets import uncompared
from gitops_connect.plan.listings import requested_listings
from gitops_connect.plan.manual_pause import manual_pause, why_paused
from gitops_connect.plan.ownership_records import adoption, drifted
from gitops_connect.plan.restarts import requested_restarts
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.suspended import suspension_of, why_observed_only

Steps = tuple[Step, ...]
Notes = tuple[str, ...]

_NOTHING: tuple[Steps, Notes] = ((), ())

_STEADY = {
    WorkerState.RUNNING: TargetState.RUNNING,
    WorkerState.UNASSIGNED: TargetState.RUNNING,
    WorkerState.RESTARTING: TargetState.RUNNING,
    WorkerState.PAUSED: TargetState.PAUSED,
    WorkerState.STOPPED: TargetState.STOPPED,
}

_TRANSITIONS: dict[TargetState, dict[TargetState | None, tuple[tuple[Action, ...], tuple[Action, ...]]]] = {
    TargetState.STOPPED: {
        TargetState.RUNNING: ((Action.STOP,), ()),
        TargetState.PAUSED: ((Action.STOP,), ()),
        None: ((Action.STOP,), ()),
    },
    TargetState.PAUSED: {
        TargetState.RUNNING: ((Action.PAUSE,), ()),
        TargetState.STOPPED: ((), (Action.PAUSE,)),
        # A worker accepts the pause of a failed connector (202) and then fails to pause it; a stopped one it can pause.
        None: ((Action.STOP,), (Action.PAUSE,)),
    },
    TargetState.RUNNING: {
        TargetState.PAUSED: ((), (Action.RESUME,)),
        TargetState.STOPPED: ((), (Action.RESUME,)),
    },
    TargetState.ABSENT: {},
}
"""From the desired and the observed state (None: failed) to the actions before the config and after it."""


def steady(state: WorkerState) -> TargetState | None:
    """What a reported state says about the target state that Kafka stores; FAILED says nothing about it."""
    return _STEADY.get(state)


def plan_connector(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> ConnectorPlan:
    """Every step that brings this connector in sync with its document, and notes for the reader."""
    declared, by_hand = desired, manual_pause(situation, desired)
    if by_hand is not None:
        desired = replace(declared, state=by_hand)
    decided, notes = decide(situation, desired, operations)
    changes = (*decided, *requested_restarts(situation, desired, decided), *requested_listings(situation, desired))
    steps = (*adoption(situation, desired, changes), *changes)
    notes = (*notes, *operations.notes, *_left_as_it_is(by_hand), *_rolled_back(desired))
    notes = (*notes, *version_notes(situation, desired, steps), *_without_offsets(situation, desired))
    notes = (*notes, *_not_compared(situation, desired))
    observed_only, suspension = why_observed_only(situation, desired), suspension_of(situation, desired.name, desired)
    differs = by_hand is not None or _is_out_of_sync(desired, situation.observed.connectors.get(desired.name))
    return ConnectorPlan(
        desired.name,
        steps,
        (*notes, f"{observed_only}: the steps are shown but not applied") if steps and observed_only else notes,
        desired.locate(("metadata", "name")),
        applicable=not (observed_only or suspension),
        drifted=any(step.operation is None for step in decided)
        and not operations.steps
        and drifted(situation, declared),
        out_of_sync=desired.rolled_back is not None or (not changes and differs),
        operations=operations.planned,
        suspension=suspension,
    )


def _left_as_it_is(by_hand: TargetState | None) -> Notes:
    why = why_paused(by_hand)
    return (
        (f"{why}: it stays in this state until someone resumes it, or its document changes its state or config",)
        if why
        else ()
    )


def _not_compared(situation: Situation, desired: DesiredConnector) -> Notes:
    keys = uncompared(situation, desired)
    why = "no secret is read before the merge, and the ledger does not know which ones were applied"
    return (f"not compared, because {why}: {', '.join(keys)}",) if keys else ()


def _rolled_back(desired: DesiredConnector) -> Notes:
    found = desired.rolled_back
    if found is None:
        return ()
    keys = ", ".join(found.keys)
    when = f"{found.at:%Y-%m-%d %H:%M:%S} UTC"
    what = f"its config of {origin(found.revision)} was rolled back at {when} (changed keys: {keys})"
    return (f"{what}, because the connector did not work with it: {found.reason}; commit another config",)


def _without_offsets(situation: Situation, desired: DesiredConnector) -> Notes:
    version = situation.observed.version
    if desired.offsets_move_within is None or GET_OFFSETS.is_in(version):
        return ()
    return (f"{GET_OFFSETS.missing(version)}: spec.health.offsetsMoveWithin has no effect",)


def _is_out_of_sync(desired: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether it is unexpectedly there, or not STOPPED as declared: it is unmanaged, or the worker is too old."""
    if observed is None:
        return False
    is_not_stopped = desired.state is TargetState.STOPPED and observed.state is not WorkerState.STOPPED
    return desired.state is TargetState.ABSENT or is_not_stopped


def decide(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> tuple[Steps, Notes]:
    """The steps of a connector with these offset changes, and notes for the reader."""
    observed = situation.observed.connectors.get(desired.name)
    if desired.name in situation.observed.unknown or (observed and observed.state is WorkerState.DESTROYED):
        return (), ("its state could not be read: nothing is planned for it",)
    if desired.state is TargetState.ABSENT:
        return _absent(situation, desired) if observed else _NOTHING
    if _needs_stop(desired, observed) and not STOP.is_in(situation.observed.version):
        return (), (f"{STOP.missing(situation.observed.version)}: no steps",)
    if observed is None:
        return _create(situation, desired, operations)
    return _change(situation, desired, observed, operations)


def _needs_stop(desired: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether the desired state needs a stop: also PAUSED, if the connector is FAILED."""
    is_failed = observed is not None and steady(observed.state) is None
    return desired.state is TargetState.STOPPED or (desired.state is TargetState.PAUSED and is_failed)


def _absent(situation: Situation, desired: DesiredConnector) -> tuple[Steps, Notes]:
    if desired.name not in situation.ownership:
        note = (
            "state is absent, but the connector is unmanaged, so it is not deleted;"
            " to adopt it, declare it with its current config and apply that first"
        )
        return (), (note,)
    return delete(situation, desired.name, "state: absent", desired.on_delete)


def _create(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> tuple[Steps, Notes]:
    """The steps that create the connector: STOPPED first if offsets must be set before it runs."""
    if desired.name in situation.invalid:
        return (), ("its config has errors: the connector is not created",)
    if operations.blocked:
        return (), (f"{operations.blocked}: the connector is not created",)
    config = diff(situation, desired, None)
    state = TargetState.STOPPED if operations.steps else desired.state
    at_once = state is TargetState.RUNNING or INITIAL_STATE.is_in(situation.observed.version)
    create = Step(
        desired.name,
        Action.CREATE,
        "declared, but not on the cluster",
        config.changes,
        config.config,
        config.sensitive,
        state if at_once and state is not TargetState.RUNNING else None,
        operations.seed,
    )
    then = (*operations.steps, *start(desired)) if operations.steps else ()
    if at_once:
        return (create, *then), ()
    bring = Step(desired.name, Action.STOP if state is TargetState.STOPPED else Action.PAUSE, f"state: {state.value}")
    why = INITIAL_STATE.missing(situation.observed.version)
    return (create, bring, *then), (f"{why}: it runs briefly before that",)


def start(desired: DesiredConnector) -> Steps:
    """The step from STOPPED to the desired state."""
    action = {TargetState.RUNNING: Action.RESUME, TargetState.PAUSED: Action.PAUSE}.get(desired.state)
    return (Step(desired.name, action, f"state: stopped -> {desired.state.value}"),) if action else ()


def _around(desired: DesiredConnector, observed: ObservedConnector) -> tuple[Steps, Steps]:
    """The steps before and after an offset change: a stop, because offsets need it, and then the desired state."""
    stop = Step(desired.name, Action.STOP, "offsets can be changed only while the connector is stopped")
    return () if observed.state is WorkerState.STOPPED else (stop,), start(desired)


def _change(
    situation: Situation, desired: DesiredConnector, observed: ObservedConnector, operations: OperationsPlan
) -> tuple[Steps, Notes]:
    config = diff(situation, desired, observed)
    notes, transition = _notes(config), _transition(desired, observed)
    if _may_run_on(situation, desired, operations) and not config.changes and transition == ((), ()):
        return tuple(_recorded(step) for step in operations.steps), (*notes, *_not_running(desired, observed))
    before, after = _around(desired, observed) if operations.steps else transition
    if desired.name in situation.invalid:
        if config.changes or after:
            notes = (*notes, "its config has errors: only stop and pause are planned")
        return (*before, *operations.steps), notes
    if operations.blocked and after:
        after, notes = (), (*notes, f"{operations.blocked}: no step that starts the connector is planned")
    if not config.changes:
        notes = (*notes, *_not_running(desired, observed))
    return (*before, *_configure(desired, config), *operations.steps, *after), notes


def _configure(desired: DesiredConnector, config: ConfigDiff) -> Steps:
    if not config.changes:
        return ()
    return (Step(desired.name, Action.CONFIGURE, _why(config), config.changes, config.config, config.sensitive),)


def _why(config: ConfigDiff) -> str:
    count, secrets = len(config.changes), len(config.rotated)
    if count == secrets:
        return "the secret changed" if count == 1 else f"{count} secrets changed"
    differ = f"{count} key{'s differ' if count > 1 else ' differs'}"
    return f"{differ}, {secrets} of them because the secret changed" if secrets else differ


def _transition(desired: DesiredConnector, observed: ObservedConnector) -> tuple[Steps, Steps]:
    """The steps from the reported to the desired state: those before the config, and those after it."""
    reason = f"state: {observed.state.value.lower()} -> {desired.state.value}"
    before, after = _TRANSITIONS[desired.state].get(steady(observed.state), ((), ()))
    return (
        tuple(Step(desired.name, action, reason) for action in before),
        tuple(Step(desired.name, action, reason) for action in after),
    )


def _notes(config: ConfigDiff) -> Notes:
    notes = []
    if config.ignored:
        notes.append(f"keys that differ and are ignored: {', '.join(config.ignored)}")
    if config.uncompared:
        keys = ", ".join(config.uncompared)
        notes.append(
            f"assumed to be equal, because Connect masks the values and the ledger has no record of them: {keys}"
        )
    return tuple(notes)


def _may_run_on(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> bool:
    """Whether the connector's offset changes need no stop: each finds every partition at the declared offset.

    A class that gitops-connect does not know may also keep a position elsewhere, and move it when Connect calls its
    `alterOffsets` (KIP-875): that class is sent the request anyway. A running connector continues from the declared
    offset, as the change requires; records that it has read and not committed yet are not read again.
    """
    return operations.changes_nothing and situation.families.shape(desired.config) is not None


def _recorded(step: Step) -> Step:
    reason = f"{step.reason} (every offset already matches: recorded as applied, the connector is not stopped)"
    return replace(step, action=Action.RECORD, reason=reason)


def _not_running(desired: DesiredConnector, observed: ObservedConnector) -> Notes:
    """States that no step fixes. A connector that is FAILED is in `Plan.unhealthy`."""
    if desired.state is TargetState.RUNNING and observed.state is WorkerState.UNASSIGNED:
        return ("it is UNASSIGNED: no worker runs it yet, so it is unknown whether it must be resumed",)
    return ()


# Notes about the version of a connector's plugin: which one is declared, which one runs, and which are installed.

_VERSION = "connector.plugin.version"


def version_notes(situation: Situation, desired: DesiredConnector, steps: Iterable[Step]) -> tuple[str, ...]:
    """A note if a config is sent, and it chooses a version or several are installed."""
    class_name, declared = desired.config.get("connector.class", ""), desired.config.get(_VERSION)
    installed = installed_versions(situation.plugins, class_name)
    if not installed or not any(step.config for step in steps):
        return ()
    listed = ", ".join(installed)
    if declared is None:
        choice = f"several versions of {class_name} are installed ({listed}), and Connect uses the newest"
        return (f"{choice}; choose one with spec.version",) if len(installed) > 1 else ()
    observed = situation.observed.connectors.get(desired.name)
    running = f", running: {observed.version}" if observed is not None and observed.version else ""
    return (f"version of the plugin: declared: {declared}, installed: {listed}{running}",)
