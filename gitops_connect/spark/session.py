"""The one Spark session of this process: functions are sent to the session's own process, and results come back.

The session is started at its first use, kept while it is used, and ended when it is idle. Importing this imports
nothing of Spark, and takes almost no time.
"""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any, TypeVar, TypeVarTuple, cast

from gitops_connect import DISTRIBUTION
from gitops_connect.errors import SparkFailed, UsageError
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.driver import JAVA_ENDED, Driver
from gitops_connect.spark.executor_modules import PACKAGES, missing
from gitops_connect.spark.master_url import Master, MasterKind, master_of

Say = Callable[[str], None]
_PROCESSES = 4
"""Processes without Spark. Each needs memory, and a container may have far fewer processors than its machine."""
_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 * 1024**2), "MALLOC_TRIM_THRESHOLD_": str(128 * 1024**2)}
"""glibc keeps the arrays of a block for those of the next block: memory that is used for the first time is slow."""
_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")
_DRIVER = "import sys; sys.path[:] = sys.argv[1:]; from gitops_connect.spark.driver import main; main()"
_CAUSE = re.compile(r"(?<![\w.])(?!py4j|pyspark)(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b.*")


class Session:
    """A session in a process of its own. Several threads may use it at once."""

    def __init__(self, master: Master, environment: Mapping[str, str]) -> None:
        self.parallelism = 0
        self._master = master
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-c", _DRIVER, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**_MEMORY, **environment},
            start_new_session=True,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, tuple[str, Future[bytes]]] = {}
        self._ended: str | None = None
        threading.Thread(target=self._receive, daemon=True, name="spark-session").start()

    def run(
        self,
        function: Callable[[Any, *_Arguments], _Result],
        *arguments: *_Arguments,
        task: str,
        timeout: float = math.inf,
    ) -> _Result:
        """Run a function in the session's process, with the SparkSession as its first argument.

        Everything must be picklable, and importable there: nothing of `__main__`. `task` says what fails if it fails.
        Raises what the function raises, SparkFailed or SparkUnusable if Spark fails, and SparkFailed after `timeout`
        seconds. The function then still runs: the session has to be ended.
        """
        content = pickle.dumps((function, arguments))
        answer: Future[bytes] = Future()
        with self._lock:
            if self._ended is not None:
                raise SparkFailed(f"{task}: {self._ended}")
            number = next(self._numbers)
            self._waiting[number] = task, answer
            with suppress(BrokenPipeError):
                pickle.dump((number, task, content), self._requests)
                self._requests.flush()
        try:
            content = answer.result(max(0.0, timeout) if timeout < math.inf else None)
        except TimeoutError:
            raise SparkFailed(f"{task}: it takes too long") from None
        is_result, value = pickle.loads(content)  # noqa: S301 - from our own process
        if not is_result:
            raise value
        return cast("_Result", value)

    def _receive(self) -> None:
        with self._log, cast("IO[bytes]", self._process.stdout) as answers:
            with suppress(EOFError, pickle.UnpicklingError):
                while True:
                    number, content = pickle.load(answers)  # noqa: S301 - from our own process
                    self._waiting.pop(number)[1].set_result(content)
            code = self._process.wait()
            with self._lock:
                self._ended = _why_ended(code, self._log, is_started=self.parallelism > 0)
                for task, answer in self._waiting.values():
                    answer.set_exception(SparkFailed(f"{task}: {self._ended}"))

    def answers(self) -> bool:
        """False if the session is lost, and a job would fail, or wait for executors that do not return."""
        try:
            return self._master.answers() and self.run(_is_usable, self._master.kind, task="lost")
        except SparkFailed:
            return False

    def close(self) -> None:
        """End the session. Its process ends by itself, and is not waited for."""
        with self._lock, suppress(BrokenPipeError):
            self._requests.close()


def _is_usable(spark: Any, kind: MasterKind) -> bool:
    if kind is MasterKind.STANDALONE:
        return len(spark.sparkContext.statusTracker().getExecutorInfos()) > 1  # the driver is one of them
    return bool(spark.conf.get("spark.sql.adaptive.enabled"))  # a restarted server does not know the session


def _why_ended(code: int, log: IO[bytes], *, is_started: bool) -> str:
    log.seek(0)
    text = log.read().decode("utf-8", "replace")
    words = _CAUSE.findall(text)[-1:]
    if not words and not is_started:
        words = [line for line in text.splitlines() if line.strip() and not line.startswith("WARNING")][:2]
    what = "its Java process has ended" if code == JAVA_ENDED else f"its process has ended ({code})"
    return f"{what}: {'; '.join(map(str.strip, words))}" if words else what


def require_packages() -> None:
    """Raise UsageError if a package that the check of a large manifest needs is not installed."""
    if lacks := missing(("pyspark", *PACKAGES)):
        raise UsageError(
            f"a large offset manifest is checked on Spark, which needs {', '.join(lacks)}: "
            f"run pip install '{DISTRIBUTION}[spark]'"
        )


