"""One reconciliation from start to end. Only this module, `declare` and `propose` know the order of the stages.

    source -> documents -> checks -> observe -> plan -> apply

`declare` reads the repository once for all clusters. `reconcile` then reconciles one cluster: it calls `propose` for
the plan, under the lease of the cluster, and carries the plan out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

from gitops_connect.apply.executor import execute
from gitops_connect.apply.step_context import ExecuteOptions, StoppedConnectors
from gitops_connect.declare import Declared
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Reviews
from gitops_connect.offset_changes.planned_changes import PlannedChanges
from gitops_connect.plan import guards
from gitops_connect.plan.rollbacks import find_rollbacks
from gitops_connect.propose import Proposal, ProposeOptions, propose
from gitops_connect.recorder import LedgerRecords
from gitops_connect.runtime import Runtime, fence


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """The callbacks of a reconciliation.

    `proposed` gets the state of the cluster and the plan, also a plan that the guards block. `approve` gets the plan
    before the first step, and raises to reject it. `listen` gets the outcome of each step. Once `interrupted` is set,
    the steps in progress are finished and no other step is started. `follow` gets the progress of a step that sends
    many offsets. `stopped` contains the connectors that are stopped and not yet resumed. `leader`: the lease of a
    daemon, which changes nothing without it. `is_daemon`: connectors that have failed are restarted when that is due,
    and a config with which a connector fails is rolled back. `reviews` are what was reviewed of the revision. `by` is
    the person who applies the plan by a command.
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
    by: str = ""


def reconcile(
    runtime: Runtime, declared: Declared, cluster: ClusterName, options: ReconcileOptions
) -> ReconciliationOutcome:
    """Reconcile one Connect cluster under its lease: read everything, decide, then act.

    Raises UnsafePlan from a guard (the daemon carries out what a guard lets pass, and the plan has the refusals), what
    `options.approve` raises, and the errors of Git, Connect and the ledger. A step that fails raises nothing; it is in
    the outcome.
    """
    settings, clock = runtime.cluster(cluster), runtime.clock
    with runtime.ledger.lease(cluster, clock, leader=options.leader) as lease:
        ledger = runtime.ledger.under(lease)
        proposal = _propose(runtime, declared, ledger, cluster, options)
        options.proposed(proposal)
        if not options.is_daemon:
            guards.enforce(proposal.plan)
        options.approve(proposal.plan)
        records = LedgerRecords(ledger, proposal.situation, proposal.plan, clock, options.by)
        records.before()
        execution = ExecuteOptions(
            clock=clock,
            journal=records,
            changes=PlannedChanges(runtime, declared.checkout, proposal.situation, ledger.offset_changes),
            parallelism=settings.parallelism,
            settle_timeout=settings.settle_timeout,
            min_running=settings.min_running,
            before=proposal.situation.observed.connectors,
            stopped=options.stopped,
            interrupted=options.interrupted.is_set,
            before_effect=lease.check,
            on_outcomes=partial(records.after, listen=options.listen),
            on_progress=options.follow,
            families=runtime.families,
            fence=partial(fence, runtime.settings, cluster),
            task_shutdown_timeout=settings.task_shutdown_timeout,
        )
        outcomes = execute(proposal.plan, runtime.clients[cluster].guarded_by(lease.check), execution)
        records.end(outcomes)
        if (reads := runtime.topic_reads.get(cluster)) is not None:
            reads.after_reset(one.step.connector for one in outcomes if one.step.topics is not None)
    diagnostics = declared.diagnostics + proposal.diagnostics
    return ReconciliationOutcome(
        cluster, declared.revision, proposal.plan, diagnostics, outcomes, options.interrupted.is_set()
    )


def _propose(
    runtime: Runtime, declared: Declared, ledger: Ledger, cluster: ClusterName, options: ReconcileOptions
) -> Proposal:
    """The plan of the cluster. For a daemon, configs that have failed are rolled back before."""
    proposing = ProposeOptions(options.is_daemon, options.reviews)
    proposal = propose(runtime, declared, cluster, proposing)
    if not options.is_daemon or not (rolled_back := find_rollbacks(proposal.situation, proposal.plan)):
        return proposal
    ledger.configs.record(cluster, rolled_back)
    again = propose(runtime, declared, cluster, proposing)
    topics = again.situation.topics.after(proposal.situation.topics)
    return replace(again, situation=replace(again.situation, topics=topics))
