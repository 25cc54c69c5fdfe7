"""The plan as a value: complete enough to show, save, compare and carry out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.credentials import MASK
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.exactly_once import DeliveryChange, ExactlyOnceSupport
from gitops_connect.model.health import OffsetProgress, UnhealthyConnector
from gitops_connect.model.hold import Hold
from gitops_connect.model.masking import mask, masked_value
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ConnectVersion
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import PartitionText
from gitops_connect.model.restart_records import Restart, RestartRecord
from gitops_connect.model.reviewed_plans import DestructiveEffect, DestructiveKind, UnreviewedChange, tolerated
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, RequestedListing, reviewed_name
from gitops_connect.model.suspensions import Suspension


class Action(Enum):
    ADOPT = "adopt"
    """The connector exists and is managed from now on: the ledger records that, and the cluster gets no request."""
    CREATE = "create"
    STOP = "stop"
    PAUSE = "pause"
    CONFIGURE = "configure"
    ROLL_BACK = "rollback"
    """The connector gets the config that worked last."""
    RESET = "reset"
    ALTER = "alter"
    RECORD = "record"
    """An offset change that would change nothing: the ledger marks it as applied, and the cluster gets no request."""
    RESUME = "resume"
    RESTART = "restart"
    """The failed parts of the connector are started again."""
    RESET_TOPICS = "reset-topics"
    """The active topics of the connector are forgotten (KIP-558)."""
    DELETE = "delete"
    LIST = "list"
    """The current offsets are written to a ConfigMap in a directory or a branch; the cluster is not changed."""

    @property
    def symbol(self) -> str:
        return _SYMBOLS[self]

    @property
    def changes_config(self) -> bool:
        """Whether an existing connector gets another config."""
        return self in (Action.CONFIGURE, Action.ROLL_BACK)


_SYMBOLS = {
    Action.ADOPT: "&",
    Action.CREATE: "+",
    Action.STOP: "#",
    Action.PAUSE: "|",
    Action.CONFIGURE: "~",
    Action.ROLL_BACK: "~",
    Action.RESET: "-",
    Action.ALTER: "~",
    Action.RECORD: "=",
    Action.RESUME: "^",
    Action.RESTART: "!",
    Action.RESET_TOPICS: "%",
    Action.DELETE: "-",
    Action.LIST: "*",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One config key, before and after; None if the config does not have the key.

    `before` and `after` are the real values, for comparisons only. Outputs show `shown_before` and `shown_after`, in
    which secrets are masked. Of the value of a sensitive key, only placeholders of config providers are shown. `secret`
    is a keyed digest of `after` if a secret in it is masked: two changes that look alike can set different secrets.
    `reference` is where `after` comes from if the document names a secret, as in `env:ORDERS_DB_PASSWORD`.
    """

    key: str
    before: str | None
    after: str | None
    sensitive: bool = False
    secret: Digest | None = None
    reference: str = ""

    @property
    def shown_before(self) -> str | None:
        return self._shown(self.before)

    @property
    def shown_after(self) -> str | None:
        return MASK if self.reference and self.after is not None else self._shown(self.after)

    def _shown(self, value: str | None) -> str | None:
        if value is None:
            return None
        return masked_value("", value, sensitive=True) if self.sensitive else mask(value)

    def __repr__(self) -> str:
        return f"Change({self.key!r}: {self.shown_before!r} -> {self.shown_after!r})"


