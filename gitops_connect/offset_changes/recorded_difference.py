"""What an offset change of the ledger did to each partition, from the ledger alone."""

from __future__ import annotations

from gitops_connect.ledger.operation_store import Operations
from gitops_connect.model.canonical import digest
from gitops_connect.model.differences import Difference
from gitops_connect.model.names import ClusterName
from gitops_connect.model.operations import Operation, OperationRecord
from gitops_connect.plan.offset_review import effect_of, find_difference


def recorded_difference(operations: Operations, cluster: ClusterName, record: OperationRecord) -> Difference | None:
    """Every partition with its offset before and after. Without the connector's class, each move is `changed`.

    None if the offsets before the change were not saved, or are too many for memory.
    """
    before = operations.snapshot(cluster, record.name)
    declared = operations.declared(cluster, record.name)
    if before is None or declared is None:
        return None
    operation = Operation(
        record.name, record.connector, record.kind, record.digest or digest([]), record.revision, declared
    )
    return find_difference(before, effect_of(operation, before), None)
