"""The status of each declared offset change by its ledger record and its connector, before any offsets are read.

Only offset changes that are due cost time: their manifests are read and checked, and the offsets of their connectors
are fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from gitops_connect.connect.capabilities import CHANGE_OFFSETS, GET_OFFSETS, INITIAL_STATE
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredConnector, DesiredOffsetChange, TargetState
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
    clear_name,
    lack_words,
)
from gitops_connect.model.plans import Action, OffsetChangeStatus, Step
from gitops_connect.model.revisions import origin
from gitops_connect.model.strimzi import RULE, AnnotationAction, AnnotationWarning, RequestedListing, failed
from gitops_connect.plan.offset_review import ask_outcome
from gitops_connect.plan.situation import Situation

_TRIES = 10
"""What an annotation requests is tried in so many reconciliations, as in Strimzi, before the waits of `RETRY`."""
_EXISTED = "the connector existed before its initialOffsets, so they are not applied"
_STARTED = {WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.FAILED, WorkerState.RESTARTING}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The status of an offset change, its reason, and the `rule` if a person must fix the problem.

    `lacks` are the acknowledgements without which it failed, as far as its document still lacks them.
    """

    status: OffsetChangeStatus
    message: str = ""
    rule: str = ""
    lacks: frozenset[Acknowledgement] = frozenset()


def due(situation: Situation) -> Iterator[DesiredOffsetChange]:
    """The declared offset changes that may be executed in this reconciliation, as far as known without their
    manifests."""
    for connector in situation.desired.connectors:
        for offset_change in situation.desired.offset_changes_of(connector.name):
            if assess(situation, connector, offset_change).status is OffsetChangeStatus.PLANNED:
                yield offset_change


def assess(situation: Situation, connector: DesiredConnector, offset_change: DesiredOffsetChange) -> Assessment:
    """The status of one offset change of a declared connector."""
    known = status_by_record(situation, offset_change) or _recorded_otherwise(situation, offset_change)
    if known is not None:
        return known
    if (
        offset_change.annotation is not None
        and (requested := _requested(situation, connector, offset_change)) is not None
    ):
        return requested
    record = situation.offsets.records.get(offset_change.name)
    if (
        connector.initial_offsets is offset_change
        and connector.name in situation.observed.connectors
        and record is None
    ):
        return Assessment(OffsetChangeStatus.IDLE, _EXISTED)
    if why := _why_not_now(situation, connector):
        return Assessment(OffsetChangeStatus.WAITING, why)
    version = situation.observed.version
    if not CHANGE_OFFSETS.is_in(version):
        return Assessment(OffsetChangeStatus.WAITING, CHANGE_OFFSETS.missing(version), "offsets/too-old")
    return Assessment(OffsetChangeStatus.PLANNED)


def _requested(
    situation: Situation, connector: DesiredConnector, offset_change: DesiredOffsetChange
) -> Assessment | None:
    """Why a change that annotations request is not applied; None if it may be.

    Only the user stops the connector of a Strimzi resource: with `spec.state`, as in Strimzi.
    """
    earlier = situation.offsets.replaced.get(offset_change.name)
    if earlier is not None and offset_change.name not in situation.offsets.records:
        why = f"the same change is recorded as {earlier}, whose commit is not in the history of the annotation"
        ask = ask_outcome(situation.observed.cluster, offset_change.name)
        return Assessment(OffsetChangeStatus.UNKNOWN, f"{why}: {ask}", "offsets/unknown")
    why = offset_change.problem
    if not why and connector.state is not TargetState.STOPPED:
        why = "the connector not being stopped: set `state: stopped` in the resource"
    if not why or offset_change.annotation is None:
        return None
    return Assessment(OffsetChangeStatus.WAITING, failed(offset_change.annotation, connector.name, why), RULE)


def _recorded_otherwise(situation: Situation, offset_change: DesiredOffsetChange) -> Assessment | None:
    """The status of a change that is recorded under the name of its document with `connector`, or with `connectors`."""
    other = situation.offsets.records.get(offset_change.other_name)
    declared = {one.name for one in situation.desired.offset_changes_of(offset_change.connector)}
    if other is None or other.connector != offset_change.connector or other.name in declared:
        return None
    why = f"it is recorded as {other.name}, and its document names its connectors in another way now"
    return Assessment(OffsetChangeStatus.WAITING, why, "offsets/rewritten")