@dataclass(frozen=True, slots=True)
class OffsetEffect:
    """The effect of a step on offsets that the step does not change itself; `hint` says what to do."""

    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One action on one connector, with its reason: one effect on the cluster, or one record in the ledger.

    `config` is what create and configure send, secrets included, and is in no output; `sensitive` are its keys whose
    values no message may show. `initial_state` is set if a create requests a state other than running. `offset_change`
    is set if the step carries out an offset change (reset, alter), or if an offset change must follow the create: the
    ledger records it before the connector is created. `restart` is set for a restart, `listing` for a list,
    `topics` for a reset of active topics: the topics themselves are not part of the digest, because they change.
    `offset_effects` are warnings. `delivery` is set if a source gets another guarantee. `fenced` are the transactional
    ids whose producers are fenced before the current offsets are read. None of the three is part of the digest.
    """

    connector: ConnectorName
    action: Action
    reason: str
    changes: tuple[Change, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    sensitive: frozenset[str] = frozenset()
    initial_state: TargetState | None = None
    offset_change: OffsetChange | None = None
    restart: Restart | None = None
    listing: RequestedListing | None = None
    topics: TopicsReset | None = None
    offset_effects: tuple[OffsetEffect, ...] = ()
    delivery: DeliveryChange | None = None
    fenced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeapEstimate:
    """Bytes of heap that one worker needs at most, and the sum that leads to this size, in words."""

    size: int
    arithmetic: str


class OffsetChangeStatus(Enum):
    """The state of an offset change in every output. `report/offset_change_view.py` finds it for a recorded one."""

    PLANNED = "planned"
    UNFINISHED = "in_progress"
    """Started in an earlier reconciliation, and finished in this one."""
    WAITING = "blocked"
    """Blocked for a reason that the message names."""
    FAILED = "failed"
    """It had no effect. It is tried again later, or only after someone has fixed the cause."""
    UNKNOWN = "unknown"
    """Blocked until an administrator records whether it was applied before the ledger existed."""
    APPLIED = "applied"
    IDLE = "not_applicable"
    """Never applied: initial offsets of a connector that existed before, or that was deleted with its offsets."""
    WITHDRAWN = "withdrawn"
    """Never applied, and no longer declared. Only the ledger knows such a change; it is in no plan."""


@dataclass(frozen=True, slots=True)
class PlannedOffsetChange:
    """One offset change in a plan: its effect, or the reason why it does nothing (`message`).

    `heap` is what a large change needs of each worker's memory. `annotation` is set if annotations request the change.
    `may_move` is True if the current offsets may be others when the change is sent: its connector runs, or someone has
    deleted it, and Connect keeps the offsets of a deleted connector. `targets` are the targets in words, if the offsets
    are computed from some, and `notes` what else a reader should know about them. `lacks` are the acknowledgements that
    its document would need besides the `acknowledged` ones; if none would help, `hint` may say what does.
    """

    name: OffsetChangeName
    connector: ConnectorName
    kind: OffsetChangeKind
    status: OffsetChangeStatus
    message: str = ""
    reason: str = ""
    difference: Difference | None = None
    location: Location | None = None
    digest: Digest | None = None
    heap: HeapEstimate | None = None
    annotation: AnnotationAction | None = None
    may_move: bool = False
    targets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    acknowledged: frozenset[Acknowledgement] = frozenset()
    lacks: frozenset[Acknowledgement] = frozenset()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """The steps of one connector in the order in which they run, and further facts about it (`notes`).

    `applicable` is False if the differences are only shown. `holds` say what keeps steps from being applied or planned,
    the strongest first; `held` are the steps that they leave out while `steps` are applied. `is_partial`: without them,
    the config or the state of the document is not in effect. `drifted` is True if the document is the one that was last
    applied, so that the difference comes from the cluster. `out_of_sync` is True if the connector differs from its
    document and no step can change that: a note or a hold gives the reason. `suspension` is set if the connector or its
    cluster is suspended, `unreviewed` if nobody has reviewed the change.
    """

    name: ConnectorName
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    location: Location | None = None
    applicable: bool = True
    drifted: bool = False
    out_of_sync: bool = False
    offset_changes: tuple[PlannedOffsetChange, ...] = ()
    suspension: Suspension | None = None
    unreviewed: UnreviewedChange | None = None
    holds: tuple[Hold, ...] = ()
    held: tuple[Step, ...] = ()
    is_partial: bool = False

    @property
    def changes_cluster(self) -> bool:
        """Whether the connector has steps other than those that only record or read something."""
        return any(step.action not in (Action.ADOPT, Action.LIST, Action.RECORD) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one reconciliation would do to one cluster. Sorted by connector, so that equal plans have equal digests.

    `fingerprint` is a keyed digest of the observed state and of everything that the plan depends on. `complete` is
    False if documents or connectors were left out of the plan. `refusals` are the guards that block the plan, each with
    a way out. `forgotten` are recorded connectors that do not exist on the cluster, and are not declared or are
    declared absent. `unmanaged` exist on the cluster, and are neither declared nor managed. `applied` are the declared
    offset changes that were applied before, the last one first; `strays` are those whose connector is not declared.
    `diagnostics` are problems of documents that only the cluster or the ledger reveals. `unhealthy` are the declared or
    managed connectors that do not work, as of this reconciliation, and `unread` those whose status the cluster did not
    report. `restarts` are the automatic restarts of connectors that have failed, as far as they still count.
    `rolled_back` are the connectors whose declared config is not in effect, because they do not work with it.
    `unexpected_topics` says for connectors with `spec.topics` which of their active topics are not allowed,
    `active_topics` is the number of all that were read. `offset_progress` says how the offsets of connectors with
    `spec.health` move.
    `suspension` is set if the whole cluster is suspended. `annotation_warnings` are requests of Strimzi's annotations
    that were not done. `untrusted`: the revision is not merged, so that no secret was read for the plan, and no config
    was sent to Connect. `exactly_once` is set if a declared source asks for exactly-once. None of these is part of the
    digest or the fingerprint. Secrets are masked in what is quoted of a trace.
    """

    cluster: ClusterName
    connect_version: ConnectVersion
    revision: Revision
    connectors: tuple[ConnectorPlan, ...]
    fingerprint: Digest
    digest: Digest
    complete: bool = True
    warnings: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    forgotten: tuple[ConnectorName, ...] = ()
    unmanaged: tuple[ConnectorName, ...] = ()
    applied: tuple[PlannedOffsetChange, ...] = ()
    strays: tuple[PlannedOffsetChange, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    unhealthy: tuple[UnhealthyConnector, ...] = ()
    unread: tuple[ConnectorName, ...] = ()
    restarts: Mapping[ConnectorName, RestartRecord] = field(default_factory=dict)
    rolled_back: Mapping[ConnectorName, RolledBack] = field(default_factory=dict)
    unexpected_topics: Mapping[ConnectorName, str] = field(default_factory=dict)
    active_topics: int = 0
    offset_progress: Mapping[ConnectorName, OffsetProgress] = field(default_factory=dict)
    suspension: Suspension | None = None
    annotation_warnings: tuple[AnnotationWarning, ...] = ()
    untrusted: bool = False
    exactly_once: ExactlyOnceSupport | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for connector in self.connectors if connector.applicable for step in connector.steps)

    @property
    def offset_changes(self) -> tuple[PlannedOffsetChange, ...]:
        """Every declared or unfinished offset change that was not applied before."""
        return (*(one for connector in self.connectors for one in connector.offset_changes), *self.strays)

    @property
    def adopted(self) -> tuple[ConnectorName, ...]:
        """The connectors that become managed by a step of this plan, and that it does not create."""
        return tuple(step.connector for step in self.steps if step.action is Action.ADOPT)

    @property
    def drifted(self) -> tuple[ConnectorName, ...]:
        """The connectors that were changed on the cluster since they were applied."""
        return tuple(connector.name for connector in self.connectors if connector.drifted)

    @property
    def unreviewed(self) -> tuple[UnreviewedChange, ...]:
        return tuple(one.unreviewed for one in self.connectors if one.unreviewed is not None)

    @property
    def is_empty(self) -> bool:
        return not self.steps

    def count(self) -> Counter[Action]:
        return Counter(step.action for step in self.steps)


