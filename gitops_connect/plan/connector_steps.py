"""The steps of one connector, in the order in which they run, each with its reason.

The state changes before the config: if Connect rejects a config, a connector that should be stopped is stopped anyway.
A step that starts a connector (resume, or pause after a stop) comes after its config.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gitops_connect.connect.capabilities import CHANGE_OFFSETS, GET_OFFSETS, INITIAL_STATE, STOP
from gitops_connect.connect.validation import installed_versions
from gitops_connect.model.canonical import digest
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.desired import DesiredConnector, OnDelete, TargetState
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeState, clear_name
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.revisions import origin
from gitops_connect.plan.config_diff import ConfigDiff, diff
from gitops_connect.plan.connector_changes import OffsetChangesPlan
from gitops_connect.plan.delivery import delivery_change
from gitops_connect.plan.holds import holds_of, manual_pause, suspension_of, why_observed_only, why_paused
from gitops_connect.plan.known_secrets import uncompared
from gitops_connect.plan.offset_change_status import requested_listings
from gitops_connect.plan.offset_stores import removal_problem
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.precedence import Intent, denied_by
from gitops_connect.plan.restarts import requested_restarts, waiting_restarts
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.topics import leftovers_reset, topic_notes, topics_reset

Remark = str | Hold
Notes = tuple[Remark, ...]
"""What a reader has to know about the steps, and what keeps others from being planned."""


class Intended(NamedTuple):
    """A step, and what it is for."""

    intent: Intent
    step: Step


Steps = tuple[Intended, ...]
Denied = frozenset[Intent]
_NONE_DENIED: Denied = frozenset()
_NO_DRIFT = {Intent.ADOPT, Intent.RESTART, Intent.RESET_TOPICS, Intent.LIST, Intent.ROLL_BACK}

_VERSION = "connector.plugin.version"

_STEADY = {
    WorkerState.RUNNING: TargetState.RUNNING,
    WorkerState.UNASSIGNED: TargetState.RUNNING,
    WorkerState.RESTARTING: TargetState.RUNNING,
    WorkerState.PAUSED: TargetState.PAUSED,
    WorkerState.STOPPED: TargetState.STOPPED,
}

_BEFORE_CONFIG: dict[tuple[TargetState | None, TargetState], Action] = {
    (TargetState.RUNNING, TargetState.STOPPED): Action.STOP,
    (TargetState.PAUSED, TargetState.STOPPED): Action.STOP,
    (None, TargetState.STOPPED): Action.STOP,
    (TargetState.RUNNING, TargetState.PAUSED): Action.PAUSE,
    # A worker accepts the pause of a failed connector (202) and then fails to pause it; a stopped one it can pause.
    (None, TargetState.PAUSED): Action.STOP,
}
"""From the observed (None: failed) and the desired state to the action that comes before the config."""
_AFTER_CONFIG: dict[tuple[TargetState | None, TargetState], Action] = {
    (TargetState.STOPPED, TargetState.PAUSED): Action.PAUSE,
    (None, TargetState.PAUSED): Action.PAUSE,
    (TargetState.PAUSED, TargetState.RUNNING): Action.RESUME,
    (TargetState.STOPPED, TargetState.RUNNING): Action.RESUME,
}


UNREAD = Hold(HoldKind.UNREADABLE, "its state could not be read", "make sure that a worker answers")
INVALID = Hold(HoldKind.INVALID, "its config has errors", "fix them; until then, it is only stopped or paused")


def steady(state: WorkerState) -> TargetState | None:
    """What a reported state says about the target state that Kafka stores; FAILED says nothing about it."""
    return _STEADY.get(state)


def compose(
    situation: Situation, declared: DesiredConnector, offset_changes: OffsetChangesPlan, denied: Denied = _NONE_DENIED
) -> tuple[Steps, Notes]:
    """The steps that bring a connector in sync with its document, without the intents in `denied`, and notes."""
    by_hand = manual_pause(situation, declared)
    desired = declared if by_hand is None else replace(declared, state=by_hand)
    decided, notes = _decide(situation, declared, desired, offset_changes, denied)
    requested = requested_restarts(situation, desired, [one.step for one in decided])
    listings = requested_listings(situation, desired)
    changes = (*decided, *_for(Intent.RESTART, requested, denied), *_for(Intent.LIST, listings, denied))
    if UNREAD not in notes:
        reset = _for(Intent.RESET_TOPICS, topics_reset(situation, desired, [one.step for one in decided]), denied)
        if reset:  # no second one for what the deletion leaves
            changes = tuple(one for one in changes if one.step.action is not Action.RESET_TOPICS)
        changes = (*changes, *reset) if desired.name in situation.observed.connectors else (*reset, *changes)
    return (*_for(Intent.ADOPT, _adoption(situation, desired, changes), denied), *changes), notes


def _for(intent: Intent, steps: Iterable[Step], denied: Denied) -> Steps:
    return () if intent in denied else tuple(Intended(intent, step) for step in steps)


def plan_connector(
    situation: Situation, declared: DesiredConnector, offset_changes: OffsetChangesPlan
) -> tuple[ConnectorPlan, Steps]:
    """Everything that a connector is to do, as if nothing held it, and what each step is for."""
    wanted, remarks = compose(situation, declared, offset_changes)
    steps, observed = tuple(one.step for one in wanted), situation.observed.connectors.get(declared.name)
    by_hand = manual_pause(situation, declared)
    desired = declared if by_hand is None else replace(declared, state=by_hand)
    remarks = (*remarks, *offset_changes.notes, *_further_notes(situation, desired, by_hand, steps))
    intents = {one.intent for one in wanted}
    is_changed = any(one.intent not in _NO_DRIFT and one.step.offset_change is None for one in wanted)
    differs = by_hand is not None or _is_out_of_sync(desired, observed)
    return ConnectorPlan(
        declared.name,
        steps,
        tuple(one for one in remarks if isinstance(one, str)),
        declared.locate(("metadata", "name")),
        drifted=is_changed and not offset_changes.steps and drifted(situation, declared),
        out_of_sync=declared.rolled_back is not None or (intents <= {Intent.ADOPT} and differs),
        offset_changes=tuple(offset_changes.planned),
        suspension=suspension_of(situation, declared.name, declared),
        holds=tuple(one for one in remarks if isinstance(one, Hold)),
    ), wanted


def _adoption(situation: Situation, connector: DesiredConnector, changes: Steps) -> tuple[Step, ...]:
    """The step that makes an existing connector managed, before its other steps; empty if there is none.

    Connectors that are only observed stay unmanaged. So does a connector whose config has errors, if nothing else is
    planned for it: its document may name another connector than the author meant.
    """
    observed = situation.observed.connectors.get(connector.name)
    if connector.name in situation.ownership or observed is None or _is_unread(situation, observed):
        return ()
    if connector.state is TargetState.ABSENT or why_observed_only(situation, connector):
        return ()
    if connector.name in situation.invalid and not changes:
        return ()
    return (Step(connector.name, Action.ADOPT, "it exists on the cluster, and is declared now"),)


def _further_notes(
    situation: Situation, desired: DesiredConnector, by_hand: TargetState | None, steps: Sequence[Step]
) -> Iterator[Remark]:
    if why := why_paused(by_hand):
        yield Hold(HoldKind.MANUAL_PAUSE, why, "resume it, or change its state or its config in the document")
    if desired.rolled_back is not None:
        yield f"{rolled_back_words(desired.rolled_back)}; commit another config"
    if any(step.config for step in steps):
        yield from version_note(situation, desired)
    yield from topic_notes(situation, desired, steps)
    yield from waiting_restarts(situation, desired, steps)
    version = situation.observed.version
    if (desired.offsets_move_within or desired.partitions_move_within) and not GET_OFFSETS.is_in(version):
        yield f"{GET_OFFSETS.missing(version)}: spec.health has no effect"
    if uncompared_keys := uncompared(situation, desired):
        why = "no secret is read before the merge, and the ledger does not know which ones were applied"
        yield f"not compared, because {why}: {', '.join(uncompared_keys)}"


def rolled_back_words(found: RolledBack) -> str:
    keys, when = ", ".join(found.keys), f"{found.at:%Y-%m-%d %H:%M:%S} UTC"
    what = f"its config of {origin(found.revision)} was rolled back at {when} (changed keys: {keys})"
    return f"{what}, because the connector did not work with it: {found.reason}"


def version_note(situation: Situation, desired: DesiredConnector) -> Iterator[str]:
    """The version of the plugin, if the config that is sent chooses one, or several are installed."""
    class_name, declared = desired.config.get("connector.class", ""), desired.config.get(_VERSION)
    installed = installed_versions(situation.plugins, class_name)
    listed = ", ".join(installed)
    if declared is not None and installed:
        observed = situation.observed.connectors.get(desired.name)
        running = f", running: {observed.version}" if observed is not None and observed.version else ""
        yield f"version of the plugin: declared: {declared}, installed: {listed}{running}"
    elif len(installed) > 1:
        choice = f"several versions of {class_name} are installed ({listed}), and Connect uses the newest"
        yield f"{choice}; choose one with spec.version"


def _is_out_of_sync(desired: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether it is unexpectedly there, or not STOPPED as declared: it is unmanaged, or the worker is too old."""
    if observed is None:
        return False
    is_not_stopped = desired.state is TargetState.STOPPED and observed.state is not WorkerState.STOPPED
    return desired.state is TargetState.ABSENT or is_not_stopped


