"""On a real Spark: the verdicts are those of the small engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.spark.large_engine import assert_alike, filed, on_spark, said_by_large
from support.spark.manifests_held import planted_cases

from gitops_connect.model.differences import Direction
from gitops_connect.offsets.rules.small import SHOWN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_several_manifests_in_one_job(spark: Any, tmp_path: Path) -> None:
    cases = planted_cases()
    verdicts = on_spark(spark, [filed(case, tmp_path / str(n)) for n, case in enumerate(cases)])
    for case, verdict in zip(cases, verdicts, strict=True):
        expected, found = assert_alike(case, verdict), said_by_large(verdict)
        for direction in Direction:
            far = [move.distance for move in expected.largest if move.direction is direction][:SHOWN]
            assert [move.distance for move in found.largest if move.direction is direction] == far
        assert set(found.largest) <= set(expected.largest)
