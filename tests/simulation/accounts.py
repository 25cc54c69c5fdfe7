"""Follows each offset change of each connector through the ledger and the cluster (`histories/account.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import Any

from histories.account import Account

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeState
from gitops_connect.model.offsets import Offsets


class _OfOne:
    """The account of one connector, with what `Account` asks of a cluster."""

    def __init__(self) -> None:
        self.standstill = 0
        self.stored: dict[ConnectorName, Offsets] = {}
        self.on_change: Any = None
        self.account = Account(self)

    def changed(self, before: Offsets, after: Offsets) -> None:
        self.on_change(before, after)


class Accounts:
    def __init__(self) -> None:
        self._of = defaultdict[ConnectorName, _OfOne](_OfOne)
        self._connectors: dict[OffsetChangeName, ConnectorName] = {}
        self.on_begin: Callable[[OffsetChange, Offsets], None] = lambda offset_change, before: None

    def of(self, name: ConnectorName) -> _OfOne:
        return self._of[name]

    def began(self, offset_change: OffsetChange, before: Offsets) -> None:
        self.on_begin(offset_change, before)
        self._connectors[offset_change.name] = offset_change.connector
        self._of[offset_change.connector].account.began(offset_change, before)

    def settle(self, name: OffsetChangeName, after: Offsets) -> None:
        self._of[self._connectors[name]].account.settle(name, after)

    def failed(self, offset_change: OffsetChange) -> None:
        self._of[offset_change.connector].account.failed(offset_change)

    def forget(self, name: OffsetChangeName) -> None:
        if name in self._connectors:
            self._of[self._connectors[name]].account.forget(name)


class AccountedStore(OffsetChangeStore):
    """Reports each write to the accounts once its transaction is committed."""

    def __init__(self, database: Database, accounts: Accounts, lease: Lease | None = None) -> None:
        super().__init__(database, lease)
        self._accounts = accounts

    def begin(self, cluster: ClusterName, offset_change: OffsetChange, before: Offsets, at: datetime) -> None:
        super().begin(cluster, offset_change, before, at)
        self._accounts.began(offset_change, before)

    def settle(self, cluster: ClusterName, name: OffsetChangeName, after: Offsets, warning: str, at: datetime) -> None:
        super().settle(cluster, name, after, warning, at)
        self._accounts.settle(name, after)

    def fail(
        self, cluster: ClusterName, offset_change: OffsetChange, message: str, *, final: bool, at: datetime
    ) -> None:
        super().fail(cluster, offset_change, message, final=final, at=at)
        self._accounts.failed(offset_change)

    def release(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        was = self.records(cluster)[name].state
        super().release(cluster, name)
        if was is OffsetChangeState.SETTLED:
            self._accounts.forget(name)

    def drop(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        super().drop(cluster, name)
        self._accounts.forget(name)