def _decide(
    situation: Situation,
    declared: DesiredConnector,
    desired: DesiredConnector,
    offset_changes: OffsetChangesPlan,
    denied: Denied,
) -> tuple[Steps, Notes]:
    """The steps of a connector with these offset changes, and notes for the reader."""
    observed = situation.observed.connectors.get(desired.name)
    if desired.name in situation.observed.unknown or (observed and _is_unread(situation, observed)):
        return (), (UNREAD,)
    if desired.state is TargetState.ABSENT:
        steps, notes = _absent(situation, desired) if observed else ((), ())
        return _for(Intent.DELETE, steps, denied), notes
    is_failed = observed is not None and steady(observed.state) is None
    needs_stop = desired.state is TargetState.STOPPED or (desired.state is TargetState.PAUSED and is_failed)
    if needs_stop and not STOP.is_in(situation.observed.version):
        return (), (f"{STOP.missing(situation.observed.version)}: no steps",)
    if observed is None:
        steps, notes = _create(situation, desired, offset_changes)
        return _for(Intent.CREATE, steps, denied), notes
    return _Change(situation, declared, desired, observed, offset_changes, denied).steps()


def _is_unread(situation: Situation, observed: ObservedConnector) -> bool:
    return observed.state is WorkerState.DESTROYED or observed.name in situation.observed.unknown


