"""Marking offset changes as applied or not applied, by an administrator who knows what the ledger does not."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitops_connect.cli.console import ask, emit, tell
from gitops_connect.errors import StalePlan, UsageError
from gitops_connect.model.desired import DesiredOperation, DesiredState
from gitops_connect.model.names import ClusterName, Digest, OperationName
from gitops_connect.model.operations import OperationRecord, OperationState
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.reconcile import Declared
from gitops_connect.report.table import table
from gitops_connect.runtime import Runtime

RESOLVED = "marked as applied with `ledger resolve`"
_HEADERS = ("CLUSTER", "NAME", "CONNECTOR", "KIND", "STATE", "NEW STATE")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One offset change: what the ledger knows of it, or would if it had known it when it was declared.

    `declared` is the digest of the repository's document, None where there is none.
    """

    cluster: ClusterName
    record: OperationRecord
    known: bool
    declared: Digest | None

    @property
    def is_stuck(self) -> bool:
        """Whether it was begun, and could not be finished."""
        return self.record.state is OperationState.OPEN and bool(self.record.message)

    def settled(self) -> OperationRecord:
        """With the digest of what was begun, else of what the repository declares now."""
        begun = self.record.state is OperationState.OPEN or self.record.before is not None
        digest = self.record.digest if begun or self.declared is None else self.declared
        known = replace(self.record, state=OperationState.SETTLED, digest=digest, message=RESOLVED)
        return replace(known, failures=0, final=False)

    def row(self, becomes: str) -> list[str]:
        """One line of what is asked about."""
        one, state = self.record, self.record.state.value if self.known else "not recorded"
        return [self.cluster, one.name, one.connector, one.kind.value, state, becomes]


def find_candidates(runtime: Runtime, cluster: ClusterName, declared: Declared | None) -> list[Candidate]:
    """Every change that the ledger or the repository knows on that cluster. `declared` is None: only the ledger's."""
    records = runtime.ledger.operations.records(cluster)
    documents: Mapping[OperationName, DesiredOperation] = {}
    if declared is not None:
        documents = _operations(declared.states[cluster])
        now, unknown = runtime.clock.now(), OperationState.UNKNOWN
        assumed = {
            name: OperationRecord(name, one.connector, one.kind, unknown, one.digest, declared.revision, now)
            for name, one in documents.items()
        }
    else:
        assumed = {}
    return [
        Candidate(cluster, record, name in records, documents[name].digest if name in documents else None)
        for name, record in sorted({**assumed, **records}.items())
    ]


def _operations(state: DesiredState) -> Mapping[OperationName, DesiredOperation]:
    seeds = [one.initial_offsets for one in state.connectors if one.initial_offsets is not None]
    return {one.name: one for one in (*state.operations, *seeds)}


def waiting(runtime: Runtime, candidates: Sequence[Candidate], clusters: Sequence[ClusterName]) -> list[Candidate]:
    """Those that the ledger knows to need somebody who knows.

    A ledger that is new on a cluster has not looked yet which of them may have been applied: not all that is declared
    is, so nothing is taken for it.
    """
    for cluster in clusters:
        if runtime.ledger.revisions(cluster).attempted is None:
            tell(
                f"note: the ledger has no record of {cluster} yet; run `gitops-connect apply` first. It records offset"
                " changes that may have been applied before as unknown, and applies none of them"
            )
    unknown = OperationState.UNKNOWN
    return [one for one in candidates if one.known and (one.is_stuck or one.record.state is unknown)]


def named(candidates: Sequence[Candidate], names: Sequence[str], place: str) -> list[Candidate]:
    """Those of these names, on every cluster. Raises UsageError for a name that nothing has.

    `place` says where they were looked for.
    """
    there = {one.record.name for one in candidates}
    for name in names:
        if name not in there:
            raise UsageError(f"there is no offset change {name!r} in {place}{did_you_mean(name, there)}")
    return [one for one in candidates if one.record.name in names]


def unsettled(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Those that are not recorded as applied; the others are named in a note."""
    for one in chosen:
        if one.record.state is OperationState.SETTLED:
            tell(f"note: offset change {one.record.name} is already recorded as applied on {one.cluster}")
    return [one for one in chosen if one.record.state is not OperationState.SETTLED]


def unseen(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Raise UsageError where one of them was seen to take effect, and not only said to: that is never taken back."""
    for one in chosen:
        if one.record.state is OperationState.SETTLED and one.record.after is not None:
            raise UsageError(
                f"offset change {one.record.name} was applied to {one.cluster} and verified, so it is never applied"
                " again; to repeat it, declare it under another name"
            )
    return list(chosen)


def agreed(chosen: Sequence[Candidate], *, applied: bool, asked: bool) -> bool:
    """Show what the ledger is going to remember, and ask as `apply` does."""
    emit(table(_HEADERS, [one.row("applied" if applied else "planned") for one in chosen]))
    if not asked:
        return True
    if not sys.stdin.isatty():
        raise UsageError("cannot ask for approval, as stdin is not a terminal; review the list above, then add --yes")
    meaning = "applied? They are not applied again." if applied else "not applied? They are planned again."
    tell(f"\nDo you want to mark these offset changes as {meaning} Only 'yes' will be accepted to approve.")
    if ask("  Enter a value: ") == "yes":
        return True
    tell("Cancelled. Nothing was changed.")
    return False


def write(runtime: Runtime, cluster: ClusterName, chosen: Sequence[Candidate], *, applied: bool) -> int:
    """Remember it, under the cluster's lease. Returns how many there were.

    Raises StalePlan, and writes nothing, where the ledger says something else by now than what was shown.
    """
    with runtime.ledger.lease(cluster, runtime.clock) as lease:
        operations = runtime.ledger.operations.under(lease)
        there = operations.records(cluster)
        for one in chosen:
            if there.get(one.record.name) != (one.record if one.known else None):
                raise StalePlan(f"offset change {one.record.name} changed after it was shown; run the command again")
        if applied:
            now = runtime.clock.now()
            operations.mark(cluster, *(replace(one.settled(), since=now) for one in chosen))
        else:
            for one in chosen:
                operations.drop(cluster, one.record.name)
    return len(chosen)