def _why_not_now(situation: Situation, connector: DesiredConnector) -> str:
    if connector.state is TargetState.ABSENT:
        return "its connector is declared absent"
    if connector.name in situation.observed.unknown:
        return "the state of its connector could not be read"
    if connector.name in situation.invalid:
        return "the config of its connector has errors"
    return ""


def only_warns(situation: Situation, offset_change: DesiredOffsetChange) -> bool:
    """Whether a problem of an offset change is a warning: one of an annotation, or of an edited seed that was
    applied."""
    record = situation.offsets.records.get(offset_change.name)
    settled = record is not None and record.state is OffsetChangeState.SETTLED
    return offset_change.annotation is not None or (settled and offset_change.kind is OffsetChangeKind.SEED)


def history_unknown(situation: Situation, offset_change: DesiredOffsetChange) -> Assessment | None:
    """The status of a change that a new ledger finds in the repository, if its connector already has offsets.

    It may have been applied before, by a process whose ledger was lost. If there are no offsets, or if the connector
    does not exist yet, nothing can be rewound, and the result is None. Offsets that could not be read count as offsets.
    """
    name, offsets = offset_change.connector, situation.offsets
    there = name in situation.observed.connectors or name in situation.observed.unknown
    if (
        not offsets.is_new
        or not there
        or offset_change.kind is OffsetChangeKind.SEED
        or offset_change.name in offsets.records
    ):
        return None
    if offsets.current.get(name) == {}:
        return None
    ask = ask_outcome(situation.observed.cluster, offset_change.name)
    why = f"the ledger is new, and the connector has offsets: {ask}"
    return Assessment(OffsetChangeStatus.UNKNOWN, why, "offsets/unknown")


def started_since(situation: Situation, offset_change: OffsetChange) -> str:
    """Why an offset change that was begun and never finished cannot be finished; empty if it can.

    The connector was stopped when the offset change was begun. If the connector is not stopped now, someone has started
    it. It may have returned to exactly the earlier position, and the offset change would rewind it a second time. The
    same is true if the connector was deleted, and must run for a moment because the worker cannot create it stopped.
    """
    observed = situation.observed.connectors.get(offset_change.connector)
    ask = ask_outcome(situation.observed.cluster, offset_change.name)
    if observed is None and _must_run_first(situation, offset_change):
        return (
            "the change was started but did not finish, its connector was deleted meanwhile, and Kafka Connect"
            f" {situation.observed.version} cannot create a stopped connector: {ask}"
        )
    if observed is None or observed.state not in _STARTED:
        return ""
    return f"the change was started but did not finish, and its connector has run since: {ask}"


def _must_run_first(situation: Situation, offset_change: OffsetChange) -> bool:
    """Whether the missing connector is created again, and runs before its offsets can be changed.

    Initial offsets are set after such a moment in any case, and a deletion does not create the connector.
    """
    creates = offset_change.kind not in (OffsetChangeKind.SEED, OffsetChangeKind.CLEAR)
    is_unread = offset_change.connector in situation.observed.unknown
    return creates and not is_unread and not INITIAL_STATE.is_in(situation.observed.version)


def is_cleared(situation: Situation, name: ConnectorName) -> bool:
    """Whether the connector was deleted with its offsets, and the process died before the ledger recorded that."""
    record = situation.offsets.records.get(clear_name(name))
    begun = record is not None and record.state is OffsetChangeState.OPEN
    return begun and name not in situation.observed.connectors.keys() | situation.observed.unknown


def status_by_record(situation: Situation, offset_change: DesiredOffsetChange) -> Assessment | None:
    """The status by the ledger record alone; None if the offset change is still to be executed."""
    record = situation.offsets.records.get(offset_change.name)
    if record is None:
        return None
    same = record.digest in (None, offset_change.digest)
    found: Assessment | None
    match record.state:
        case OffsetChangeState.SETTLED:
            found = _settled(situation, offset_change, record, same=same)
        case OffsetChangeState.OPEN:
            found = _open(same=same)
        case OffsetChangeState.UNKNOWN:
            ask = ask_outcome(situation.observed.cluster, offset_change.name)
            message = record.message or f"the change may be older than the ledger: {ask}"
            found = Assessment(OffsetChangeStatus.UNKNOWN, message, "offsets/unknown")
        case OffsetChangeState.FAILED:
            found = _failed(situation, record, offset_change) if same else None
        case OffsetChangeState.RELEASED if offset_change.connector in situation.observed.connectors:
            # A seed whose connector was deleted with its offsets, and that someone else has created.
            found = Assessment(OffsetChangeStatus.IDLE, _EXISTED)
        case OffsetChangeState.INTENDED | OffsetChangeState.RELEASED:
            found = None
        case _:
            assert_never(record.state)
    return found


