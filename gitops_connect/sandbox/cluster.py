"""A real Kafka broker and real Connect workers on this machine: start, inspect, break on purpose, stop.

    with Sandbox.up(SandboxOptions(workers=2)) as sandbox:
        sandbox.worker_urls          # ("http://127.0.0.1:8083", "http://127.0.0.1:8084")
        sandbox.kill_worker(2)       # kill -9
        sandbox.start_worker()       # the dead worker again, else an additional one

The whole state of a `Sandbox` is in its directory, so any process can use it with `Sandbox.load`.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox import processes
from gitops_connect.sandbox.jars import (
    BROKER_RELEASE,
    DEFAULT_RELEASE,
    Progress,
    fetch_jars,
    kafka,
    maven_directory,
    parse_release,
)
from gitops_connect.sandbox.java import find_java
from gitops_connect.sandbox.launch import (
    BROKER,
    STOP_TIMEOUT,
    Launch,
    Tools,
    answers_at,
    log_file,
    marker,
    write_loggers,
)
from gitops_connect.sandbox.loaded_plugins import check_loaded
from gitops_connect.sandbox.processes import Leash, tie
from gitops_connect.sandbox.sandbox_state import (
    SandboxPart,
    State,
    TopicTracking,
    locked,
    new_id,
    plugin_directories,
    prepare_directory,
    read_state,
    write_state,
)

DEFAULT_FOLDER = Path(".sandbox")
DEFAULT_HEAP = 2048
"""MiB of heap for each worker: the default of Kafka's own scripts."""
_LISTS_ALL_PLUGINS = (3, 2, 0)
"""The release from which on workers also list transforms, predicates and converters."""


