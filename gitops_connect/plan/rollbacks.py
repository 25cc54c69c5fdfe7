"""Rolls back a config with which a connector does not work. Nothing here has side effects.

The daemon records in the ledger the last config with which a connector worked. A config that the daemon applies is on
trial for the time of `spec.rollback.watch`. If the connector fails in that time, the earlier config takes the place of
the declared one until the document has another config. Offsets are never rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from gitops_connect.families.health_rules import idle_parts
from gitops_connect.model.config_histories import (
    ConfigHistory,
    ConfigTrial,
    DeclaredConfig,
    QueuedConfig,
    RollbackOptions,
    RollbackTrigger,
    RolledBack,
)
from gitops_connect.model.desired import DesiredConnector, DesiredState, SecretReference, SecretSource, TargetState
from gitops_connect.model.health import HealthReason, UnhealthyConnector
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Action, Plan
from gitops_connect.plan.holds import why_shown_only
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.situation import Situation

Histories = Mapping[ConnectorName, ConfigHistory]


def in_effect(desired: DesiredState, histories: Histories) -> DesiredState:
    """The desired state, with the earlier config of each connector whose declared config was rolled back."""
    return replace(desired, connectors=tuple(_in_effect(one, histories.get(one.name)) for one in desired.connectors))


def restorable(desired: DesiredState, histories: Histories) -> DesiredState:
    """The connectors that have a third config since the rollback, with the earlier one: for the time that it waits."""
    back = {name: one for name, one in histories.items() if one.rolled_back is not None}
    some = replace(desired, connectors=tuple(one for one in desired.connectors if one.name in back))
    restored = ((one, _restored(one, back[one.name])) for one in in_effect(some, back).connectors)
    connectors = tuple(after for before, after in restored if after is not None and before.rolled_back is None)
    return replace(desired, connectors=connectors)


def _in_effect(desired: DesiredConnector, history: ConfigHistory | None) -> DesiredConnector:
    restored = _restored(desired, history)
    if restored is None or restored.rolled_back is None:
        return desired
    return restored if declared_config(desired).digest == restored.rolled_back.digest else desired


def _restored(desired: DesiredConnector, history: ConfigHistory | None) -> DesiredConnector | None:
    """The connector with the config that worked last; None if no config was rolled back."""
    if history is None or history.healthy is None or history.rolled_back is None:
        return None
    secrets = {key: SecretReference(SecretSource(kind), name) for key, (kind, name) in history.healthy.secrets.items()}
    return replace(desired, config=history.healthy.config, secrets=secrets, rolled_back=history.rolled_back)


def declared_config(desired: DesiredConnector) -> DeclaredConfig:
    """The config of the document, without the values of its secrets."""
    config = {key: value for key, value in desired.config.items() if key not in desired.secrets}
    return DeclaredConfig(config, {key: (one.source.value, one.name) for key, one in desired.secrets.items()})


def rollback_options(situation: Situation, desired: DesiredConnector) -> RollbackOptions | None:
    """The options of the document, or else of the settings; None if the connector is not rolled back."""
    options = desired.rollback or situation.policy.rollback
    return options if options is not None and options.watch else None


def find_rollbacks(situation: Situation, plan: Plan) -> dict[ConnectorName, ConfigHistory]:
    """The connectors whose config is on trial and does not work, with their history after the rollback."""
    unhealthy, waiting = {one.name: one for one in plan.unhealthy}, _config_waits(situation, plan)
    found, unsent = {}, _unsent(situation, plan)
    for desired in situation.desired.connectors:
        history, problem = situation.config_histories.get(desired.name), unhealthy.get(desired.name)
        if history is None or history.healthy is None or history.trial is None or problem is None:
            continue
        if desired.name in unsent:
            continue
        trial = history.trial  # never of the healthy config: see `begin_trial`
        failed = _on_trial(situation, desired, trial, is_waiting=desired.name in waiting)
        if failed is None or not _must_end(situation, desired, trial, problem):
            continue
        old, new = ({**one.config, **one.secrets} for one in (history.healthy, failed))
        keys = tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))
        owned = situation.ownership.get(desired.name)
        reason, applied = "; ".join(problem.problems), None if owned is None else owned.desired
        rolled_back = RolledBack(trial.digest, trial.revision, reason, keys, situation.now, applied)
        found[desired.name] = replace(history, trial=None, rolled_back=rolled_back)
    return found


def _config_waits(situation: Situation, plan: Plan) -> frozenset[ConnectorName]:
    """The connectors whose declared config is not applied: it is invalid, a hold keeps it, or they cannot be read."""
    shown = ((one.name, (*one.held, *(() if one.applicable else one.steps))) for one in plan.connectors)
    held = (name for name, steps in shown if any(step.action.changes_config for step in steps))
    unread = (one for one in situation.desired.connectors if one.name in situation.observed.unknown)
    return situation.invalid.union(held, (one.name for one in unread if _is_new(situation, one)))


def _is_new(situation: Situation, desired: DesiredConnector) -> bool:
    """Whether the ledger knows a config with which the connector works, and neither that nor its trial is declared."""
    history = situation.config_histories.get(desired.name, ConfigHistory())
    healthy, trial, digest = history.healthy, history.trial, declared_config(desired).digest
    return healthy is not None and digest not in {healthy.digest, None if trial is None else trial.digest}


def _to_send(plan: Plan) -> frozenset[ConnectorName]:
    """The connectors that get another config now, because a commit has changed it."""
    changed = (one for one in plan.connectors if one.applicable and not one.drifted)
    return frozenset(one.name for one in changed if any(step.action is Action.CONFIGURE for step in one.steps))


def _unsent(situation: Situation, plan: Plan) -> frozenset[ConnectorName]:
    """The connectors whose config on trial is not in effect, and never was.

    The ledger records a trial before the config is sent. If the process is killed in between, or the worker rejects the
    config, the trial says nothing yet.
    """
    shown = ((one.name, (*one.steps, *one.held)) for one in plan.connectors if not one.drifted)
    sending = {name for name, steps in shown if any(step.action.changes_config for step in steps)}
    declared = (one for one in situation.desired.connectors if one.name in sending)
    return frozenset(one.name for one in declared if declares_trial(situation, one))


def declares_trial(situation: Situation, desired: DesiredConnector) -> bool:
    """Whether the declared config is the one on trial."""
    history = situation.config_histories.get(desired.name)
    trial = None if history is None else history.trial
    return trial is not None and trial.digest == declared_config(desired).digest


def _on_trial(
    situation: Situation, desired: DesiredConnector, trial: ConfigTrial, *, is_waiting: bool
) -> DeclaredConfig | None:
    """The config on trial; None if another one is applied now, or if the request with it has failed.

    A newer config that waits does not end a trial.
    """
    declared, observed = declared_config(desired), situation.observed.connectors.get(desired.name)
    if declared.digest == trial.digest:
        return declared
    if not is_waiting or observed is None or trial.config is None:
        return None
    return trial.config if trial.config.config.items() <= observed.config.items() else None


def _must_end(situation: Situation, desired: DesiredConnector, trial: ConfigTrial, problem: UnhealthyConnector) -> bool:
    """Whether the trial ends with a rollback, if there is an earlier config."""
    options = rollback_options(situation, desired)
    if options is None or not trial.was_healthy:
        return False
    if desired.state is not TargetState.RUNNING or why_shown_only(situation, desired):
        return False
    if is_older(problem, trial):
        return False
    return RollbackTrigger.DEGRADED in options.on or bool(problem.failures)


def is_older(problem: UnhealthyConnector, trial: ConfigTrial | None) -> bool:
    """Whether offsets had stopped before the trial began: then its config is not the cause."""
    if trial is None or problem.since is None or problem.reason is not HealthReason.OFFSETS_NOT_MOVING:
        return False
    return problem.since < trial.since


def next_histories(situation: Situation, plan: Plan) -> dict[ConnectorName, ConfigHistory]:
    """The histories that change without a step: trials that are over, and configs that wait or no longer wait."""
    unhealthy, waiting = {one.name: one for one in plan.unhealthy}, _config_waits(situation, plan)
    busy = {one.name for one in plan.connectors if one.applicable and one.changes_cluster} | _unsent(situation, plan)
    to_send = _to_send(plan)  # the ledger knows which commit declared the config, even if the request fails
    changed = {}
    for desired in situation.desired.connectors:
        known, options = situation.config_histories.get(desired.name), rollback_options(situation, desired)
        if known is None and options is None and desired.name not in waiting | to_send:
            continue
        history = known or ConfigHistory()
        is_waiting = desired.name in waiting
        applied = history if desired.name in busy else replace(history, queued=None)  # a busy one may be rejected again
        after = queued(situation, desired) if is_waiting or desired.name in to_send else applied
        if after.rolled_back is not None and desired.rolled_back is None and not is_waiting:
            after = replace(after, rolled_back=None)
        observed, problem = situation.observed.connectors.get(desired.name), unhealthy.get(desired.name)
        works = problem is None and observed is not None and observed.is_running
        if desired.name not in busy and not (problem is None and _has_no_worker(situation, observed)):
            if works and desired.state is TargetState.RUNNING:
                after = _passed(situation, desired, after, is_waiting=is_waiting)
            elif _is_over(situation, desired, after, problem):
                after = replace(after, trial=None)
        if after != history:
            changed[desired.name] = after
    return changed


def _has_no_worker(situation: Situation, observed: ObservedConnector | None) -> bool:
    """Whether a part of the connector has no worker, or one that does not answer: nobody knows yet what works."""
    return observed is not None and bool(idle_parts(observed, situation.observed.gone))


def queued(situation: Situation, desired: DesiredConnector) -> ConfigHistory:
    """The history when the declared config has to wait, or was rejected."""
    history, digest = situation.config_histories.get(desired.name, ConfigHistory()), declared_config(desired).digest
    return replace(history, queued=QueuedConfig(digest, declared_at(situation, desired)))


def declared_at(situation: Situation, desired: DesiredConnector) -> Revision:
    """The first commit that declared the config: it may have waited since then, or a try to send it has failed."""
    history, digest = situation.config_histories.get(desired.name, ConfigHistory()), declared_config(desired).digest
    known = (one.revision for one in (history.queued, history.trial) if one is not None and one.digest == digest)
    return next(known, situation.revision)


def _passed(
    situation: Situation, desired: DesiredConnector, history: ConfigHistory, *, is_waiting: bool
) -> ConfigHistory:
    """The history of a connector that works: the end of the trial, if it lasted long enough."""
    options, trial, healthy = rollback_options(situation, desired), history.trial, history.healthy
    if trial is None and is_waiting:
        return history
    if trial is not None and options is not None and situation.now - trial.since < options.watch:
        return history
    works = declared_config(desired) if trial is None else _on_trial(situation, desired, trial, is_waiting=is_waiting)
    if options is None or works is None or (healthy is not None and healthy.digest == works.digest):
        return replace(history, trial=None)
    return replace(history, healthy=works, trial=None)


def _is_over(
    situation: Situation, desired: DesiredConnector, history: ConfigHistory, problem: UnhealthyConnector | None
) -> bool:
    """Whether the time of a trial is over although nobody saw the connector work at its end."""
    options, trial = rollback_options(situation, desired), history.trial
    if trial is None or options is None or situation.now - trial.since < options.watch:
        return False
    return problem is None or not _must_end(situation, desired, trial, problem)


def begin_trial(situation: Situation, plan: Plan, desired: DesiredConnector, now: datetime) -> ConfigHistory:
    """The history when the config of the connector is sent. The correction of drift begins no trial."""
    history = situation.config_histories.get(desired.name, ConfigHistory())
    config = declared_config(desired)
    if history.healthy is not None and history.healthy.digest == config.digest:
        return replace(history, trial=None)
    if drifted(situation, desired):
        return history
    was_healthy = desired.name not in {one.name for one in plan.unhealthy}
    trial = ConfigTrial(config.digest, declared_at(situation, desired), now, was_healthy, config)
    return replace(history, trial=trial, rolled_back=None, queued=None)
