"""Limits how many connectors get another config at a time, and stops a rollout after failures."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_connect.model.command_lines import command_line
from gitops_connect.model.config_histories import ConfigHistory
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import origin
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice
from gitops_connect.model.status import ConditionStatus, ConditionType
from gitops_connect.plan.admission import HeldConnector
from gitops_connect.plan.holds import manual_pause
from gitops_connect.plan.precedence import Intent
from gitops_connect.plan.rollbacks import declared_at, declared_config, declares_trial, is_older, rollback_options
from gitops_connect.plan.situation import Situation

_NAMED = 3


def limit_rollout(
    situation: Situation, connectors: Sequence[HeldConnector], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> Iterable[HeldConnector]:
    """Hold the changed configs that have to wait: for the next reconciliation, or for another commit.

    A rollout is all configs that one commit declared. It has stopped as long as the documents of connectors that do not
    work with it are the same, and no command continues it: a later commit about something else does not.
    """
    policy = situation.policy
    if not (policy.rollout_size or policy.rollout_max_failures or situation.rollout_decisions):
        yield from connectors
        return
    histories = situation.config_histories
    ill = [name for name, one in unhealthy.items() if name not in histories or not is_older(one, histories[name].trial)]
    # The ledger records a trial before the config is sent. A config that was not sent yet has not failed.
    unsent = {
        one.declared.name
        for one in connectors
        if one.admits(Intent.CONFIGURE) and declares_trial(situation, one.declared)
    }
    failed = _failures(situation, [name for name in ill if name not in unsent])
    declared = situation.desired.connectors
    trials = {
        **_undeclared_trials(situation, ill),
        **{one.name: _end_of_trial(situation, one) for one in declared if _is_on_trial(situation, one, ill)},
    }
    room = max(0, policy.rollout_size - len(trials)) if policy.rollout_size else len(connectors)
    # A trial whose time is over goes on until the connector has a worker: nobody knows when.
    until = min((end for end in trials.values() if end is not None and end > situation.now), default=None)
    for one in connectors:
        if not one.admits(Intent.CONFIGURE):
            yield one
            continue
        revision = declared_at(situation, one.declared)
        found = _stopped(situation, one.declared.name, revision, failed.get(revision, ()))
        if found is None and (room or one.declared.name in trials):  # it keeps its place
            room -= one.declared.name not in trials
            yield one
            continue
        if found is None:
            why = f"at most {policy.rollout_size} connectors at a time get a new config (rollout_size)"
            release = "it follows when they have worked for the time of their trial"
            found = Hold(HoldKind.ROLLOUT, why, release, until=until)
        yield one.under(found)


def _stopped(
    situation: Situation, name: ConnectorName, revision: Revision, failed: Sequence[ConnectorName]
) -> Hold | None:
    """Why the connector does not get the config of the commit, whatever other connectors do."""
    decisions, most = situation.rollout_decisions, situation.policy.rollout_max_failures
    every = f"gitops-connect rollout continue --cluster {situation.desired.cluster}"
    of_all, own = decisions.get((revision, WHOLE_ROLLOUT)), decisions.get((revision, name))
    decided = own or of_all
    if decided is not None and decided.choice is RolloutChoice.SKIP:
        what, command = "it was abandoned", every
        if own:
            what = f"{name} was skipped"
            command = command_line("rollout continue", name, "--cluster", situation.desired.cluster)
        release = f"commit another config, or run `{command}`"
        return Hold(HoldKind.ROLLOUT, f"{origin(revision)}: {what} {decided.origin}", release)
    if own is not None or not most or len(failed) < most:
        return None
    names = ", ".join(failed[:_NAMED]) + (", …" if len(failed) > _NAMED else "")
    what = f"{len(failed)} connectors" if len(failed) > 1 else "a connector"
    return Hold(
        HoldKind.STOPPED_ROLLOUT,
        f"{what} failed with {origin(revision)}: {names}",
        f"commit a fix, or run `{every}`",
    )


def _is_on_trial(situation: Situation, desired: DesiredConnector, unhealthy: Collection[ConnectorName]) -> bool:
    """Whether the connector has a new config, and has not worked with it for the time of its trial yet.

    That can be the config of an earlier commit. Without rollbacks, a trial lasts until the connector is seen to work. A
    connector that does not work counts as a failure instead. A connector that did not work before, or that must not
    run, keeps no other from its config.
    """
    history = situation.config_histories.get(desired.name)
    trial = None if history is None else history.trial
    if trial is None or not trial.was_healthy:
        return False
    observed, end = situation.observed.connectors.get(desired.name), _end_of_trial(situation, desired)
    if desired.name in situation.observed.unknown:
        return end is None or situation.now < end
    if desired.state is not TargetState.RUNNING or observed is None or manual_pause(situation, desired) is not None:
        return False
    return desired.name not in unhealthy and (not observed.is_running or (end is not None and situation.now < end))


def _end_of_trial(situation: Situation, desired: DesiredConnector) -> datetime | None:
    options, history = rollback_options(situation, desired), situation.config_histories.get(desired.name)
    trial = None if history is None else history.trial
    return None if options is None or trial is None else trial.since + options.watch


def _undeclared_trials(
    situation: Situation, unhealthy: Collection[ConnectorName]
) -> Mapping[ConnectorName, datetime | None]:
    """The ends of the trials of connectors without a document that can be read: the settings say how long they are."""
    options, observed = situation.policy.rollback, situation.observed.connectors
    others = situation.config_histories.keys() - situation.desired.by_name.keys() - {*unhealthy}
    trials = ((name, situation.config_histories[name].trial) for name in others if name in observed)
    known = ((name, trial.since) for name, trial in trials if trial is not None and trial.was_healthy)
    ends = {name: since + options.watch for name, since in known} if options is not None else {}
    return {name: end for name, end in ends.items() if situation.now < end}


def _failures(situation: Situation, unhealthy: Collection[ConnectorName]) -> Mapping[Revision, Sequence[ConnectorName]]:
    """For each commit, the connectors that got their config from it and do not work with it, although they did before.

    A connector whose document has another config meanwhile does not count. Failures before a command has continued the
    rollout do not count either.
    """
    found = defaultdict[Revision, list[ConnectorName]](list)
    for desired in situation.desired.connectors:
        history = situation.config_histories.get(desired.name, ConfigHistory())
        trial, is_unhealthy = history.trial, desired.name in unhealthy
        if (back := desired.rolled_back) is not None:
            if not _is_accepted(situation, back.revision, back.at):
                found[back.revision].append(desired.name)
        elif is_unhealthy and trial and trial.was_healthy and trial.digest == declared_config(desired).digest:
            health = situation.conditions.get((desired.name, ConditionType.HEALTHY, ""))
            is_known = health is not None and health.status is ConditionStatus.FALSE
            if not _is_accepted(situation, trial.revision, health.since if health and is_known else situation.now):
                found[trial.revision].append(desired.name)
    return found


def _is_accepted(situation: Situation, revision: Revision, failed: datetime) -> bool:
    """Whether a command has continued the rollout since the failure."""
    decided = situation.rollout_decisions.get((revision, WHOLE_ROLLOUT))
    return decided is not None and decided.choice is RolloutChoice.CONTINUE and failed <= decided.since


def waiting_for_rollout(plan: Plan) -> int:
    """The number of connectors whose config waits for others."""
    return sum(one.kind is HoldKind.ROLLOUT for connector in plan.connectors for one in connector.holds)


def stopped_rollouts(plan: Plan) -> Mapping[Hold, int]:
    """The hold of each stopped rollout, and the number of connectors that it blocks."""
    holds = (one for connector in plan.connectors for one in connector.holds)
    return Counter(replace(one, since=None) for one in holds if one.kind is HoldKind.STOPPED_ROLLOUT)


def until_rollout_continues(plan: Plan, now: datetime) -> float:
    """Seconds until the first trial is over for which connectors wait; infinite if none is known."""
    times = [one.until for connector in plan.connectors for one in connector.holds if one.until is not None]
    return max(0.0, (min(times) - now).total_seconds()) if times else math.inf
