"""Follows each offset change of each connector through the ledger and the cluster (`account.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Self

from standin.cluster import Target
from support.cluster.memory_cluster import MemoryCluster

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Failure, OffsetChange, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.offsets import Offsets, merged
from gitops_connect.model.ownership import Ownership
from simulation.account import Account
from simulation.faults import UnseenCommit
from simulation.large_changes import patch_of


class Accounts:
    def __init__(self) -> None:
        self._of = defaultdict[ConnectorName, Account](Account)
        self._connectors: dict[OffsetChangeName, ConnectorName] = {}
        self.saved: dict[Digest, Offsets] = {}
        """What was read of connectors with many offsets."""
        self.on_begin: Callable[[OffsetChange, Offsets], None] = lambda offset_change, before: None
        self.on_resolve: Callable[[OffsetChange, Offsets], None] = lambda offset_change, before: None
        """Gets each offset change that is begun for the first time."""
        self.on_record: Callable[..., None] = lambda *records: None
        """Gets the connectors that are recorded as managed."""

    def of(self, name: ConnectorName) -> Account:
        return self._of[name]

    def follow(self, cluster: MemoryCluster, changed: Callable[[str], None] = lambda _: None) -> None:
        """Follow the offsets of its connectors, and the periods in which these are stopped.

        `changed` gets the name of each connector whose state has changed.
        """

        def count_standstills(name: str) -> None:
            found = cluster.rules.connectors.get(name)
            # A stopped connector is restarted for a new config, or by a rebalance: it reads nothing then.
            if found is not None and found.target is not Target.STOPPED and found.reported is not None:
                self.of(ConnectorName(name)).standstill += 1
            changed(name)

        cluster.rules.on_effect = count_standstills
        cluster.on_change = lambda name, before, after: self.of(name).changed(before, after)

    def began(self, offset_change: OffsetChange, before: Offsets) -> None:
        self.on_begin(offset_change, before)
        if offset_change.name not in self._of[offset_change.connector].begun:
            self.on_resolve(offset_change, before)
        self._connectors[offset_change.name] = offset_change.connector
        self._of[offset_change.connector].began(offset_change, before)

    def sent(self, name: OffsetChangeName, entries: int) -> None:
        self._of[self._connectors[name]].sent(name, entries)

    def settle(self, name: OffsetChangeName, after: Offsets | Digest) -> None:
        self._of[self._connectors[name]].settle(name, self.saved[after] if isinstance(after, str) else after)

    def failed(self, offset_change: OffsetChange) -> None:
        self._of[offset_change.connector].failed(offset_change)

    def forget(self, name: OffsetChangeName) -> None:
        if name in self._connectors:
            self._of[self._connectors[name]].forget(name)


_DELAYED: ContextVar[list[Callable[[], None]] | None] = ContextVar("reports", default=None)
"""What is reported when the transaction of several writes is committed."""


@contextmanager
def _reported(report: Callable[[], None]) -> Iterator[None]:
    """Report a write that is committed, also if the process does not see that."""
    if (delayed := _DELAYED.get()) is not None:
        yield
        delayed.append(report)
        return
    try:
        yield
    except UnseenCommit:
        report()
        raise
    report()


class AccountedStore(OffsetChangeStore):
    """Reports each write to the accounts once its transaction is committed."""

    def __init__(self, database: Database, accounts: Accounts, lease: Lease | None = None) -> None:
        super().__init__(database, lease)
        self._accounts = accounts

    def begin(
        self,
        cluster: ClusterName,
        offset_change: OffsetChange,
        before: Offsets,
        at: datetime,
        effect: AppliedEffect | None = None,
    ) -> None:
        with _reported(partial(self._accounts.began, offset_change, before)):
            super().begin(cluster, offset_change, before, at, effect)

    def begin_large(
        self,
        cluster: ClusterName,
        offset_change: OffsetChange,
        before: Iterable[bytes],
        declared: Iterable[bytes],
        effect: AppliedEffect,
    ) -> None:
        was, sent = b"".join(before), b"".join(declared)
        whole = replace(offset_change, offsets=patch_of(sent))
        with _reported(partial(self._accounts.began, whole, merged({}, patch_of(was)))):
            super().begin_large(cluster, offset_change, [was], [sent], effect)

    def sent(self, cluster: ClusterName, name: OffsetChangeName, entries: int) -> None:
        self._accounts.sent(name, entries)
        super().sent(cluster, name, entries)

    def settle(
        self, cluster: ClusterName, name: OffsetChangeName, after: Offsets | Digest, warning: str, at: datetime
    ) -> None:
        with _reported(partial(self._accounts.settle, name, after)):
            super().settle(cluster, name, after, warning, at)

    def fail(self, cluster: ClusterName, offset_change: OffsetChange, failure: Failure, at: datetime) -> None:
        with _reported(partial(self._accounts.failed, offset_change)):
            super().fail(cluster, offset_change, failure, at)

    def mark(self, cluster: ClusterName, *records: OffsetChangeRecord) -> None:
        super().mark(cluster, *records)
        for record in records:
            if record.state is OffsetChangeState.SETTLED:
                self._accounts.of(record.connector).settled.add(record.name)

    def release(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        was = self.records(cluster)[name].state
        with _reported(partial(self._accounts.forget, name) if was is OffsetChangeState.SETTLED else lambda: None):
            super().release(cluster, name)

    def drop(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        with _reported(partial(self._accounts.forget, name)):
            super().drop(cluster, name)


class AccountedLedger(Ledger):
    """A ledger whose offset changes report each write to the accounts."""

    def __init__(self, database: Database, key: bytes, accounts: Accounts, lease: Lease | None = None) -> None:
        super().__init__(database, key, lease)
        self._accounts = accounts
        self.offset_changes = AccountedStore(database, accounts, lease)

    def record(self, *ownerships: Ownership) -> None:
        with _reported(partial(self._accounts.on_record, *ownerships)):
            super().record(*ownerships)

    @contextmanager
    def together(self) -> Iterator[None]:
        reports: list[Callable[[], None]] = []
        with _reported(lambda: [report() for report in reports]):
            token = _DELAYED.set(reports)
            try:
                with super().together():
                    yield
            finally:
                _DELAYED.reset(token)

    def under(self, lease: Lease) -> Self:
        return type(self)(self._database, self.key, self._accounts, lease)
