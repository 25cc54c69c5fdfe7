"""What is said while Spark checks, and how many rows Spark moves for very large manifests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from support.files.manifests import MIRROR, context_of, mirrored
from support.spark.large_engine import Case, filed, jsonl, on_spark

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import LargeFile
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.spark.check import SparkEngine, prepare
from gitops_connect.offsets.spark.input_splits import BUCKET, input_splits
from gitops_connect.spark.session import stages_done

pytestmark = pytest.mark.slow


class Halfway:
    """A session whose job ends after the first message about its progress."""

    parallelism = 1

    def __init__(self) -> None:
        self.told = Event()

    def run(self, _function: object, *_arguments: object, task: str, **_: float) -> Any:
        if task == "progress":
            return [0.5, 0.5]
        assert self.told.wait(60)
        return []


def test_the_progress_is_told_until_the_job_ends(tmp_path: Path) -> None:
    said: list[str] = []
    session = Halfway()

    def say(text: str) -> None:
        said.append(text)
        session.told.set()

    manifest = filed(Case(jsonl([mirrored(1)]), MIRROR), tmp_path / "m")
    engine = SparkEngine(session, say, interval=0.01)  # type: ignore[arg-type]
    assert engine.compare(prepare([manifest])) == []
    assert said[0] == "checking on Spark: 50% done, about 0 s left"


def test_a_finished_job_is_done(spark: Any, tmp_path: Path) -> None:
    on_spark(spark, [filed(Case(jsonl([mirrored(1)]), MIRROR), tmp_path / "m")])
    assert spark.run(stages_done, task="progress") == [1.0, 1.0]


def test_twice_as_large_a_manifest_has_twice_as_many_rows_of_the_shuffle(tmp_path: Path) -> None:
    def cells(gigabytes: int) -> int:
        path = tmp_path / f"{gigabytes}.jsonl"
        with path.open("wb") as stream:
            stream.truncate(gigabytes * 2**30)  # sparse
        return len(list(_splits(path))) * (gigabytes * 2**30 // BUCKET)

    assert cells(400) < 2.1 * cells(200) < 4.3 * cells(100)


def _splits(path: Path) -> Iterable[object]:
    files = (LargeFile(path.name, str(path)),)
    return input_splits([LargeManifest(Location(path.name), files, context_of(MIRROR, None), OffsetChangeKind.ALTER)])