# Which effects of a connector's plan are destructive: the comments on pull requests and the reviews share this.

MOST_PARTITIONS = 1000
"""The partitions of an effect that are kept by name. If there are more, only their number is known."""


_DIRECTIONS = {
    Direction.REWIND: DestructiveKind.REWIND,
    Direction.CHANGED: DestructiveKind.CHANGED,
    Direction.REMOVED: DestructiveKind.REMOVED,
    Direction.FORWARD: DestructiveKind.SKIP,
}


_ORDER = list(DestructiveKind)


def destructive_effects(connector: ConnectorPlan) -> tuple[DestructiveEffect, ...]:
    """The destructive effects of the steps, the worst first, whether the steps are applied or only shown."""
    return tuple(sorted(_effects(connector), key=lambda one: (_ORDER.index(one.kind), one.offset_change or "")))


def _effects(connector: ConnectorPlan) -> Iterator[DestructiveEffect]:
    carried_out = dict[OffsetChangeName, Action]()
    for step in connector.steps:
        if step.offset_change is not None:
            carried_out[step.offset_change.name] = step.action
        if step.action is Action.DELETE:
            yield DestructiveEffect(DestructiveKind.DELETE)
        if step.action is Action.RESET and step.offset_change is not None:
            name = reviewed_name(step.offset_change.name)
            yield DestructiveEffect(DestructiveKind.RESET, name, step.offset_change.digest)
        if step.delivery is not None and step.delivery.must_be_acknowledged:
            yield DestructiveEffect(DestructiveKind.DELIVERY)
    for one in connector.offset_changes:
        if one.name in carried_out and one.difference is not None:
            known = [*_of_offset_change(one, one.difference)]
            is_sent = carried_out[one.name] is Action.ALTER
            uncertain = DestructiveEffect(DestructiveKind.UNCERTAIN, reviewed_name(one.name), one.digest)
            yield from known or [uncertain] * (one.may_move and is_sent)


def _of_offset_change(offset_change: PlannedOffsetChange, difference: Difference) -> Iterator[DestructiveEffect]:
    for direction, kind in _DIRECTIONS.items():
        count = difference.counts.get(direction, 0)
        if not count:
            continue
        is_bound = direction is Direction.FORWARD or (offset_change.targets and direction is Direction.REWIND)
        distance = difference.distances.get(direction) if is_bound and not difference.is_unknown(direction) else None
        yield DestructiveEffect(
            kind,
            reviewed_name(offset_change.name),
            offset_change.digest,
            count,
            _partitions(difference, direction, count),
            distance,
            difference.scale.amount(distance) if distance else "",
            tolerated(distance) if offset_change.targets and distance is not None else 0,
        )


def _partitions(difference: Difference, direction: Direction, count: int) -> tuple[PartitionText, ...] | None:
    found = [move.partition for move in difference.moves if move.direction is direction]
    return tuple(sorted(found)) if len(found) == count <= MOST_PARTITIONS else None
