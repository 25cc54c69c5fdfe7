"""What a cycle knows of offset changes before it plans them, and how it writes down what becomes of them.

Only what is due is looked at: a change that was applied costs its one row in the ledger, and neither its manifest nor
the offsets of its connector are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import replace

from gitops_connect.apply.journal import LargeChange
from gitops_connect.checks import own_schemas, small
from gitops_connect.checks.own_schemas import OwnSchemas
from gitops_connect.desired import manifests
from gitops_connect.ledger.operations import Operations
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector, DesiredOperation, DesiredState, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.differences import Review
from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestVerdict, OffsetSchema
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName
from gitops_connect.model.observed import OFFSETS_SINCE
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind, OperationState
from gitops_connect.model.shapes import Shape, schema_of, shape_of
from gitops_connect.observed import observe_offsets
from gitops_connect.plan.offsets import review, review_unfinished
from gitops_connect.plan.situation import OffsetSituation, Situation, Unfinished
from gitops_connect.plan.standing import due, history_unknown
from gitops_connect.source.checkout import Checkout
from gitops_connect.world import World

Schemas = Mapping[str, OffsetSchema]
"""By full class name."""


def gather(world: World, checkout: Checkout, situation: Situation) -> tuple[Situation, Diagnostics]:
    """Everything that the plan of offset changes is made from, and what is wrong with the manifests that are due.

    Raises what Connect, the ledger and the source raise.
    """
    cluster = situation.desired.cluster
    offsets = remembered(world.ledger.operations, cluster)
    is_new = world.ledger.revisions(cluster).attempted is None
    situation = replace(situation, offsets=replace(offsets, now=world.clock.now(), is_new=is_new))
    wanted = list(due(situation))
    concerned = {one.connector for one in wanted} | {
        one.operation.connector for one in situation.offsets.unfinished.values()
    }
    there = sorted(concerned & situation.observed.connectors.keys())
    can = situation.observed.version >= OFFSETS_SINCE
    live, unread = observe_offsets(world.clients[cluster], there if can else [])
    own = read_own_schemas(checkout) if concerned else OwnSchemas()
    found = replace(situation.offsets, live=live, unread=unread, shapes=_shapes(situation, concerned, own.schemas))
    situation = replace(situation, offsets=found)
    pending = [one for one in wanted if history_unknown(situation, one) is None]
    verdicts = _check(checkout, situation, pending, own.schemas)
    checked = {name: verdict.offsets for name, verdict in verdicts.items()}
    diagnostics = Diagnostics.of(item for verdict in verdicts.values() for item in verdict.diagnostics)
    return replace(situation, offsets=replace(found, manifests=checked)), own.diagnostics + diagnostics


def _shapes(situation: Situation, concerned: Set[ConnectorName], schemas: Schemas) -> Mapping[ConnectorName, Shape]:
    found = {
        one.name: shape_of(one.config, schema_of(one.config, schemas))
        for one in situation.desired.connectors
        if one.name in concerned
    }
    return {name: shape for name, shape in found.items() if shape is not None}


def check_manifests(checkout: Checkout, desired: DesiredState) -> Diagnostics:
    """What is wrong with all manifests of one cluster, as far as the repository itself can tell.

    What the ledger has as applied is checked here, too: nothing but the ledger tells it from what is to be done.
    """
    own = read_own_schemas(checkout)
    connectors = {one.name: one for one in desired.connectors}
    diagnostics = own.diagnostics
    for operation in (*desired.operations, *(one.initial_offsets for one in desired.connectors)):
        manifest = read_manifest(checkout, operation) if operation is not None else None
        if operation is None or manifest is None:
            continue
        connector = connectors.get(operation.connector)
        context = ManifestContext(operation.connector)
        if connector is not None:
            context = context_of(connector, None, own.schemas, operation.acknowledged)
        diagnostics += small.check(manifest, context, operation.kind).diagnostics
    return diagnostics


def remembered(ledger: Operations, cluster: ClusterName) -> OffsetSituation:
    """What the ledger says of that cluster's operations."""
    records = ledger.records(cluster)
    begun = [name for name, record in records.items() if record.state is OperationState.OPEN]
    unfinished = {name: Unfinished(ledger.saved(cluster, name), ledger.snapshot(cluster, name) or {}) for name in begun}
    return OffsetSituation(records=records, unfinished=unfinished)