def _absent(situation: Situation, desired: DesiredConnector) -> tuple[tuple[Step, ...], Notes]:
    if desired.name not in situation.ownership:
        note = (
            "state is absent, but the connector is unmanaged, so it is not deleted;"
            " to adopt it, declare it with its current config and apply that first"
        )
        return (), (note,)
    return delete(situation, desired.name, "state: absent", desired.on_delete)


def _create(
    situation: Situation, desired: DesiredConnector, offset_changes: OffsetChangesPlan
) -> tuple[tuple[Step, ...], Notes]:
    if desired.name in situation.invalid:
        return (), (replace(INVALID, release="fix them, so that the connector is created"),)
    if offset_changes.blocked:
        release = "fix the offset change, so that the connector is created"
        return (), (Hold(HoldKind.OFFSET_CHANGE, offset_changes.blocked, release),)
    config = diff(situation, desired, None)
    state = TargetState.STOPPED if offset_changes.steps else desired.state
    at_once = state is TargetState.RUNNING or INITIAL_STATE.is_in(situation.observed.version)
    create = Step(
        desired.name,
        Action.CREATE,
        "declared, but not on the cluster",
        config.changes,
        config.config,
        config.sensitive,
        state if at_once and state is not TargetState.RUNNING else None,
        offset_changes.seed,
    )
    then = (*offset_changes.steps, *start(desired)) if offset_changes.steps else ()
    if at_once:
        return (create, *then), ()
    bring = Step(desired.name, Action.STOP if state is TargetState.STOPPED else Action.PAUSE, f"state: {state.value}")
    why = INITIAL_STATE.missing(situation.observed.version)
    return (create, bring, *then), (f"{why}: it runs briefly before that",)


def start(desired: DesiredConnector) -> tuple[Step, ...]:
    """The step from STOPPED to the desired state."""
    action = {TargetState.RUNNING: Action.RESUME, TargetState.PAUSED: Action.PAUSE}.get(desired.state)
    return (Step(desired.name, action, f"state: stopped -> {desired.state.value}"),) if action else ()


