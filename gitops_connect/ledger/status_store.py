"""What was observed of a cluster over time: conditions, current offsets, and the steps that were carried out.

No plan needs it to be complete. It is not part of an export of the ledger, and needs no lease: a process that has lost
its lease also records what it did.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from sqlalchemy import delete, insert, select

from gitops_connect.ledger.column_types import attributes
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import CONDITIONS, OFFSET_POSITIONS, STEPS, RecordedValues
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.outcomes import JournalEntry
from gitops_connect.model.status import Condition, ConditionKey

KEPT_STEPS = 5000
"""Steps of each cluster that are kept. Older ones are removed."""
_STEP = [column.name for column in STEPS.c if column.name != "id"]


class StatusStore:
    """The conditions, offset positions and steps in the ledger; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.conditions = RecordedValues[ConditionKey, Condition](
            database,
            database.write,
            CONDITIONS,
            Condition,
            attrgetter("status", "reason", "message", "since", "revision"),
        )
        """All conditions of the cluster and its connectors."""
        self.offset_positions = RecordedValues[ConnectorName, OffsetPosition](
            database, database.write, OFFSET_POSITIONS, OffsetPosition, attrgetter("digest", "since")
        )
        """The current offsets of connectors that must move within a time, as a digest, and since when."""

    def record_step(self, entry: JournalEntry) -> int:
        """Add a step to the journal, and return its id."""
        (number,) = self.record_steps(entry.cluster, [entry])
        return number

    def record_steps(self, cluster: ClusterName, entries: Iterable[JournalEntry]) -> list[int]:
        """Add steps of this cluster to the journal, and return their ids. The oldest are removed at `KEPT_STEPS`."""
        here, add = STEPS.c.cluster == cluster, insert(STEPS).returning(STEPS.c.id)
        with self._database.write() as connection:
            numbers = [int(connection.execute(add, attributes(entry, *_STEP)).scalar_one()) for entry in entries]
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
            return [JournalEntry(**row) for row in connection.execute(query).mappings()]
