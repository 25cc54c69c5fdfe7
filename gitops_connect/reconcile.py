"""One reconciliation from start to end. Only this module knows the order of the stages.

    source -> desired -> checks -> observed -> plan -> apply

`declare` reads the repository once for all clusters. `reconcile` then reconciles one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event

from gitops_connect import secrets
from gitops_connect.apply.execute_options import ExecuteOptions
from gitops_connect.apply.executor import execute
from gitops_connect.apply.stopped import StoppedConnectors
from gitops_connect.checks import connect, document_schemas, plugin_versions, unmerged
from gitops_connect.desired.desired_state import build
from gitops_connect.desired.load import ParseCache, load
from gitops_connect.desired.strimzi.annotated import find_annotated, with_requests
from gitops_connect.desired.strimzi.translation import TranslationCache, translate
from gitops_connect.ledger.leases import Lease
from gitops_connect.model.capabilities import GET_OFFSETS
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import ObservedState, OffsetPosition
from gitops_connect.model.outcomes import ReconciliationOutcome, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Reviews
from gitops_connect.model.strimzi import DEFAULT_OPTIONS, StrimziOptions
from gitops_connect.model.validation import ConnectChecks, Plugin, classes_of
from gitops_connect.observed import (
    declared_definitions,
    must_move,
    needs_password_keys,
    observe_at_rest,
    observe_plugins,
    observe_positions,
    password_keys,
)
from gitops_connect.offset_changes import planner_inputs
from gitops_connect.offset_changes.annotation_additions import find_additions
from gitops_connect.offset_changes.ledger_records import LedgerRecords
from gitops_connect.offset_changes.planned_changes import PlannedChanges
from gitops_connect.plan import guards
from gitops_connect.plan.containment import plan_contained
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.rollbacks import find_rollbacks, in_effect
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.unread_secrets import assume_secrets
from gitops_connect.runtime import Runtime
from gitops_connect.source.checkout import Checkout, Source
from gitops_connect.tracing.spans import span


@dataclass(frozen=True, slots=True)
class Caches:
    """Results for files that did not change since the last reconciliation. They only save time."""

    files: ParseCache = field(default_factory=ParseCache)
    strimzi: TranslationCache = field(default_factory=TranslationCache)
    schemas: document_schemas.SchemaCache = field(default_factory=document_schemas.SchemaCache)


@dataclass(frozen=True, slots=True)
class Declared:
    """The desired state of every cluster at one revision, and the number of its documents.

    Offset manifests are read from `checkout` when they are due. `rewritten` is the previous revision if this revision
    does not descend from it.
    """

    revision: Revision
    states: Mapping[ClusterName, DesiredState]
    diagnostics: Diagnostics
    documents: int
    checkout: Checkout = field(repr=False, compare=False)
    rewritten: Revision | None = None


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


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """The callbacks of a reconciliation.

    `proposed` gets the state of the cluster and the plan, also a plan that the guards block. `approve` gets the plan
    before the first step, and raises to reject it. `listen` gets the outcome of each step. Once `interrupted` is set,
    the steps in progress are finished and no other step is started. `follow` gets the progress of a step that sends
    many offsets. `stopped` contains the connectors that are stopped and not yet resumed. `leader`: the lease of a
    daemon, which changes nothing without it. `is_daemon`: connectors that have failed are restarted when that is due,
    and a config with which a connector fails is rolled back. `reviews` are what was reviewed of the revision.
    """

    proposed: Callable[[Proposal], None]
    approve: Callable[[Plan], None]
    listen: Callable[[StepOutcome], None]
    interrupted: Event
    follow: Callable[[SendingProgress], None]
    stopped: StoppedConnectors
    leader: Lease | None = None
    is_daemon: bool = False
    reviews: Reviews = NO_REVIEWS


@span("declare")
def declare(
    source: Source,
    clusters: Collection[ClusterName] | None,
    caches: Caches,
    before: Declared | None = None,
    strimzi: StrimziOptions = DEFAULT_OPTIONS,
) -> Declared:
    """Read and check every document of the repository. `clusters` None: all clusters that the documents name.

    Resources of Strimzi are read as `strimzi` says, and become documents. Files in `caches` are not read, parsed or
    checked again. `before` is the result of an earlier call with the same arguments: it is returned again if the
    repository has not changed. Raises SourceUnavailable or SourceRefused.
    """
    checkout = source.fetch()
    if before is not None and checkout is before.checkout:
        return before
    documents = translate(load(checkout, caches.files), strimzi, caches.strimzi)
    annotated = list(find_annotated(documents, strimzi))
    documents, requests = with_requests(documents, annotated, find_additions(checkout.history, annotated))
    problems = document_schemas.check(documents, caches.schemas)
    states, diagnostics = build(documents, clusters, problems, checkout.entries, requests)
    return Declared(checkout.revision, states, diagnostics, len(documents.documents), checkout, checkout.rewritten)


@span("propose")
def propose(
    runtime: Runtime,
    declared: Declared,
    cluster: ClusterName,
    options: ProposeOptions = _OF_A_COMMAND,
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
    histories = runtime.ledger.configs.histories(cluster)
    desired = in_effect(declared.states[cluster], histories)
    if untrusted:
        resolved = secrets.check_references(desired, runtime.settings)
    else:
        resolved = secrets.resolve(desired, runtime.settings, runtime.environment)
    desired = resolved.desired
    client.conceal(resolved.values)
    observed = observe_at_rest(client, {one.name for one in desired.connectors} | ownership.keys(), runtime.clock)
    if untrusted:
        desired = assume_secrets(desired, observed, ownership, runtime.ledger.key)
    unsupported = plugin_versions.unsupported(desired.connectors, observed.version)
    passwords = password_keys(client, observed, needs_password_keys(observed))
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
        secrets=resolved.values,
        key=runtime.ledger.key,
        restarts=runtime.ledger.restarts(cluster),
        restart_requests=runtime.ledger.restart_requests(cluster),
        conditions=runtime.ledger.status.conditions(cluster),
        positions=_positions(runtime, desired, observed),
        config_histories=histories,
        author=declared.checkout.author,
        suspensions=runtime.suspensions(cluster),
        stopped=runtime.ledger.stopped(cluster),
        reviews=options.reviews,
        untrusted=untrusted,
    )
    return situation, resolved.diagnostics + unsupported


def _validated(runtime: Runtime, proposal: Proposal) -> Proposal:
    """The proposal after the configs that would be sent were checked, and the types of their keys are known."""
    situation, diagnostics = proposal.situation, proposal.diagnostics
    unvalidated = unproven(situation, proposal.plan)
    if not unvalidated:
        return replace(proposal, diagnostics=diagnostics + proposal.plan.diagnostics)
    client = runtime.clients[proposal.plan.cluster]
    plugins = observe_plugins(client)
    checked = _checked(runtime, situation, unvalidated, plugins)
    current = password_keys(client, situation.observed, [one.name for one in unvalidated])
    situation = replace(
        situation,
        invalid=situation.invalid | checked.invalid,
        passwords=checked.sensitive,
        quoted={**situation.quoted, **current.known},
        undescribed=situation.undescribed | (current.undescribed - _described(situation, unvalidated, checked)),
        plugins=plugins or (),
    )
    situation, proposed = plan_contained(situation)
    return Proposal(situation, proposed, diagnostics + checked.diagnostics + proposed.diagnostics)


def _checked(
    runtime: Runtime, situation: Situation, connectors: Sequence[DesiredConnector], plugins: Sequence[Plugin] | None
) -> ConnectChecks:
    """Connect's validation of these configs; of an unmerged revision, what the definitions of the plugins show."""
    client, settings = runtime.clients[situation.desired.cluster], runtime.cluster(situation.desired.cluster)
    options = connect.ValidateOptions(runtime.clock, settings.validate_timeout, runtime.say, settings.validate_unmerged)
    if situation.untrusted:
        definitions = declared_definitions(client, situation.observed.version, connectors, plugins or ())
        return unmerged.check(client, connectors, definitions, options, plugins)
    if settings.connect_validate:
        return connect.validate(client, connectors, options, plugins)
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


