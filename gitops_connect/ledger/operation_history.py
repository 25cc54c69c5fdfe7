"""Reads what was applied from a ledger that may not exist: nothing is created, upgraded or locked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, select

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.ledger.schema import find_version, is_current
from gitops_connect.ledger.tables import REVISIONS
from gitops_connect.model.history import OperationHistory
from gitops_connect.model.names import ClusterName


def read_history(url: str, directory: Path, clusters: Iterable[ClusterName]) -> Mapping[ClusterName, OperationHistory]:
    """The offset changes of each cluster. A relative path in an SQLite URL starts from the given directory.

    The key of the ledger is not needed. Raises UsageError for a URL that cannot be used, LedgerUnusable if there is no
    ledger or it cannot be read, LedgerBusy if it is locked.
    """
    with closing(Database(url, directory)) as database:
        if database.file is not None and not database.file.exists():
            raise LedgerUnusable(f"the ledger {database.file} does not exist")
        with database.read() as connection:
            _require_current(connection, database)
        return {cluster: _history(database, cluster) for cluster in clusters}


def _require_current(connection: Connection, database: Database) -> None:
    if find_version(connection) == 0:
        raise LedgerUnusable(f"the database {database.place} contains no ledger yet")
    if not is_current(connection):
        raise LedgerUnusable(
            f"the ledger {database.place} was written by an older version; the next plan or apply upgrades it"
        )


def _history(database: Database, cluster: ClusterName) -> OperationHistory:
    """The history of a cluster. It is incomplete if the ledger has never worked on the cluster."""
    marks = select(REVISIONS.c.cluster).where(REVISIONS.c.cluster == cluster).limit(1)
    with database.read() as connection:
        has_worked = connection.execute(marks).first() is not None
    return OperationHistory(Operations(database).records(cluster), is_complete=has_worked)
