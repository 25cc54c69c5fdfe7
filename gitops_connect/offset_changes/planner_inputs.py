"""Collects the inputs for planning offset changes.

Only changes that are due are read: an applied change costs its one row in the ledger, and neither its manifest nor the
offsets of its connector are read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from gitops_connect.connect.capabilities import GET_OFFSETS
from gitops_connect.connect.worker_heap import count_copies
from gitops_connect.families.debezium.slot_positions import slot_name
from gitops_connect.families.registry import Registry
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import (
    DesiredConnector,
    DesiredOffsetChange,
    DesiredState,
    ManifestFile,
    ManifestUri,
)
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, contained
from gitops_connect.model.exactly_once import ExactlyOnceSupport
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.observed_state import ReplicationSlot, WorkerState
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.observe import observe_exactly_once, observe_offsets
from gitops_connect.offset_changes.kafka_positions import KafkaReads
from gitops_connect.offset_changes.manifest_source import (
    ManifestSource,
    ManifestVerdicts,
    context_of,
    read_own_schemas,
    staging_directory,
    workspace,
)
from gitops_connect.offset_changes.planned_changes import LargeOffsetChange, PlannedChanges
from gitops_connect.offset_changes.staged_files import remove_unused
from gitops_connect.offset_changes.strimzi_requests import find_replaced
from gitops_connect.offset_changes.target_changes import TargetChanges
from gitops_connect.offsets.rules.own_schemas import is_offset_schema
from gitops_connect.offsets.spark.verdict_cache import CachedVerdict
from gitops_connect.plan.offset_change_status import due, history_unknown
from gitops_connect.plan.situation import OffsetSituation, Situation, Unfinished
from gitops_connect.runtime import Runtime
from gitops_connect.settings.own import own_files
from gitops_connect.settings.sections import DatabaseSettings
from gitops_connect.source.checkout import Checkout


def collect(runtime: Runtime, checkout: Checkout, situation: Situation) -> tuple[Situation, Diagnostics]:
    """Collect all inputs for the plan of offset changes, and the violations in the manifests that are due.

    Raises what Connect, the ledger, the source and Spark raise.
    """
    cluster, ledger = situation.desired.cluster, runtime.ledger.offset_changes
    records, is_new = _records(ledger, situation.desired), runtime.ledger.revisions(cluster).attempted is None
    unfinished = {
        name: Unfinished(ledger.saved(cluster, name), ledger.snapshot(cluster, name) or {})
        for name, record in records.items()
        if record.state is OffsetChangeState.OPEN
    }
    replaced = find_replaced(checkout.history, situation.desired, records)
    situation = replace(situation, offsets=OffsetSituation(records, unfinished, replaced=replaced, is_new=is_new))
    offset_changes, now = list(due(situation)), runtime.clock.monotonic()
    keys = CacheKeys(situation, checkout)
    verdicts = ((one, runtime.verdicts.get(keys.of(one), now)) for one in offset_changes)
    cached = {one.name: (one.connector, verdict) for one, verdict in verdicts if verdict is not None}
    uncached = [one for one in offset_changes if one.name not in cached]
    to_read = {one.connector for one in uncached} | {one.offset_change.connector for one in unfinished.values()}
    situation = _with_cached(situation, cached, to_read)
    diagnostics = Diagnostics.of(item for _, one in cached.values() for item in one.verdict.diagnostics)
    if to_read:
        situation, own = _with_read(runtime, checkout, situation, uncached, to_read)
        diagnostics = own + diagnostics
    return situation, diagnostics


def _records(ledger: OffsetChangeStore, desired: DesiredState) -> Mapping[OffsetChangeName, OffsetChangeRecord]:
    """The records on which the plan depends: of a connector with a change that is new, all of its changes."""
    names = {name for one in desired.offset_changes for name in (one.name, one.other_name)}
    found = ledger.of_plan(desired.cluster, names | {one.name for one in desired.listings})
    new = {one.connector for one in desired.offset_changes if one.name not in found}
    return {**found, **ledger.of_connectors(desired.cluster, new)}


class CacheKeys:
    """The keys of verdicts: everything that a verdict depends on, except the current offsets.

    Another commit that changes nothing of it has the same keys.
    """

    def __init__(self, situation: Situation, checkout: Checkout) -> None:
        self._situation = situation
        self._schemas = tuple(one for one in checkout.entries if is_offset_schema(one.path))
        self._records = defaultdict[ConnectorName, list[OffsetChangeRecord]](list)
        for one in situation.offsets.records.values():
            self._records[one.connector].append(one)
        self._of_connectors: dict[ConnectorName, Digest] = {}

    def of(self, offset_change: DesiredOffsetChange) -> Hashable:
        """The key of the verdict on an offset change."""
        name = offset_change.connector
        if name not in self._of_connectors:
            self._of_connectors[name] = self._of_connector(name)
        declared = offset_change.name, offset_change.digest, offset_change.acknowledged, self._of_connectors[name]
        return self._situation.desired.cluster, declared, self._places(offset_change), self._schemas

    def _places(self, offset_change: DesiredOffsetChange) -> Hashable:
        """What decides which places the diagnostics name: for a list in a document, the lines of the document."""
        match offset_change.manifest:
            case ManifestFile() | ManifestUri() as manifest:
                return manifest
            case _:
                return self._situation.revision

    def _of_connector(self, name: ConnectorName) -> Digest:
        connector, is_there = self._situation.desired.by_name.get(name), name in self._situation.observed.connectors
        done = [[one.name, one.state.value, one.since.isoformat()] for one in self._records.get(name, ())]
        return digest([dict(connector.config) if connector else {}, is_there, done])


def _with_cached(
    situation: Situation, cached: Mapping[OffsetChangeName, tuple[ConnectorName, CachedVerdict]], to_read: Set[str]
) -> Situation:
    """Add recent verdicts, and the number of current offsets of connectors that are not read now."""
    current = {name: one.current for name, one in cached.values() if name not in to_read}
    offsets = replace(
        situation.offsets,
        large={name: one.verdict for name, (_, one) in cached.items()},
        current={name: {} for name, one in current.items() if not one.entries},
        large_current={name: one for name, one in current.items() if one.entries},
        copies={name: one.copies for name, one in cached.values()},
    )
    return replace(situation, offsets=offsets)


def _with_read(
    runtime: Runtime,
    checkout: Checkout,
    situation: Situation,
    offset_changes: Sequence[DesiredOffsetChange],
    connectors: Set[ConnectorName],
) -> tuple[Situation, Diagnostics]:
    own = read_own_schemas(checkout)
    families = runtime.families.with_schemas(own.schemas)
    with workspace(runtime.spark.directory) as directory:
        remove_unused(staging_directory(runtime.spark))
        situation, bugs = _with_current_offsets(runtime, situation, connectors, families, directory)
        verdicts = ManifestVerdicts(
            ManifestSource(checkout, runtime.spark, runtime.say, own_files(runtime.settings), left=runtime.time_left),
            directory / "manifests",
        )
        cluster = situation.desired.cluster
        changes = TargetChanges(KafkaReads(runtime.cluster(cluster), runtime.open_kafka), checkout, situation)
        changes.read(offset_changes)
        _add_all(verdicts, changes, offset_changes, families, bugs)
        verdicts.check_large()
        situation = changes.with_times(offset_changes, verdicts.offsets)
        offsets, declared = situation.offsets, situation.desired.by_name
        unfinished = _review_begun(
            PlannedChanges(runtime, checkout, situation, runtime.ledger.offset_changes), directory
        )
    large = [one for one in offset_changes if one.name in verdicts.large]
    in_progress = {one.offset_change.connector for one in unfinished.values() if one.offset_change.is_large}
    changed = ({one.connector for one in large} | in_progress) & declared.keys()
    copies = _count_copies(runtime, situation, changed)
    keys = CacheKeys(situation, checkout)
    for offset_change in large:
        if offset_change.connector not in offsets.unread:
            current = _size_of_current(offsets, offset_change.connector)
            verdict = CachedVerdict(verdicts.large[offset_change.name], current, copies[offset_change.connector])
            runtime.verdicts.keep(keys.of(offset_change), verdict, runtime.clock.monotonic())
    offsets = replace(
        offsets,
        manifests=verdicts.offsets,
        large={**offsets.large, **verdicts.large},
        unfinished=unfinished,
        copies={**offsets.copies, **copies},
    )
    found = own.diagnostics + Diagnostics.of(bugs.values()) + verdicts.diagnostics
    return replace(situation, offsets=offsets), found


def _add_all(
    verdicts: ManifestVerdicts,
    changes: TargetChanges,
    offset_changes: Sequence[DesiredOffsetChange],
    families: Registry,
    bugs: Mapping[ConnectorName, Diagnostic],
) -> None:
    """Add the changes to the verdicts, with the offsets of their targets. `bugs` are those of connectors' families."""
    situation = changes.situation
    there = situation.observed.connectors.keys() | situation.observed.unknown
    for one in offset_changes:
        if history_unknown(situation, one) is not None and one.connector not in bugs:
            continue
        resolved = bugs[one.connector] if one.connector in bugs else changes.resolve(one)
        if isinstance(resolved, Diagnostic):
            verdicts.refuse(one, resolved)
            continue
        if resolved is None:
            verdicts.offsets[one.name] = {}
            continue
        offsets, connector = situation.offsets, situation.desired.by_name[one.connector]
        current = offsets.current.get(one.connector, offsets.large_current.get(one.connector))
        context = context_of(connector, families, one.acknowledged)
        verdicts.add(resolved, context, current, is_absent=one.connector not in there)


