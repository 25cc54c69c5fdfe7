"""A large change that an earlier reconciliation began, compared with offsets that were just read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from support.cluster.manual_clock import ManualClock
from support.planner.situations import CLUSTER, NOW, situation

from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.operations import Operation, OperationKind, OperationRecord, OperationState
from gitops_connect.offset_changes.large_change import ChangeContext, LargeOffsetChange
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.plan.situation import OffsetSituation

NAME = ConnectorName("a")
OPERATION = Operation(OperationName("c"), NAME, OperationKind.ALTER, Digest("d"), Revision("r"), is_large=True)

RECORD = OperationRecord(
    OPERATION.name, NAME, OPERATION.kind, OperationState.OPEN, OPERATION.digest, Revision("r"), NOW
)


class _Ledger:
    def pieces(self, cluster: ClusterName, name: OperationName, part: OffsetsPart) -> list[bytes]:
        return [f'{{"partition":{{"is":"{part.value}"}},"offset":null}}\n'.encode()]


class _Spark:
    """Reports for each request that one partition is new, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[LargeManifest] = []

    def check(self, manifests: Sequence[LargeManifest]) -> list[LargeVerdict]:
        self.requests += manifests
        return [LargeVerdict(1, 1, difference=Difference({Direction.NEW: 1})) for _ in manifests]


class _Nobody:
    """A worker that must not be asked."""

    def save_offsets(self, *_: Any) -> SavedOffsets:
        raise AssertionError("it takes long to list very many")


def test_what_was_just_read_is_not_read_again(tmp_path: Path) -> None:
    spark = _Spark()
    runtime: Any = SimpleNamespace(clients={CLUSTER: _Nobody()}, clock=ManualClock(), spark=None, say=None)
    about = situation(offsets=OffsetSituation(records={OPERATION.name: RECORD}))
    seen = SavedOffsets("seen.jsonl", 1, 10, Digest("s"))
    change = LargeOffsetChange(
        OPERATION,
        ChangeContext(runtime, about, cast("Any", _Ledger()), tmp_path),
        is_begun=True,
        current=seen,
    )
    change._checks = cast("Any", spark)
    review = change.review()
    assert review.difference == Difference({Direction.NEW: 1})
    earlier, to_declared, since = spark.requests
    assert to_declared.current == seen.file
    assert [one.path for one in since.files] == ["seen.jsonl"]
    assert since.current == earlier.current
    assert since.current is not None
    assert since.current.path == str(tmp_path / f"{OffsetsPart.BEFORE.value}.jsonl")