def _silent(text: str, done: int | None, total: int | None) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What to start. None means: as before in this directory, else one worker of the default release and heap.

    With 0 `workers`, there is only a broker. `plugin_path` are directories that contain additional connectors, each a
    jar or a directory. `exactly_once` sources (KIP-618) and `topic_tracking` (KIP-558) are enabled by default.
    `usual_ports` tries Kafka's customary ports first (8083, 9092), otherwise the kernel chooses. A `tied` sandbox is
    stopped when this process ends, even by `kill -9`.
    """

    directory: Path = DEFAULT_FOLDER
    workers: int | None = None
    release: str | None = None
    heap: int | None = None
    plugin_path: tuple[Path, ...] | None = None
    exactly_once: ExpectedSupport | None = None
    topic_tracking: TopicTracking | None = None
    usual_ports: bool = False
    tied: bool = False


@dataclass(frozen=True, slots=True)
class PartStatus:
    """The current status of one part. `answers` is False for a process that runs and is not ready, or hangs."""

    name: str
    address: str
    pid: int | None
    running: bool
    answers: bool
    log: Path


class Sandbox:
    """A handle of the sandbox in a directory. Use `Sandbox.up` or `Sandbox.load`; as a context it ends with `down`."""

    def __init__(self, directory: Path, leash: Leash | None = None) -> None:
        self.directory = directory
        self._leash = leash

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.down()

    @staticmethod
    def up(options: SandboxOptions, progress: Progress = _silent) -> Sandbox:
        """Start the parts that do not run, and wait. On failure, the new processes are ended. Raises SandboxFailed."""
        directory = options.directory.absolute()
        prepare_directory(directory)
        leash = tie(directory, os.environ) if options.tied else None
        try:
            _bring_up(directory, options, progress)
        except BaseException:
            if leash:
                leash.drop()
            raise
        return Sandbox(directory, leash)

    @staticmethod
    def load(directory: Path) -> Sandbox:
        """A handle of a sandbox that was started earlier. Raises SandboxFailed if there is none."""
        sandbox = Sandbox(directory.absolute())
        sandbox.state()
        return sandbox

    def state(self) -> State:
        """The state that is stored in the directory. Raises SandboxFailed if it no longer exists."""
        state = read_state(self.directory)
        if state is None:
            raise SandboxFailed(
                f"there is no sandbox in {self.directory}; run `gitops-connect sandbox up` to create one"
            )
        return state

    @property
    def bootstrap(self) -> str:
        return self.state().broker.address

    @property
    def worker_urls(self) -> tuple[str, ...]:
        """The REST URL of every worker, in order, including workers that were killed."""
        return tuple(worker.address for worker in self.state().workers)

    def status(self) -> tuple[PartStatus, ...]:
        """The status of each part, checked now: the broker, then the workers."""
        return tuple(_look(self.directory, part) for part in self.state().parts)

    def start_worker(self, progress: Progress = _silent) -> str:
        """Start the first worker that does not run, else an additional one; returns its URL once it answers."""
        with self._locked(progress) as state:
            running = [worker.index for worker in state.workers if worker.running]
            dead = [worker.index for worker in state.workers if worker.index not in running]
            index = dead[0] if dead else max(running, default=0) + 1
            launch = Launch(self.directory, state, _tools(state, SandboxOptions(), progress), progress)
            launched = _ensure(launch, [*running, index])
            return next(worker.address for worker in launched.workers if worker.index == index)

    def kill_worker(self, index: int) -> None:
        """`kill -9` the worker (they count from 1). It stays in the list of workers, and `start_worker` restarts it."""
        with self._locked(_silent) as state:
            _end([_worker(state, index)], grace=0)

    def remove_worker(self, index: int) -> None:
        """Shut the worker down in an orderly way, so that it leaves its group, and remove it from the list."""
        with self._locked(_silent) as state:
            _end([_worker(state, index)])
            write_state(self.directory, state.without_worker(index))

    def down(self, progress: Progress = _silent, *, purge: bool = False) -> None:
        """End every process of the sandbox: workers first, then the broker. The data stays, unless `purge`."""
        with self._locked(progress) as state:
            progress("stopping the workers", None, None)
            _end(state.workers)
            progress("stopping the broker", None, None)
            _end([state.broker])
            processes.end(processes.marked(marker(state)), grace=0)
            write_state(self.directory, state.without_processes())
            if purge:
                shutil.rmtree(self.directory)
        if self._leash:
            self._leash.drop()
            self._leash = None

    @contextmanager
    def _locked(self, progress: Progress) -> Iterator[State]:
        self.state()
        with locked(self.directory, progress):
            yield self.state()


def _bring_up(directory: Path, options: SandboxOptions, progress: Progress) -> None:
    with locked(directory, progress):
        state = _chosen(directory, read_state(directory), options)
        tools = _tools(state, options, progress)
        indices = _indices([worker.index for worker in state.workers], options.workers)
        excess = [worker for worker in state.workers if worker.index not in indices]
        _end(excess)
        for worker in excess:
            state = state.without_worker(worker.index)
        write_state(directory, state)
        # Also processes whose starter was killed before it could record them.
        known = {part.process.pid for part in state.parts if part.process}
        processes.end((stray for stray in processes.marked(marker(state)) if stray.pid not in known), grace=0)
        _ensure(Launch(directory, state, tools, progress), indices)


def _chosen(directory: Path, before: State | None, options: SandboxOptions) -> State:
    """The stored state, changed by the options. Raises SandboxFailed if running workers have other settings."""
    state = before or State(new_id(), DEFAULT_RELEASE, DEFAULT_HEAP)
    release, heap = options.release or state.release, options.heap or state.heap
    parse_release(release)
    directories = state.plugin_path if options.plugin_path is None else plugin_directories(options.plugin_path)
    chosen = dataclasses.replace(
        state,
        release=release,
        heap=heap,
        plugin_path=directories,
        exactly_once=options.exactly_once or state.exactly_once,
        topic_tracking=options.topic_tracking or state.topic_tracking,
    )
    if chosen != state and any(worker.running for worker in state.workers):
        raise SandboxFailed(
            f"the running workers in {directory} use {_kind(state)}; to change to {_kind(chosen)}, stop them first: "
            f"gitops-connect sandbox down --dir {shlex.quote(str(directory))}"
        )
    return chosen


def _kind(state: State) -> str:
    plugins = f" and plugins from {', '.join(state.plugin_path)}" if state.plugin_path else ""
    support = f"exactly-once support {state.exactly_once}, topic tracking {state.topic_tracking}"
    return f"Connect {state.release} with {state.heap} MiB of heap, {support}{plugins}"


def _indices(known: list[int], count: int | None) -> list[int]:
    """The indices of the workers to run: existing ones first, then new ones; all existing ones if `count` is None."""
    wanted = (len(known) or 1) if count is None else count
    unused = (index for index in range(1, wanted + len(known) + 1) if index not in known)
    return [*known, *unused][:wanted]


def _tools(state: State, options: SandboxOptions, progress: Progress) -> Tools:
    java = find_java(os.environ)
    releases = {BROKER_RELEASE, state.release}
    jars = {release: fetch_jars(kafka(release), os.environ, progress) for release in releases}
    return Tools(java, jars, os.environ, options.usual_ports)


def _ensure(launch: Launch, indices: list[int]) -> State:
    write_loggers(launch.directory / "conf")
    try:
        launch.ensure([BROKER])
        launch.ensure(indices)
        _check_plugins(launch)
    except BaseException:
        launch.take_back()
        raise
    return launch.state


def _check_plugins(launch: Launch) -> None:
    """Raise SandboxFailed for an artifact that a worker has not loaded."""
    paths = map(Path, launch.state.plugin_path)
    artifacts = [path for path in paths if path.parent == maven_directory(launch.directory)]
    for worker in launch.state.workers:
        if worker.running and parse_release(launch.state.release) >= _LISTS_ALL_PLUGINS:
            check_loaded(artifacts, worker.port, log_file(launch.directory, worker))


def _worker(state: State, index: int) -> SandboxPart:
    for worker in state.workers:
        if worker.index == index:
            return worker
    raise SandboxFailed(f"there is no worker {index}; existing workers: {[worker.index for worker in state.workers]}")


def _end(parts: Iterable[SandboxPart], grace: float = STOP_TIMEOUT) -> None:
    processes.end((part.process for part in parts if part.process), grace)


def _look(directory: Path, part: SandboxPart) -> PartStatus:
    running = part.running
    answers = running and answers_at(part)
    pid = part.process.pid if part.process and running else None
    return PartStatus(part.name, part.address, pid, running, answers, log_file(directory, part))


def watch(directory: Path) -> None:
    """The process at the other end of a `Leash`: when its standard input ends, it stops the sandbox."""
    sys.stdin.buffer.read()
    if read_state(directory) is not None:
        Sandbox.load(directory).down()


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
