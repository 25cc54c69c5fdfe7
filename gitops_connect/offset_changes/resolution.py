"""Marks offset changes as applied or not applied, if an administrator knows the result and the ledger does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitops_connect.errors import StalePlan, UsageError
from gitops_connect.model.desired import DesiredOperation, DesiredState
from gitops_connect.model.names import ClusterName, Digest, OperationName, Revision
from gitops_connect.model.operations import OperationRecord, OperationState
from gitops_connect.model.strimzi import split_name
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.offset_changes.subject import Note
from gitops_connect.runtime import Runtime

RESOLVED = "marked as applied with `ledger resolve`"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One offset change: its record in the ledger, or the record that a complete ledger would have.

    `declared` is the digest of the repository's document, None if there is no document.
    """

    cluster: ClusterName
    record: OperationRecord
    known: bool
    declared: Digest | None

    @property
    def is_stuck(self) -> bool:
        """Whether the change was begun, and could not be finished."""
        return self.record.state is OperationState.OPEN and bool(self.record.message)

    def settled(self) -> OperationRecord:
        """The record as applied, with the digest of the begun change, or else with that of the declared one."""
        begun = self.record.state is OperationState.OPEN or self.record.before is not None
        digest = self.record.digest if begun or self.declared is None else self.declared
        known = replace(self.record, state=OperationState.SETTLED, digest=digest, message=RESOLVED)
        return replace(known, failures=0, final=False)

    def row(self, becomes: str) -> list[str]:
        """One row of the list that the user confirms."""
        one, state = self.record, self.record.state.value if self.known else "not recorded"
        return [self.cluster, one.name, one.connector, one.kind.value, state, becomes]


def find_candidates(
    runtime: Runtime, cluster: ClusterName, declared: DesiredState | None, revision: Revision
) -> list[Candidate]:
    """Every change on that cluster in the ledger or the repository. `declared` is None: only those in the ledger."""
    records = runtime.ledger.operations.records(cluster)
    documents = _operations(declared) if declared is not None else {}
    now, unknown = runtime.clock.now(), OperationState.UNKNOWN
    assumed = {
        name: OperationRecord(name, one.connector, one.kind, unknown, one.digest, revision, now)
        for name, one in documents.items()
    }
    return [
        Candidate(cluster, record, name in records, documents[name].digest if name in documents else None)
        for name, record in sorted({**assumed, **records}.items())
    ]


def _operations(state: DesiredState) -> Mapping[OperationName, DesiredOperation]:
    seeds = [one.initial_offsets for one in state.connectors if one.initial_offsets is not None]
    return {one.name: one for one in (*state.operations, *seeds)}


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
    unknown = OperationState.UNKNOWN
    return [one for one in candidates if one.known and (one.is_stuck or one.record.state is unknown)]


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
        if one.record.state is OperationState.SETTLED:
            note(f"offset change {one.record.name} is already recorded as applied on {one.cluster}")
    return [one for one in chosen if one.record.state is not OperationState.SETTLED]


def unseen(chosen: Sequence[Candidate]) -> list[Candidate]:
    """The changes, all of which may be marked as not applied.

    Raises UsageError if the effect of a change was observed: such a change is never marked as not applied.
    """
    for one in chosen:
        if one.record.state is OperationState.SETTLED and one.record.after is not None:
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
        operations = runtime.ledger.under(lease).operations
        there = operations.records(cluster)
        for one in chosen:
            if there.get(one.record.name) != (one.record if one.known else None):
                raise StalePlan(f"offset change {one.record.name} changed after it was shown; run the command again")
        if applied:
            now = runtime.clock.now()
            operations.mark(cluster, *(replace(one.settled(), since=now) for one in chosen))
        else:
            for one in chosen:
                if split_name(one.record.name)[1] and one.record.state is OperationState.UNKNOWN:
                    # Without a record, it would be unknown again: the earlier record of the same change remains.
                    intended = replace(one.record, state=OperationState.INTENDED, since=runtime.clock.now(), message="")
                    operations.mark(cluster, intended)
                else:
                    operations.drop(cluster, one.record.name)
    return len(chosen)
