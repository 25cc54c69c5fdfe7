"""What was observed of a cluster over time: conditions, current offsets, and the steps that were carried out.

No plan needs it to be complete. It is not part of an export of the ledger, and needs no lease: a process that has lost
its lease also records what it did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Row, delete, insert, select

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import CONDITIONS, OFFSET_POSITIONS, STEPS, upsert
from gitops_connect.model.conditions import Condition, ConditionKey, Conditions, ConditionStatus, ConditionType
from gitops_connect.model.journal import JournalEntry
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action

KEPT_STEPS = 5000
"""Steps of each cluster that are kept. Older ones are removed."""
_TYPES = {one.value: one for one in ConditionType}
_STATUSES = {one.value: one for one in ConditionStatus}


class StatusStore:
    """The conditions, offset positions and steps in the ledger; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def conditions(self, cluster: ClusterName) -> Conditions:
        """All conditions of the cluster and its connectors."""
        of = CONDITIONS.c
        query = select(of.connector, of.type, of.status, of.reason, of.message, of.since, of.revision).where(
            of.cluster == cluster
        )
        with self._database.read() as connection:
            return {
                (connector, _TYPES[kind]): Condition(_TYPES[kind], _STATUSES[status], *others)
                for connector, kind, status, *others in connection.execute(query)
            }

    def record_conditions(
        self, cluster: ClusterName, changed: Mapping[ConditionKey, Condition], ended: Iterable[ConditionKey]
    ) -> None:
        """Record new and changed conditions, and remove those that have ended. Without any, nothing is written."""
        gone = list(ended)
        if not changed and not gone:
            return
        with self._database.write() as connection:
            for connector, kind in gone:
                connection.execute(
                    delete(CONDITIONS)
                    .where(CONDITIONS.c.cluster == cluster, CONDITIONS.c.connector == connector)
                    .where(CONDITIONS.c.type == kind.value)
                )
            for (connector, kind), one in changed.items():
                values = {
                    "status": one.status.value,
                    "reason": one.reason,
                    "message": one.message,
                    "since": one.since,
                    "revision": one.revision,
                }
                key = {"cluster": cluster, "connector": connector, "type": kind.value}
                upsert(connection, CONDITIONS, key, values)

    def offset_positions(self, cluster: ClusterName) -> Mapping[ConnectorName, OffsetPosition]:
        """The current offsets of connectors that must move within a time, as a digest, and since when."""
        query = select(OFFSET_POSITIONS).where(OFFSET_POSITIONS.c.cluster == cluster)
        with self._database.read() as connection:
            return {row.connector: OffsetPosition(row.digest, row.since) for row in connection.execute(query)}

    def record_offset_positions(
        self,
        cluster: ClusterName,
        changed: Mapping[ConnectorName, OffsetPosition],
        ended: Collection[ConnectorName],
    ) -> None:
        """Record positions that have moved, and forget those of connectors that need not move any more."""
        if not changed and not ended:
            return
        with self._database.write() as connection:
            here = OFFSET_POSITIONS.c.cluster == cluster
            connection.execute(delete(OFFSET_POSITIONS).where(here, OFFSET_POSITIONS.c.connector.in_(ended)))
            for connector, one in changed.items():
                key = {"cluster": cluster, "connector": connector}
                upsert(connection, OFFSET_POSITIONS, key, {"digest": one.digest, "since": one.since})

    def record_step(self, entry: JournalEntry) -> int:
        """Add a step to the journal, and return its id."""
        (number,) = self.record_steps(entry.cluster, [entry])
        return number

    def record_steps(self, cluster: ClusterName, entries: Iterable[JournalEntry]) -> list[int]:
        """Add steps of this cluster to the journal, and return their ids. The oldest are removed at `KEPT_STEPS`."""
        here, add = STEPS.c.cluster == cluster, insert(STEPS).returning(STEPS.c.id)
        with self._database.write() as connection:
            numbers = [int(connection.execute(add, _row(entry)).scalar_one()) for entry in entries]
            kept = select(STEPS.c.id).where(here).order_by(STEPS.c.id.desc()).offset(KEPT_STEPS).limit(1)
            oldest = connection.scalar(kept)
            if oldest is not None:
                connection.execute(delete(STEPS).where(here, STEPS.c.id <= oldest))
        return numbers

    def steps(
        self,
        cluster: ClusterName | None = None,
        connector: ConnectorName | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> list[JournalEntry]:
        """The last steps, the newest first; only those with a smaller id than `before`, if it is given."""
        query = select(STEPS).order_by(STEPS.c.id.desc()).limit(limit)
        if cluster is not None:
            query = query.where(STEPS.c.cluster == cluster)
        if connector is not None:
            query = query.where(STEPS.c.connector == connector)
        if before is not None:
            query = query.where(STEPS.c.id < before)
        with self._database.read() as connection:
            return [_entry(row) for row in connection.execute(query)]


def _row(entry: JournalEntry) -> dict[str, Any]:
    return {
        "cluster": entry.cluster,
        "at": entry.at,
        "revision": entry.revision,
        "author": entry.author,
        "connector": entry.connector,
        "action": entry.action.value,
        "operation": entry.operation,
        "result": entry.result.value,
        "reason": entry.reason,
        "message": entry.message,
        "seconds": entry.seconds,
    }


def _entry(row: Row[Any]) -> JournalEntry:
    return JournalEntry(
        id=row.id,
        cluster=row.cluster,
        at=row.at,
        revision=row.revision,
        author=row.author,
        connector=row.connector,
        action=Action(row.action),
        operation=row.operation,
        result=Result(row.result),
        reason=row.reason,
        message=row.message,
        seconds=row.seconds,
    )
