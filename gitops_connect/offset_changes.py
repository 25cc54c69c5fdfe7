"""What a cycle knows of offset changes before it plans them.

Only what is due is looked at: a change that was applied costs its one row in the ledger, and neither its manifest nor
the offsets of its connector are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from gitops_connect.checks import small
from gitops_connect.checks.own_schemas import OwnSchemas
from gitops_connect.desired import manifests
from gitops_connect.ledger.operations import Operations
from gitops_connect.manifest_contexts import Schemas, context_of, read_own_schemas
from gitops_connect.model.desired import DesiredOperation, DesiredState, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestVerdict
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName
from gitops_connect.model.observed import OFFSETS_SINCE
from gitops_connect.model.operations import OperationState
from gitops_connect.model.shapes import Shape, schema_of, shape_of
from gitops_connect.observed import observe_offsets
from gitops_connect.plan.situation import OffsetSituation, Situation, Unfinished
from gitops_connect.plan.standing import due, history_unknown
from gitops_connect.source.checkout import Checkout
from gitops_connect.world import World


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
