"""Collects the inputs for planning offset changes.

Only changes that are due are read: an applied change costs its one row in the ledger, and neither its manifest nor the
offsets of its connector are read again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.checks.large.verdict_cache import CachedVerdict
from gitops_connect.checks.own_schemas import OwnSchemas
from gitops_connect.checks.rules import as_notes
from gitops_connect.ledger.operations import Operations
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredOperation, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.history import OperationHistory, Past
from gitops_connect.model.large_manifests import SavedOffsets
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OperationName
from gitops_connect.model.observed import OFFSETS_SINCE, WorkerState
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import OperationKind, OperationState
from gitops_connect.model.shapes import Shape, schema_of, shape_of
from gitops_connect.model.worker_heap import count_copies
from gitops_connect.observed import has_exactly_once, observe_offsets
from gitops_connect.offset_changes.large.manifest_source import ManifestSource, staged_in
from gitops_connect.offset_changes.large.manifest_verdicts import ManifestVerdicts
from gitops_connect.offset_changes.large.open_changes import begun_change, means_of
from gitops_connect.offset_changes.large.spark_checks import SparkChecks
from gitops_connect.offset_changes.large.workspace import workspace
from gitops_connect.offset_changes.manifest_contexts import Schemas, context_of, read_own_schemas
from gitops_connect.offset_changes.staging.store import remove_unused
from gitops_connect.plan.operation_status import due, history_unknown
from gitops_connect.plan.situation import OffsetSituation, Situation, Unfinished
from gitops_connect.runtime import Runtime
from gitops_connect.source.checkout import Checkout


@dataclass(frozen=True, slots=True)
class ManifestsChecked:
    """The violations in the manifests of one cluster; `skipped`: applied changes, which are not checked again."""

    diagnostics: Diagnostics
    skipped: int = 0


def gather(runtime: Runtime, checkout: Checkout, situation: Situation) -> tuple[Situation, Diagnostics]:
    """Collect all inputs for the plan of offset changes, and the violations in the manifests that are due.

    Raises what Connect, the ledger, the source and Spark raise.
    """
    cluster, spark = situation.desired.cluster, SparkChecks(runtime.spark, runtime.say)
    offsets = remembered(runtime.ledger.operations, cluster)
    is_new = runtime.ledger.revisions(cluster).attempted is None
    situation = replace(situation, offsets=replace(offsets, now=runtime.clock.now(), is_new=is_new))
    wanted = list(due(situation))
    known = {one.name: look for one in wanted if (look := _known_look(runtime, situation, one)) is not None}
    concerned = {one.connector for one in wanted if one.name not in known} | {
        one.operation.connector for one in situation.offsets.unfinished.values()
    }
    if not concerned and not known:
        return situation, Diagnostics()
    own = read_own_schemas(checkout) if concerned else OwnSchemas()
    with workspace(spark.sessions.folder) as folder:
        remove_unused(staged_in(spark))
        situation = _look(runtime, situation, concerned, own.schemas, folder)
        verdicts = ManifestVerdicts(ManifestSource(checkout, spark))
        new = [one for one in wanted if one.name not in known and history_unknown(situation, one) is None]
        for operation in new:
            _add(verdicts, situation, operation, own.schemas)
        verdicts.ask(spark, folder / "asked")
        unfinished = _review_begun(runtime, situation, folder)
    large = [one for one in new if one.name in verdicts.large]
    copies = _copies(runtime, situation, {one.connector for one in large} | _begun_large(situation))
    for operation in large:
        if operation.connector not in situation.offsets.unread:
            current = _current(situation, operation.connector)
            look = CachedVerdict(verdicts.large[operation.name], current, copies[operation.connector])
            runtime.looks.keep(_look_key(situation, operation), look, runtime.clock.monotonic())
    found = replace(situation.offsets, manifests=verdicts.offsets, large=verdicts.large, unfinished=unfinished)
    found = _with_known(replace(found, copies=copies), wanted, known, concerned)
    said = Diagnostics.of(item for look in known.values() for item in look.verdict.diagnostics)
    return replace(situation, offsets=found), own.diagnostics + verdicts.diagnostics + said


def _known_look(runtime: Runtime, situation: Situation, operation: DesiredOperation) -> CachedVerdict | None:
    return runtime.looks.get(_look_key(situation, operation), runtime.clock.monotonic())


def _look_key(situation: Situation, operation: DesiredOperation) -> Hashable:
    """Everything that a verdict depends on, except the current offsets."""
    name = operation.connector
    config = next((one.config for one in situation.desired.connectors if one.name == name), {})
    records = [one for one in situation.offsets.records.values() if one.connector == name]
    done = tuple((one.name, one.state, one.since) for one in records)
    is_there = name in situation.observed.connectors
    declared = operation.name, operation.digest, operation.acknowledged, digest(dict(config))
    return situation.desired.cluster, situation.revision, declared, is_there, done


def _current(situation: Situation, name: ConnectorName) -> SavedOffsets:
    """The number and size of the current offsets. The file of them is only for the reconciliation that reads them."""
    large, live = situation.offsets.large_live.get(name), situation.offsets.live.get(name, {})
    if large is not None:
        return large
    return SavedOffsets("", len(live), sum(len(one) + len(offset) for one, offset in live.items()), Digest(""))


def _with_known(
    found: OffsetSituation,
    wanted: Iterable[DesiredOperation],
    known: Mapping[OperationName, CachedVerdict],
    seen: Set[str],
) -> OffsetSituation:
    """Add the verdicts of recent reads, for connectors that are not read now."""
    current = {
        one.connector: known[one.name].current for one in wanted if one.name in known and one.connector not in seen
    }
    copies = {one.connector: known[one.name].copies for one in wanted if one.name in known}
    none: dict[ConnectorName, Offsets] = {name: {} for name, stood in current.items() if not stood.entries}
    many = {name: stood for name, stood in current.items() if stood.entries}
    return replace(
        found,
        large={**{name: look.verdict for name, look in known.items()}, **found.large},
        live={**none, **found.live},
        large_live={**many, **found.large_live},
        copies={**copies, **found.copies},
    )


def _begun_large(situation: Situation) -> set[ConnectorName]:
    """The connectors of large changes in progress."""
    begun = (one.operation for one in situation.offsets.unfinished.values())
    return {one.connector for one in begun if one.is_large}


def _copies(runtime: Runtime, situation: Situation, names: Set[ConnectorName]) -> Mapping[ConnectorName, int]:
    """How often a worker holds all offsets of its cluster while the offsets of these connectors are changed."""
    client = runtime.clients[situation.desired.cluster]
    found = {}
    for connector in situation.desired.connectors:
        if connector.name in names:
            exactly_once = has_exactly_once(client, connector)
            others = situation.observed.connectors.values()
            found[connector.name] = count_copies(connector.name, others, exactly_once=exactly_once)
    return found


def _look(
    runtime: Runtime, situation: Situation, concerned: Set[ConnectorName], schemas: Schemas, folder: Path
) -> Situation:
    """Add the current offsets of the connectors."""
    can = situation.observed.version >= OFFSETS_SINCE
    there = sorted(concerned & situation.observed.connectors.keys()) if can else []
    seen = observe_offsets(runtime.clients[situation.desired.cluster], there, folder)
    shapes = _shapes(situation, concerned, schemas)
    found = replace(situation.offsets, live=seen.live, large_live=seen.large, unread=seen.unread, shapes=shapes)
    return replace(situation, offsets=found)


def _add(verdicts: ManifestVerdicts, situation: Situation, operation: DesiredOperation, schemas: Schemas) -> None:
    name, offsets = operation.connector, situation.offsets
    live: Offsets | SavedOffsets | None = (
        offsets.live.get(name) if name in offsets.live else offsets.large_live.get(name)
    )
    (connector,) = (one for one in situation.desired.connectors if one.name == name)
    is_absent = name not in situation.observed.connectors.keys() | situation.observed.unknown
    context = context_of(connector, None, schemas, operation.acknowledged)
    verdicts.add(operation, context, live, is_absent=is_absent)


def _review_begun(runtime: Runtime, situation: Situation, folder: Path) -> Mapping[OperationName, Unfinished]:
    """Review large changes that an earlier reconciliation has begun, if their connectors are STOPPED."""
    found = dict(situation.offsets.unfinished)
    for number, (name, one) in enumerate(found.items()):
        observed = situation.observed.connectors.get(one.operation.connector)
        stands_still = observed is not None and observed.state is WorkerState.STOPPED
        if one.operation.is_large and one.operation.kind is not OperationKind.CLEAR and stands_still:
            means = means_of(
                runtime, situation, runtime.ledger.operations, (one.operation.connector, folder / f"begun-{number}")
            )
            seen = situation.offsets.large_live.get(one.operation.connector)
            found[name] = replace(one, review=begun_change(situation, one.operation, means, seen).review())
    return found


def _shapes(situation: Situation, concerned: Set[ConnectorName], schemas: Schemas) -> Mapping[ConnectorName, Shape]:
    found = {
        one.name: shape_of(one.config, schema_of(one.config, schemas))
        for one in situation.desired.connectors
        if one.name in concerned
    }
    return {name: shape for name, shape in found.items() if shape is not None}


def check_manifests(
    spark: SparkChecks, checkout: Checkout, desired: DesiredState, history: OperationHistory
) -> ManifestsChecked:
    """Check the manifests of one cluster, as far as the repository and the ledger allow.

    A change that was applied is not checked again. A change that may have been applied is also checked with the rules
    that depend on its connector, but violations are only notes: the connector may have changed since.
    """
    own = read_own_schemas(checkout)
    supply, connectors = ManifestSource(checkout, spark), {one.name: one for one in desired.connectors}
    verdicts = {Past.PENDING: ManifestVerdicts(supply), Past.UNKNOWN: ManifestVerdicts(supply)}
    seeds = (one.initial_offsets for one in desired.connectors)
    declared = [one for one in (*desired.operations, *seeds) if one is not None]
    open_ones = [one for one in declared if history.past(one.name) is not Past.DONE]
    with workspace(spark.sessions.folder) as folder:
        for operation in open_ones:
            connector = connectors.get(operation.connector)
            context = ManifestContext(operation.connector)
            if connector is not None:
                context = context_of(connector, None, own.schemas, operation.acknowledged)
            verdicts[history.past(operation.name)].add(operation, context, None)
        for past, asked in verdicts.items():
            asked.ask(spark, folder / past.value)
    found = own.diagnostics + verdicts[Past.PENDING].diagnostics + as_notes(verdicts[Past.UNKNOWN].diagnostics)
    return ManifestsChecked(found, skipped=len(declared) - len(open_ones))


def remembered(ledger: Operations, cluster: ClusterName) -> OffsetSituation:
    """The ledger's records of that cluster's operations."""
    records = ledger.records(cluster)
    begun = [name for name, record in records.items() if record.state is OperationState.OPEN]
    unfinished = {name: Unfinished(ledger.saved(cluster, name), ledger.snapshot(cluster, name) or {}) for name in begun}
    return OffsetSituation(records=records, unfinished=unfinished)
