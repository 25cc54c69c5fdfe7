"""What applying records in the ledger so that an offset change takes effect once, and that restarts end."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation


class Journal(Protocol):
    """The ledger of one cluster. A call is durable when it returns. Used by several threads at once.

    Every method raises LedgerUnusable, or LedgerBusy if this process lost the lease on the cluster.
    """

    def adopt(self, connectors: Collection[ConnectorName]) -> None:
        """Record that these connectors, which exist on the cluster, are managed from now on: all of them, or none."""

    def intend(self, operation: Operation) -> None:
        """Record that a connector is about to be created that must not run before this operation."""

    def begin(self, operation: Operation, before: Offsets) -> None:
        """Record that the operation is about to be sent, with the current offsets.

        Offsets of an earlier begin are kept.
        """

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """Record that the operation took effect and was observed."""

    def record(self, operation: Operation) -> None:
        """Record an operation as applied without a request: the plan found every partition at the declared offset."""

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """Record that the operation certainly had no effect. `final`: it never will have one."""

    def note(self, operation: Operation, message: str) -> None:
        """Record that the operation was begun and that its outcome is unknown."""

    def stopping(self, connector: ConnectorName) -> None:
        """Record that the connector is about to be stopped, if a later step of the plan starts it again."""

    def count_restart(self, connector: ConnectorName) -> None:
        """Record that the connector is about to be restarted automatically; once, if the request is sent again."""
