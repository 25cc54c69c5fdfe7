"""All inputs of a plan, as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import TypeVar, cast

from gitops_connect.connect.validation import Plugin
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.families.shapes import Shape
from gitops_connect.model.active_topics import NO_TOPICS, ReadTopics
from gitops_connect.model.config_histories import ConfigHistory, RollbackOptions
from gitops_connect.model.desired import DesiredConnector, DesiredState, OnManualPause, TargetState
from gitops_connect.model.differences import Direction, Review
from gitops_connect.model.exactly_once import ExactlyOnceSupport, ExpectedSupport
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ObservedState, OffsetPosition
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeRecord
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Reviews
from gitops_connect.model.rollout_decisions import RolloutDecisions
from gitops_connect.model.sensitivity import is_mask, is_sensitive_key
from gitops_connect.model.status import Conditions
from gitops_connect.model.suspensions import Suspensions
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, SkipLimits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Policy:
    """What the administrator allows on this cluster. `max_deletions`: a share of the managed connectors, 0 to 1.

    `max_skip` is how far one offset change may move offsets forward without an acknowledgement, in all, by unit.
    `worker_heap` is the heap of each worker in bytes; 0: no limit. `auto_restart`: failed connectors may be restarted
    automatically. A plan restarts at most `concurrent_restarts` of them: none, unless the daemon makes it. A connector
    that has worked for `stable_after` since its last restart has recovered. A connector is degraded if a part of it is
    UNASSIGNED, or on a worker that does not answer, for `degraded_after`. `rollback` and `on_manual_pause` are for
    documents that do not set them. A plan changes the config of at most `rollout_size` connectors (0: no limit; the
    daemon sets it), and of none after `rollout_max_failures` failures of the commit (0: no limit). `lists_offsets`: the
    settings say where current offsets are written. `guards_hold`: what a guard lets pass is applied although it rejects
    the plan; the daemon sets this, and a command applies nothing of a rejected plan. `exactly_once` is what the
    administrator states of the workers; None: nothing. `resets_outdated_topics`: a sink forgets its active topics if it
    does not read all of them any more. `group_id` is the `group.id` of the workers, empty if the settings do not have
    it. `fences`: the brokers are known, so that the producers of exactly-once sources are fenced.
    """

    enforce: bool = True
    prune: bool = False
    protected: tuple[str, ...] = ()
    max_deletions: float = 0.3
    max_skip: SkipLimits = field(default_factory=lambda: DEFAULT_SKIP_LIMITS)
    worker_heap: int = 0
    auto_restart: bool = True
    concurrent_restarts: int = 0
    stable_after: timedelta = timedelta(minutes=10)
    degraded_after: timedelta = timedelta(minutes=2)
    rollback: RollbackOptions | None = None
    rollout_size: int = 0
    rollout_max_failures: int = 0
    on_manual_pause: OnManualPause = OnManualPause.REVERT
    lists_offsets: bool = False
    guards_hold: bool = False
    exactly_once: ExpectedSupport | None = None
    resets_outdated_topics: bool = False
    group_id: str = ""
    fences: bool = False


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An offset change that the ledger records as in progress: as it was begun, and the offsets before it.

    For a large offset change `before` is empty, and `review` has its effect; None if that could not be determined.
    """

    offset_change: OffsetChange
    before: Offsets
    review: Review | None = None


@dataclass(frozen=True, slots=True)
class ResolvedTargets:
    """What the targets of a change mean, in words, and what else a reader should know about them.

    `committed` is the time from which `ago` is counted.
    """

    words: tuple[str, ...]
    notes: tuple[str, ...]
    committed: datetime


_FRAME = len('{"partition":,"offset":}\n')


