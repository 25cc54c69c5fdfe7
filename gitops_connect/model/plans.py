"""The plan as a value: complete enough to show, save, compare and carry out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.masking import MASK, mask
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.observed import ConnectVersion
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.worker_heap import HeapEstimate


class Action(Enum):
    """The kind of effect that a step has."""

    CREATE = "create"
    STOP = "stop"
    PAUSE = "pause"
    CONFIGURE = "configure"
    RESET = "reset"
    ALTER = "alter"
    RECORD = "record"
    """Of an offset change that would change nothing: the ledger marks it as applied, the cluster gets no request."""
    RESUME = "resume"
    DELETE = "delete"

    @property
    def symbol(self) -> str:
        """The character that stands for it in every text output."""
        return _SYMBOLS[self]


_SYMBOLS = {
    Action.CREATE: "+",
    Action.STOP: "#",
    Action.PAUSE: "|",
    Action.CONFIGURE: "~",
    Action.RESET: "-",
    Action.ALTER: "~",
    Action.RECORD: "=",
    Action.RESUME: "^",
    Action.DELETE: "-",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One config key, before and after; None where it is not there.

    `before` and `after` are the real values, for comparisons only. Outputs show `shown_before` and `shown_after`, in
    which secrets are masked. The value of a sensitive key is masked as a whole.
    """

    key: str
    before: str | None
    after: str | None
    sensitive: bool = False

    @property
    def shown_before(self) -> str | None:
        """The value before, with its secrets masked."""
        return self._shown(self.before)

    @property
    def shown_after(self) -> str | None:
        """The value after, with its secrets masked."""
        return self._shown(self.after)

    def _shown(self, value: str | None) -> str | None:
        if value is None:
            return None
        return MASK if self.sensitive else mask(value)

    def __repr__(self) -> str:
        return f"Change({self.key!r}: {self.shown_before!r} -> {self.shown_after!r})"


@dataclass(frozen=True, slots=True)
class OffsetEffect:
    """What a step means for the offsets of its connector although it does not change them; `hint` says what to do."""

    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One action on one connector, with its reason: one effect on the cluster.

    `config` is what is sent by create and configure, secrets included, and is in no output; `sensitive` are its keys
    whose values no message may show. `initial_state` is set where a create asks the worker for a state other than
    running. `operation` is set where the step carries one out (reset, alter), and where a create has to be followed by
    one that the ledger must know of beforehand. `offset_effects` are warnings, and not part of the digest.
    """

    connector: ConnectorName
    action: Action
    reason: str
    changes: tuple[Change, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    sensitive: frozenset[str] = frozenset()
    initial_state: TargetState | None = None
    operation: Operation | None = None
    offset_effects: tuple[OffsetEffect, ...] = ()


class OperationStatus(Enum):
    """How a declared offset change stands in a plan."""

    PLANNED = "planned"
    UNFINISHED = "in_progress"
    """Started in an earlier reconciliation, and finished in this one."""
    WAITING = "blocked"
    """By something that the message names."""
    UNKNOWN = "unknown"
    """Blocked until somebody says whether it was applied before the ledger existed."""
    APPLIED = "applied"
    IDLE = "not_applicable"
    """Never applied: initial offsets of a connector that existed before."""


@dataclass(frozen=True, slots=True)
class PlannedOperation:
    """One offset change in a plan: what it would do, or why it does nothing (`message`).

    `heap` is what a large one needs of each worker's memory.
    """

    name: OperationName
    connector: ConnectorName
    kind: OperationKind
    status: OperationStatus
    message: str = ""
    reason: str = ""
    difference: Difference | None = None
    location: Location | None = None
    digest: Digest | None = None
    heap: HeapEstimate | None = None


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """The steps of one connector in the order in which they run, and what else should be known (`notes`).

    `applicable` is False where the differences are only shown: mode observe, or suspended. `drifted` is True where the
    document is the one that was last applied, so that the difference came from the cluster's side. `out_of_sync` is
    True if the connector differs from its document and no step can change that: a note says why.
    """

    name: ConnectorName
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    location: Location | None = None
    applicable: bool = True
    drifted: bool = False
    out_of_sync: bool = False
    operations: tuple[PlannedOperation, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle would do to one cluster. Sorted by connector, so that equal plans have equal digests.

    `fingerprint` is a keyed digest of what was observed and decided upon; `complete` is False where documents or
    connectors were held out of the plan. `refusals` are the guards that will not let it be applied, each with its way
    out. `adopted` are declared connectors that stand on the cluster and are not yet recorded as ours; `forgotten` are
    recorded ones that are not there, and not declared or to be absent; `unmanaged` are on the cluster and neither
    declared nor ours. `applied` are the declared offset changes that were done before, the last one first; `strays` are
    those whose connector is not declared. `diagnostics` are what is wrong with documents that only the cluster or the
    ledger can tell. `unhealthy` are the declared or managed connectors that do not work, as of this look, and `unread`
    those of which the cluster did not say how they are; neither is under the digest or the fingerprint, and no secret
    is in what is quoted of a trace.
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
    adopted: tuple[ConnectorName, ...] = ()
    forgotten: tuple[ConnectorName, ...] = ()
    unmanaged: tuple[ConnectorName, ...] = ()
    applied: tuple[PlannedOperation, ...] = ()
    strays: tuple[PlannedOperation, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    unhealthy: tuple[UnhealthyConnector, ...] = ()
    unread: tuple[ConnectorName, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step that apply would carry out."""
        return tuple(step for connector in self.connectors if connector.applicable for step in connector.steps)

    @property
    def operations(self) -> tuple[PlannedOperation, ...]:
        """Every declared or unfinished offset change that was not done before."""
        return (*(one for connector in self.connectors for one in connector.operations), *self.strays)

    @property
    def drifted(self) -> tuple[ConnectorName, ...]:
        """The connectors that were changed on the cluster since they were applied."""
        return tuple(connector.name for connector in self.connectors if connector.drifted)

    @property
    def is_empty(self) -> bool:
        """True where nothing would be done."""
        return not self.steps

    def count(self) -> Counter[Action]:
        """How many steps of each action."""
        return Counter(step.action for step in self.steps)