def read_manifest(checkout: Checkout, operation: DesiredOperation) -> Manifest | None:
    """What the document declares, from the file that it names or from itself; None for a reset."""
    if isinstance(operation.manifest, ManifestUri):
        raise AssertionError(f"{operation.manifest.uri} is read in another way")
    if not isinstance(operation.manifest, ManifestFile):
        return operation.manifest
    blob = next(checkout.blobs(operation.manifest.entries, manifests.MAX_SIZE + 1))
    return manifests.parse(blob)


def read_own_schemas(checkout: Checkout) -> OwnSchemas:
    """What the repository says of the offsets of its own connector classes."""
    entries = [entry for entry in checkout.entries if own_schemas.is_offset_schema(entry.path)]
    return own_schemas.load((blob.path, blob.content) for blob in checkout.blobs(entries))


def _check(
    checkout: Checkout, situation: Situation, wanted: Iterable[DesiredOperation], schemas: Schemas
) -> dict[OperationName, ManifestVerdict]:
    connectors = {one.name: one for one in situation.desired.connectors}
    verdicts = {}
    for operation in wanted:
        manifest = read_manifest(checkout, operation)
        if manifest is not None:
            live = situation.offsets.live.get(operation.connector)
            context = context_of(connectors[operation.connector], live, schemas, operation.acknowledged)
            verdicts[operation.name] = small.check(manifest, context, operation.kind)
    return verdicts


def context_of(
    connector: DesiredConnector,
    live: Offsets | None,
    schemas: Schemas,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
) -> ManifestContext:
    """What a manifest of that connector is held against. `schemas` are those of the repository."""
    schema = schema_of(connector.config, schemas)
    return ManifestContext(connector.name, connector.config, live, schema, acknowledged)


class LedgerJournal:
    """The journal of `apply`, kept in the ledger. `operations` are to be under the lease of the cluster."""

    def __init__(self, operations: Operations, situation: Situation, clock: Clock) -> None:
        self._operations = operations
        self._situation = situation
        self._clock = clock
        self._cluster = situation.desired.cluster

    def intend(self, operation: Operation) -> None:
        """Written before the connector is created."""
        self._operations.intend(self._cluster, operation, self._clock.now())

    def begin(self, operation: Operation, before: Offsets) -> None:
        """Written before the offsets are changed, together with those that stand."""
        self._operations.begin(self._cluster, operation, before, self._clock.now())

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """Written before the connector may run."""
        self._operations.settle(self._cluster, operation.name, after, warning, self._clock.now())

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """Nothing was changed."""
        self._operations.fail(self._cluster, operation, message, final=final, at=self._clock.now())

    def note(self, operation: Operation, message: str) -> None:
        """Something may have been changed."""
        self._operations.note(self._cluster, operation.name, message)

    def review(self, operation: Operation, live: Offsets) -> Review:
        """As for the plan, on what stands now."""
        shape = self._shape(operation.connector)
        unfinished = self._situation.offsets.unfinished.get(operation.name)
        if unfinished is not None and operation.kind is not OperationKind.CLEAR:
            return review_unfinished(operation, unfinished.before, live, shape)
        return review(operation, live, shape, self._situation.policy.max_skip)

    def large(self, operation: Operation) -> AbstractContextManager[LargeChange]:
        """No plan has such an operation yet."""
        raise AssertionError(f"{operation.name} cannot be carried out")

    def _shape(self, connector: ConnectorName) -> Shape | None:
        return self._situation.offsets.shapes.get(connector)
