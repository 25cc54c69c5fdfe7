"""What Spark's Python workers on this machine are forked from: PySpark's own, but of the package as it is installed.

Spark puts the zip file of PySpark's sources before everything else (`PythonUtils.sparkPythonPath`), and Python compiles
what it imports from there anew in each process: 0.5 s for this one, and again for each worker.
"""

from __future__ import annotations

import sys
from pathlib import Path


def pass_over_zips() -> None:
    """Those that lie inside of a PySpark that can be imported itself, and so have the same in them."""
    sys.path[:] = [entry for entry in sys.path if not _is_in_package(Path(entry))]


def _is_in_package(entry: Path) -> bool:
    package = entry.parent.parent.parent  # …/pyspark/python/lib/pyspark.zip
    return entry.suffix == ".zip" and (package / "daemon.py").is_file() and str(package.parent) in sys.path


if __name__ == "__main__":
    pass_over_zips()
    from pyspark import daemon

    daemon.manager()
