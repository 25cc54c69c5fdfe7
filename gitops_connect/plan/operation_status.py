"""The status of each declared operation by its ledger record and its connector, before any offsets are read.

Only operations that are due cost time: their manifests are read and checked, and the offsets of their connectors are
fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from gitops_connect.connect.capabilities import CHANGE_OFFSETS, GET_OFFSETS, INITIAL_STATE
from gitops_connect.model.canonical import digest
from gitops_connect.model.clock import Backoff
from gitops_connect.model.desired import DesiredConnector, DesiredOperation, TargetState
from gitops_connect.model.names import ConnectorName, OperationName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.operations import Operation, OperationKind, OperationRecord, OperationState, clear_name
from gitops_connect.model.plans import Action, OperationStatus, Step
from gitops_connect.model.revisions import origin
from gitops_connect.model.strimzi import RULE, AnnotationAction, AnnotationWarning, RequestedListing, failed
from gitops_connect.plan.offset_review import ask_outcome
from gitops_connect.plan.situation import Situation

RETRY = Backoff(first=60, longest=3600)
"""Each try stops the connector for a short time."""
_EXISTED = "the connector existed before its initialOffsets, so they are not applied"
_STARTED = {WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.FAILED, WorkerState.RESTARTING}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The status of an operation, its reason, and the `rule` if a person must fix the problem."""

    status: OperationStatus
    message: str = ""
    rule: str = ""


def due(situation: Situation) -> Iterator[DesiredOperation]:
    """The declared operations that may be executed in this reconciliation, as far as known without their manifests."""
    for connector in situation.desired.connectors:
        for operation in situation.desired.operations_of(connector.name):
            if assess(situation, connector, operation).status is OperationStatus.PLANNED:
                yield operation


def assess(situation: Situation, connector: DesiredConnector, operation: DesiredOperation) -> Assessment:
    """The status of one operation of a declared connector."""
    known = status_by_record(situation, operation)
    if known is not None:
        return known
    if operation.annotation is not None and (requested := _requested(situation, connector, operation)) is not None:
        return requested
    record = situation.offsets.records.get(operation.name)
    if connector.initial_offsets is operation and connector.name in situation.observed.connectors and record is None:
        return Assessment(OperationStatus.IDLE, _EXISTED)
    if why := _why_not_now(situation, connector):
        return Assessment(OperationStatus.WAITING, why)
    version = situation.observed.version
    if not CHANGE_OFFSETS.is_in(version):
        return Assessment(OperationStatus.WAITING, CHANGE_OFFSETS.missing(version), "offsets/too-old")
    return Assessment(OperationStatus.PLANNED)


def _requested(situation: Situation, connector: DesiredConnector, operation: DesiredOperation) -> Assessment | None:
    """Why a change that annotations request is not applied; None if it may be.

    Only the user stops the connector of a Strimzi resource: with `spec.state`, as in Strimzi.
    """
    earlier = situation.offsets.replaced.get(operation.name)
    if earlier is not None and operation.name not in situation.offsets.records:
        why = f"the same change is recorded as {earlier}, whose commit is not in the history of the annotation"
        return Assessment(OperationStatus.UNKNOWN, f"{why}: {ask_outcome(operation.name)}", "offsets/unknown")
    why = operation.problem
    if not why and connector.state is not TargetState.STOPPED:
        why = "the connector not being stopped: set `state: stopped` in the resource"
    if not why or operation.annotation is None:
        return None
    return Assessment(OperationStatus.WAITING, failed(operation.annotation, connector.name, why), RULE)


def _why_not_now(situation: Situation, connector: DesiredConnector) -> str:
    if connector.state is TargetState.ABSENT:
        return "its connector is declared absent"
    if connector.name in situation.observed.unknown:
        return "the state of its connector could not be read"
    if connector.name in situation.invalid:
        return "the config of its connector has errors"
    return ""


