"""What the review of a pull request depends on. Nothing is read or planned again as long as all of it is the same.

A review is repeated after some hours in any case: a forge may not show that a comment was deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_connect.daemon.state import DaemonState
from gitops_connect.errors import ForgeRefused
from gitops_connect.forge.forge import Forge
from gitops_connect.model.clock import Clock
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.plans import Plan
from gitops_connect.model.pull_requests import CommentChange, NotPlanned, PullRequest, PullRequestPlan
from gitops_connect.review.pull_request_plans import due_changes

_REPEATED = 2 * 3600.0
"""Seconds until a review is repeated although nothing has changed."""
_LATE = 150.0
"""Seconds in which a pull request counts as commented. GitLab records a further change of a merge request only one
minute after the last one (`ThrottledTouch`), and a forge may answer from a copy of its database that is late."""
_EARLIER = timedelta(hours=1)
"""How far back the first look goes: the clock of the forge may be slow."""

Basis = tuple[object, ...]
"""What the plans of pull requests depend on besides the pull request: the branch, and what the clusters answered."""


@dataclass(frozen=True, slots=True)
class _LastReview:
    pull_request: PullRequest
    basis: Basis
    until: float


@dataclass(slots=True)
class ReviewInputs:
    """`late`: how many seconds a pull request counts as commented after the forge has shown that."""

    forge: Forge
    state: DaemonState
    clock: Clock
    late: float = _LATE
    _reviews: dict[int, _LastReview] = field(default_factory=dict)
    _since: datetime | None = None
    _seen: frozenset[CommentChange] = frozenset()
    _commented: dict[int, float] = field(default_factory=dict)
    """Until when each pull request counts as commented, by its number."""

    def read_comment_changes(self) -> Iterator[ForgeRefused]:
        """Ask the forge which pull requests have new or edited comments. Raises ForgeUnavailable.

        The times are compared with earlier ones of the forge, not with the clock of this machine. If the forge rejects
        the request, or there are too many comments, every pull request counts as changed, and the error is returned.
        """
        since, now = self._since or self.clock.now() - _EARLIER, self.clock.monotonic()
        try:
            found = frozenset(self.forge.changed_comments(since))
        except ForgeRefused as error:
            self._reviews.clear()
            self._since, self._seen = self.clock.now(), frozenset()
            yield error
            return
        self._commented = {number: until for number, until in self._commented.items() if until > now}
        for one in found - self._seen:
            self._commented[one.pull_request] = now + self.late
            self._reviews.pop(one.pull_request, None)
        self._seen = found
        latest = max((one.at for one in found), default=since)
        self._since = max(since, min(latest, self.clock.now()))

    def basis(self) -> Basis | None:
        """That of a plan that is made now; None if the daemon has not planned every cluster yet."""
        plans = [view.plan for view in self.state.snapshot.clusters.values()]
        found = tuple(_basis(plan) for plan in plans if plan is not None)
        return found if len(found) == len(plans) else None

    def must_review(self, one: PullRequest, basis: Basis | None) -> bool:
        known = self._reviews.get(one.number)
        if known is None or basis is None or one.number in self._commented:
            return True
        return (known.pull_request, known.basis) != (one, basis) or known.until <= self.clock.monotonic()

    def reviewed(self, one: PullRequest, plan: PullRequestPlan, basis: Basis | None) -> None:
        """Remember that this plan is published, which was made after `basis` was read."""
        if basis is not None and self._depends_on_nothing_else(plan):
            self._reviews[one.number] = _LastReview(one, basis, self.clock.monotonic() + _REPEATED)
        else:
            self._reviews.pop(one.number, None)

    def forget(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._reviews.pop(number, None)

    def _depends_on_nothing_else(self, plan: PullRequestPlan) -> bool:
        """False if offsets are compared, a hold ends by itself, or the clusters answered otherwise to the daemon."""
        if plan.unread or plan.not_planned is NotPlanned.INTERNAL_ERROR or waits_for_time(plan.plans):
            return False
        if due_changes(plan.plans) - due_changes(plan.branch):
            return False
        of_branch = {view.cluster: view.plan for view in self.state.snapshot.clusters.values()}
        known = ((one, of_branch.get(one.cluster)) for one in plan.plans)
        return all(other is not None and one.fingerprint == other.fingerprint for one, other in known)


def waits_for_time(plans: Iterable[Plan]) -> bool:
    """Whether a connector is held until some time, or until the trials of a rollout end, also those of others."""
    holds = (hold for plan in plans for connector in plan.connectors for hold in connector.holds)
    return any(hold.kind is HoldKind.ROLLOUT or hold.until is not None for hold in holds)


def _basis(plan: Plan) -> Basis:
    """The content of the branch and the configs and states on a cluster, with what the ledger keeps from being done."""
    return (
        plan.cluster,
        plan.revision,
        plan.fingerprint,
        plan.digest,
        plan.complete,
        plan.refusals,
        plan.unmanaged,
        plan.unread,
        plan.forgotten,
        plan.suspension,
        plan.rolled_back,
        tuple(one.name for one in plan.unhealthy),
        tuple((one.name, one.holds, one.suspension, one.drifted) for one in plan.connectors),
        due_changes([plan]),
        tuple(one.name for one in plan.applied),
    )
