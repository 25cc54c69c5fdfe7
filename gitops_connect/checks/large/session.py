"""The Spark session: started when it is needed, and given back."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gitops_connect.checks.large import archive
from gitops_connect.errors import SandboxFailed, SparkFailed
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
_LOGGING = Path(__file__).with_name("log4j2.properties")
_JVM = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile={_LOGGING.as_uri()}"
"""The work is done in Python: the JVM's better compiler and collector would cost more than they give."""
_PATIENCE = 120.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is up, and how many tasks run at a time. `log` is what its JVM writes, if it is ours."""

    spark: SparkSession
    parallelism: int
    log: IO[bytes] | None = None
    archive: Path | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Name what goes wrong on Spark. Raises SparkFailed."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - nothing of Spark is imported before it is used
        from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

        try:
            yield
        except (PySparkException, Py4JError, OSError) as error:
            raise SparkFailed(f"large manifests could not be checked, as Spark failed: {_reason(error)}") from error

    def close(self) -> None:
        """Give back what it holds, and end the Java process that was started for it."""
        self.spark.stop()
        if self.log is None:
            return
        from pyspark import SparkContext  # noqa: PLC0415 - nothing of Spark is imported before it is used

        gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark would keep its JVM until this process ends
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - likewise
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_PATIENCE)
        self.log.close()
        if self.archive is not None and not self.archive.exists():
            archive.make_in_background(self.archive)


def start(master: str, environment: Mapping[str, str], say: Say, cache: Path | None) -> Session:
    """A session on `local[*]`, `local[4]`, `spark://…`, `yarn`, `k8s://…` or `sc://…`. Raises SparkFailed.

    `cache` is a folder for the archive that makes the next start quicker; None: there is none. Takes some seconds.
    """
    say(f"starting Spark ({master})")
    from pyspark.errors import PySparkException  # noqa: PLC0415 - nothing of Spark is imported before it is used

    try:
        session = _connected(master) if master.startswith("sc://") else _launched(master, environment, cache)
    except (PySparkException, SandboxFailed, OSError) as error:
        raise SparkFailed(f"Spark could not be started ({master}): {_reason(error)}") from error
    say("Spark is up")
    return session


def warm_up(session: Session) -> None:
    """A job of the same kind as the real one, over nothing."""
    rows = session.spark.range(0, 2, 1, 2).selectExpr("cast(id as int) id").mapInArrow(_same, "id int")
    rows.repartitionById(2, "id").mapInArrow(_same, "id int").collect()


def _same(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches


def _connected(master: str) -> Session:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - nothing of Spark is imported before it is used

    builder = SparkSession.builder.remote(master)
    for name, value in _EVERYWHERE.items():
        builder = builder.config(name, value)
    return _with_tasks(builder.getOrCreate())


def _launched(master: str, environment: Mapping[str, str], cache: Path | None) -> Session:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - nothing of Spark is imported before it is used
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - likewise
    from pyspark.sql import SparkSession  # noqa: PLC0415 - likewise

    java = find_java(environment).path
    saved = None if cache is None else archive.archive_in(cache, java)
    options = {**_EVERYWHERE, **_OWN, **(_LOCAL if master.startswith("local") else {})}
    options["spark.driver.extraJavaOptions"] = f"{_JVM} {archive.options(saved)}"
    conf = SparkConf().setMaster(master).setAppName("gitops-connect").setAll(list(options.items()))
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the session
    with _as_found(java):
        gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
        spark = SparkSession(SparkContext(gateway=gateway, conf=conf))
    if not master.startswith("local"):
        return _with_tasks(spark, log)
    count = master.removeprefix("local").strip("[]").partition(",")[0]
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    tasks = int(count) if count.isdigit() else processors if count == "*" else 1
    return Session(spark, tasks, log, saved)


def _with_tasks(spark: SparkSession, log: IO[bytes] | None = None) -> Session:
    """Spark says how many tasks it would make of a large range: as many as run at a time."""
    tasks = spark.range(1_000_000).selectExpr("spark_partition_id() as id").distinct().count()
    return Session(spark, tasks, log)


@contextmanager
def _as_found(java: Path) -> Iterator[None]:
    """PySpark starts `java` and `python` as it finds them in the environment of this process."""
    home = java.resolve().parent.parent
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


def _reason(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