@dataclass(frozen=True)  # without slots, for the cached properties
class OffsetSituation:
    """What the ledger records of offset changes, and what the cluster reports of the offsets that they concern.

    `manifests` contains the checked offsets of offset changes that are due, None if they have errors. `large` contains
    the verdicts on offset changes whose declared or current offsets are too many for memory. `current` are the offsets
    of the connectors that are concerned and exist, `large_current` those that are too many, `unread` the reasons why
    some could not be read. `copies` is how often a worker holds the offsets of its cluster while a connector's offsets
    are changed. `replaced` has, for a change that an annotation requests, the recorded name of the same change by a
    commit that is not in the history of the annotation: the history was rewritten. `is_new` is True for a ledger that
    has never worked on this cluster: changes in the repository may already have been applied. `resolved` contains the
    changes whose offsets were computed from targets.
    """

    records: Mapping[OffsetChangeName, OffsetChangeRecord] = field(default_factory=dict)
    unfinished: Mapping[OffsetChangeName, Unfinished] = field(default_factory=dict)
    manifests: Mapping[OffsetChangeName, OffsetPatch | None] = field(default_factory=dict)
    large: Mapping[OffsetChangeName, LargeVerdict] = field(default_factory=dict)
    current: Mapping[ConnectorName, Offsets] = field(default_factory=dict)
    large_current: Mapping[ConnectorName, SavedOffsets] = field(default_factory=dict)
    copies: Mapping[ConnectorName, int] = field(default_factory=dict)
    unread: Mapping[ConnectorName, str] = field(default_factory=dict)
    shapes: Mapping[ConnectorName, Shape] = field(default_factory=dict)
    replaced: Mapping[OffsetChangeName, OffsetChangeName] = field(default_factory=dict)
    is_new: bool = False
    resolved: Mapping[OffsetChangeName, ResolvedTargets] = field(default_factory=dict)

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many current offsets were read, and about how many bytes they have as lines.

        Of all connectors: each worker holds the offsets of its whole cluster.
        """
        known = [(one.entries, one.size) for one in self.large_current.values()]
        for current in self.current.values():
            known.append((len(current), sum(len(one) + len(offset) + _FRAME for one, offset in current.items())))
        return sum(count for count, _ in known), sum(size for _, size in known)

    @cached_property
    def added(self) -> Mapping[OffsetChangeName, tuple[int, int]]:
        """How many offsets each large offset change adds together with those before it, and their size.

        If not all offset changes fit into the memory of a worker, the first ones do.
        """
        count, size, found = 0, 0, {}
        for name, verdict in sorted(self.large.items()):
            new = 0 if verdict.difference is None else verdict.difference.counts.get(Direction.NEW, 0)
            count, size = count + new, size + verdict.size * new // max(1, verdict.entries)
            found[name] = count, size
        return found


@dataclass(frozen=True, slots=True)
class Situation:
    """What is desired, observed, managed and allowed, at the time `now`. `author` is the author of the revision.

    `restarts` are the recorded automatic restarts of connectors that have failed, `restart_requests` the ids of the
    requests that were carried out. `topics` are the active topics, as far as they were read. `conditions` are those of
    the last reconciliation, and `positions` the current offsets of connectors that must move within a time.
    `config_histories` are the configs on trial and those that were rolled back. `rollout_decisions` are those of
    commands. `restored` are the connectors whose document has a third config since a rollback, with the config that
    worked last. `suspensions` are those of the settings and of commands. `stopped` are the connectors that gitops-
    connect has stopped for an offset change or a deletion, with the state to which each returns. `reviews` are the mode
    of reviews, and the plans that were reviewed. `invalid` are connectors whose config Connect rejects, or which lack a
    secret.
    `plugins` are those of a worker, if a config is sent. `key` is the key of all digests that cover a secret.
    `families` are the known connector classes. `untrusted`: the revision is not merged. No secret was read for it, and
    `desired` has the current values instead (`unread_secrets`).

    The following only decide what is masked. `passwords` are, for connectors whose config was validated or is to be
    sent, the config keys of type PASSWORD; `quoted` are the same for current configs, as far as they are read: of
    connectors whose config changes, and of all if a connector is unhealthy. `undescribed` are the connectors with a
    class that no worker described, so that any value may be a secret; `secrets` are the values that were read for
    `spec.secrets` of any document for the cluster.
    """

    revision: Revision
    desired: DesiredState
    observed: ObservedState
    now: datetime
    policy: Policy = field(default_factory=Policy)
    ownership: Mapping[ConnectorName, Ownership] = field(default_factory=dict)
    invalid: frozenset[ConnectorName] = frozenset()
    passwords: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
    quoted: Mapping[ConnectorName, frozenset[str]] = field(default_factory=dict)
    undescribed: frozenset[ConnectorName] = frozenset()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    key: bytes = field(default=b"", repr=False)
    families: Registry = field(default=BUILT_IN, repr=False)
    offsets: OffsetSituation = field(default_factory=OffsetSituation)
    restarts: Mapping[ConnectorName, RestartRecord] = field(default_factory=dict)
    restart_requests: Mapping[tuple[ConnectorName, RequestKind], str] = field(default_factory=dict)
    topics: ReadTopics = NO_TOPICS
    conditions: Conditions = field(default_factory=dict)
    positions: Mapping[ConnectorName, OffsetPosition] = field(default_factory=dict)
    config_histories: Mapping[ConnectorName, ConfigHistory] = field(default_factory=dict)
    rollout_decisions: RolloutDecisions = field(default_factory=dict)
    restored: Mapping[ConnectorName, DesiredConnector] = field(default_factory=dict)
    author: str = ""
    suspensions: Suspensions = field(default_factory=Suspensions)
    stopped: Mapping[ConnectorName, TargetState] = field(default_factory=dict)
    reviews: Reviews = NO_REVIEWS
    plugins: tuple[Plugin, ...] = ()
    untrusted: bool = False
    computed: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The results of functions with `once`; `replace` makes a situation without any."""

    @property
    def exactly_once(self) -> ExactlyOnceSupport:
        """Whether the workers support exactly-once sources: as observed, or else as the administrator states it."""
        observed, stated = self.observed.exactly_once, self.policy.exactly_once
        return stated.support if stated and observed is ExactlyOnceSupport.UNKNOWN else observed

    def is_sensitive(self, connector: DesiredConnector, key: str) -> bool:
        """True for keys whose value is never shown."""
        return bool(self.sensitive_keys(connector, [key]))

    def sensitive_keys(self, connector: DesiredConnector, keys: Iterable[str]) -> list[str]:
        """Those of the keys whose value is never shown.

        They are declared as a secret, of type PASSWORD or named like a secret, or the server masks their values.
        Connect validates only configs that would be sent, so the ledger records which keys it once reported as
        PASSWORD.
        """
        name = connector.name
        owned, observed = self.ownership.get(name), self.observed.connectors.get(name)
        current = observed.config if observed is not None else {}
        typed = *self.passwords.get(name, ()), *self.quoted.get(name, ())
        known = {*connector.secrets, *typed, *(owned.applied if owned is not None else ())}
        return [key for key in keys if key in known or is_sensitive_key(key) or is_mask(current.get(key, ""))]

    def may_be_sensitive(self, connector: DesiredConnector, key: str) -> bool:
        """True for keys whose value is never shown, and for those that may be such keys.

        If no worker described a class of the connector, every key that the document does not declare may be a password.
        The author of an unmerged document could declare any key to see its current value.
        """
        is_unknown = connector.name in self.undescribed and (self.untrusted or key not in connector.config)
        return is_unknown or self.is_sensitive(connector, key)


def once(compute: Callable[[Situation], T]) -> Callable[[Situation], T]:
    """The function, which computes its result once for a situation."""

    @wraps(compute)
    def known(situation: Situation) -> T:
        if compute not in situation.computed:
            situation.computed[compute] = compute(situation)
        return cast("T", situation.computed[compute])

    return known
