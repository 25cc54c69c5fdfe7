"""Offset changes as the ledger records them: their history and effect, and those that an administrator resolves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitops_connect.errors import NotFound, StalePlan, UsageError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.revisions import short
from gitops_connect.model.strimzi import split_name
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.offset_changes.subject import Note
from gitops_connect.plan.offset_review import effect_of, find_difference
from gitops_connect.report.offset_change_view import OffsetChangeView, view_of
from gitops_connect.report.receipt import Receipt, receipt_of
from gitops_connect.report.words import plural
from gitops_connect.runtime import Runtime

MOST_CHANGES = 100
"""So many changes are shown as a table; `-o json` shows all."""
SUGGESTED = 1000
"""So many of the last changes are searched for a similar name."""
HEADERS = ("CLUSTER", "NAME", "KIND", "STATE", "SINCE", "COMMIT", "OFFSETS", "MESSAGE")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change. `counts` are the partitions that it touched.

    `counts` is None if the offsets before the change were not saved, or are too many for memory.
    """

    cluster: ClusterName
    record: OffsetChangeRecord
    counts: Mapping[Direction, int] | None

    def row(self) -> list[str]:
        record, view = self.record, recorded_view(self.cluster, self.record)
        what = [self.cluster, record.name, record.kind.value, view.state.value]
        return [*what, f"{record.since:%Y-%m-%dT%H:%M:%SZ}", short(record.revision), self._counts(), view.cause or "-"]

    def _counts(self) -> str:
        if self.record.entries is not None:
            return _sent_words(self.record)
        counts = self.counts or {}
        return ", ".join(f"{count} {one.value}" for one, count in counts.items() if count) or "-"

    def value(self) -> dict[str, Any]:
        """For JSON and YAML."""
        record = self.record
        return {
            "cluster": self.cluster,
            "name": record.name,
            "kind": record.kind.value,
            **view_value(recorded_view(self.cluster, record)),
            "since": record.since.isoformat(timespec="seconds"),
            "commit": record.revision,
            "offsets": None if self.counts is None else {one.value: count for one, count in self.counts.items()},
            **large_value(record),
            "failures": record.failures,
            "final": record.final,
            "message": record.message,
            "warning": record.warning,
        }


def recorded_view(cluster: ClusterName, record: OffsetChangeRecord) -> OffsetChangeView:
    """The state by the ledger alone, with the first line of each message."""
    first = {name: getattr(record, name).partition("\n")[0] for name in ("message", "warning")}
    return view_of(cluster, None, replace(record, **first))


def view_value(view: OffsetChangeView) -> dict[str, str]:
    return {"state": view.state.value, "cause": view.cause, "nextStep": view.next_step}


def receipt(ledger: Ledger, cluster: ClusterName, record: OffsetChangeRecord) -> Receipt:
    """What an offset change did, as far as the ledger knows it."""
    effect = ledger.offset_changes.effects(cluster, [record.name]).get(record.name)
    begun = record.since if effect is None else effect.begun
    steps = ledger.status.around(cluster, record.connector, begun, record.since)
    everything = recorded_difference(ledger.offset_changes, cluster, record)
    return receipt_of(cluster, record, effect, everything, steps)


def _sent_words(record: OffsetChangeRecord) -> str:
    entries, sent = record.entries or 0, record.sent or 0
    if record.kind in (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR):
        return "all removed" if record.state is OffsetChangeState.SETTLED else "all to be removed"
    if record.state is OffsetChangeState.SETTLED or sent == entries:
        return f"{entries:,} sent"
    return f"{sent:,} of {entries:,} sent"


def large_value(record: OffsetChangeRecord) -> dict[str, int]:
    """The numbers of `_sent_words` for JSON and YAML; empty for a change that is not large."""
    return {} if record.entries is None else {"entries": record.entries, "sent": record.sent or 0}


def latest(
    changes: OffsetChangeStore,
    clusters: Iterable[ClusterName],
    connector: ConnectorName | None = None,
    most: int | None = None,
) -> list[tuple[ClusterName, OffsetChangeRecord]]:
    """The last changes, newest first."""
    found = [(one, record) for one in clusters for record in changes.latest(one, connector, limit=most)]
    # The sort is stable: the last sort decides, the first one decides among equal values.
    found.sort(key=lambda one: (one[0], one[1].name))
    found.sort(key=lambda one: one[1].since, reverse=True)
    return found[:most]


