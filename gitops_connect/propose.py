"""Makes the plan of one cluster: reads the cluster, plans, and checks the configs that would be sent.

observe -> plan -> checks -> plan
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gitops_connect import secret_values
from gitops_connect.checks import plugin_validation, unmerged
from gitops_connect.connect.capabilities import ACTIVE_TOPICS, GET_OFFSETS
from gitops_connect.connect.plugin_definitions import (
    declared_definitions,
    needs_password_keys,
    observe_plugins,
    password_keys,
)
from gitops_connect.connect.validation import ConnectChecks, Plugin, classes_of
from gitops_connect.declare import Declared
from gitops_connect.model.active_topics import NO_TOPICS, ReadTopics
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ObservedState, OffsetPosition
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Reviews
from gitops_connect.observe import TopicReads, observe_at_rest, observe_exactly_once, observe_positions
from gitops_connect.offset_changes import planner_inputs
from gitops_connect.plan.known_secrets import assume_secrets, known_secrets
from gitops_connect.plan.offset_stores import depends_on_support
from gitops_connect.plan.planner import plan_contained, plans_alike
from gitops_connect.plan.rollbacks import in_effect, restorable
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.topics import needs_topics
from gitops_connect.runtime import Runtime
from gitops_connect.tracing.spans import span


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, the state that it was made from, and the errors and warnings of the documents."""

    situation: Situation
    plan: Plan
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class ProposeOptions:
    """For whom a plan is made. `is_daemon`: as in `ReconcileOptions`. Without `reviews`, no change needs a review.

    `untrusted`: the revision is not merged. No secret is read for it, and none of its configs is sent to Connect.
    """

    is_daemon: bool = False
    reviews: Reviews = NO_REVIEWS
    untrusted: bool = False


_OF_A_COMMAND = ProposeOptions()


@span("propose")
def propose(
    runtime: Runtime, declared: Declared, cluster: ClusterName, options: ProposeOptions = _OF_A_COMMAND
) -> Proposal:
    """Read one cluster and make a plan. Nothing is changed."""
    situation, problems = _observe(runtime, declared, cluster, options)
    situation, manifests = planner_inputs.collect(runtime, declared.checkout, situation)
    situation, proposed = plan_contained(situation)
    bugs = Diagnostics.of(proposed.diagnostics.bugs)  # the next plan does not find them again
    if not proposed.is_empty:  # an answer of Connect may quote the config of any connector
        runtime.clients[cluster].conceal(known_secrets(situation).shared)
    return _validated(runtime, Proposal(situation, proposed, problems + manifests + bugs))


def _observe(
    runtime: Runtime, declared: Declared, cluster: ClusterName, options: ProposeOptions
) -> tuple[Situation, Diagnostics]:
    """Read the cluster and the secrets. Returns what the plan depends on, and the problems of the documents."""
    untrusted, client = options.untrusted, runtime.clients[cluster]
    ownership = runtime.ledger.ownership(cluster)
    histories = runtime.ledger.configs.of(cluster)
    desired, earlier = in_effect(declared.states[cluster], histories), restorable(declared.states[cluster], histories)
    resolved = _resolve(runtime, desired, untrusted=untrusted)
    restored = replace(resolved, desired=replace(earlier, connectors=()))
    if earlier.connectors and not untrusted:
        restored = _resolve(runtime, earlier, untrusted=False)
    desired = resolved.desired
    client.conceal(resolved.values | restored.values)
    observed = observe_at_rest(client, {one.name for one in desired.connectors} | ownership.keys(), runtime.clock)
    observed = _with_exactly_once(runtime, desired, observed, ownership)
    if untrusted:
        desired = assume_secrets(desired, observed, ownership, runtime.ledger.key)
    unsupported = plugin_validation.unsupported(desired.connectors, observed.version)
    passwords = password_keys(client, observed, needs_password_keys(observed, runtime.families))
    situation = Situation(
        declared.revision,
        desired,
        observed,
        runtime.clock.now(),
        runtime.policy(cluster, is_daemon=options.is_daemon),
        ownership,
        invalid=resolved.unresolved | {problem.connector for problem in unsupported if problem.connector},
        quoted=passwords.known,
        undescribed=passwords.undescribed,
        secrets=resolved.values | restored.values,
        key=runtime.ledger.key,
        families=runtime.families,
        restarts=runtime.ledger.restarts.of(cluster),
        restart_requests=runtime.ledger.restart_requests.of(cluster),
        conditions=runtime.ledger.status.conditions.of(cluster),
        config_histories=histories,
        rollout_decisions=runtime.ledger.rollouts.of(cluster),
        restored={one.name: one for one in restored.desired.connectors if one.name not in restored.unresolved},
        author=declared.checkout.author,
        suspensions=runtime.suspensions(cluster),
        stopped=runtime.ledger.stopped.of(cluster),
        reviews=options.reviews,
        untrusted=untrusted,
    )
    topics = _topics(runtime, situation, keeps=options.is_daemon and not untrusted)
    situation = replace(situation, topics=topics, positions=_positions(runtime, situation))
    return situation, resolved.diagnostics + unsupported


def _resolve(runtime: Runtime, desired: DesiredState, *, untrusted: bool) -> secret_values.Resolved:
    """The desired state with its secrets. Those of an unmerged revision are not read."""
    if untrusted:
        return secret_values.check_references(desired, runtime.settings)
    return secret_values.resolve(desired, runtime.settings, runtime.environment)


