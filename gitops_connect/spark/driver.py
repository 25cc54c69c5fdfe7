"""A classic session: a Java process of gitops-connect is its driver, and executors run where the master starts them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.spark import class_archive
from gitops_connect.spark.jvm import Jvm, launch
from gitops_connect.spark.master_url import EVERYWHERE, Master, MasterKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN = {
    "spark.app.name": "gitops-connect",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.compress": "false",  # hashes do not get smaller
    "spark.shuffle.spill.compress": "false",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOGGING = Path(__file__).with_name("log4j2.properties")
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The work is done in Python: the JVM's better compiler and collector would cost more than they save."""
_LOCAL = {"spark.python.daemon.module": "gitops_connect.spark.worker_daemon"}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PYTHON = "spark.pyspark.python"


def start_driver(
    master: Master, options: Mapping[str, str], java: Path, saved: Path | None
) -> tuple[SparkSession, Jvm]:
    """Start the driver. `saved` is the path of the class archive, which may not exist. Raises what PySpark raises."""
    python = options.get(_PYTHON) or os.environ.get("PYSPARK_PYTHON", "python3")
    if master.kind is MasterKind.LOCAL:
        python = options.get(_PYTHON) or sys.executable
    return launch(_configuration(master, options, saved), java, python)


def _configuration(master: Master, options: Mapping[str, str], saved: Path | None) -> dict[str, str]:
    saved_classes = class_archive.options(saved)
    java_options = f"{_QUICK} -Dlog4j2.configurationFile={_LOGGING.as_uri()} {saved_classes}"
    executors = f"{_QUICK} {saved_classes}".strip() if master.is_here else _QUICK
    return {
        **EVERYWHERE,
        **_OWN,
        **(_HERE if master.is_here else {}),
        **(_LOCAL if master.kind is MasterKind.LOCAL else {"spark.executor.extraJavaOptions": executors}),
        **options,
        "spark.master": master.shown,
        _JAVA_OPTIONS: f"{java_options} {options.get(_JAVA_OPTIONS, '')}".strip(),
    }


def local_tasks(master: str) -> int:
    """The number of parallel tasks on `local`, `local[4]` or `local[*]`."""
    count = master.removeprefix("local").strip("[]").partition(",")[0]
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(count) if count.isdigit() else processors if count == "*" else 1
