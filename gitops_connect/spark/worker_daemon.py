"""The process from which Spark's local Python workers are forked: PySpark's own, but from the installed package.

Spark puts the zip file of PySpark's sources before everything else (`PythonUtils.sparkPythonPath`), and Python compiles
the modules in it again in each process: 0.5 s for this process, and again for each worker.
"""

from __future__ import annotations

import sys
from pathlib import Path


def pass_over_zips() -> None:
    """Remove the zip files inside of an importable PySpark from the path: they contain its own modules."""
    for entry in [entry for entry in sys.path if entry.endswith(".zip")]:
        package = Path(entry).parent.parent.parent  # …/pyspark/python/lib/pyspark.zip
        if (package / "daemon.py").is_file() and str(package.parent) in sys.path:
            sys.path.remove(entry)


if __name__ == "__main__":
    pass_over_zips()
    from pyspark import daemon

    daemon.manager()