@dataclass(frozen=True, slots=True)
class _Change:
    """An existing connector that is to be brought in sync. `desired`: `declared`, in the state that someone gave it."""

    situation: Situation
    declared: DesiredConnector
    desired: DesiredConnector
    observed: ObservedConnector
    offset_changes: OffsetChangesPlan
    denied: Denied

    def steps(self) -> tuple[Steps, Notes]:
        config = diff(self.situation, self.desired, self.observed)
        notes, (before, after) = _notes(config), self._transition()
        if self._runs_on() and not (config.changes or before or after):
            return self._recorded(), (*notes, *_not_running(self.desired, self.observed))
        changed, blocked = self._offset_changes(), self.offset_changes.blocked
        if changed:
            before, after = self._around()
        configure, is_invalid = self._configure(config), self._is_invalid()
        if is_invalid and (configure or after):
            notes = (*notes, INVALID)
        elif blocked and after:
            release = "fix the offset change, so that the connector is started"
            notes = (*notes, Hold(HoldKind.OFFSET_CHANGE, blocked, release))
        if not (is_invalid or configure):
            notes = (*notes, *_not_running(self.desired, self.observed))
        holds = [HoldKind.INVALID] * is_invalid + [HoldKind.OFFSET_CHANGE] * (bool(blocked) or self._must_wait(changed))
        denied = self.denied | denied_by(holds)
        return tuple(one for one in (*before, *configure, *changed, *after) if one.intent not in denied), notes

    def _is_invalid(self) -> bool:
        """Whether Connect rejects the config. A restored config has worked before."""
        is_restored = self.desired.rolled_back is not None and self.desired.name in self.situation.restored
        return self.desired.name in self.situation.invalid and not is_restored

    def _runs_on(self) -> bool:
        """Whether the connector need not be stopped for offset changes that would change nothing.

        A class that gitops-connect does not know may also keep a position elsewhere, and move it when Connect calls its
        `alterOffsets` (KIP-875): that class is sent the request anyway. A running connector continues from the declared
        offset, as the change requires; records that it has read and not committed yet are not read again.
        """
        if not self.offset_changes.changes_nothing:
            return False
        return self.situation.families.shape(self.desired.config) is not None

    def _recorded(self) -> Steps:
        matches = "(every offset already matches: recorded as applied, the connector is not stopped)"
        steps = self.offset_changes.steps
        recorded = (replace(one, action=Action.RECORD, reason=f"{one.reason} {matches}") for one in steps)
        return _for(Intent.RECORD, recorded, self.denied)

    def _offset_changes(self) -> Steps:
        """The steps of the offset changes. One that was begun is finished while its connector is STOPPED."""
        begun = self.situation.offsets.unfinished.keys() if self.observed.state is WorkerState.STOPPED else ()
        intended = (
            Intended(
                Intent.FINISH if one.offset_change and one.offset_change.name in begun else Intent.CHANGE_OFFSETS, one
            )
            for one in self.offset_changes.steps
        )
        return tuple(one for one in intended if one.intent not in self.denied)

    def _around(self) -> tuple[Steps, Steps]:
        """The steps before and after offset changes."""
        after = tuple(Intended(Intent.RETURN, step) for step in start(self.desired))
        if self.observed.state is WorkerState.STOPPED:
            return (), after
        stop = Step(self.desired.name, Action.STOP, "offsets can be changed only while the connector is stopped")
        return (Intended(Intent.CHANGE_OFFSETS, stop),), after

    def _must_wait(self, changed: Steps) -> bool:
        """Whether an offset change is held, so that the connector must not be started by other steps before it.

        One that was stopped for a change returns to work when the change is held, but not if it has never worked.
        """
        returns = self.desired.name in self.situation.stopped and self.offset_changes.seed is None
        return not changed and bool(self.offset_changes.steps) and not returns

    def _configure(self, config: ConfigDiff) -> Steps:
        if not config.changes:
            return ()
        count, secrets = len(config.changes), len(config.rotated)
        if count == secrets:
            why = "the secret changed" if count == 1 else f"{count} secrets changed"
        else:
            differ = f"{count} key{'s differ' if count > 1 else ' differs'}"
            why = f"{differ}, {secrets} of them because the secret changed" if secrets else differ
        intent = Intent.CORRECT if drifted(self.situation, self.declared) else Intent.CONFIGURE
        action = Action.CONFIGURE
        if (back := self.desired.rolled_back) is not None:
            intent, action = Intent.ROLL_BACK, Action.ROLL_BACK
            why = f"from the config of {origin(back.revision)} to the one that worked last: {why}"
        is_declared = intent is Intent.CONFIGURE
        delivery = delivery_change(self.situation, self.observed, config.config, is_declared=is_declared)
        step = Step(self.desired.name, action, why, config.changes, config.config, config.sensitive, delivery=delivery)
        return (Intended(intent, step),)

    def _transition(self) -> tuple[Steps, Steps]:
        """The steps before and after the config that bring the connector to its desired state."""
        reason = f"state: {self.observed.state.value.lower()} -> {self.desired.state.value}"
        change = steady(self.observed.state), self.desired.state
        if not any(change in actions for actions in (_BEFORE_CONFIG, _AFTER_CONFIG)):
            return (), ()
        is_unchanged = drifted(self.situation, self.declared)
        stop, resume = (Intent.HALT, Intent.RESUME) if is_unchanged else (Intent.STOP, Intent.START)
        if self.observed.state is WorkerState.STOPPED and self.desired.name in self.situation.stopped:
            resume = Intent.RETURN
        before, after = (
            (Intended(intent, Step(self.desired.name, actions[change], reason)),) if change in actions else ()
            for intent, actions in ((stop, _BEFORE_CONFIG), (resume, _AFTER_CONFIG))
        )
        return before, after