def start_session(settings: SparkSettings, environment: Mapping[str, str], say: Say, cache: Path | None) -> Session:
    """Start a session on the master of the settings. This takes some seconds.

    `cache` is a directory for an archive of Spark's classes, with which Java starts quicker; None: there is none.
    Raises SparkFailed if a retry may help, SparkUnusable or UsageError if it does not.
    """
    require_packages()
    master = master_of(settings.master)
    say(f"starting Spark ({master.shown})")
    session = Session(master, environment)
    task = f"Spark could not be started ({master.shown})"
    try:
        session.parallelism, java = session.run(Driver.start, settings, cache, task=task)
    except BaseException:
        session.close()
        raise
    say(f"Spark has started{java}")
    return session


@dataclass(slots=True)
class SharedSession:
    """Several threads may use the session at once. `cache` is the user's cache directory, `clock` counts seconds."""

    settings: SparkSettings
    environment: Mapping[str, str] = field(repr=False)
    cache: Path
    clock: Callable[[], float] = time.monotonic
    start: Callable[[SparkSettings, Mapping[str, str], Say, Path], Session] = start_session
    _session: Session | None = field(default=None, init=False)
    _users: int = field(default=0, init=False)
    _processes: int = field(default=0, init=False)
    _is_doubtful: bool = field(default=False, init=False)
    _last_used: float = field(default=0.0, init=False)
    _changed: threading.Condition = field(default_factory=threading.Condition, init=False)

    @property
    def directory(self) -> Path:
        return self.settings.directory or self.cache / "spark"

    @contextmanager
    def using(self, say: Say) -> Iterator[Session]:
        """The session, which stays open during the block; `say` gets a message if it must be started first.

        A session on which something failed is not used again: the next use starts another. Raises what
        `start_session` raises.
        """
        master = master_of(self.settings.master)
        if self.settings.directory is None and not master.is_here:
            raise UsageError(
                f"Spark runs on other machines ({master.shown}) and reads manifests from a directory that it shares "
                'with this process: set [spark] directory = "/…", the same path on all machines'
            )
        session = self._taken(say)
        try:
            yield session
        except SparkFailed:
            self._is_doubtful = True
            raise
        finally:
            self._leave()

    @contextmanager
    def without_spark(self, most: int) -> Iterator[Sequence[Session]]:
        """Other processes, which live as long as the block. They run functions as a session does, and have no Spark.

        As many as are free of `_PROCESSES`, and at least one: no check waits for another, which may take long.
        """
        with self._changed:
            count = max(1, min(most, _PROCESSES - self._processes))
            self._processes += count
        try:
            with ExitStack() as stack:
                here = Master(MasterKind.LOCAL, "")
                yield [stack.enter_context(closing(Session(here, self.environment))) for _ in range(count)]
        finally:
            with self._changed:
                self._processes -= count

    def give_back_if_idle(self, now: float) -> None:
        """End the session if it was idle too long at `now` of `clock`; never waits for one that is in use."""
        if not self._changed.acquire(blocking=False):
            return
        try:
            if not self._users and now - self._last_used >= self.settings.idle:
                self._end()
        finally:
            self._changed.release()

    def close(self) -> None:
        """End the session once no thread uses it any more: this process ends."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users)
            self._end()

    def _taken(self, say: Say) -> Session:
        with self._changed:
            self._changed.wait_for(lambda: not (self._is_doubtful and self._users))
            if self._session is not None and (self._is_doubtful or not (self._users or self._session.answers())):
                self._end()
            if self._session is None:
                self._session = self.start(self.settings, self.environment, say, self.cache)
            self._users += 1
            return self._session

    def _leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._last_used = self.clock()
            if self._is_doubtful and not self._users:
                self._end()
            self._changed.notify_all()

    def _end(self) -> None:
        session, self._session, self._is_doubtful = self._session, None, False
        if session is not None:
            session.close()


def map_in_arrow(rows: Any, function: Callable[[Iterable[Any]], Iterator[Any]], schema: Any) -> Any:
    """Apply the function on executors. `schema` is Arrow's: for a string, Spark loads its SQL parser first (0.3 s)."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - the parent need not have PySpark

    return rows.mapInArrow(function, from_arrow_schema(schema))


def stages_done(spark: Any) -> list[float]:
    """The share of finished tasks in each stage of the latest job, in their order; empty with Spark Connect."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the parent need not have PySpark

    if not isinstance(spark, SparkSession):
        return []
    tracker = spark.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup()
    latest = tracker.getJobInfo(max(jobs)) if jobs else None
    stages = [] if latest is None else map(tracker.getStageInfo, sorted(latest.stageIds))
    return [0.0 if one is None else one.numCompletedTasks / max(one.numTasks, 1) for one in stages]