def only_warns(situation: Situation, operation: DesiredOperation) -> bool:
    """Whether a problem of an operation is a warning: one of an annotation, or of an edited seed that was applied."""
    record = situation.offsets.records.get(operation.name)
    settled = record is not None and record.state is OperationState.SETTLED
    return operation.annotation is not None or (settled and operation.kind is OperationKind.SEED)


def history_unknown(situation: Situation, operation: DesiredOperation) -> Assessment | None:
    """The status of a change that a new ledger finds in the repository, if its connector already has offsets.

    It may have been applied before, by a process whose ledger was lost. If there are no offsets, or if the connector
    does not exist yet, nothing can be rewound, and the result is None. Offsets that could not be read count as offsets.
    """
    name, offsets = operation.connector, situation.offsets
    there = name in situation.observed.connectors or name in situation.observed.unknown
    if not offsets.is_new or not there or operation.kind is OperationKind.SEED or operation.name in offsets.records:
        return None
    if offsets.current.get(name) == {}:
        return None
    why = f"the ledger is new, and the connector has offsets: {ask_outcome(operation.name)}"
    return Assessment(OperationStatus.UNKNOWN, why, "offsets/unknown")


def started_since(situation: Situation, operation: Operation) -> str:
    """Why an operation that was begun and never finished cannot be finished; empty if it can.

    The connector was stopped when the operation was begun. If the connector is not stopped now, someone has started
    it. It may have returned to exactly the earlier position, and the operation would rewind it a second time. The same
    is true if the connector was deleted, and must run for a moment because the worker cannot create it stopped.
    """
    observed = situation.observed.connectors.get(operation.connector)
    if observed is None and _must_run_first(situation, operation):
        return (
            "the change was started but did not finish, its connector was deleted meanwhile, and Kafka Connect"
            f" {situation.observed.version} cannot create a stopped connector: {ask_outcome(operation.name)}"
        )
    if observed is None or observed.state not in _STARTED:
        return ""
    return f"the change was started but did not finish, and its connector has run since: {ask_outcome(operation.name)}"


def _must_run_first(situation: Situation, operation: Operation) -> bool:
    """Whether the missing connector is created again, and runs before its offsets can be changed.

    Initial offsets are set after such a moment in any case, and a deletion does not create the connector.
    """
    creates = operation.kind not in (OperationKind.SEED, OperationKind.CLEAR)
    is_unread = operation.connector in situation.observed.unknown
    return creates and not is_unread and not INITIAL_STATE.is_in(situation.observed.version)


def is_cleared(situation: Situation, name: ConnectorName) -> bool:
    """Whether the connector was deleted with its offsets, and the process died before the ledger recorded that."""
    record = situation.offsets.records.get(clear_name(name))
    begun = record is not None and record.state is OperationState.OPEN
    return begun and name not in situation.observed.connectors.keys() | situation.observed.unknown


def status_by_record(situation: Situation, operation: DesiredOperation) -> Assessment | None:
    """The status by the ledger record alone; None if the operation is still to be executed."""
    record = situation.offsets.records.get(operation.name)
    if record is None:
        return None
    same = record.digest in (None, operation.digest)
    found: Assessment | None
    match record.state:
        case OperationState.SETTLED:
            found = _settled(situation, operation, record, same=same)
        case OperationState.OPEN:
            found = _open(same=same)
        case OperationState.UNKNOWN:
            new = f"the change may be older than the ledger: {ask_outcome(operation.name)}"
            found = Assessment(OperationStatus.WAITING, record.message or new, "offsets/unknown")
        case OperationState.FAILED:
            found = _failed(situation, record) if same else None
        case OperationState.RELEASED if operation.connector in situation.observed.connectors:
            # A seed whose connector was deleted with its offsets, and that someone else has created.
            found = Assessment(OperationStatus.IDLE, _EXISTED)
        case OperationState.INTENDED | OperationState.RELEASED:
            found = None
        case _:
            assert_never(record.state)
    return found


