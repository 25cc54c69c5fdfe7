"""The process of a Spark session: it runs functions that its parent sends, and ends when its parent closes its input.

PySpark has one session in a process, and no way to end its Java process. Here, the session has the process: it leads a
process group in which Java is, and all of it ends together, also if the parent is killed.
"""

from __future__ import annotations

import os
import pickle
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from threading import Lock, Thread
from typing import IO, Any

from gitops_connect import DISTRIBUTION
from gitops_connect.errors import GitopsConnectError, SandboxFailed, SparkUnusable, UsageError
from gitops_connect.sandbox.java import Java, find_java
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.class_archive import ClassArchive
from gitops_connect.spark.executor_modules import failed, prepare_executors
from gitops_connect.spark.master_url import Master, MasterKind, master_of

JAVA_ENDED = 3
"""The exit code if the Java process ended by itself, or did not start."""
_STOP_TIMEOUT = 120
"""Seconds for the end of the session: Spark cleans up, and Java may write an archive of its classes."""
_DOUBTFUL, _UNATTENDED = 10.0, 300.0
"""Seconds without a running task, until the master is asked whether it is there, and until a job is cancelled: YARN and
Kubernetes may have to start a machine first."""
_EVERYWHERE = {
    "spark.sql.adaptive.enabled": "false",  # it replans after each stage, which does not help with two stages
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 * 1024 * 1024),  # a row has some bytes, or some MiB
}
_OWN = {
    "spark.app.name": "gitops-connect",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.shuffle.compress": "false",  # hashes do not get smaller
    "spark.shuffle.spill.compress": "false",
}
_HERE = dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1")
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The work is done in Python: the JVM's better compiler and collector would cost more than they save."""
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DAEMON = "spark.python.daemon.module"


class Driver:
    """The session of this process."""

    def __init__(self, answers: IO[bytes], directory: Path) -> None:
        self._answers = answers
        self._directory = directory
        self._lock = Lock()
        self._java: Popen[bytes] | None = None
        self._spark: Any = None
        self._archive: ClassArchive | None = None
        self._master = Master(MasterKind.LOCAL, "")
        self._lost: str | None = None

    def start(self, settings: SparkSettings, cache: Path | None) -> tuple[int, str]:
        """Start the session, and check its executors. Returns the number of parallel tasks, and the Java in words."""
        java = ""
        self._master = master = master_of(settings.master)
        options = {name: value.read() for name, value in settings.options.items()}
        if not master.answers():
            raise ConnectionError("it does not answer")
        if master.kind is MasterKind.CONNECT:
            self._spark = _open_remote_session(master, settings.master, options)
        else:
            from pyspark import SparkContext  # noqa: PLC0415 - the parent need not have PySpark
            from pyspark.sql import SparkSession  # noqa: PLC0415 - the parent need not have PySpark

            found = find_java(os.environ)
            java = f" with Java {found.version} ({found.path})"
            self._archive = _archive(found, cache)
            gateway = _launch_java(master, options, found, self._archive, self._directory)
            self._java = gateway.proc
            self._spark = SparkSession(SparkContext(gateway=gateway))
            if master.kind is MasterKind.LOCAL:
                return int(self._spark.sparkContext.defaultParallelism), java
            Thread(target=self._watch, daemon=True).start()
        return prepare_executors(self._spark, self._directory, settings.directory), java

    def answer(self, number: int, task: str, content: bytes) -> None:
        """Send the result of a function of the session, or its error. The first function is `start`."""
        try:
            function, arguments = pickle.loads(content)  # noqa: S301 - from the parent
            answer = pickle.dumps((True, function(self._spark or self, *arguments)))
        except Exception as error:
            if self._has_java_ended(error):
                self._exit(JAVA_ENDED)
            answer = pickle.dumps((False, self._translated(task, error)))
        with self._lock:
            pickle.dump((number, answer), self._answers)
            self._answers.flush()

    def _has_java_ended(self, error: Exception) -> bool:
        with suppress(TimeoutExpired):
            return "JAVA_GATEWAY_EXITED" in str(error) or (self._java is not None and self._java.wait(0.5) is not None)
        return False

    def _translated(self, task: str, error: Exception) -> Exception:
        if isinstance(error, SandboxFailed):
            return SparkUnusable(f"{task}: {error}")
        if isinstance(error, GitopsConnectError):
            return error
        origins = {one.__module__.partition(".")[0] for one in type(error).__mro__}
        if isinstance(error, OSError) or origins & {"pyspark", "py4j", "grpc"}:
            is_lost = self._spark is not None and not self._master.answers()
            return failed(task, error, f"{self._master.shown} no longer answers" if is_lost else self._lost)
        error.add_note(traceback.format_exc())
        return error

    def _watch(self) -> None:
        """Cancel jobs that no executor works on: without executors, Spark waits without end."""
        worked = time.monotonic()
        while True:
            time.sleep(1)
            if _is_attended(self._spark):
                worked = time.monotonic()
            waited = time.monotonic() - worked
            if waited > _UNATTENDED:
                self._lost = (
                    f"no executor of {self._master.shown} took a task for {_UNATTENDED:.0f} s: "
                    "check that it has workers with free cores and memory"
                )
            if self._lost is not None or (waited > _DOUBTFUL and not self._master.answers()):
                self._spark.sparkContext.cancelAllJobs()

    def end(self) -> None:
        """End the session, and all processes of the group."""
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
        signal.alarm(_STOP_TIMEOUT)
        if self._java is None and self._spark is not None:
            self._spark.stop()
        os.killpg(0, signal.SIGTERM)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        if self._archive is not None:
            with suppress(OSError):  # the cache is full, or another process has the same archive
                self._archive.keep()
        self._exit(0)

    def _exit(self, code: int) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        os._exit(code)