def _count_copies(runtime: Runtime, situation: Situation, names: Set[ConnectorName]) -> Mapping[ConnectorName, int]:
    """How often a worker holds all offsets of its cluster while those of each of these connectors are changed.

    If it is unknown whether the workers support exactly-once sources, as often as with that support.
    """
    if not names:
        return {}
    support = situation.exactly_once
    if support is ExactlyOnceSupport.UNKNOWN:
        support = observe_exactly_once(runtime.clients[situation.desired.cluster])
    connectors, enabled = situation.observed.connectors.values(), support is not ExactlyOnceSupport.NOT_ENABLED
    return {name: count_copies(name, connectors, exactly_once=enabled) for name in sorted(names)}


def _with_current_offsets(
    runtime: Runtime, situation: Situation, connectors: Set[ConnectorName], families: Registry, directory: Path
) -> tuple[Situation, Mapping[ConnectorName, Diagnostic]]:
    """Add the current offsets of the connectors, and their shapes. Returns the bugs in the families, too."""
    can_read = GET_OFFSETS.is_in(situation.observed.version)
    names = sorted(connectors & situation.observed.connectors.keys()) if can_read else []
    read, offsets = observe_offsets(runtime.clients[situation.desired.cluster], names, directory), situation.offsets
    current, large_current = {**offsets.current, **read.current}, {**offsets.large_current, **read.large}
    shapes, bugs = {}, {}
    declared = [one for one in situation.desired.connectors if one.name in connectors]
    slots = _read_slots(runtime, situation, declared)
    for one in declared:
        shape = contained(partial(families.shape, one.config), one.document.location, one.name)
        if isinstance(shape, Diagnostic):
            bugs[one.name] = shape
        elif shape is not None:
            shapes[one.name] = replace(shape, slot=slots.get(one.name))
    offsets = replace(offsets, current=current, large_current=large_current, unread=read.unread, shapes=shapes)
    return replace(situation, offsets=offsets), bugs


