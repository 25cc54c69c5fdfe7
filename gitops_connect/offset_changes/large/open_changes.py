"""Opens large changes: new ones from their manifest, those begun by an earlier reconciliation from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.apply.journal import LargeChange
from gitops_connect.errors import GitopsConnectError, SourceRefused
from gitops_connect.ledger.operations import Operations
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.large_manifests import SavedOffsets
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ConnectorType
from gitops_connect.model.operations import Operation, OperationKind, OperationState
from gitops_connect.model.worker_heap import largest_chunk
from gitops_connect.observed import MAX_HELD
from gitops_connect.offset_changes.large.change import BegunChange, Means, NewChange
from gitops_connect.offset_changes.large.manifest_source import ManifestSource
from gitops_connect.offset_changes.large.manifest_verdicts import check_request
from gitops_connect.offset_changes.large.spark_checks import SparkChecks
from gitops_connect.offset_changes.large.workspace import workspace
from gitops_connect.offset_changes.manifest_contexts import context_of, read_own_schemas
from gitops_connect.plan.large_operations import declared_partitions
from gitops_connect.plan.operation_status import declared_operations
from gitops_connect.plan.situation import Situation
from gitops_connect.runtime import Runtime
from gitops_connect.source.checkout import Checkout


@dataclass(frozen=True, slots=True)
class LargeChanges:
    """Opens the large changes of one plan. `operations` are the ledger's, under the lease of the cluster."""

    runtime: Runtime
    checkout: Checkout
    situation: Situation
    operations: Operations

    @contextmanager
    def open(self, operation: Operation) -> Iterator[LargeChange]:
        """Open a large change; see `apply.journal.Journal.large`."""
        with workspace(self.runtime.spark.folder) as folder:
            means = means_of(self.runtime, self.situation, self.operations, (operation.connector, folder))
            record = self.situation.offsets.records.get(operation.name)
            if operation.kind is OperationKind.CLEAR:  # an interrupted deletion is repeated, with any offsets
                yield NewChange(operation, means, None, self.situation.policy.max_skip)
            elif record is not None and record.state is OperationState.OPEN:
                yield begun_change(self.situation, operation, means)
            else:
                yield self._new(operation, means)

    def are_too_many(self, operation: Operation) -> bool:
        """Whether the current offsets exceed memory; see `apply.journal.Journal.are_too_many`."""
        client = self.runtime.clients[self.situation.desired.cluster]
        with workspace(self.runtime.spark.folder) as folder, suppress(GitopsConnectError):
            found = client.save_offsets(operation.connector, folder / "standing.jsonl", MAX_HELD)
            return isinstance(found, SavedOffsets)
        return False

    def _new(self, operation: Operation, means: Means) -> NewChange:
        declared = declared_operations(self.situation, operation.connector)
        wanted = next(one for one in declared if one.name == operation.name)
        given = ManifestSource(self.checkout, means.spark).manifest(wanted)
        if isinstance(given, Diagnostic):
            raise SourceRefused(str(given.summary))
        max_skip = self.situation.policy.max_skip
        if given is None:
            return NewChange(operation, means, None, max_skip)
        (connector,) = (one for one in self.situation.desired.connectors if one.name == operation.connector)
        schemas = read_own_schemas(self.checkout).schemas
        context = context_of(connector, None, schemas, operation.acknowledged)
        return NewChange(operation, means, check_request(wanted, given, context, None), max_skip)


def means_of(
    runtime: Runtime, situation: Situation, operations: Operations, where: tuple[ConnectorName, Path]
) -> Means:
    """The dependencies of a change of this connector; its files go into the directory next to its name."""
    connector, folder = where
    shape = situation.offsets.shapes.get(connector)
    cluster = situation.desired.cluster
    return Means(
        cluster,
        runtime.clients[cluster],
        operations,
        SparkChecks(runtime.spark, runtime.say),
        runtime.clock,
        folder,
        shape,
        chunk_size_of(situation, connector),
    )


def chunk_size_of(situation: Situation, connector: ConnectorName) -> ChunkSize:
    """The size of chunks for this connector.

    Workers hold several copies of the offsets if they support exactly-once sources. They read one of the copies again
    for each request, so chunks are as large as the heap allows.
    """
    copies = situation.offsets.copies.get(connector, 1)
    observed = situation.observed.connectors.get(connector)
    if copies == 1 or (observed is not None and observed.type is ConnectorType.SINK):
        return ChunkSize()
    largest = largest_chunk(*declared_partitions(situation), copies, situation.policy.worker_heap)
    return ChunkSize.if_all_is_read_again(largest)


def begun_change(
    situation: Situation, operation: Operation, means: Means, seen: SavedOffsets | None = None
) -> BegunChange:
    """A change that the ledger records as in progress; `seen` is that of `BegunChange`."""
    configs = {one.name: one.config for one in situation.desired.connectors}
    context = ManifestContext(operation.connector, configs.get(operation.connector))
    return BegunChange(operation, means, context, situation.offsets.records[operation.name].sent or 0, seen)