def _is_attended(spark: Any) -> bool:
    """Whether a task runs, or none has to run."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return not stages or any(stage is not None and stage.numActiveTasks for stage in stages)


def _archive(java: Java, cache: Path | None) -> ClassArchive | None:
    """None if there is no directory for it, or if the jars cannot be read."""
    import pyspark  # noqa: PLC0415 - the parent need not have PySpark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    with suppress(OSError):
        return None if cache is None else ClassArchive.of(java, Path(home) / "jars", cache)
    return None


def _launch_java(
    master: Master, options: Mapping[str, str], java: Java, archive: ClassArchive | None, directory: Path
) -> Any:
    """Start Java as PySpark does; the environment of this process changes. Returns the gateway to the Java process.

    The options are passed in a file that no other user can read, because every user can read a command line. Only the
    driver uses the archive.
    """
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - the parent need not have PySpark

    java_options = [_QUICK, *(() if archive is None else archive.options)]
    configuration = {
        **_EVERYWHERE,
        **_OWN,
        **(_HERE if master.is_here else {}),
        "spark.executor.extraJavaOptions": _QUICK,
        **({_DAEMON: "gitops_connect.spark.worker_daemon"} if master.kind is MasterKind.LOCAL else {}),
        **options,
        "spark.master": master.shown,
        _JAVA_OPTIONS: " ".join([*java_options, options.get(_JAVA_OPTIONS, "")]).strip(),
    }
    file = directory / "spark.properties"
    file.write_text("".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in configuration.items()), "utf-8")
    python = sys.executable if master.kind is MasterKind.LOCAL else os.environ.get("PYSPARK_PYTHON", "python3")
    if master.is_here:
        os.environ.setdefault("SPARK_LOCAL_IP", _HERE["spark.driver.host"])  # the host name may have no address
    os.environ["JAVA_HOME"] = str(java.path.resolve().parent.parent)
    os.environ["PYSPARK_PYTHON"] = options.get("spark.pyspark.python") or python
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    submit = f"--load-spark-defaults --properties-file {shlex.quote(str(file))} pyspark-shell"
    os.environ["PYSPARK_SUBMIT_ARGS"] = submit
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    file.unlink()
    return gateway


def _escaped(text: str) -> str:
    """The text as `java.util.Properties` reads it."""
    return re.sub(r"[\\:=\s#!]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _open_remote_session(master: Master, url: str, options: Mapping[str, str]) -> Any:
    """Begin a session on the server. Raises UsageError if a package is missing here, and what PySpark raises."""
    from pyspark.errors import PySparkImportError  # noqa: PLC0415 - the parent need not have PySpark

    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - needs gRPC
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - needs gRPC
    except (PySparkImportError, ModuleNotFoundError) as error:
        raise UsageError(
            f"Spark Connect ({master.shown}) needs more packages on this machine:"
            f" pip install '{DISTRIBUTION}[spark-connect]' ({error})"
        ) from error
    builder = SparkSession.builder.remote(url)
    for name, value in {**_EVERYWHERE, **options}.items():
        builder = builder.config(name, value)
    spark: Any = builder.create()
    # A lost server is reported within about 10 s; PySpark would retry for 10 minutes.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=5, max_backoff=2000)])
    return spark


def main() -> None:
    """Serve the parent at standard input and output. What else is written becomes the log."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the end of the parent is what ends this; Java does not inherit it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tempfile.tempdir = tempfile.mkdtemp(prefix="gitops-connect-")
    driver = Driver(answers, Path(tempfile.tempdir))
    with suppress(EOFError):
        while True:
            request = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
            Thread(target=driver.answer, args=request, daemon=True).start()
    driver.end()
