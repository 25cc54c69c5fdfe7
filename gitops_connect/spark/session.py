"""The Spark session: started on the master of `[spark]`, and closed again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gitops_connect.errors import SandboxFailed, SparkFailed, SparkUnusable
from gitops_connect.sandbox.java import find_java
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark import class_archive
from gitops_connect.spark.driver import local_tasks, start_driver
from gitops_connect.spark.error_messages import failed
from gitops_connect.spark.executor_modules import look, ship
from gitops_connect.spark.jvm import Jvm
from gitops_connect.spark.liveness import Liveness, answers, has_executors
from gitops_connect.spark.master_url import Master, MasterKind, master_of
from gitops_connect.spark.remote_session import open_remote_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
_FIRST = 4
"""Tasks of the first check of executors, before their number of parallel tasks is known."""


@dataclass(frozen=True, slots=True)
class Session:
    """A running session, and its number of parallel tasks.

    `jvm` is its Java process if gitops-connect started one; `shipped` contains the modules that executors fetch.
    """

    spark: SparkSession
    parallelism: int
    master: Master
    jvm: Jvm | None = None
    watch: Liveness | None = None
    archive: Path | None = None
    shipped: TemporaryDirectory[str] | None = None

    @contextmanager
    def working(self, task: str = "large manifests could not be checked because Spark failed") -> Iterator[None]:
        """Translate errors of Spark during the block. Raises SparkFailed, or SparkUnusable if a retry does not help."""
        try:
            with self.watch.on() if self.watch is not None else contextlib.nullcontext():
                yield
        except _errors() as error:
            raise failed(task, error, self._why_lost()) from error

    def type_of(self, schema: Any) -> Any:
        """The Spark type of an Arrow schema. For a string, Spark would first load its SQL parser (0.5 s)."""
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - nothing of Spark before the first use

        return from_arrow_schema(schema)

    def answers(self) -> bool:
        """False if the session is lost, and a job would fail, or wait for executors that do not return."""
        if self._why_lost() is not None or not answers(self.master):
            return False
        try:
            match self.master.kind:
                case MasterKind.STANDALONE:
                    return has_executors(self.spark)
                case MasterKind.CONNECT:
                    self.spark.conf.get("spark.sql.adaptive.enabled")  # a restarted server does not know the session
                case MasterKind.LOCAL | MasterKind.MANAGED:
                    pass
        except _errors():
            return False
        return True

    def _why_lost(self) -> str | None:
        if self.watch is not None and self.watch.lost is not None:
            return self.watch.lost
        if self.jvm is not None and not self.jvm.is_alive:
            words = self.jvm.last_words()
            return f"its Java process has ended{f': {words}' if words else ''}"
        if self.master.kind is MasterKind.CONNECT and not answers(self.master):
            return f"the server {self.master.shown} no longer answers"
        return None

    def leave(self) -> None:
        """Close the session for a process that ends: a local JVM ends by itself, and is not waited for."""
        if self.jvm is None or self.master.kind is not MasterKind.LOCAL or not self.jvm.is_alive:
            self.close()
            return
        self.jvm.leave(self.spark)
        self._archive()

    def close(self) -> None:
        """Release the resources of the session, and end its Java process. A lost session can be closed, too."""
        if self.shipped is not None:
            self.shipped.cleanup()
        if self.jvm is None:
            self.spark.stop()
            return
        if not answers(self.master):
            self.jvm.kill()  # it would wait for its master
        self.jvm.end(self.spark)
        self._archive()

    def _archive(self) -> None:
        if self.archive is not None and not self.archive.exists():
            class_archive.make_in_background(self.archive)


def _errors() -> tuple[type[Exception], ...]:
    """The exceptions of Spark's clients; ValueError is gRPC's if its channel was closed."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - nothing of Spark is imported before it is used
    from pyspark.errors import PySparkException  # noqa: PLC0415 - nothing of Spark is imported before it is used

    try:
        from grpc import RpcError  # noqa: PLC0415 - only a Connect client has it
    except ModuleNotFoundError:
        return (PySparkException, Py4JError, OSError)
    return (PySparkException, Py4JError, OSError, RpcError)


def start(master: str, environment: Mapping[str, str], say: Say, cache: Path | None) -> Session:
    """Start a session with no settings except its master: see `start_at`."""
    return start_at(SparkSettings(master), environment, say, cache)


def start_at(settings: SparkSettings, environment: Mapping[str, str], say: Say, cache: Path | None) -> Session:
    """Start a session on the master of the settings. This takes some seconds.

    `cache` is a directory for the archive that makes the next start quicker; None: there is none. Raises SparkFailed if
    a retry may help, SparkUnusable or UsageError if it does not.
    """
    where = master_of(settings.master)
    say(f"starting Spark ({where.shown})")
    task = f"Spark could not be started ({where.shown})"
    try:
        session = _started(where, settings, environment, cache)
    except SandboxFailed as error:
        raise SparkUnusable(f"{task}: {error}") from error
    except _errors() as error:
        raise failed(task, error) from error
    say("Spark has started")
    return session


def _started(where: Master, settings: SparkSettings, environment: Mapping[str, str], cache: Path | None) -> Session:
    options = {name: value.read() for name, value in settings.options.items()}
    if not answers(where):
        raise SparkFailed(f"Spark could not be started ({where.shown}): it does not answer")
    if where.kind is MasterKind.CONNECT:
        return _looked_at(
            Session(open_remote_session(where, settings.master, options), _FIRST, where), settings.directory
        )
    java = find_java(environment).path
    saved = None if cache is None else class_archive.archive_in(cache, java)
    spark, jvm = start_driver(where, options, java, saved)
    if where.kind is MasterKind.LOCAL:
        return Session(spark, local_tasks(settings.master), where, jvm, None, saved)
    watch = Liveness(where, spark, jvm.kill)
    return _looked_at(Session(spark, _FIRST, where, jvm, watch, saved), settings.directory)


def _looked_at(session: Session, folder: Path | None) -> Session:
    """The session after sending the modules to its executors and checking them.

    Spark then reports how many tasks it would make of a large range: the number of parallel tasks.
    """
    shipped = TemporaryDirectory(prefix="gitops-connect-")
    session = replace(session, shipped=shipped)
    try:
        with session.working(f"Spark could not be started ({session.master.shown})"):
            ship(session.spark, Path(shipped.name))
            look(session.spark, session.parallelism, folder)
            ids = session.spark.range(1_000_000).selectExpr("spark_partition_id() as id")
            return replace(session, parallelism=ids.distinct().count())
    except BaseException:
        session.close()
        raise


def warm_up(session: Session) -> None:
    """Run a job of a similar kind as the real job, without data."""
    from pyspark.sql.types import IntegerType, StructField, StructType  # noqa: PLC0415 - see `_errors`

    schema = StructType([StructField("number", IntegerType())])
    rows = session.spark.range(0, 2, 1, 2).mapInArrow(_numbers, schema)
    rows.repartitionById(2, "number").mapInArrow(_numbers, schema).collect()


def _numbers(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - it runs on executors

    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch.column(0).cast(pa.int32())], ["number"])
