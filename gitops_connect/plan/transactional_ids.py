"""The transactional ids of exactly-once sources: those that a plan needs for the first time, and those that it fences.

A worker that supports exactly-once sources opens a producer for each task, with the id GROUP-CONNECTOR-TASK
(`Worker.taskTransactionalId`). The former producers of these ids can be fenced only by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitops_connect.model.client_servers import PRODUCER_SERVERS
from gitops_connect.model.exactly_once import ExactlyOnceSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.plan.situation import Situation

MOST_TASKS = 100
"""The ids of so many tasks are listed by name, and fenced: `tasks.max` has no limit."""
_CHANGES_OFFSETS = (Action.ALTER, Action.RESET)


def declared_tasks(config: Mapping[str, str]) -> int | None:
    """`tasks.max`; None if it is not a number."""
    text = config.get("tasks.max", "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def add_transactional_ids(situation: Situation, planned: Iterable[ConnectorPlan]) -> list[ConnectorPlan]:
    """The plans with the ids that their offset changes fence, and with notes about these and about new ids."""
    if situation.exactly_once is not ExactlyOnceSupport.ENABLED:
        return list(planned)
    return [_with_ids(situation, one) for one in planned]


def _with_ids(situation: Situation, planned: ConnectorPlan) -> ConnectorPlan:
    notes = [*planned.notes, *filter(None, (_new_ids(situation, step) for step in planned.steps))]
    changed = any(step.action in _CHANGES_OFFSETS for step in planned.steps)
    fenced = _fenced(situation, planned.name) if changed else ()
    if fenced:
        notes.append(f"before its offsets are read and changed, the producers of {_shown(fenced)} are fenced")
    steps = (replace(one, fenced=fenced) if one.action in _CHANGES_OFFSETS else one for one in planned.steps)
    return replace(planned, steps=tuple(steps), notes=tuple(notes))


def _new_ids(situation: Situation, step: Step) -> str:
    """What tasks need that the connector did not have before, with this name and this config."""
    if not (step.action is Action.CREATE or step.action.changes_config) or situation.families.is_sink(step.config):
        return ""
    observed = situation.observed.connectors.get(step.connector)
    before, after = declared_tasks(observed.config) if observed else 0, declared_tasks(step.config)
    if before is None or after is None or after <= before:
        return ""
    ids = _ids(situation, step.connector, range(before, after))
    return f"needs Write on {_shown(ids)}, if the brokers have ACLs: `gitops-connect acls`"


def _fenced(situation: Situation, name: ConnectorName) -> tuple[str, ...]:
    """The ids of all tasks that may still write; none if the brokers are not known, or the connector uses others."""
    declared, observed = situation.desired.by_name.get(name), situation.observed.connectors.get(name)
    configs = [one.config for one in (declared, observed) if one is not None and one.config.get("connector.class")]
    tasks = [declared_tasks(config) for config in configs]
    if observed is not None:
        tasks.append(len(observed.tasks))
    known = [number for number in tasks if number is not None]
    is_sink = any(map(situation.families.is_sink, configs)) or (observed and observed.type is ConnectorType.SINK)
    if is_sink or not situation.policy.fences or len(known) < len(tasks) or max(known, default=0) > MOST_TASKS:
        return ()
    if any(config.get(PRODUCER_SERVERS) for config in configs):
        return ()
    return _ids(situation, name, range(max(known, default=0)))


def _ids(situation: Situation, name: ConnectorName, tasks: range) -> tuple[str, ...]:
    group = situation.policy.group_id or "GROUP"
    return tuple(f"{group}-{name}-{task}" for task in tasks)


def _shown(ids: tuple[str, ...]) -> str:
    if len(ids) == 1:
        return f"the transactional id {ids[0]}"
    return f"the transactional ids {ids[0]} to {ids[-1]}"
