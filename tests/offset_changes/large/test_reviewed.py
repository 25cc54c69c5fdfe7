"""After the stop, a large change is reviewed like a small one: its effect in the class, and what to acknowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.cluster.manual_clock import ManualClock
from support.planner.situations import CLUSTER, situation

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargePatch, LargeVerdict, SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
from gitops_connect.offset_changes.large_change import ChangeContext, LargeOffsetChange
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.plan.situation import OffsetSituation

NAME = ConnectorName("a")
ALTER = Operation(OperationName("c"), NAME, OperationKind.ALTER, Digest("d"), Revision("r"), is_large=True)
RESET = replace(ALTER, kind=OperationKind.RESET)


class _Spark:
    def __init__(self, difference: Difference) -> None:
        self.difference = difference

    def say(self, text: str) -> None:
        """Ignore the message."""

    def check(self, manifests: Sequence[LargeManifest], *, ready: Path) -> list[LargeVerdict]:
        ready.mkdir()
        return [LargeVerdict(1, 1, difference=self.difference, patch=LargePatch((), 0, 0)) for _ in manifests]


class _Client:
    def save_offsets(self, *_: Any) -> SavedOffsets:
        return SavedOffsets("live.jsonl", 3, 10, Digest("s"))


def needed(
    operation: Operation, config: dict[str, str], directory: Path, **counts: int
) -> list[Acknowledgement | None]:
    spark: Any = _Spark(Difference({Direction(way): count for way, count in counts.items()}))
    shape = BUILT_IN.shape({"connector.class": "PostgresConnector", **config})
    runtime: Any = SimpleNamespace(clients={CLUSTER: _Client()}, clock=ManualClock(), spark=None, say=None)
    shapes = {} if shape is None else {NAME: shape}
    about = situation(offsets=OffsetSituation(shapes=shapes))
    manifest = LargeManifest(Location("m"), (), ManifestContext(NAME), OperationKind.ALTER)
    declared = manifest if operation.kind is OperationKind.ALTER else None
    change = LargeOffsetChange(operation, ChangeContext(runtime, about, cast("Any", None), directory), declared)
    change._checks = spark
    review = change.review()
    assert "the replication slot also decides" in review.unchecked
    return [refusal.missing for refusal in review.refusals]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, [Acknowledgement.EXTERNAL, Acknowledgement.REWIND]),
        ({"flush.lsn.source": "false"}, [Acknowledgement.REWIND]),
    ],
)
def test_a_rewind(config: dict[str, str], expected: list[Acknowledgement], tmp_path: Path) -> None:
    assert needed(ALTER, config, tmp_path, rewind=2) == expected


def test_a_reset(tmp_path: Path) -> None:
    assert needed(RESET, {}, tmp_path) == [Acknowledgement.RESET]
    assert needed(RESET, {"snapshot.mode": "no_data"}, tmp_path) == [Acknowledgement.EXTERNAL, Acknowledgement.RESET]


def test_what_is_acknowledged_is_not_refused(tmp_path: Path) -> None:
    known = replace(ALTER, acknowledged=frozenset({Acknowledgement.EXTERNAL, Acknowledgement.REWIND}))
    assert needed(known, {}, tmp_path, rewind=2) == []
