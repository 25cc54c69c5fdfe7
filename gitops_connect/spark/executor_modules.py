"""Prepares executors on other machines: sends this program's modules and families to them, and checks the rest.

Spark pickles the functions of a job by their names, so an executor must be able to import them.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import util
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import gitops_connect
from gitops_connect.errors import SparkFailed, SparkUnusable
from gitops_connect.families import ENTRY_POINTS

_TASKS = 4
"""Tasks that check executors, before the number of parallel tasks is known."""
PACKAGES = ("numpy", "pandas", "pyarrow", *(["backports.zstd"] if sys.version_info < (3, 14) else []))
"""The packages that executors import, in addition to the standard library and the modules that are sent to them."""
_SENT = (".py", ".toml")
"""The suffixes of modules, and of the data that they read when they are imported."""
_INSTALL = f"install {', '.join(PACKAGES[:-1])} and {PACKAGES[-1]} for their Python"
_CHOOSE = 'choose it with "spark.pyspark.python" in [spark.options], or with PYSPARK_PYTHON of a Connect server'
_LACKING = {
    r"different version: ([\d.]+) than that in driver:? ([\d.]+)": (
        rf"they run Python \1, but this process runs \2, and both must be the same; {_CHOOSE}"
    ),
    r"No module named '(\w+)": rf"their Python has no package \1: {_INSTALL} ({_CHOOSE})",
    r"([A-Za-z]\w+) >= ([\d.]+) must be installed; however, (it was not found|your version is [\d.]+)": (
        rf"their Python needs \1 \2 or newer, but \3: {_INSTALL}"
    ),
    r'Cannot run program "([^"]+)"': rf"they have no program \1 to run as their Python; {_CHOOSE}",
}
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b.*", re.MULTILINE)


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
    """Write the modules to a zip file in the directory: ours, and those of installed connector families."""
    file = directory / f"{gitops_connect.__name__}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for root in (Path(gitops_connect.__file__).parent, *_of_families()):
            for path in (root,) if root.is_file() else root.rglob("*"):
                if path.suffix in _SENT:
                    archive.write(path, path.relative_to(root.parent))
    return file


def _of_families() -> Iterator[Path]:
    for name in sorted({entry.module.partition(".")[0] for entry in entry_points(group=ENTRY_POINTS)}):
        spec = util.find_spec(name)
        if spec is not None and name != gitops_connect.__name__:
            yield from map(Path, spec.submodule_search_locations or filter(None, [spec.origin]))


def missing(packages: Iterable[str]) -> list[str]:
    """Those that are not installed for this Python."""
    found = {name: util.find_spec(name.partition(".")[0]) is not None and util.find_spec(name) for name in packages}
    return [name for name, spec in found.items() if not spec]


def _problem(marker: str | None, batches: Iterable[Any]) -> Iterator[Any]:
    """Check the executor that runs this. It imports nothing that could be missing, except what Spark itself needs."""
    import pyarrow as pa  # noqa: PLC0415 - Spark itself needs it

    for _ in batches:
        pass
    problem, executor = "", f"the executor on {os.uname().nodename}"
    if lacks := missing(PACKAGES):
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


def failed(task: str, error: BaseException, because: str | None = None) -> SparkFailed | SparkUnusable:
    """The error to raise: `task` is what failed, `because` is the reason if the caller knows a better one."""
    for pattern, words in _LACKING.items():
        if because is None and (found := re.search(pattern, str(error))):
            return SparkUnusable(f"{task}: the executors cannot run it: {found.expand(words)}")
    return SparkFailed(f"{task}: {because or _reason(error)}")


def _reason(error: BaseException) -> str:
    """One line of the error's text: the line with the error if it is a Python traceback, else the first."""
    details = getattr(error, "details", None)  # of gRPC, whose errors have no text
    text = str(details()) if callable(details) else str(error)
    if raised := _RAISED.search(text.partition("Traceback (most recent call last):")[2]):
        return raised[0].strip()
    lines = [line.removeprefix(": ").strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("An error occurred while calling ")]  # by py4j
    return next(iter([*said, *lines]), type(error).__name__)
