"""Computes the plan of a reconciliation from desired state, observed state and ownership: a pure, sorted value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.canonical import digest, keyed_digest
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, contained, internal_error
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import ConnectorName, Digest, found_unaddressable
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.plans import ConnectorPlan, Plan, PlannedOffsetChange, Step
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.admission import hold
from gitops_connect.plan.annotation_warnings import failed_before, undone_requests
from gitops_connect.plan.connector_changes import OffsetChangesPlan, plan_offset_changes, plan_strays
from gitops_connect.plan.connector_steps import (
    delete,
    finish_deletion,
    is_half_deleted,
    steady,
    version_note,
)
from gitops_connect.plan.delivery import delivery_warnings, weaker_deliveries
from gitops_connect.plan.guards import guard, refusals
from gitops_connect.plan.holds import holds_of, suspension_of
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.offset_change_status import listing_warnings
from gitops_connect.plan.offset_effects import add_offset_effects
from gitops_connect.plan.offset_progress import offset_progress
from gitops_connect.plan.offset_stores import asks_for_exactly_once
from gitops_connect.plan.operator_versions import other_operators
from gitops_connect.plan.ownership_records import owned_and_undeclared
from gitops_connect.plan.restarts import add_restarts, find_unhealthy, unhealthy_in_plan
from gitops_connect.plan.reviewed import missing_review, unreviewed
from gitops_connect.plan.rollouts import limit_rollout
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.topics import leftovers_reset, orphaned_topics, shared_topics, unexpected_topics
from gitops_connect.plan.transactional_ids import add_transactional_ids


def plan(situation: Situation) -> Plan:
    """Plan every declared connector, and the deletion of managed connectors no longer declared if prune is on."""
    changes = {one.name: plan_offset_changes(situation, one) for one in situation.desired.connectors}
    unhealthy = find_unhealthy(situation)
    admitted, refused, warnings = _admitted(situation, changes, unhealthy)
    finished_strays, strays = plan_strays(situation, {one.name for one in admitted if one.name not in changes})
    planned = add_transactional_ids(situation, add_offset_effects(situation, [*admitted, *finished_strays]))
    planned += _other_suspended(situation, {one.name for one in planned})
    restarted = add_restarts(situation, planned, unhealthy)
    everything = sorted((_dated(situation, one) for one in restarted), key=lambda one: one.name)
    shown = tuple(one for one in everything if _is_shown(one))
    repeated = (*listing_warnings(situation), *failed_before(situation, everything))
    undone = undone_requests(situation, everything)
    found = chain(weaker_deliveries(situation, everything), *(one.diagnostics for one in changes.values()))
    diagnostics = Diagnostics.of((*strays.diagnostics, *found, *(one.diagnostic() for one in repeated)))
    applied = [*strays.applied, *(offset_change for one in changes.values() for offset_change in one.applied)]
    return Plan(
        cluster=situation.desired.cluster,
        connect_version=situation.observed.version,
        revision=situation.revision,
        connectors=shown,
        fingerprint=fingerprint(situation),
        digest=digest([situation.desired.cluster, [_value(one) for one in shown]]),
        complete=_is_complete(situation) and not diagnostics.errors,
        warnings=(
            *warnings,
            *other_operators(situation),
            *shared_topics(situation),
            *orphaned_topics(situation, everything),
            *delivery_warnings(situation),
            *_out_of_reach(_unmanaged(situation)),
        ),
        refusals=refused,
        forgotten=_forgotten(situation, everything),
        unmanaged=_unmanaged(situation),
        applied=tuple(sorted(applied, key=lambda one: _since(situation, one), reverse=True)),
        strays=tuple(strays.planned),
        diagnostics=diagnostics,
        unhealthy=unhealthy_in_plan(situation, everything, unhealthy),
        unread=_unread(situation),
        restarts=situation.restarts,
        rolled_back={one.name: one.rolled_back for one in situation.desired.connectors if one.rolled_back is not None},
        unexpected_topics=unexpected_topics(situation),
        active_topics=sum(map(len, situation.topics.known.values())),
        offset_progress=offset_progress(situation),
        suspension=situation.suspensions.cluster,
        annotation_warnings=(*situation.desired.annotation_warnings, *repeated, *undone),
        untrusted=situation.untrusted,
        exactly_once=situation.exactly_once if asks_for_exactly_once(situation.desired) else None,
    )


def _admitted(
    situation: Situation,
    changes: Mapping[ConnectorName, OffsetChangesPlan],
    unhealthy: Mapping[ConnectorName, UnhealthyConnector],
) -> tuple[list[ConnectorPlan], tuple[str, ...], tuple[str, ...]]:
    """The connectors that are declared or deleted as far as holds let them pass, the refusals of the guards, warnings.

    A deletion that was begun is finished before all else.
    """
    half_deleted = (name for name in sorted(situation.observed.connectors) if is_half_deleted(situation, name))
    finished = [finish_deletion(situation, name) for name in half_deleted]
    done = {one.name for one in finished}
    held = [hold(situation, one, changes[one.name]) for one in situation.desired.connectors if one.name not in done]
    held = [*limit_rollout(situation, held, unhealthy)]
    pruned, warnings = _prune(situation, done)
    if len(situation.observed.versions) > 1:
        found = ", ".join(map(str, sorted(situation.observed.versions)))
        why = f"the workers have different versions ({found}), and the plan is for the oldest"
        warnings = (f"{why}: finish the upgrade of all workers", *warnings)
    declared, deleted = [one.admitted() for one in held], [*pruned, *finished]
    refused = refusals(situation, [*declared, *deleted])
    if refused and situation.policy.guards_hold:
        declared = [one.under(guard(refused)).admitted() for one in held]
        deleted = [replace(one, applicable=False, holds=(guard(refused), *one.holds)) for one in deleted]
    return [*declared, *deleted], refused, warnings


def _is_shown(one: ConnectorPlan) -> bool:
    is_suspended_alone = one.suspension is not None and not one.suspension.whole_cluster
    return bool(one.steps or one.notes or one.holds or one.offset_changes) or is_suspended_alone


def _dated(situation: Situation, planned: ConnectorPlan) -> ConnectorPlan:
    """The plan with the times since when its holds are in force, as far as they are known."""
    before = situation.conditions.get((planned.name, ConditionType.BLOCKED, ""))
    if before is None or not planned.holds:
        return planned
    holds = (
        replace(one, since=before.since) if one.since is None and one.kind.reason == before.reason else one
        for one in planned.holds
    )
    return replace(planned, holds=tuple(holds))


def _other_suspended(situation: Situation, planned: Collection[ConnectorName]) -> Iterator[ConnectorPlan]:
    """Suspended connectors for which nothing is planned: not declared any more, or with errors in their documents."""
    for name, suspension in situation.suspensions.connectors.items():
        if name not in planned:
            yield ConnectorPlan(name, applicable=False, suspension=suspension)


def _since(situation: Situation, offset_change: PlannedOffsetChange) -> tuple[datetime, str]:
    return situation.offsets.records[offset_change.name].since, offset_change.name


def _is_complete(situation: Situation) -> bool:
    left_out = situation.desired.held or situation.observed.unknown or situation.invalid
    return situation.desired.complete and not left_out


def fingerprint(situation: Situation) -> Digest:
    """A keyed digest of what the cluster answered about the connectors that are declared or managed.

    It does not cover what a plan does not read (task counts, worker ids, RUNNING as opposed to RESTARTING or FAILED).
    If a plan has other steps for a connector because it is FAILED, the digest of the plan differs.
    """
    names = _declared_or_managed(situation)
    seen = [
        [name, _fingerprint_state(one.state), dict(one.config)]
        for name, one in sorted(situation.observed.connectors.items())
        if name in names
    ]
    unknown = sorted(situation.observed.unknown & names)
    return keyed_digest(situation.key, [str(situation.observed.version), seen, unknown])


def _fingerprint_state(state: WorkerState) -> str:
    if state is WorkerState.FAILED:
        return TargetState.RUNNING.value
    known: TargetState | WorkerState = steady(state) or state
    return str(known.value)


def _declared_or_managed(situation: Situation) -> set[ConnectorName]:
    return {connector.name for connector in situation.desired.connectors} | situation.ownership.keys()


def _unread(situation: Situation) -> tuple[ConnectorName, ...]:
    destroyed = {name for name, one in situation.observed.connectors.items() if one.state is WorkerState.DESTROYED}
    return tuple(sorted((situation.observed.unknown | destroyed) & _declared_or_managed(situation)))


def _value(connector: ConnectorPlan) -> list[Any]:
    return [connector.name, connector.applicable, [_step_value(step) for step in connector.steps]]


def _step_value(step: Step) -> list[Any]:
    """What the digest covers of a step: of an offset change what it declares, and not the current offsets, which
    move."""
    state = step.initial_state.value if step.initial_state else None
    changes = [[change.key, change.shown_before, change.shown_after] for change in step.changes]
    declared: list[str] = []
    if (one := step.offset_change) is not None:
        declared = [one.name, one.digest, *sorted(each.value for each in one.acknowledged)]
    return [step.action.value, step.reason, state, changes, *declared]


def _prune(situation: Situation, done: set[ConnectorName]) -> tuple[list[ConnectorPlan], tuple[str, ...]]:
    """Deletions of managed connectors that are no longer declared, or a warning that says why there are none."""
    there = situation.observed.connectors.keys() - done
    owned = owned_and_undeclared(situation)
    undeclared = [name for name in owned if name in there]
    if why_not := _why_not_prune(situation):
        names = ", ".join(undeclared)
        return [], (f"no longer declared, but kept because {why_not}: {names}",) if undeclared else ()
    present = situation.observed.connectors.keys() | situation.observed.unknown
    gone = (name for name in owned if name not in present)
    return [*(_prune_one(situation, name) for name in undeclared), *_left_topics(situation, gone)], ()


def _left_topics(situation: Situation, gone: Iterable[ConnectorName]) -> Iterator[ConnectorPlan]:
    """The resets of topics that an interrupted reconciliation did not reset after a deletion."""
    for name in gone:
        if steps := leftovers_reset(situation, name, situation.ownership[name].on_delete):
            suspension, holds = suspension_of(situation, name, None), tuple(holds_of(situation, name, None))
            yield ConnectorPlan(name, steps, applicable=not holds, suspension=suspension, holds=holds)


def _prune_one(situation: Situation, name: ConnectorName) -> ConnectorPlan:
    steps, notes = delete(situation, name, "no longer declared (prune is on)", situation.ownership[name].on_delete)
    suspension, holds = suspension_of(situation, name, None), tuple(holds_of(situation, name, None))
    planned = ConnectorPlan(name, steps, notes, applicable=not holds, suspension=suspension, holds=holds)
    change = None if holds else missing_review(situation.reviews, situation.desired.cluster, planned, steps)
    if change is None:
        return planned
    return replace(planned, applicable=False, unreviewed=change, holds=(unreviewed(change, situation.reviews),))


def _why_not_prune(situation: Situation) -> str:
    if not situation.policy.prune:
        return "prune is off"
    if not situation.desired.complete:
        return "some files could not be read and may declare them"
    if not situation.desired.connectors and not situation.desired.held:
        return "the repository declares nothing for this cluster"
    return ""


def _forgotten(situation: Situation, planned: Iterable[ConnectorPlan]) -> tuple[ConnectorName, ...]:
    """Managed connectors that are gone, also those declared absent: a new connector of that name is unmanaged.

    A connector whose topics are still reset is forgotten after that.
    """
    there = situation.observed.connectors.keys() | situation.observed.unknown
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    reset = {one.name for one in planned if any(step.topics and step.topics.is_of_deletion for step in one.steps)}
    return tuple(sorted({*owned_and_undeclared(situation), *(situation.ownership.keys() & absent)} - there - reset))


def _unmanaged(situation: Situation) -> tuple[ConnectorName, ...]:
    return tuple(
        sorted(situation.observed.connectors.keys() - _declared_or_managed(situation) - situation.desired.held)
    )


def _out_of_reach(names: Iterable[ConnectorName]) -> Iterator[str]:
    for name in names:
        if why := found_unaddressable(name):
            yield f"connector {name}: {why}"


def plans_alike(before: Situation, after: Situation, checked: Iterable[DesiredConnector]) -> bool:
    """Whether a check of configs that are to be sent has found nothing that changes the plan.

    Keys of type PASSWORD change no plan if they are known to be sensitive, and plugins only one with another note.
    """
    if (before.invalid, before.undescribed) != (after.invalid, after.undescribed):
        return False
    return all(
        all(
            before.is_sensitive(one, key)
            for known in (after.passwords, after.quoted)
            for key in known.get(one.name, ())
        )
        and [*version_note(before, one)] == [*version_note(after, one)]
        for one in checked
    )


# Plans a cluster although a bug prevents the planning of some of its connectors.


def plan_contained(situation: Situation) -> tuple[Situation, Plan]:
    """The plan, and the situation that it was made from.

    A declared connector that cannot be planned even alone is treated like one with errors in its documents whose state
    could not be read: it is neither changed nor pruned. Its bug is a diagnostic of the plan. Other bugs are raised.
    """
    try:
        return situation, plan(situation)
    except GitopsConnectError:
        raise
    except Exception:
        bugs = _bugs(situation)
        if not bugs:
            raise
    rest = _without(situation, frozenset(bugs))
    made = plan(rest)
    return rest, replace(made, diagnostics=made.diagnostics + Diagnostics.of(bugs.values()))


def _bugs(situation: Situation) -> Mapping[ConnectorName, Diagnostic]:
    """The declared connectors that cannot be planned even alone. They are found by halving."""
    names = [one.name for one in situation.desired.connectors]
    try:
        plan(situation)
    except Exception as error:  # a bug: `plan` raises nothing else
        if len(names) == 1:
            return {names[0]: internal_error(error, situation.desired.connectors[0].document.location, names[0])}
        middle = len(names) // 2
        halves = (_narrowed(situation, frozenset(half)) for half in (names[:middle], names[middle:]) if half)
        return {name: bug for half in halves for name, bug in _bugs(half).items()}
    return {}


def _narrowed(situation: Situation, names: frozenset[ConnectorName]) -> Situation:
    desired, observed = situation.desired, situation.observed
    return replace(
        situation,
        desired=replace(
            desired,
            connectors=tuple(one for one in desired.connectors if one.name in names),
            offset_changes=tuple(one for one in desired.offset_changes if one.connector in names),
        ),
        observed=replace(
            observed, connectors={name: observed.connectors[name] for name in names & observed.connectors.keys()}
        ),
        ownership={name: situation.ownership[name] for name in names & situation.ownership.keys()},
    )


def _without(situation: Situation, names: frozenset[ConnectorName]) -> Situation:
    """The situation in which the documents and the states of these connectors could not be read."""
    desired, observed = situation.desired, situation.observed
    secrets = contained(lambda: known_secrets(situation).shared, desired.connectors[0].document.location)
    return replace(
        situation,
        desired=replace(
            desired,
            connectors=tuple(one for one in desired.connectors if one.name not in names),
            offset_changes=tuple(one for one in desired.offset_changes if one.connector not in names),
            listings=tuple(one for one in desired.listings if one.connector not in names),
            held=desired.held | names,
        ),
        observed=replace(
            observed,
            connectors={name: one for name, one in observed.connectors.items() if name not in names},
            unknown=observed.unknown | (names & observed.connectors.keys()),
        ),
        secrets=situation.secrets if isinstance(secrets, Diagnostic) else situation.secrets | secrets,
    )
