"""One cycle, top to bottom: the only place that knows the order of the stages.

    source -> desired -> checks -> observed -> plan -> apply

`declare` looks at the repository once for all clusters; `reconcile` then takes each cluster by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from threading import Event

from gitops_connect import secrets
from gitops_connect.apply.executor import ExecuteOptions, execute
from gitops_connect.apply.stopped import StoppedConnectors
from gitops_connect.checks import connect, schema
from gitops_connect.desired.connectors import build
from gitops_connect.desired.load import ParseCache, load
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.outcomes import CycleOutcome, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.observed import observe_at_rest, password_keys
from gitops_connect.offset_changes import planner_inputs
from gitops_connect.offset_changes.large.open_changes import LargeChanges
from gitops_connect.offset_changes.ledger_journal import LedgerJournal
from gitops_connect.offset_changes.ledger_records import LedgerRecords
from gitops_connect.plan import guards
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Situation
from gitops_connect.runtime import Runtime
from gitops_connect.source.checkout import Checkout, Source


@dataclass(frozen=True, slots=True)
class Caches:
    """What was worked out about files that have not changed since. Only speed depends on it."""

    files: ParseCache = field(default_factory=ParseCache)
    verdicts: schema.SchemaCache = field(default_factory=schema.SchemaCache)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a revision asks for, of every cluster, and how many documents say so.

    `checkout` is where manifests are read from when they are due. `rewritten` is the revision before, where this one
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
    """A plan, what it was made from, and what is wrong with the documents."""

    situation: Situation
    plan: Plan
    diagnostics: Diagnostics


def _accept(plan: Plan) -> None:
    """Approve any plan."""


def _ignore(told: StepOutcome | SendingProgress) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """How a cycle is to go about its effects.

    `approve` sees the plan before the first effect and raises to refuse it; `listen` is told of each step as it ends;
    once `interrupted` is set, the steps in hand are finished and no other is begun. `follow` is told every now and then
    how far a step is that sends very many offsets. `stopped` holds the connectors that are stopped for the moment.
    """

    approve: Callable[[Plan], None] = _accept
    listen: Callable[[StepOutcome], None] = _ignore
    interrupted: Event = field(default_factory=Event)
    follow: Callable[[SendingProgress], None] = _ignore
    stopped: StoppedConnectors = field(default_factory=StoppedConnectors)


def declare(source: Source, clusters: Collection[ClusterName] | None, memory: Caches) -> Declared:
    """Look at the repository: every document, checked, resolved for each cluster (None: whichever are named there).

    What `memory` knows is not read, parsed or checked again. Raises SourceUnavailable or SourceRefused.
    """
    checkout = source.fetch()
    documents = load(checkout, memory.files)
    problems = schema.check(documents, memory.verdicts)
    states, diagnostics = build(documents, clusters, problems, checkout.entries)
    return Declared(checkout.revision, states, diagnostics, len(documents.documents), checkout, checkout.rewritten)


def propose(runtime: Runtime, declared: Declared, cluster: ClusterName) -> Proposal:
    """Look at one cluster and plan; nothing is changed anywhere."""
    client = runtime.clients[cluster]
    ownership = runtime.ledger.ownership(cluster)
    resolved = secrets.resolve(declared.states[cluster], runtime.settings, runtime.environment)
    expected = {connector.name for connector in resolved.desired.connectors} | ownership.keys()
    client.conceal(resolved.values)
    observed = observe_at_rest(client, expected, runtime.clock)
    passwords = password_keys(client, observed.connectors.values())
    situation = Situation(
        declared.revision,
        resolved.desired,
        observed,
        runtime.policy(cluster),
        ownership,
        invalid=resolved.unresolved,
        quoted=passwords.known,
        undescribed=passwords.undescribed,
        secrets=resolved.values,
        key=runtime.ledger.key,
    )
    situation, manifests = planner_inputs.gather(runtime, declared.checkout, situation)
    diagnostics = resolved.diagnostics + manifests
    proposed = plan(situation)
    if not proposed.is_empty:  # what Connect answers may quote the config of any connector
        client.conceal(known_secrets(situation).shared)
    settings = runtime.cluster(cluster)
    asked = unproven(situation, proposed) if settings.connect_validate else []
    if asked:
        checked = connect.validate(
            client, asked, connect.ValidateOptions(runtime.clock, settings.validate_timeout, runtime.say)
        )
        situation = replace(situation, invalid=situation.invalid | checked.invalid, passwords=checked.sensitive)
        diagnostics, proposed = diagnostics + checked.diagnostics, plan(situation)
    return Proposal(situation, proposed, diagnostics + proposed.diagnostics)


def unproven(situation: Situation, proposed: Plan) -> list[DesiredConnector]:
    """The connectors whose config would be sent: only these does Connect need to be asked about."""
    sent = {step.connector for step in proposed.steps if step.config}
    return [connector for connector in situation.desired.connectors if connector.name in sent]


def reconcile(runtime: Runtime, declared: Declared, cluster: ClusterName, conduct: ReconcileOptions) -> CycleOutcome:
    """One level-triggered pass over one Connect cluster: look at everything, decide, then act, under its lease.

    Raises UnsafePlan from a guard, whatever `conduct.approve` raises, and what git, Connect or the ledger raise; a step
    that fails raises nothing and is in the outcome.
    """
    settings, clock = runtime.cluster(cluster), runtime.clock
    with runtime.ledger.lease(cluster, clock) as lease:
        proposal = propose(runtime, declared, cluster)
        guards.enforce(proposal.plan)
        conduct.approve(proposal.plan)
        operations = runtime.ledger.operations.under(lease)
        large = LargeChanges(runtime, declared.checkout, proposal.situation, operations)
        records = LedgerRecords(runtime.ledger, operations, proposal.situation, proposal.plan)
        records.before(clock.now())

        def ended(outcome: StepOutcome) -> None:
            records.after(outcome, clock.now())
            conduct.listen(outcome)

        options = ExecuteOptions(
            clock=clock,
            parallelism=settings.parallelism,
            settle_timeout=settings.settle_timeout,
            min_running=settings.min_running,
            before=proposal.situation.observed.connectors,
            stopped=conduct.stopped,
            interrupted=conduct.interrupted.is_set,
            before_effect=lease.check,
            on_outcome=ended,
            on_progress=conduct.follow,
            journal=LedgerJournal(operations, proposal.situation, clock, large),
        )
        outcomes = execute(proposal.plan, runtime.clients[cluster], options)
        records.end(outcomes, clock.now())
    diagnostics = declared.diagnostics + proposal.diagnostics
    return CycleOutcome(cluster, declared.revision, proposal.plan, diagnostics, outcomes, conduct.interrupted.is_set())
