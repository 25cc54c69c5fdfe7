"""Prepares executors on other machines: sends this program's modules to them, and checks everything else.

Spark pickles the functions of a job by their names, so an executor must be able to import them.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import util
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import gitops_connect
from gitops_connect.errors import SparkUnusable
from gitops_connect.spark.error_messages import PACKAGES

_TASKS = 4
"""Tasks that check executors, before the number of parallel tasks is known."""


def prepare_executors(spark: Any, directory: Path, shared: Path | None) -> int:
    """Send the modules to all executors, and check the executors. Returns the number of parallel tasks.

    While the session exists, executors fetch the modules from the directory. Raises SparkUnusable if a package is
    missing, or if executors see another shared directory; and what PySpark raises.
    """
    spark.addArtifacts(str(packed(directory)), pyfile=True)
    try:
        if shared is not None:
            shared.mkdir(parents=True, exist_ok=True)
        marker = NamedTemporaryFile(dir=shared, prefix=".seen-")  # noqa: SIM115 - closed below
    except OSError as error:
        raise SparkUnusable(f"cannot write to the directory that Spark shares, {shared}: {error.strerror}") from error
    with marker:
        check = partial(_problem, marker.name if shared is not None else None)
        for row in spark.range(0, _TASKS, 1, _TASKS).mapInArrow(check, "problem string").collect():
            if row.problem:
                raise SparkUnusable(row.problem)
    ids = spark.range(1_000_000).selectExpr("spark_partition_id() as id")
    return int(ids.distinct().count())  # Spark makes as many tasks of a large range as it can run in parallel


def packed(directory: Path) -> Path:
    """Write the modules to a zip file in the directory."""
    root = Path(gitops_connect.__file__).parent
    file = directory / f"{root.name}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in root.rglob("*.py"):
            archive.write(path, path.relative_to(root.parent))
    return file


def _problem(marker: str | None, batches: Iterable[Any]) -> Iterator[Any]:
    """Check the executor that runs this. It imports nothing that could be missing, except what Spark itself needs."""
    import pyarrow as pa  # noqa: PLC0415 - Spark itself needs it

    for _ in batches:
        pass
    problem, executor = "", f"the executor on {os.uname().nodename}"
    if lacks := [name for name in PACKAGES if util.find_spec(name) is None]:
        problem = (
            f"{executor} does not have {', '.join(lacks)}: install what is missing for its Python, {sys.executable}"
        )
    elif marker is not None and not os.access(marker, os.F_OK):
        problem = (
            f"{executor} does not see the directory {Path(marker).parent}, or sees a different one under that path; "
            "set [spark] directory to a directory that this process and all executors share under the same path"
        )
    elif marker is not None and not os.access(marker, os.R_OK):
        problem = (
            f"{executor} cannot read files in {Path(marker).parent}, which only the user of gitops-connect can read: "
            "run the executors as that user"
        )
    yield pa.RecordBatch.from_pydict({"problem": [problem]})
