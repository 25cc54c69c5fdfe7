"""Records which operation changed which offsets, during which stop of the connector, and asserts the invariants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind, OperationState

MAX_SKIP = 50
_ALL = (OperationKind.RESET, OperationKind.CLEAR)


def at(places: Mapping[str, int]) -> Offsets:
    """Offsets of a connector class that counts: the position of each stream."""
    return {partition_text({"s": stream}): offset_text({"n": n}) for stream, n in places.items()}


def positions(offsets: OffsetPatch) -> dict[str, int]:
    """The position of each stream in these offsets."""
    return {json.loads(one)["s"]: json.loads(offset)["n"] for one, offset in offsets.items() if offset is not None}


@dataclass(frozen=True)
class Effect:
    """One change of offsets that took effect; `standstill` numbers the periods in which the connector is stopped."""

    before: Offsets
    after: Offsets
    standstill: int


class CurrentOffsets(Protocol):
    """What the account needs from the cluster."""

    standstill: int
    stored: dict[ConnectorName, Offsets]
    on_change: Any


class Account:
    """Follows the writes to the ledger and the changes on the cluster."""

    def __init__(self, cluster: CurrentOffsets) -> None:
        self._cluster = cluster
        self._in_progress: Operation | None = None
        self.begun: dict[OperationName, tuple[Operation, Effect]] = {}
        """What was begun, and the offsets before it as the ledger has saved them (an effect that changes nothing)."""
        self.effects: dict[OperationName, list[Effect]] = {}
        self.settled: set[OperationName] = set()
        cluster.on_change = self._changed

    def began(self, operation: Operation, before: Offsets) -> None:
        self._in_progress = operation
        if operation.name not in self.begun:
            self.begun[operation.name] = (operation, Effect(before, before, self._cluster.standstill))

    def forget(self, name: OperationName) -> None:
        """Treat the operation as one that was never applied."""
        self.settled.discard(name)
        self.begun.pop(name, None)
        self.effects.pop(name, None)

    def took_effect(self, name: OperationName) -> bool:
        return bool(self.effects.get(name))

    def failed(self, operation: Operation) -> None:
        """Assert that a failed operation has no effect: nothing was sent, or the offsets were restored."""
        if effects := self.effects.get(operation.name):
            assert effects[-1].after == effects[0].before, f"{operation.name} is said to have failed: {effects}"
        self.forget(operation.name)

    def settle(self, name: OperationName, current_offsets: Offsets) -> None:
        operation, saved = self.begun[name]
        effects = self.effects.get(name, [])
        once = len({effect.standstill for effect in effects}) <= 1
        # A CLEAR precedes a deletion: if someone starts the connector meanwhile, its new offsets are removed too. The
        # ledger keeps the offsets from before it was begun.
        assert once or operation.kind is OperationKind.CLEAR, f"{name} took effect twice: {effects}"
        was_started = bool(effects) and effects[0].standstill != saved.standstill
        is_exact = not effects or effects[0].before == saved.before
        assert is_exact or (operation.kind is OperationKind.CLEAR and was_started), f"{name}: {saved}, but {effects}"
        declared = operation.offsets
        match operation.kind:
            case OperationKind.ALTER | OperationKind.SEED:
                assert {one: current_offsets.get(one) for one in declared} == declared
            case OperationKind.REPLACE:
                assert current_offsets == declared
            case OperationKind.RESET | OperationKind.CLEAR:
                assert current_offsets == {}
        self.settled.add(name)

    def _changed(self, before: Offsets, after: Offsets) -> None:
        operation = self._in_progress
        assert operation is not None, "offsets were changed before the ledger knew of it"
        assert operation.name not in self.settled, f"{operation.name} was settled, and is sent again"
        effects = self.effects.setdefault(operation.name, [])
        if not effects or after != effects[0].before:  # otherwise the offsets are restored
            missing = _needed(operation, positions(before), positions(after)) - operation.acknowledged
            assert not missing, f"{operation.name} did {missing} unacknowledged: {before} became {after}"
        effects.append(Effect(before, after, self._cluster.standstill))


def _needed(operation: Operation, before: Mapping[str, int], after: Mapping[str, int]) -> set[Acknowledgement]:
    if operation.kind in _ALL:
        return {Acknowledgement.RESET} if operation.kind is OperationKind.RESET else set()
    both = before.keys() & after.keys()
    needed = {Acknowledgement.REWIND} if any(after[one] < before[one] for one in both) else set()
    if before.keys() - after.keys():
        needed.add(Acknowledgement.TOMBSTONE)
    if sum(max(0, after[one] - before[one]) for one in both) > MAX_SKIP:
        needed.add(Acknowledgement.SKIP)
    return needed


class Accounted(Operations):
    """The ledger's operations, which report each write to the account."""

    def __init__(self, database: Database, account: Account, lease: Lease | None = None) -> None:
        super().__init__(database, lease)
        self._account = account

    def begin(self, cluster: ClusterName, operation: Operation, before: Offsets, at: datetime) -> None:
        super().begin(cluster, operation, before, at)
        self._account.began(operation, before)

    def settle(self, cluster: ClusterName, name: OperationName, after: Offsets, warning: str, at: datetime) -> None:
        super().settle(cluster, name, after, warning, at)
        self._account.settle(name, after)

    def fail(self, cluster: ClusterName, operation: Operation, message: str, *, final: bool, at: datetime) -> None:
        super().fail(cluster, operation, message, final=final, at=at)
        self._account.failed(operation)

    def release(self, cluster: ClusterName, name: OperationName) -> None:
        was = self.records(cluster)[name].state
        super().release(cluster, name)
        if was is OperationState.SETTLED:
            self._account.forget(name)

    def drop(self, cluster: ClusterName, name: OperationName) -> None:
        super().drop(cluster, name)
        self._account.forget(name)


class AccountedLedger(Ledger):
    """A ledger whose operations report each write to the account."""

    def __init__(self, database: Database, key: bytes, account: Account, lease: Lease | None = None) -> None:
        super().__init__(database, key, lease)
        self._account = account
        self.operations = Accounted(database, account, lease)

    def under(self, lease: Lease) -> AccountedLedger:
        return AccountedLedger(self._database, self.key, self._account, lease)
