"""The ledger's records of the offset changes of one connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_connect.errors import NotFound
from gitops_connect.model.differences import Direction
from gitops_connect.model.names import ClusterName
from gitops_connect.model.operations import OperationKind, OperationRecord, OperationState
from gitops_connect.model.revisions import short
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.offset_changes.recorded_difference import recorded_difference
from gitops_connect.report.printable import one_line
from gitops_connect.runtime import Runtime

HEADERS = ("CLUSTER", "NAME", "KIND", "STATE", "SINCE", "COMMIT", "OFFSETS", "MESSAGE")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change. `counts` are the partitions that it touched.

    `counts` is None if the offsets before the change were not saved, or are too many for memory.
    """

    cluster: ClusterName
    record: OperationRecord
    counts: Mapping[Direction, int] | None

    def row(self) -> list[str]:
        """The row of the table."""
        record = self.record
        warning = f"warning: {record.warning}" if record.warning else ""
        messages = "; ".join(one_line(text.partition("\n")[0]) for text in (record.message, warning) if text)
        what = [self.cluster, record.name, record.kind.value, record.state.value]
        return [*what, f"{record.since:%Y-%m-%dT%H:%M:%SZ}", short(record.revision), self._counts(), messages or "-"]

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
            "state": record.state.value,
            "since": record.since.isoformat(timespec="seconds"),
            "commit": record.revision,
            "offsets": None if self.counts is None else {one.value: count for one, count in self.counts.items()},
            **large_value(record),
            "failures": record.failures,
            "final": record.final,
            "message": record.message,
            "warning": record.warning,
        }


def _sent_words(record: OperationRecord) -> str:
    """How many offsets of a large change were accepted: `310,000 of 1,000,000 sent`."""
    entries, sent = record.entries or 0, record.sent or 0
    if record.kind in (OperationKind.RESET, OperationKind.CLEAR):
        return "all removed" if record.state is OperationState.SETTLED else "all to be removed"
    if record.state is OperationState.SETTLED or sent == entries:
        return f"{entries:,} sent"
    return f"{sent:,} of {entries:,} sent"


def large_value(record: OperationRecord) -> dict[str, int]:
    """The numbers of `_sent_words` for JSON and YAML; empty for a change that is not large."""
    return {} if record.entries is None else {"entries": record.entries, "sent": record.sent or 0}


def entries(runtime: Runtime, clusters: Sequence[ClusterName], connector: str) -> list[HistoryEntry]:
    """All changes of the connector, newest first. Raises NotFound if the ledger does not know the connector."""
    known: set[str] = set()
    found = []
    for cluster in clusters:
        records = runtime.ledger.operations.records(cluster).values()
        known |= {one.connector for one in records} | set(runtime.ledger.ownership(cluster))
        found += [
            HistoryEntry(cluster, one, _counts(runtime, cluster, one)) for one in records if one.connector == connector
        ]
    if connector not in known:
        raise NotFound(
            f"the ledger has no connector {connector!r} on {', '.join(clusters)}{did_you_mean(connector, known)}"
        )
    found.sort(key=lambda one: (one.cluster, one.record.name))
    found.sort(key=lambda one: one.record.since, reverse=True)
    return found


def _counts(runtime: Runtime, cluster: ClusterName, record: OperationRecord) -> Mapping[Direction, int] | None:
    """The partitions by direction, from the ledger alone. Without the connector's class, each move is `changed`."""
    difference = recorded_difference(runtime.ledger.operations, cluster, record)
    if difference is None:
        return None
    return {one: difference.counts[one] for one in Direction if difference.counts.get(one)}