def _notes(config: ConfigDiff) -> Notes:
    masked = "assumed to be equal, because Connect masks the values and the ledger has no record of them"
    found = (("keys that differ and are ignored", config.ignored), (masked, config.uncompared))
    return tuple(f"{what}: {', '.join(keys)}" for what, keys in found if keys)


def _not_running(desired: DesiredConnector, observed: ObservedConnector) -> Notes:
    """States that no step fixes. A connector that is FAILED is in `Plan.unhealthy`."""
    if desired.state is TargetState.RUNNING and observed.state is WorkerState.UNASSIGNED:
        return ("it is UNASSIGNED: no worker runs it yet, so it is unknown whether it must be resumed",)
    return ()


# Deletes a connector that is declared absent or no longer declared, with its offsets and what Connect leaves of its
# active topics if `onDelete` says so.

_ON_DELETE = "onDelete: the offsets are reset first"


def delete(
    situation: Situation, name: ConnectorName, reason: str, on_delete: OnDelete
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """The steps that delete an existing connector, and notes for the reader."""
    final = (Step(name, Action.DELETE, reason), *leftovers_reset(situation, name, on_delete))
    if not on_delete.resets_offsets:
        return final, ()
    if not CHANGE_OFFSETS.is_in(situation.observed.version):
        return (), (f"{CHANGE_OFFSETS.missing(situation.observed.version)}: not deleted",)
    if problem := removal_problem(situation, name):
        return (), (f"not deleted, because onDelete removes its offsets first: {problem}",)
    clear = OffsetChange(
        clear_name(name), name, OffsetChangeKind.CLEAR, digest([name, OffsetChangeKind.CLEAR.value]), situation.revision
    )
    reset = Step(name, Action.RESET, _ON_DELETE, offset_change=clear)
    if situation.observed.connectors[name].state is WorkerState.STOPPED:
        return (reset, *final), ()
    return (Step(name, Action.STOP, _ON_DELETE), reset, *final), ()


def is_half_deleted(situation: Situation, name: ConnectorName) -> bool:
    """Whether the connector exists and its offsets may be gone: a deletion with offsets was begun and interrupted."""
    record = situation.offsets.records.get(clear_name(name))
    return record is not None and record.state is OffsetChangeState.OPEN and name in situation.observed.connectors


def finish_deletion(situation: Situation, name: ConnectorName) -> ConnectorPlan:
    """Finish a deletion that was begun, whatever is declared now: without offsets the connector would reprocess all.

    A suspended connector is not deleted. It stays stopped until it is resumed.
    """
    owned = situation.ownership.get(name)
    on_delete = OnDelete.RESET_WITH_TOPICS if owned and owned.on_delete.resets_topics else OnDelete.RESET
    steps, notes = delete(situation, name, "its deletion is in progress", on_delete)
    note = (
        "its deletion with its offsets was interrupted and is finished first; if the connector is declared, the next"
        " reconciliation creates it"
    )
    desired = situation.desired.by_name.get(name)
    suspension = suspension_of(situation, name, desired)
    holds = tuple(holds_of(situation, name, desired))
    return ConnectorPlan(name, steps, (*notes, note), applicable=not holds, suspension=suspension, holds=holds)
