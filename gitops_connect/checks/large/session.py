"""The Spark session: started when it is needed, and given back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitops_connect.errors import SparkFailed
from gitops_connect.sandbox.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERYWHERE = {
    "spark.sql.adaptive.enabled": "false",  # it plans anew after each stage, and there is nothing to win in two
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # a row is a column of a piece: some MiB
}
_OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.compress": "false",  # hashes do not get smaller
    "spark.shuffle.spill.compress": "false",
}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Dlog4j2.level=OFF"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is up, and how many tasks run at a time."""

    spark: SparkSession
    parallelism: int

    @contextmanager
    def working(self) -> Iterator[None]:
        """Name what goes wrong on Spark. Raises SparkFailed."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - nothing of Spark is imported before it is used
        from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

        try:
            yield
        except (PySparkException, Py4JError, OSError) as error:
            found = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise SparkFailed(f"large manifests could not be checked, as Spark failed: {found}") from error

    def close(self) -> None:
        """Give back what it holds, and end the Java process that was started for it."""
        self.spark.stop()


def start(master: str, environment: Mapping[str, str], say: Say) -> Session:
    """A session on `local[*]`, `local[4]`, `spark://…`, `yarn`, `k8s://…` or `sc://…`. Raises SparkFailed."""
    say(f"starting Spark ({master})")
    from pyspark.sql import SparkSession  # noqa: PLC0415 - nothing of Spark is imported before it is used

    if master.startswith("sc://"):
        builder = SparkSession.builder.remote(master)
    else:
        options = _OWN | (_LOCAL if master.startswith("local") else {})
        builder = SparkSession.builder.master(master).appName("gitops-connect")
        for name, value in (options | {"spark.driver.extraJavaOptions": _JVM}).items():
            builder = builder.config(name, value)
    for name, value in _EVERYWHERE.items():
        builder = builder.config(name, value)
    with _java(environment):
        spark = builder.getOrCreate()
    return Session(spark, _parallelism(spark, master))


@contextmanager
def _java(environment: Mapping[str, str]) -> Iterator[None]:
    """PySpark starts `java` and `python` as it finds them in the environment of this process."""
    home = find_java(environment).path.resolve().parent.parent
    own = {"JAVA_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _parallelism(spark: SparkSession, master: str) -> int:
    if master.startswith("local"):
        count = master.removeprefix("local").strip("[]").partition(",")[0]
        return int(count) if count.isdigit() else len(os.sched_getaffinity(0)) if count == "*" else 1
    return spark.range(1_000_000).selectExpr("spark_partition_id() as id").distinct().count()