def _positions(
    runtime: Runtime, desired: DesiredState, observed: ObservedState
) -> Mapping[ConnectorName, OffsetPosition]:
    """The current offsets of the connectors that must move within a time; none if the workers cannot return offsets."""
    if not GET_OFFSETS.is_in(observed.version):
        return {}
    moving = [one.name for one in desired.connectors if must_move(one, observed.connectors.get(one.name))]
    before = runtime.ledger.status.offset_positions(desired.cluster)
    return observe_positions(runtime.clients[desired.cluster], moving, before, runtime.clock.now())


def unproven(situation: Situation, proposed: Plan) -> list[DesiredConnector]:
    """The connectors whose config would be sent. Connect validates only these."""
    sent = {step.connector for step in proposed.steps if step.config}
    return [connector for connector in situation.desired.connectors if connector.name in sent]


def reconcile(
    runtime: Runtime, declared: Declared, cluster: ClusterName, options: ReconcileOptions
) -> ReconciliationOutcome:
    """Reconcile one Connect cluster under its lease: read everything, decide, then act.

    Raises UnsafePlan from a guard, what `options.approve` raises, and the errors of Git, Connect and the ledger. A step
    that fails raises nothing; it is in the outcome.
    """
    settings, clock = runtime.cluster(cluster), runtime.clock
    with runtime.ledger.lease(cluster, clock, leader=options.leader) as lease:
        ledger = runtime.ledger.under(lease)
        proposing = ProposeOptions(options.is_daemon, options.reviews)
        proposal = propose(runtime, declared, cluster, proposing)
        if options.is_daemon and (rolled_back := find_rollbacks(proposal.situation, proposal.plan)):
            ledger.configs.record(cluster, rolled_back)
            proposal = propose(runtime, declared, cluster, proposing)
        options.proposed(proposal)
        guards.enforce(proposal.plan)
        options.approve(proposal.plan)
        records = LedgerRecords(ledger, proposal.situation, proposal.plan, clock)
        records.before()

        def ended(outcome: StepOutcome) -> None:
            options.listen(records.after(outcome))

        execution = ExecuteOptions(
            clock=clock,
            journal=records,
            changes=PlannedChanges(runtime, declared.checkout, proposal.situation, ledger.operations),
            parallelism=settings.parallelism,
            settle_timeout=settings.settle_timeout,
            min_running=settings.min_running,
            before=proposal.situation.observed.connectors,
            stopped=options.stopped,
            interrupted=options.interrupted.is_set,
            before_effect=lease.check,
            on_outcome=ended,
            on_progress=options.follow,
        )
        outcomes = execute(proposal.plan, runtime.clients[cluster].guarded_by(lease.check), execution)
        records.end(outcomes)
    diagnostics = declared.diagnostics + proposal.diagnostics
    return ReconciliationOutcome(
        cluster, declared.revision, proposal.plan, diagnostics, outcomes, options.interrupted.is_set()
    )