def _open(*, same: bool) -> Assessment:
    if same:
        return Assessment(OperationStatus.UNFINISHED)
    why = "it is in progress, and its document was edited since: the earlier version is finished"
    return Assessment(OperationStatus.WAITING, why, "offsets/rewritten")


def _settled(
    situation: Situation, operation: DesiredOperation, record: OperationRecord, *, same: bool
) -> Assessment | None:
    if operation.kind is OperationKind.SEED and is_cleared(situation, record.connector):
        return None
    when = f"applied {record.since:%Y-%m-%d %H:%M:%S} UTC, {origin(record.revision)}"
    if same or operation.annotation is not None:  # an annotation reads its ConfigMap once
        return Assessment(OperationStatus.APPLIED, when)
    return Assessment(OperationStatus.WAITING, f"it was {when}, and its document was edited since", "offsets/rewritten")


def _failed(situation: Situation, record: OperationRecord) -> Assessment | None:
    if record.final:
        return Assessment(OperationStatus.WAITING, f"it failed and is not retried: {record.message}", "offsets/failed")
    again = record.since + timedelta(seconds=RETRY.after(record.failures))
    if situation.now >= again:
        return None
    times = "once" if record.failures == 1 else f"{record.failures} times"
    retry = f"next retry at {again:%H:%M:%S} UTC or when its document changes"
    return Assessment(OperationStatus.WAITING, f"it failed {times}; {retry}: {record.message}", "offsets/failed")


def withdrawn_seeds(situation: Situation) -> Iterator[OperationName]:
    """Seeds that were waiting for their connector, and that no document declares any more."""
    declared = {one.name for one in situation.desired.connectors if one.initial_offsets is not None}
    for name, record in situation.offsets.records.items():
        undone = record.state in (OperationState.INTENDED, OperationState.FAILED)
        if record.kind is OperationKind.SEED and undone and record.connector not in declared | situation.desired.held:
            yield name


# Writing current offsets to ConfigMaps, as annotations of Strimzi resources request it: once for each addition.


def requested_listings(situation: Situation, desired: DesiredConnector) -> Iterator[Step]:
    """The listings of one connector that are due. A failed one is repeated in each reconciliation, as in Strimzi."""
    observed = situation.observed.connectors
    if desired.name not in observed or desired.name in situation.observed.unknown:
        return
    for one in situation.desired.listings:
        if one.connector == desired.name and not (_is_listed(situation, one) or _listing_problem(situation, one)):
            what = f"the current offsets are written to the entry {one.entry} of the ConfigMap {one.config_map}"
            declared = digest([one.connector, one.config_map, one.namespace, one.entry])
            operation = Operation(one.name, one.connector, OperationKind.LIST, declared, situation.revision)
            yield Step(one.connector, Action.LIST, what, operation=operation, listing=one)


def listing_warnings(situation: Situation) -> Iterator[AnnotationWarning]:
    """Why listings are not done, or failed."""
    for one in situation.desired.listings:
        if _is_listed(situation, one):
            continue
        record, why = situation.offsets.records.get(one.name), _listing_problem(situation, one)
        if not why and record is not None and record.state is OperationState.FAILED:
            why = f'"{record.message}"'
        if why:
            action, cluster = AnnotationAction.LIST, situation.desired.cluster
            yield AnnotationWarning(action, failed(action, one.connector, why), one.location, cluster, one.connector)


def _is_listed(situation: Situation, one: RequestedListing) -> bool:
    record = situation.offsets.records.get(one.name)
    return record is not None and record.state is OperationState.SETTLED


def _listing_problem(situation: Situation, one: RequestedListing) -> str:
    if one.problem:
        return one.problem
    if not GET_OFFSETS.is_in(situation.observed.version):
        return GET_OFFSETS.missing(situation.observed.version)
    if not situation.policy.lists_offsets:
        return "no destination for ConfigMaps in the settings: set [strimzi] output or output_branch"
    return ""
