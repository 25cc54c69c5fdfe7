"""A repository, a cluster and a ledger on one clock, and the reconciliations of the product."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, cast

from death.watched import watch
from simulation.account import MAX_SKIP, at, positions
from simulation.accounts import AccountedLedger, Accounts
from simulation.repository import Repository
from sqlalchemy import Engine, event
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import MemoryCluster
from support.cluster.memory_journal import reconcile_options

from gitops_connect.connect.client import ConnectClient
from gitops_connect.declare import Caches, declare
from gitops_connect.errors import GitopsConnectError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Duration
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import ClusterSettings, Settings, SkipSettings
from gitops_connect.spark.session import SharedSession

LOCAL = ClusterName("local")
NAME = ConnectorName("numbers")
CLASS = "org.example.Numbers"
SCHEMA = "offset-schemas/org.example.Numbers.schema.json"
OTHER = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: other}\nspec: {class: X, state: absent}\n"
"""Always declared, because a repository that declares nothing at all prunes nothing."""


class Killed(Exception):
    """The process was killed: from then on it writes nothing and sends no request."""


@dataclass(frozen=True)
class End:
    """How a reconciliation ends early: it is killed or interrupted before that step."""

    before: str
    killed: bool


class Stage:
    """Everything that a history acts on."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.cluster = MemoryCluster(self.clock)
        self.end = 20
        """The connector counts from its current offset up to this number."""
        self.cluster.progress[NAME] = lambda current_offsets: at(
            {s: max(n, self.end) for s, n in {"a": 0, **positions(current_offsets)}.items()}
        )
        accounts = Accounts()
        accounts.follow(self.cluster)
        self.account = accounts.of(NAME)
        self.repository = Repository()
        opened = Ledger.open("sqlite:///state.db", Path(self._directory.name), b"k" * 32)
        self.ledger = AccountedLedger(opened._database, opened.key, accounts)
        settings = ClusterSettings(
            LOCAL,
            ("http://127.0.0.1:1",),
            prune=True,
            connect_validate=False,
            max_skip=SkipSettings(other=MAX_SKIP),
            settle_timeout=Duration(20),
        )
        clients = {LOCAL: cast(ConnectClient, self.cluster)}
        known = Settings(Path(self._directory.name), clusters={LOCAL: settings})
        spark = SharedSession(known.spark, {}, Path(self._directory.name))
        self._world = Runtime(known, self.ledger, clients, {}, spark, self.clock)
        event.listen(Engine, "connect", _hasty)

    def close(self) -> None:
        event.remove(Engine, "connect", _hasty)
        self.ledger.close()
        self._directory.cleanup()

    def cycle(self, end: End | None = None) -> ReconciliationOutcome | GitopsConnectError | None:
        """Run one reconciliation; None if it was killed. Connectors and the ledger survive that."""
        dead, interrupted = False, Event()

        def tell(step: str) -> None:
            nonlocal dead
            if end is not None and step == end.before:
                dead = end.killed
                interrupted.set()
            if dead:
                raise Killed(step)

        try:
            declared = declare(self.repository, [LOCAL], Caches())
            return reconcile(watch(self._world, tell), declared, LOCAL, reconcile_options(interrupted=interrupted))
        except Killed:
            return None
        except GitopsConnectError as error:
            return error

    def pass_time(self, seconds: float) -> None:
        """Let accepted requests take effect, and let a running connector count on."""
        self.clock.seconds += seconds
        self.cluster.rules.catch_up()
        self.cluster.rules.pass_time(NAME)

    def state(self) -> WorkerState | None:
        self.cluster.rules.catch_up()
        return self.cluster.present[NAME].state if NAME in self.cluster.present else None


def _hasty(connection: Any, _record: object) -> None:
    """Do not sync to the disk: these tests kill processes, and never a machine."""
    connection.execute("PRAGMA synchronous = OFF")