def find(
    changes: OffsetChangeStore, clusters: Iterable[ClusterName], name: str
) -> list[tuple[ClusterName, OffsetChangeRecord]]:
    """The changes of that name, which may exist on several clusters."""
    known = ((one, changes.find(one, OffsetChangeName(name))) for one in clusters)
    return [(one, record) for one, record in known if record is not None]


def tell_of_older(
    changes: OffsetChangeStore,
    clusters: Iterable[ClusterName],
    connector: ConnectorName | None,
    shown: int,
    note: Note,
) -> None:
    """Say how many changes are not shown."""
    if older := sum(changes.count(one, connector) for one in clusters) - shown:
        note(f"{plural(older, 'older offset change')} not shown; use -o json to list all")


def entries(
    runtime: Runtime, clusters: Sequence[ClusterName], connector: ConnectorName, most: int | None
) -> list[HistoryEntry]:
    """The last changes of the connector, newest first. Raises NotFound if the ledger does not know the connector."""
    changes = runtime.ledger.offset_changes
    found = latest(changes, clusters, connector, most)
    if not found:
        known = {str(name) for cluster in clusters for name in runtime.ledger.ownership(cluster)}
        if connector not in known:
            known |= {record.connector for _, record in latest(changes, clusters, most=SUGGESTED)}
            raise NotFound(
                f"the ledger has no connector {connector!r} on {', '.join(clusters)}{did_you_mean(connector, known)}"
            )
    effects = {one: changes.effects(one, [record.name for of, record in found if of == one]) for one in clusters}
    return [
        HistoryEntry(cluster, record, _counts(changes, cluster, record, effects[cluster].get(record.name)))
        for cluster, record in found
    ]


def _counts(
    changes: OffsetChangeStore, cluster: ClusterName, record: OffsetChangeRecord, effect: AppliedEffect | None
) -> Mapping[Direction, int] | None:
    difference = recorded_difference(changes, cluster, record) if effect is None else effect.difference
    if difference is None:
        return None
    return {one: count for one in Direction if (count := difference.counts.get(one))}


def recorded_difference(
    offset_changes: OffsetChangeStore, cluster: ClusterName, record: OffsetChangeRecord
) -> Difference | None:
    """Every partition with its offset before and after. Without the connector's class, each move is `changed`.

    None if the offsets before the change were not saved, or are too many for memory.
    """
    if record.before is None or (before := offset_changes.snapshot(cluster, record.name)) is None:
        return None
    if (declared := offset_changes.declared(cluster, record.name)) is None:
        return None
    offset_change = OffsetChange(
        record.name, record.connector, record.kind, record.digest or digest([]), record.revision, declared
    )
    return find_difference(before, effect_of(offset_change, before), None)


# Changes that an administrator marks as applied or not applied, because the ledger does not know the result.

