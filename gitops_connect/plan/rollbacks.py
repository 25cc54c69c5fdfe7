"""Rolls back a config with which a connector does not work. Nothing here has side effects.

The daemon records in the ledger the last config with which a connector worked. A config that the daemon applies is on
trial for the time of `spec.rollback.watch`. If the connector fails in that time, the earlier config takes the place of
the declared one until the document has another config. Offsets are never rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_connect.model.config_histories import (
    ConfigHistory,
    ConfigTrial,
    DeclaredConfig,
    RollbackOptions,
    RollbackTrigger,
    RolledBack,
)
from gitops_connect.model.desired import DesiredConnector, DesiredState, SecretReference, SecretSource, TargetState
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Plan
from gitops_connect.plan.holds import why_shown_only
from gitops_connect.plan.situation import Situation

Histories = Mapping[ConnectorName, ConfigHistory]


def in_effect(desired: DesiredState, histories: Histories) -> DesiredState:
    """The desired state, with the earlier config of each connector whose declared config was rolled back."""
    return replace(desired, connectors=tuple(_in_effect(one, histories.get(one.name)) for one in desired.connectors))


def _in_effect(desired: DesiredConnector, history: ConfigHistory | None) -> DesiredConnector:
    if history is None or history.healthy is None or history.rolled_back is None:
        return desired
    if declared_config(desired).digest != history.rolled_back.digest:
        return desired
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
    unhealthy = {one.name: one for one in plan.unhealthy}
    found = {}
    for desired in situation.desired.connectors:
        history, problem = situation.config_histories.get(desired.name), unhealthy.get(desired.name)
        if history is None or history.healthy is None or history.trial is None or problem is None:
            continue
        trial = history.trial
        if history.healthy.digest == trial.digest or not _must_end(situation, desired, trial, problem):
            continue
        old, new = ({**one.config, **one.secrets} for one in (history.healthy, declared_config(desired)))
        keys = tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))
        rolled_back = RolledBack(trial.digest, trial.revision, "; ".join(problem.problems), keys, situation.now)
        found[desired.name] = replace(history, trial=None, rolled_back=rolled_back)
    return found


def _must_end(situation: Situation, desired: DesiredConnector, trial: ConfigTrial, problem: UnhealthyConnector) -> bool:
    """Whether the trial ends with a rollback, if there is an earlier config."""
    options = rollback_options(situation, desired)
    if options is None or not trial.was_healthy or declared_config(desired).digest != trial.digest:
        return False
    if desired.state is not TargetState.RUNNING or why_shown_only(situation, desired):
        return False
    return RollbackTrigger.DEGRADED in options.on or bool(problem.failures)


def next_histories(situation: Situation, plan: Plan) -> dict[ConnectorName, ConfigHistory]:
    """The histories that change without a step: trials that were passed, and documents with another config."""
    busy = {one.name for one in plan.connectors if one.changes_cluster} | {one.name for one in plan.unhealthy}
    changed = {}
    for desired in situation.desired.connectors:
        history = situation.config_histories.get(desired.name, ConfigHistory())
        after = history
        if after.rolled_back is not None and desired.rolled_back is None:
            after = replace(after, rolled_back=None)
        observed = situation.observed.connectors.get(desired.name)
        works = desired.name not in busy and observed is not None and observed.is_running
        if works and desired.state is TargetState.RUNNING:
            after = _passed(situation, desired, after)
        if after != history:
            changed[desired.name] = after
    return changed


def _passed(situation: Situation, desired: DesiredConnector, history: ConfigHistory) -> ConfigHistory:
    """The history of a connector that works: the end of the trial, if it lasted long enough."""
    options, trial, config = rollback_options(situation, desired), history.trial, declared_config(desired)
    if trial is not None and options is not None and situation.now - trial.since < options.watch:
        return history
    if options is None or (history.healthy is not None and history.healthy.digest == config.digest):
        return replace(history, trial=None)
    return replace(history, healthy=config, trial=None)


def begin_trial(situation: Situation, plan: Plan, desired: DesiredConnector) -> ConfigHistory:
    """The history once the config of the connector was applied."""
    history = situation.config_histories.get(desired.name, ConfigHistory())
    config = declared_config(desired)
    if history.healthy is not None and history.healthy.digest == config.digest:
        return replace(history, trial=None)
    was_healthy = desired.name not in {one.name for one in plan.unhealthy}
    return replace(history, trial=ConfigTrial(config.digest, situation.revision, situation.now, was_healthy))