def _with_exactly_once(
    runtime: Runtime, desired: DesiredState, observed: ObservedState, managed: Collection[ConnectorName]
) -> ObservedState:
    """The state with the support of the workers for exactly-once sources, if anything depends on it."""
    concerned = {*managed, *desired.by_name}
    current = (one.config for name, one in observed.connectors.items() if name in concerned)
    configs = chain((one.config for one in desired.connectors), current)
    settings = runtime.cluster(observed.cluster)
    if settings.exactly_once is None and not settings.fences and not any(map(depends_on_support, configs)):
        return observed
    return replace(observed, exactly_once=observe_exactly_once(runtime.clients[observed.cluster]))


def _validated(runtime: Runtime, proposal: Proposal) -> Proposal:
    """The proposal after the configs that would be sent were checked, and the types of their keys are known.

    A config with errors leaves its place in a rollout to others. Those that waited are then checked at once.
    """
    unvalidated = unproven(proposal.situation, proposal.plan)
    if unvalidated:
        plugins = observe_plugins(runtime.clients[proposal.plan.cluster])
        proposal = _validate(runtime, proposal, unvalidated, plugins)
        known = {one.name for one in unvalidated}
        if not {one.name for one in unproven(proposal.situation, proposal.plan)} <= known:
            waiting = unproven(proposal.situation, proposal.plan, held=True)
            proposal = _validate(runtime, proposal, [one for one in waiting if one.name not in known], plugins)
    return replace(proposal, diagnostics=proposal.diagnostics + proposal.plan.diagnostics)


def _validate(
    runtime: Runtime, proposal: Proposal, connectors: Sequence[DesiredConnector], plugins: tuple[Plugin, ...] | None
) -> Proposal:
    """The proposal after a check of these configs."""
    situation, client = proposal.situation, runtime.clients[proposal.plan.cluster]
    checked = _checked(runtime, situation, connectors, plugins)
    current = password_keys(client, situation.observed, [one.name for one in connectors])
    situation = replace(
        situation,
        invalid=situation.invalid | checked.invalid,
        passwords={**situation.passwords, **checked.sensitive},
        quoted={**situation.quoted, **current.known},
        undescribed=situation.undescribed | (current.undescribed - _described(situation, connectors, checked)),
        plugins=plugins or (),
    )
    diagnostics = proposal.diagnostics + checked.diagnostics
    if plans_alike(proposal.situation, situation, connectors):
        return Proposal(situation, proposal.plan, diagnostics)
    return Proposal(*plan_contained(situation), diagnostics)


def _checked(
    runtime: Runtime, situation: Situation, connectors: Sequence[DesiredConnector], plugins: Sequence[Plugin] | None
) -> ConnectChecks:
    """Connect's validation of these configs; of an unmerged revision, what the definitions of the plugins show."""
    client, settings = runtime.clients[situation.desired.cluster], runtime.cluster(situation.desired.cluster)
    options = plugin_validation.ValidateOptions(
        runtime.clock, settings.validate_timeout, runtime.say, settings.validate_unmerged, runtime.families
    )
    if situation.untrusted:
        definitions = declared_definitions(client, situation.observed.version, connectors, plugins or ())
        return unmerged.check(client, connectors, definitions, options, plugins)
    if settings.connect_validate:
        return plugin_validation.validate(client, connectors, options, plugins)
    return ConnectChecks()


def _described(
    situation: Situation, connectors: Iterable[DesiredConnector], checked: ConnectChecks
) -> frozenset[ConnectorName]:
    """The connectors for which the validation of the new config shows the types of all keys of the current one."""
    current = situation.observed.connectors
    return frozenset(
        one.name
        for one in connectors
        if one.name in current.keys() & checked.described
        and set(classes_of(current[one.name].config)) <= set(classes_of(one.config))
    )


def _positions(runtime: Runtime, situation: Situation) -> Mapping[ConnectorName, OffsetPosition]:
    """The current offsets of the connectors that must move within a time; none if the workers cannot return offsets."""
    observed, cluster = situation.observed, situation.desired.cluster
    if not GET_OFFSETS.is_in(observed.version):
        return {}
    limited = (
        one.name for one in situation.desired.connectors if one.offsets_move_within or one.partitions_move_within
    )
    must_move = [observed.connectors[name] for name in limited if name in observed.connectors]
    if not must_move:
        return {}
    before = runtime.ledger.status.offset_positions.of(cluster)
    return observe_positions(runtime.clients[cluster], must_move, situation.families, before, situation.now)


def _topics(runtime: Runtime, situation: Situation, *, keeps: bool) -> ReadTopics:
    """The active topics that the plan depends on. `keeps`: later reconciliations go on where this one ends."""
    cluster, observed = situation.desired.cluster, situation.observed
    if not ACTIVE_TOPICS.is_in(observed.version):
        return NO_TOPICS
    urgent = [one.name for one in situation.desired.connectors if needs_topics(situation, one)]
    resets, families = situation.policy.resets_outdated_topics, situation.families
    declared = (
        one.name
        for one in situation.desired.connectors
        if one.topics is not None or (resets and families.is_sink(one.config))
    )
    ruled, settings = [name for name in declared if name in observed.connectors], runtime.cluster(cluster)
    others = sorted(observed.connectors) if keeps and settings.topic_history else ruled
    reads = runtime.topic_reads.setdefault(cluster, TopicReads()) if keeps else TopicReads()
    client, now = runtime.clients[cluster], situation.now
    found = reads.read(client, frozenset(urgent), others, settings.topic_requests, now)
    return found if settings.topic_history else replace(found, changes=())


def unproven(situation: Situation, proposed: Plan, *, held: bool = False) -> list[DesiredConnector]:
    """The connectors whose config would be sent. Connect validates only these. `held`: also those that wait."""
    waiting = chain.from_iterable((*one.held, *one.steps) for one in proposed.connectors) if held else ()
    sent = {step.connector for step in chain(proposed.steps, waiting) if step.config}
    return [connector for connector in situation.desired.connectors if connector.name in sent]
