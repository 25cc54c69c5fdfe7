"""What merging a pull request would do: the plan of the merge result against the current state of each cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitops_connect.connect.client import ConnectClient
from gitops_connect.declare import Caches, Declared, DeclareOptions, declare
from gitops_connect.errors import ConnectUnavailable, GitopsConnectError
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.plans import OffsetChangeStatus, Plan
from gitops_connect.model.pull_requests import NotPlanned, PullRequest, PullRequestPlan
from gitops_connect.model.reviewed_plans import ReviewedPlan
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.reviewed import reviewed_plan, with_unread
from gitops_connect.propose import ProposeOptions, propose
from gitops_connect.runtime import Runtime, open_merge
from gitops_connect.settings.sections import Settings
from gitops_connect.source.checkout import Source
from gitops_connect.source.merge_result import MergeConflict

_TOO_LONG = "planning the pull request took longer than [forge] plan_timeout"
_DUE = (OffsetChangeStatus.PLANNED, OffsetChangeStatus.WAITING, OffsetChangeStatus.FAILED)


@dataclass(slots=True)
class PullRequestPlanner:
    """Plans pull requests with clients of its own: a client masks the secrets of the reconciliation that uses it.

    `open` returns the merge of the pull request whose head has this reference.
    """

    runtime: Runtime
    caches: Caches = field(default_factory=Caches)
    open: Callable[[Settings, str], Source] = open_merge

    @staticmethod
    def of(runtime: Runtime) -> PullRequestPlanner:
        """A planner with clients of its own. Close it after use."""
        clients = {name: ConnectClient(one, runtime.clock) for name, one in runtime.settings.clusters.items()}
        return PullRequestPlanner(replace(runtime, clients=clients))

    def close(self) -> None:
        for client in self.runtime.clients.values():
            client.close()

    def plan(self, pull_request: PullRequest, timeout: float, known: Collection[Plan]) -> PullRequestPlan:
        """The plan of a pull request. Raises the errors of the source; those of a cluster are in the plan.

        After `timeout` seconds, all requests to clusters and checks of large manifests end, and no further cluster is
        planned. `known` are plans of the target branch.
        """
        until = self.runtime.clock.monotonic() + timeout
        nothing = PullRequestPlan(pull_request.number, pull_request.head, pull_request.target)
        try:
            declared = self._declare(pull_request.head_ref)
        except MergeConflict as error:
            return replace(nothing, not_planned=NotPlanned.CONFLICT, conflicts=error.paths)
        nothing = replace(nothing, head=declared.revision)
        if pull_request.is_fork:
            return replace(nothing, not_planned=NotPlanned.FORK, diagnostics=self._located(declared.diagnostics))
        return self._propose(nothing, declared, until, known)

    def _declare(self, head_ref: str) -> Declared:
        settings = self.runtime.settings
        with closing(self.open(settings, head_ref)) as merged:
            return declare(merged, settings.clusters, self.caches, options=DeclareOptions.of(settings))

    def _propose(
        self, nothing: PullRequestPlan, declared: Declared, until: float, known: Collection[Plan]
    ) -> PullRequestPlan:
        plans, branch, unread = list[Plan](), list[Plan](), dict[ClusterName, str]()
        diagnostics, secrets = declared.diagnostics, frozenset[str]()
        options = ProposeOptions(is_daemon=True, untrusted=True)
        for cluster in self.runtime.settings.clusters:
            self.runtime.clients[cluster].end_requests_at(until)
            try:
                if self.runtime.clock.monotonic() >= until:
                    raise ConnectUnavailable(_TOO_LONG)
                bounded = replace(self.runtime, until=until)
                proposal = propose(bounded, declared, cluster, options)
                branch.append(self._plan_of_branch(bounded, declared, cluster, known))
            except GitopsConnectError as error:
                unread[cluster] = f"{type(error).__name__}: {error}"
                continue
            plans.append(proposal.plan)
            diagnostics += proposal.diagnostics
            secrets |= known_secrets(proposal.situation).shared
        return replace(
            nothing,
            plans=tuple(plans),
            branch=tuple(branch),
            unread=unread,
            diagnostics=_masked(self._located(diagnostics), secrets),
            secrets=secrets,
        )

    def _plan_of_branch(
        self, runtime: Runtime, declared: Declared, cluster: ClusterName, known: Collection[Plan]
    ) -> Plan:
        """The plan of the target branch alone, which the daemon has not made yet directly after a push or a start."""
        for plan in known:
            if (plan.cluster, plan.revision) == (cluster, declared.checkout.target):
                return plan
        branch = self._declare(f"refs/heads/{self.runtime.settings.repository.branch}")
        return propose(runtime, branch, cluster, ProposeOptions(is_daemon=True, untrusted=True)).plan

    def _located(self, diagnostics: Diagnostics) -> Diagnostics:
        return diagnostics.under(Path(self.runtime.settings.repository.path).as_posix().removeprefix("."))


def _masked(diagnostics: Diagnostics, secrets: frozenset[str]) -> Diagnostics:
    """Without the secrets of the clusters: the diagnostics are shown in comments, in annotations and on pages."""
    return Diagnostics.of(
        replace(one, summary=mask(one.summary, secrets), hint=mask(one.hint, secrets)) for one in diagnostics
    )


def as_reviewed(plan: PullRequestPlan, before: ReviewedPlan | None) -> PullRequestPlan:
    """The plan with what its review covers: not what the branch changes anyway.

    `before` is what its pull request has shown last.
    """
    if plan.not_planned is not None:
        return plan
    reviewed = reviewed_plan(plan.number, plan.head, plan.plans, plan.branch)
    changed = {(one.cluster, connector.name) for one in plan.plans for connector in one.connectors if connector.steps}
    own = {(cluster, name) for cluster, found in reviewed.connectors.items() for name in found}
    if before is not None:
        reviewed = with_unread(reviewed, plan.plans, before.connectors)
    return replace(plan, digest=reviewed.digest, reviewed=reviewed, pending=frozenset(changed - own))


def due_changes(plans: Iterable[Plan]) -> frozenset[tuple[ClusterName, OffsetChangeName, Digest | None]]:
    """The offset changes of these plans that are planned, blocked or failed: they depend on the current offsets."""
    return frozenset(
        (plan.cluster, one.name, one.digest) for plan in plans for one in plan.offset_changes if one.status in _DUE
    )


def offset_changes(plan: PullRequestPlan) -> Mapping[ClusterName, frozenset[ConnectorName]]:
    """The connectors of each cluster whose offsets the pull request would change."""
    return {
        one.cluster: frozenset(
            offset_change.connector for offset_change in one.offset_changes if offset_change.status in _DUE
        )
        for one in plan.plans
    }
