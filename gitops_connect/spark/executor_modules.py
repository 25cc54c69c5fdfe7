"""Prepares executors on other machines: sends this program's modules to them, and checks everything else.

Spark pickles the functions of a job by their names, so an executor must be able to import them.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gitops_connect
from gitops_connect.errors import SparkUnusable
from gitops_connect.spark.error_messages import PACKAGES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE: Final = __name__.partition(".")[0]


def ship(spark: SparkSession, folder: Path) -> None:
    """Send the modules to all executors of the session. While it exists, executors fetch them from the directory."""
    spark.addArtifacts(str(packed(folder)), pyfile=True)


def packed(folder: Path) -> Path:
    """Write the modules to a zip file in the directory. Equal modules give equal files."""
    root = Path(gitops_connect.__file__).parent
    file = folder / f"{_PACKAGE}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*.py")):
            entry = zipfile.ZipInfo(f"{_PACKAGE}/{path.relative_to(root).as_posix()}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return file


def look(spark: SparkSession, tasks: int, folder: Path | None) -> None:
    """Run a small job on the executors that checks their packages and the shared directory.

    Raises SparkUnusable if a package is missing, or if executors see another directory; and what PySpark raises.
    """
    file, token = None, secrets.token_hex(8)
    if folder is not None:
        file = folder / f".seen-{token}"
        _write(file, token)
    try:
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(
            partial(_looked, str(file) if file is not None else None), "found string"
        )
        for row in rows.collect():
            _judge(json.loads(row.found), file, token)
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _write(file: Path, token: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(token)
    except OSError as error:
        raise SparkUnusable(
            f"cannot write to the directory that Spark shares, {file.parent}: {error.strerror}"
        ) from error


def _judge(found: dict[str, Any], file: Path | None, token: str) -> None:
    where = f"the executor on {found['host']}"
    if found["lacks"]:
        lacks = ", ".join(found["lacks"])
        raise SparkUnusable(f"{where} does not have {lacks}: install what is missing for its Python, {found['python']}")
    if file is not None and found["token"] != token:
        raise SparkUnusable(
            f"{where} does not see the directory {file.parent}, or sees a different one under that path "
            f"({found['why'] or 'a file in it differs'}); set [spark] directory to one on a file system that this "
            "process and all executors share under the same path"
        )


def _looked(file: str | None, batches: Iterable[Any]) -> Iterator[Any]:
    """Check the executor that runs this. It imports nothing that could be missing, except what Spark itself needs."""
    import pyarrow as pa  # noqa: PLC0415 - Spark itself needs it

    for _ in batches:
        pass
    token, why = None, ""
    try:
        token = Path(file).read_text() if file is not None else None
    except OSError as error:
        why = str(error)
    found = {
        "host": os.uname().nodename,
        "python": sys.executable,
        "lacks": [name for name in PACKAGES if util.find_spec(name) is None],
        "token": token,
        "why": why,
    }
    yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})
