"""Admits what declared connectors are to do: the holds in force let it pass, or it is shown and not applied."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_connect.model.config_histories import ConfigHistory
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange
from gitops_connect.plan.connector_changes import OffsetChangesPlan
from gitops_connect.plan.connector_steps import Steps, compose, plan_connector, rolled_back_words
from gitops_connect.plan.holds import holds_of, manual_pause
from gitops_connect.plan.precedence import PASSES, Intent, denied_by
from gitops_connect.plan.reviewed import missing_review, unreviewed
from gitops_connect.plan.rollbacks import declared_config, rollback_options
from gitops_connect.plan.situation import Situation

_OF_THE_DOCUMENT = frozenset(
    {Intent.CREATE, Intent.CONFIGURE, Intent.ROLL_BACK, Intent.STOP, Intent.START, Intent.DELETE}
)
"""Without one of these, the config and the state of the document are not in effect."""


@dataclass(frozen=True, slots=True)
class HeldConnector:
    """A declared connector with the holds in force for it. `wanted` are the steps of `planned`, with their intents."""

    situation: Situation
    declared: DesiredConnector
    offset_changes: OffsetChangesPlan
    planned: ConnectorPlan
    wanted: Steps
    holds: tuple[Hold, ...] = ()

    @property
    def denied(self) -> frozenset[Intent]:
        return denied_by(one.kind for one in self.holds)

    def admits(self, intent: Intent) -> bool:
        """Whether something is planned with this intent, and every hold lets it pass."""
        return intent not in self.denied and any(one.intent is intent for one in self.wanted)

    def under(self, *holds: Hold) -> HeldConnector:
        return replace(self, holds=(*self.holds, *holds))

    def admitted(self) -> ConnectorPlan:
        """The plan with the steps that are applied, or, if none is, with all steps, which are only shown."""
        planned, declared = self.planned, self.declared
        if not (self.holds or self.situation.restored):
            return planned
        denied = self.denied & {one.intent for one in self.wanted}
        in_force = tuple(one for one in self.holds if denied & denied_by([one.kind]))
        planned = replace(planned, holds=(*in_force, *planned.holds))
        is_waiting = Intent.CONFIGURE in denied or declared.name in self.situation.invalid
        restored = self.situation.restored.get(declared.name) if is_waiting else None
        if restored is not None and restored.rolled_back is not None:
            declared = restored
            note = f"{rolled_back_words(restored.rolled_back)}; the declared config waits: the earlier one is in effect"
            planned = replace(planned, notes=(*planned.notes, note))
        elif not denied:
            return replace(planned, applicable=bool(self.wanted) or not self.holds)
        steps, _ = compose(self.situation, declared, self.offset_changes, self.denied)
        if not steps:
            return replace(planned, applicable=False)
        return only(planned, steps, is_partial=bool(denied & _OF_THE_DOCUMENT))


def hold(situation: Situation, declared: DesiredConnector, offset_changes: OffsetChangesPlan) -> HeldConnector:
    """Everything that a declared connector is to do, and the holds that concern only this connector."""
    planned, wanted = plan_connector(situation, declared, offset_changes)
    found = HeldConnector(situation, declared, offset_changes, planned, wanted)
    if holds := tuple(holds_of(situation, declared.name, declared)):
        return found.under(*holds)
    by_a_commit = [one.step for one in wanted if one.intent not in PASSES[HoldKind.UNREVIEWED]]
    change = missing_review(situation.reviews, situation.desired.cluster, planned, by_a_commit)
    if change is None:
        return found
    return replace(found, planned=replace(planned, unreviewed=change)).under(unreviewed(change, situation.reviews))


def only(planned: ConnectorPlan, steps: Steps, *, is_partial: bool) -> ConnectorPlan:
    """The plan with only these steps. Its other steps and offset changes wait."""
    applied = tuple(one.step for one in steps)
    carried_out = {step.offset_change.name for step in applied if step.offset_change is not None}

    def shown(one: PlannedOffsetChange) -> PlannedOffsetChange:
        is_held = one.status is OffsetChangeStatus.PLANNED and one.name not in carried_out
        why = "; ".join(hold.words for hold in planned.holds[:1])
        return replace(one, status=OffsetChangeStatus.WAITING, message=why) if is_held else one

    return replace(
        planned,
        steps=applied,
        applicable=True,
        offset_changes=tuple(map(shown, planned.offset_changes)),
        held=tuple(step for step in planned.steps if step not in applied),
        is_partial=is_partial,
    )


# Limits how many connectors get another config at a time, and stops after failures.

_NAMED = 3


def limit_rollout(
    situation: Situation, connectors: Sequence[HeldConnector], unhealthy: Collection[ConnectorName]
) -> Iterable[HeldConnector]:
    """Hold the changed configs that have to wait: for the next reconciliation, or for another commit.

    A rollout is all configs that one commit declared. It has stopped as long as the documents of connectors that do not
    work with it are the same: a later commit about something else does not continue it.
    """
    policy = situation.policy
    if not (policy.rollout_size or policy.rollout_max_failures):
        yield from connectors
        return
    failed = _failures(situation, unhealthy)
    trials = [one for one in situation.desired.connectors if _is_on_trial(situation, one, unhealthy)]
    room = max(0, policy.rollout_size - len(trials)) if policy.rollout_size else len(connectors)
    until = min((end for one in trials if (end := _end_of_trial(situation, one)) is not None), default=None)
    for one in connectors:
        if not one.admits(Intent.CONFIGURE):
            yield one
            continue
        because = failed.get(_rollout_of(situation, one.declared), ())
        if policy.rollout_max_failures and len(because) >= policy.rollout_max_failures:
            names = ", ".join(because[:_NAMED]) + (", …" if len(because) > _NAMED else "")
            found = Hold(
                HoldKind.ROLLOUT, f"it has stopped, because connectors failed with it: {names}", "commit a fix"
            )
        elif room:
            room -= 1
            yield one
            continue
        else:
            why = f"at most {policy.rollout_size} connectors at a time get a new config (rollout_size)"
            release = "it follows when they have worked for the time of their trial"
            found = Hold(HoldKind.ROLLOUT, why, release, until=until)
        yield one.under(found)


def _rollout_of(situation: Situation, declared: DesiredConnector) -> Revision:
    """The first commit that declared the config, which may have waited since then."""
    history = situation.config_histories.get(declared.name)
    queued = None if history is None else history.queued
    is_queued = queued is not None and queued.digest == declared_config(declared).digest
    return queued.revision if queued is not None and is_queued else situation.revision


def _is_on_trial(situation: Situation, desired: DesiredConnector, unhealthy: Collection[ConnectorName]) -> bool:
    """Whether the connector has a new config, and has not worked with it for the time of its trial yet.

    Without rollbacks, a trial lasts until the connector is seen to work. A connector that does not work counts as a
    failure instead. A connector that did not work before, or that must not run, keeps no other from its config.
    """
    history = situation.config_histories.get(desired.name)
    trial = None if history is None else history.trial
    if trial is None or not trial.was_healthy or trial.digest != declared_config(desired).digest:
        return False
    observed, end = situation.observed.connectors.get(desired.name), _end_of_trial(situation, desired)
    if desired.state is not TargetState.RUNNING or observed is None or manual_pause(situation, desired) is not None:
        return False
    return desired.name not in unhealthy and (not observed.is_running or (end is not None and situation.now < end))


def _end_of_trial(situation: Situation, desired: DesiredConnector) -> datetime | None:
    options, history = rollback_options(situation, desired), situation.config_histories.get(desired.name)
    trial = None if history is None else history.trial
    return None if options is None or trial is None else trial.since + options.watch


def _failures(situation: Situation, unhealthy: Collection[ConnectorName]) -> Mapping[Revision, Sequence[ConnectorName]]:
    """For each commit, the connectors that got their config from it and do not work with it, although they did before.

    A connector whose document has another config meanwhile does not count.
    """
    found = defaultdict[Revision, list[ConnectorName]](list)
    for desired in situation.desired.connectors:
        history = situation.config_histories.get(desired.name, ConfigHistory())
        trial, is_unhealthy = history.trial, desired.name in unhealthy
        if desired.rolled_back is not None:
            found[desired.rolled_back.revision].append(desired.name)
        elif is_unhealthy and trial and trial.was_healthy and trial.digest == declared_config(desired).digest:
            found[trial.revision].append(desired.name)
    return found


def waiting_for_rollout(plan: Plan) -> int:
    """The number of connectors whose config waits for others."""
    return sum(one.kind is HoldKind.ROLLOUT for connector in plan.connectors for one in connector.holds)


def until_rollout_continues(plan: Plan, now: datetime) -> float:
    """Seconds until the first trial is over for which connectors wait; infinite if none is known."""
    times = [one.until for connector in plan.connectors for one in connector.holds if one.until is not None]
    return max(0.0, (min(times) - now).total_seconds()) if times else math.inf
