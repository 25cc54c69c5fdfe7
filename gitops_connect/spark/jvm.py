"""The Java process of a classic session: PySpark's launcher starts it, and this module ends it reliably."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_PATIENCE = 20.0
_LEFT: list[Any] = []
"""Processes that end by themselves: Python would warn if one is garbage-collected while it runs."""
_TAIL = 64 * 1024
_CAUSE = re.compile(r"(?:Caused by: |Exception in thread \S+ )?(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b.*")


@dataclass(frozen=True, slots=True)
class Jvm:
    """A JVM that runs, or ran. `log` is its output."""

    gateway: Any
    log: IO[bytes]

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.gateway.proc.poll() is None

    def kill(self) -> None:
        """Kill the process at once: every thread that waits for an answer gets an error."""
        self.gateway.proc.kill()

    def last_words(self) -> str:
        """The reason why the process failed, in one line, if its log contains one."""
        causes = _CAUSE.findall(_tail(self.log))
        return causes[-1].strip() if causes else ""

    def leave(self, spark: SparkSession) -> None:
        """Let the process end by itself, without a wait of 1 s: also when this process itself ends."""
        server = spark.sparkContext._accumulatorServer  # noqa: SLF001 - stopped below
        with contextlib.suppress(OSError):
            self.gateway.proc.stdin.close()  # the JVM ends when its parent does, and cleans up (`PythonGatewayServer`)
        _forget(server)
        self.log.close()
        _LEFT.append(self.gateway.proc)

    def end(self, spark: SparkSession | None) -> None:
        """Release the resources of the session, and end the process; nothing of them is left, whatever their state.

        PySpark would keep its JVM until this process ends, and mix the next session with the remains of a dead one.
        """
        from py4j.protocol import Py4JError  # noqa: PLC0415 - nothing of Spark is imported before it is used

        server = None if spark is None else spark.sparkContext._accumulatorServer  # noqa: SLF001 - stopped below
        with warnings.catch_warnings(), contextlib.suppress(Py4JError, OSError):
            warnings.simplefilter("ignore", RuntimeWarning)  # a dead session cannot be shut down cleanly
            if spark is not None and self.is_alive:
                spark.stop()
        with contextlib.suppress(Py4JError, OSError):
            self.gateway.shutdown()
        with contextlib.suppress(OSError):
            self.gateway.proc.stdin.close()
        try:
            self.gateway.proc.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            self.gateway.proc.wait()
        _forget(server)
        self.log.close()


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _TAIL))
    return log.read().decode("utf-8", "replace")


def _forget(server: Any) -> None:
    """Reset PySpark, which has one session per process and stores it in its classes."""
    from pyspark import SparkContext  # noqa: PLC0415 - nothing of Spark is imported before it is used
    from pyspark.sql import SparkSession  # noqa: PLC0415 - nothing of Spark is imported before it is used

    if SparkContext._active_spark_context is not None and server is not None:  # noqa: SLF001 - there is no other way
        threading.Thread(target=server.shutdown, daemon=True).start()  # it checks for a shutdown twice a second
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001 - no other way
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001 - no other way


def launch(options: Mapping[str, str], java: Path, python: str) -> tuple[SparkSession, Jvm]:
    """Start a JVM with this configuration, and `python` as the program of the executors.

    The options are passed in a file that no other user can read, because every user can read a command line. Raises
    what PySpark raises, and OSError if the process ends at once; no process is left then.
    """

    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".properties") as file:
        file.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in options.items())
        file.flush()
        arguments = f"--load-spark-defaults --properties-file {shlex.quote(file.name)} pyspark-shell"
        with _as_found(java, python, arguments):
            jvm = Jvm(_gateway(log), log)
            try:
                return _session(jvm.gateway), jvm
            except BaseException:
                jvm.end(None)
                raise


def _gateway(log: IO[bytes]) -> Any:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - nothing of Spark is imported before it is used
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - Spark is imported only when it is used

    try:
        return launch_gateway(None, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    except PySparkException as error:
        with log:
            said = [line.strip() for line in _tail(log).splitlines() if line.strip()]
        words = [line for line in said if _CAUSE.search(line)][:1] or said[:2]
        raise OSError(f"its Java process has ended: {'; '.join(words) or error}") from error


def _session(gateway: Any) -> SparkSession:
    from pyspark import SparkContext  # noqa: PLC0415 - nothing of Spark is imported before it is used
    from pyspark.sql import SparkSession  # noqa: PLC0415 - nothing of Spark is imported before it is used

    silence_py4j()
    context = SparkContext(gateway=gateway)
    _keep_quiet(context)
    return SparkSession(context)


def silence_py4j() -> None:
    """Drop what py4j logs about a JVM that has ended: the error is reported once, with its cause.

    py4j has its own loggers, but `java_gateway.py` also logs to the root logger.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_from_py4j)


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def _keep_quiet(context: SparkContext) -> None:
    """Silence the server for accumulators: it is not used here, and would print a traceback when the JVM has ended."""
    server: Any = context._accumulatorServer  # noqa: SLF001 - it has no public name
    server.handle_error = lambda *_: None


def _escaped(text: str) -> str:
    """The text as `java.util.Properties` reads it."""
    return re.sub(r"[\\:=\s#!]", lambda found: "\\" + _CONTROLS.get(found[0], found[0]), text)


_CONTROLS = {"\n": "n", "\r": "r", "\t": "t", "\f": "f"}


@contextlib.contextmanager
def _as_found(java: Path, python: str, arguments: str) -> Iterator[None]:
    """Set the environment variables from which PySpark finds `java` and `python`, during the block."""
    own = {
        "JAVA_HOME": str(java.resolve().parent.parent),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": arguments,
    }
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
