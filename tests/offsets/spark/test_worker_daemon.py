"""Python workers on this machine use the installed PySpark, not its zip file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from gitops_connect.spark.worker_daemon import pass_over_zips

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def _where(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - it runs in a worker
    import pyspark as own  # noqa: PLC0415 - imported when it is used

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [own.__file__]})


def test_a_worker_imports_what_this_process_does(spark: Any) -> None:
    assert spark.run(_asked, task="no") == [pyspark.__file__]


def _asked(spark: Any) -> list[str]:
    return [row.file for row in spark.range(0, 1, 1, 1).mapInArrow(_where, "file string").collect()]


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_zip_is_passed_over_where_the_same_is_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    """A Spark that was unpacked from its archive has only the zip file."""
    package = tmp_path / "packages" / "pyspark"
    zipped = package / "python" / "lib" / "pyspark.zip"
    zipped.parent.mkdir(parents=True)
    (package / "daemon.py").touch()
    others = [str(tmp_path / "other.zip"), *([str(package.parent)] if is_installed else [])]
    monkeypatch.setattr(sys, "path", [str(zipped), *others])
    pass_over_zips()
    assert sys.path == ([] if is_installed else [str(zipped)]) + others