def _open(*, same: bool) -> Assessment:
    if same:
        return Assessment(OffsetChangeStatus.UNFINISHED)
    why = "it is in progress, and its document was edited since: the earlier version is finished"
    return Assessment(OffsetChangeStatus.WAITING, why, "offsets/rewritten")


def _settled(
    situation: Situation, offset_change: DesiredOffsetChange, record: OffsetChangeRecord, *, same: bool
) -> Assessment | None:
    if offset_change.kind is OffsetChangeKind.SEED and is_cleared(situation, record.connector):
        return None
    when = f"applied {record.since:%Y-%m-%d %H:%M:%S} UTC, {origin(record.revision)}"
    if same or offset_change.annotation is not None:  # an annotation reads its ConfigMap once
        return Assessment(OffsetChangeStatus.APPLIED, when)
    return Assessment(
        OffsetChangeStatus.WAITING, f"it was {when}, and its document was edited since", "offsets/rewritten"
    )


def _failed(situation: Situation, record: OffsetChangeRecord, offset_change: DesiredOffsetChange) -> Assessment | None:
    annotation, again = offset_change.annotation, record.retry_at
    if annotation is not None and record.failures < _TRIES:
        return None
    if record.final and annotation is None:
        return Assessment(OffsetChangeStatus.FAILED, record.failure, "offsets/failed")
    lacks = record.lacks - offset_change.acknowledged
    is_acknowledged = bool(record.lacks) and not lacks  # since the failure
    if situation.now >= again or record.since > situation.now or is_acknowledged:  # or the clock was set back
        return None
    if annotation is not None:
        why = failed(annotation, record.connector, f'"{record.message}"')
        return Assessment(OffsetChangeStatus.FAILED, f"{why} Next retry at {again:%H:%M:%S} UTC.", RULE)
    if not lacks:
        return Assessment(OffsetChangeStatus.FAILED, record.failure, "offsets/failed")
    message = f"{record.failure}; {lack_words(lacks)}"
    return Assessment(OffsetChangeStatus.WAITING, message, "offsets/unacknowledged", lacks)


def withdrawn_seeds(situation: Situation) -> Iterator[OffsetChangeName]:
    """Seeds that were waiting for their connector, and that no document declares any more.

    A connector that was created for its seed stays STOPPED while it is not declared and its deletion waits. If it is
    declared again, it must not start without the seed, so that its seed is not withdrawn before it is deleted.
    """
    observed = situation.observed
    kept = {one.name for one in situation.desired.connectors if one.initial_offsets is not None}
    undeclared = (observed.connectors.keys() | observed.unknown) - situation.desired.by_name.keys()
    for name, record in situation.offsets.records.items():
        undone = record.state in (OffsetChangeState.INTENDED, OffsetChangeState.FAILED)
        if (
            record.kind is OffsetChangeKind.SEED
            and undone
            and record.connector not in kept | undeclared | situation.desired.held
        ):
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
            offset_change = OffsetChange(one.name, one.connector, OffsetChangeKind.LIST, declared, situation.revision)
            yield Step(one.connector, Action.LIST, what, offset_change=offset_change, listing=one)


def listing_warnings(situation: Situation) -> Iterator[AnnotationWarning]:
    """Why listings are not done, or failed."""
    for one in situation.desired.listings:
        if _is_listed(situation, one):
            continue
        record, why = situation.offsets.records.get(one.name), _listing_problem(situation, one)
        if not why and record is not None and record.state is OffsetChangeState.FAILED:
            why = f'"{record.message}"'
        if why:
            message, cluster = failed(AnnotationAction.LIST, one.connector, why), situation.desired.cluster
            yield AnnotationWarning(AnnotationAction.LIST, message, one.location, one.name, cluster, one.connector)


def _is_listed(situation: Situation, one: RequestedListing) -> bool:
    record = situation.offsets.records.get(one.name)
    return record is not None and record.state is OffsetChangeState.SETTLED


def _listing_problem(situation: Situation, one: RequestedListing) -> str:
    if one.problem:
        return one.problem
    if not GET_OFFSETS.is_in(situation.observed.version):
        return GET_OFFSETS.missing(situation.observed.version)
    if not situation.policy.lists_offsets:
        return "no destination for ConfigMaps in the settings: set [strimzi] output or output_branch"
    return ""