RESOLVED = "marked as applied with `ledger resolve`"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One offset change: its record in the ledger, or the record that a complete ledger would have.

    `declared` is the digest of the repository's document, None if there is no document.
    """

    cluster: ClusterName
    record: OffsetChangeRecord
    known: bool
    declared: Digest | None

    @property
    def is_waiting(self) -> bool:
        """Whether the ledger does not know its result, or it was begun and could not be finished."""
        is_stuck = self.record.state is OffsetChangeState.OPEN and bool(self.record.message)
        return self.known and (is_stuck or self.record.state is OffsetChangeState.UNKNOWN)

    def settled(self) -> OffsetChangeRecord:
        """The record as applied, with the digest of the begun change, or else with that of the declared one."""
        begun = self.record.state is OffsetChangeState.OPEN or self.record.before is not None
        digest = self.record.digest if begun or self.declared is None else self.declared
        known = replace(self.record, state=OffsetChangeState.SETTLED, digest=digest, message=RESOLVED)
        return replace(known, failures=0, final=False)

    def row(self, becomes: str) -> list[str]:
        one, state = self.record, self.record.state.value if self.known else "not recorded"
        return [self.cluster, one.name, one.connector, one.kind.value, state, becomes]


def find_candidates(
    runtime: Runtime,
    cluster: ClusterName,
    declared: DesiredState | None,
    revision: Revision,
    names: Iterable[OffsetChangeName] = (),
) -> list[Candidate]:
    """Every change on that cluster in the repository, and those in the ledger that are not applied or in `names`.

    `declared` is None: only those in the ledger.
    """
    seeds = (one.initial_offsets for one in declared.connectors) if declared is not None else ()
    changes = (*(declared.offset_changes if declared is not None else ()), *seeds)
    documents = {one.name: one for one in changes if one is not None}
    records = runtime.ledger.offset_changes.of_plan(cluster, [*documents, *names])
    now, unknown = runtime.clock.now(), OffsetChangeState.UNKNOWN
    assumed = {
        name: OffsetChangeRecord(name, one.connector, one.kind, unknown, one.digest, revision, now)
        for name, one in documents.items()
    }
    return [
        Candidate(cluster, record, name in records, documents[name].digest if name in documents else None)
        for name, record in sorted({**assumed, **records}.items())
    ]


def waiting(
    runtime: Runtime, candidates: Sequence[Candidate], clusters: Sequence[ClusterName], note: Note
) -> list[Candidate]:
    """The changes whose result the ledger does not know.

    A ledger that is new on a cluster has not yet recorded which changes may have been applied. Then a note is printed,
    and no declared change is assumed to be one of them.
    """
    for cluster in clusters:
        if runtime.ledger.revisions(cluster).attempted is None:
            note(
                f"the ledger has no record of {cluster} yet; run `gitops-connect apply` first. It records offset"
                " changes that may have been applied before as unknown, and applies none of them"
            )
    return [one for one in candidates if one.is_waiting]


def named(candidates: Sequence[Candidate], names: Sequence[str], place: str) -> list[Candidate]:
    """The changes with these names, on every cluster. Raises UsageError for a name without a change.

    `place` says where the changes were searched.
    """
    there = {one.record.name for one in candidates}
    for name in names:
        if name not in there:
            raise UsageError(f"there is no offset change {name!r} in {place}{did_you_mean(name, there)}")
    return [one for one in candidates if one.record.name in names]


def unsettled(chosen: Sequence[Candidate], note: Note) -> list[Candidate]:
    """The changes that are not recorded as applied; a note names each of the others."""
    for one in chosen:
        if one.record.state is OffsetChangeState.SETTLED:
            note(f"offset change {one.record.name} is already recorded as applied on {one.cluster}")
    return [one for one in chosen if one.record.state is not OffsetChangeState.SETTLED]


def unseen(chosen: Sequence[Candidate]) -> list[Candidate]:
    """The changes, all of which may be marked as not applied.

    Raises UsageError if the effect of a change was observed: such a change is never marked as not applied.
    """
    for one in chosen:
        if one.record.state is OffsetChangeState.SETTLED and one.record.after is not None:
            raise UsageError(
                f"offset change {one.record.name} was applied to {one.cluster} and verified, so it is never applied"
                " again; to repeat it, declare it under another name"
            )
    return list(chosen)


def resolve(runtime: Runtime, cluster: ClusterName, chosen: Sequence[Candidate], *, applied: bool) -> int:
    """Record the result under the cluster's lease. Returns the number of changes.

    Raises StalePlan, and writes nothing, if the ledger has changed since the records were shown.
    """
    with runtime.ledger.lease(cluster, runtime.clock) as lease:
        offset_changes = runtime.ledger.under(lease).offset_changes
        there = offset_changes.of_plan(cluster, [one.record.name for one in chosen])
        for one in chosen:
            if there.get(one.record.name) != (one.record if one.known else None):
                raise StalePlan(f"offset change {one.record.name} changed after it was shown; run the command again")
        if applied:
            now = runtime.clock.now()
            offset_changes.mark(cluster, *(replace(one.settled(), since=now) for one in chosen))
            return len(chosen)
        for one in chosen:
            if split_name(one.record.name)[1] and one.record.state is OffsetChangeState.UNKNOWN:
                # Without a record, it would be unknown again: the earlier record of the same change remains.
                intended = replace(one.record, state=OffsetChangeState.INTENDED, since=runtime.clock.now(), message="")
                offset_changes.mark(cluster, intended)
            else:
                offset_changes.drop(cluster, one.record.name)
    return len(chosen)
