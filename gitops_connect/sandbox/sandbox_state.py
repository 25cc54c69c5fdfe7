"""The stored state of a sandbox: `state.json` in its directory, written atomically, and the lock of the directory."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.safe_files import locked_file, make_private
from gitops_connect.sandbox.jars import Progress
from gitops_connect.sandbox.processes import ProcessId, is_running

HOST = "127.0.0.1"
_FORMAT = 1
_LOCK_POLL = 0.1


class TopicTracking(StrEnum):
    """Whether the workers record which topics a connector uses, and whether these records can be reset (KIP-558)."""

    ENABLED = "enabled"
    NO_RESET = "no-reset"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class SandboxPart:
    """The broker (`index` 0) or a worker (from 1): its port, and its process if it was started."""

    index: int
    port: int
    process: ProcessId | None = None

    @property
    def name(self) -> str:
        """`broker`, `worker-1`, …: in the status, and before `.log` and `.properties`."""
        return f"worker-{self.index}" if self.index else "broker"

    @property
    def running(self) -> bool:
        return self.process is not None and is_running(self.process)

    @property
    def address(self) -> str:
        """The URL of a worker, `host:port` of the broker."""
        return f"http://{HOST}:{self.port}" if self.index else f"{HOST}:{self.port}"


@dataclass(frozen=True, slots=True)
class State:
    """One sandbox. `id` is also the id of the Kafka cluster; `heap` is each worker's, in MiB.

    `plugin_path` are the directories, in addition to its own, in which workers search for connectors.
    """

    id: str
    release: str
    heap: int
    broker: SandboxPart = SandboxPart(0, 0)
    controller_port: int = 0
    workers: tuple[SandboxPart, ...] = field(default=())
    plugin_path: tuple[str, ...] = ()
    exactly_once: ExpectedSupport = ExpectedSupport.ENABLED
    topic_tracking: TopicTracking = TopicTracking.ENABLED

    @property
    def parts(self) -> tuple[SandboxPart, ...]:
        return (self.broker, *self.workers)

    @property
    def ports(self) -> frozenset[int]:
        return frozenset((self.controller_port, *(part.port for part in self.parts)))

    def with_part(self, part: SandboxPart) -> State:
        if part.index == 0:
            return dataclasses.replace(self, broker=part)
        others = tuple(worker for worker in self.workers if worker.index != part.index)
        return dataclasses.replace(self, workers=tuple(sorted((*others, part), key=lambda worker: worker.index)))

    def without_processes(self) -> State:
        broker, *workers = (dataclasses.replace(part, process=None) for part in self.parts)
        return dataclasses.replace(self, broker=broker, workers=tuple(workers))

    def without_worker(self, index: int) -> State:
        return dataclasses.replace(self, workers=tuple(worker for worker in self.workers if worker.index != index))


def new_id() -> str:
    """A Kafka cluster id: 16 random bytes, URL-safe base64. It must not begin with a dash, like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def read_state(directory: Path) -> State | None:
    """The stored state; None if there is no sandbox. Raises SandboxFailed if the file is invalid."""
    file = directory / "state.json"
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        if raw.pop("format") != _FORMAT:
            raise SandboxFailed(
                f"{file} was written by another version of gitops-connect; remove the directory {directory}"
            )
        raw["broker"], raw["workers"] = _part(raw["broker"]), tuple(map(_part, raw["workers"]))
        raw["plugin_path"] = tuple(raw.get("plugin_path", ()))
        support = raw.get("exactly_once", True)
        if isinstance(support, bool):  # before there was `preparing`
            support = "enabled" if support else "disabled"
        raw["exactly_once"] = ExpectedSupport(support)
        raw["topic_tracking"] = TopicTracking(raw.get("topic_tracking", "enabled"))
        return State(**raw)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxFailed(
            f"cannot read {file} ({error}); end the Java processes of the sandbox and remove {directory}"
        ) from error


def _part(raw: dict[str, object]) -> SandboxPart:
    process = raw.pop("process")
    return SandboxPart(**raw, process=ProcessId(**process) if isinstance(process, dict) else None)  # type: ignore[arg-type] # JSON


def write_state(directory: Path, state: State) -> None:
    """Write a new file and rename it: a reader sees either the old state or the new one."""
    aside = directory / "state.json.new"
    aside.write_text(json.dumps({"format": _FORMAT, **dataclasses.asdict(state)}, indent=2) + "\n", encoding="utf-8")
    aside.replace(directory / "state.json")


@contextmanager
def locked(directory: Path, progress: Progress) -> Iterator[None]:
    """Hold the directory for one command, or wait for it. The kernel frees it when the holder ends."""

    def wait() -> None:
        progress(f"waiting for another command that uses {directory}", None, None)
        time.sleep(_LOCK_POLL)

    with locked_file(directory / "lock", wait=wait):
        yield


def plugin_directories(directories: Iterable[Path]) -> tuple[str, ...]:
    """The directories as a worker's setting. Raises SandboxFailed for a missing directory, or a comma in a path."""
    paths = tuple(str(directory.absolute()) for directory in directories)
    for path in paths:
        if "," in path:
            raise SandboxFailed(
                f"the path of the plugin directory {path} contains a comma, which Kafka does not support"
            )
        if not Path(path).is_dir():
            raise SandboxFailed(f"the plugin directory {path} does not exist")
    return paths


def prepare_directory(directory: Path) -> None:
    """Create the directory. Raises SandboxFailed if that fails, or if Java does not support its path."""
    if set(str(directory)) & set(",:"):
        raise SandboxFailed(
            f"the path {directory} contains a comma or a colon, which Kafka or Java does not support;"
            " choose another --dir"
        )
    try:
        for name in ("", "conf", "logs", "plugins"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        if (directory / "state.json").exists():
            make_private(directory)
        if not os.access(directory, os.W_OK):
            raise PermissionError(f"not writable: {directory}")
    except OSError as error:
        raise SandboxFailed(f"cannot use the directory {directory}: {error}") from error
