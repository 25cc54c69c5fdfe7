"""Where a large change comes from: begun now, from its manifest, or by an earlier cycle, from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.apply.journal import LargeChange
from gitops_connect.errors import GitopsConnectError, SourceRefused
from gitops_connect.large_changes.asking import Spark
from gitops_connect.large_changes.change import BegunChange, Means, NewChange
from gitops_connect.large_changes.supply import Supply
from gitops_connect.large_changes.verdicts import question
from gitops_connect.large_changes.workspace import workspace
from gitops_connect.ledger.operations import Operations
from gitops_connect.manifest_contexts import context_of, read_own_schemas
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.large_manifests import SavedOffsets
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.operations import Operation, OperationKind, OperationState
from gitops_connect.observed import MAX_HELD
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.standing import declared_operations
from gitops_connect.source.checkout import Checkout
from gitops_connect.world import World


@dataclass(frozen=True, slots=True)
class LargeChanges:
    """Opens the large changes of one plan. `operations` are the ledger's, under the lease of the cluster."""

    world: World
    checkout: Checkout
    situation: Situation
    operations: Operations

    @contextmanager
    def open(self, operation: Operation) -> Iterator[LargeChange]:
        """See `apply.journal.Journal.large`."""
        with workspace(self.world.spark.folder) as folder:
            means = means_of(self.world, self.situation, self.operations, (operation.connector, folder))
            record = self.situation.offsets.records.get(operation.name)
            if operation.kind is OperationKind.CLEAR:  # what was begun of a deletion is done again, whatever stands
                yield NewChange(operation, means, None, self.situation.policy.max_skip)
            elif record is not None and record.state is OperationState.OPEN:
                yield begun_change(self.situation, operation, means)
            else:
                yield self._new(operation, means)

    def are_too_many(self, operation: Operation) -> bool:
        """See `apply.journal.Journal.are_too_many`."""
        client = self.world.clients[self.situation.desired.cluster]
        with workspace(self.world.spark.folder) as folder, suppress(GitopsConnectError):
            found = client.save_offsets(operation.connector, folder / "standing.jsonl", MAX_HELD)
            return isinstance(found, SavedOffsets)
        return False

    def _new(self, operation: Operation, means: Means) -> NewChange:
        declared = declared_operations(self.situation, operation.connector)
        wanted = next(one for one in declared if one.name == operation.name)
        given = Supply(self.checkout, means.spark).manifest(wanted)
        if isinstance(given, Diagnostic):
            raise SourceRefused(str(given.summary))
        max_skip = self.situation.policy.max_skip
        if given is None:
            return NewChange(operation, means, None, max_skip)
        (connector,) = (one for one in self.situation.desired.connectors if one.name == operation.connector)
        schemas = read_own_schemas(self.checkout).schemas
        context = context_of(connector, None, schemas, operation.acknowledged)
        return NewChange(operation, means, question(wanted, given, context, None), max_skip)


def means_of(world: World, situation: Situation, operations: Operations, where: tuple[ConnectorName, Path]) -> Means:
    """What a change of this connector is carried out with; its files go into the folder beside its name."""
    connector, folder = where
    shape = situation.offsets.shapes.get(connector)
    cluster = situation.desired.cluster
    return Means(cluster, world.clients[cluster], operations, Spark(world.spark, world.say), world.clock, folder, shape)


def begun_change(
    situation: Situation, operation: Operation, means: Means, seen: SavedOffsets | None = None
) -> BegunChange:
    """One that the ledger has as open; see there for `seen`."""
    configs = {one.name: one.config for one in situation.desired.connectors}
    context = ManifestContext(operation.connector, configs.get(operation.connector))
    return BegunChange(operation, means, context, situation.offsets.records[operation.name].sent or 0, seen)