def _read_slots(
    runtime: Runtime, situation: Situation, connectors: Iterable[DesiredConnector]
) -> Mapping[ConnectorName, ReplicationSlot]:
    """The replication slots of these connectors, as far as the settings say in which database they are.

    Only the settings decide which server is asked. An unmerged document does not decide either for which slot.
    """
    databases, current = runtime.cluster(situation.desired.cluster).databases, situation.observed.connectors
    wanted: dict[ConnectorName, tuple[str, str]] = {}
    for one in connectors:
        name, seen = slot_name(one.config), current.get(one.name)
        is_known = not situation.untrusted or (seen is not None and slot_name(seen.config) == name)
        if name is not None and is_known and (database := _database_of(one.name, databases)):
            wanted[one.name] = database, "" if "slot.name" in one.secrets else name
    names = {
        database: {slot for place, slot in wanted.values() if place == database} for database, _ in wanted.values()
    }
    if not names:
        return {}
    from gitops_connect.replication_slots import read_slots  # noqa: PLC0415 - it needs an extra

    read = {(slot.database, slot.name): slot for slot in read_slots(names, databases)}
    running = {name for name, one in current.items() if one.state is not WorkerState.STOPPED}
    return {
        name: replace(read[place], taken_by_others=read[place].active and name not in running)
        for name, place in wanted.items()
    }


def _database_of(name: ConnectorName, databases: Mapping[str, DatabaseSettings]) -> str | None:
    found = (place for place, one in databases.items() if any(fnmatchcase(name, glob) for glob in one.connectors))
    return next(found, None)


def _review_begun(planned: PlannedChanges, directory: Path) -> Mapping[OffsetChangeName, Unfinished]:
    """Review large changes that an earlier reconciliation has begun, if their connectors are STOPPED."""
    situation, reviewed = planned.situation, dict(planned.situation.offsets.unfinished)
    for number, (name, one) in enumerate(reviewed.items()):
        observed = situation.observed.connectors.get(one.offset_change.connector)
        is_stopped = observed is not None and observed.state is WorkerState.STOPPED
        if one.offset_change.is_large and planned.is_resumed(one.offset_change) and is_stopped:
            current = situation.offsets.large_current.get(one.offset_change.connector)
            begun = LargeOffsetChange(planned, one.offset_change, directory / f"begun-{number}", current=current)
            reviewed[name] = replace(one, review=begun.review())
    return reviewed


def _size_of_current(offsets: OffsetSituation, name: ConnectorName) -> SavedOffsets:
    """The number and size of the current offsets. The file of them is only for the reconciliation that reads them."""
    current = offsets.current.get(name, {})
    size = sum(len(partition) + len(offset) for partition, offset in current.items())
    return offsets.large_current.get(name, SavedOffsets("", len(current), size, Digest("")))
