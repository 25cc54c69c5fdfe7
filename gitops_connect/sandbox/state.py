"""What a sandbox's folder remembers of it: `state.json`, written whole or not at all, and the lock around it."""

from __future__ import annotations

import base64
import dataclasses
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.configs import HOST
from gitops_connect.sandbox.ivy import Progress
from gitops_connect.sandbox.processes import ProcessId, is_running

_FORMAT = 1
_LOCK_POLL = 0.1


@dataclass(frozen=True, slots=True)
class SandboxPart:
    """The broker (`index` 0) or a worker (from 1): where it listens, and its process where it was started."""

    index: int
    port: int
    process: ProcessId | None = None

    @property
    def name(self) -> str:
        """`broker`, `worker-1`, …: in the status, and before `.log` and `.properties`."""
        return f"worker-{self.index}" if self.index else "broker"

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        return self.process is not None and is_running(self.process)

    @property
    def address(self) -> str:
        """The URL of a worker, `host:port` of the broker."""
        return f"http://{HOST}:{self.port}" if self.index else f"{HOST}:{self.port}"


@dataclass(frozen=True, slots=True)
class State:
    """One sandbox. `id` is the Kafka cluster's id too; `heap` is each worker's, in MiB.

    `plugin_path` are the folders, beside its own, in which workers look for connectors; `exactly_once` is whether
    they support exactly-once sources.
    """

    id: str
    release: str
    heap: int
    broker: SandboxPart = SandboxPart(0, 0)
    controller_port: int = 0
    workers: tuple[SandboxPart, ...] = field(default=())
    plugin_path: tuple[str, ...] = ()
    exactly_once: bool = True

    @property
    def parts(self) -> tuple[SandboxPart, ...]:
        """The broker, then the workers."""
        return (self.broker, *self.workers)

    @property
    def ports(self) -> frozenset[int]:
        """Every port that is given out."""
        return frozenset((self.controller_port, *(part.port for part in self.parts)))

    def with_part(self, part: SandboxPart) -> State:
        """The same with this part in the place of the one with its index."""
        if part.index == 0:
            return dataclasses.replace(self, broker=part)
        others = tuple(worker for worker in self.workers if worker.index != part.index)
        return dataclasses.replace(self, workers=tuple(sorted((*others, part), key=lambda worker: worker.index)))

    def without_processes(self) -> State:
        """The same with nothing running."""
        broker, *workers = (dataclasses.replace(part, process=None) for part in self.parts)
        return dataclasses.replace(self, broker=broker, workers=tuple(workers))

    def without_worker(self, index: int) -> State:
        """The same without that worker."""
        return dataclasses.replace(self, workers=tuple(worker for worker in self.workers if worker.index != index))


def new_id() -> str:
    """A Kafka cluster id: 16 random bytes, base64 for URLs. One that begins with a dash would look like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def read_state(folder: Path) -> State | None:
    """None where there is no sandbox. Raises SandboxFailed where the file cannot be understood."""
    file = folder / "state.json"
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        if raw.pop("format") != _FORMAT:
            raise SandboxFailed(
                f"{file} was written by another version of gitops-connect; remove the directory {folder}"
            )
        raw["broker"], raw["workers"] = _part(raw["broker"]), tuple(map(_part, raw["workers"]))
        raw["plugin_path"] = tuple(raw.get("plugin_path", ()))
        return State(**raw)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxFailed(
            f"cannot read {file} ({error}); end the Java processes of the sandbox and remove {folder}"
        ) from error


def _part(raw: dict[str, object]) -> SandboxPart:
    process = raw.pop("process")
    return SandboxPart(**raw, process=ProcessId(**process) if isinstance(process, dict) else None)  # type: ignore[arg-type] # JSON


def write_state(folder: Path, state: State) -> None:
    """Beside, then renamed: whoever reads sees the old one or the new one."""
    aside = folder / "state.json.new"
    aside.write_text(json.dumps({"format": _FORMAT, **dataclasses.asdict(state)}, indent=2) + "\n", encoding="utf-8")
    aside.replace(folder / "state.json")


@contextmanager
def locked(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the folder for one command; wait while another has it. The kernel frees it when its holder ends."""
    with (folder / "lock").open("w") as file:
        while not _try_lock(file.fileno()):
            progress(f"waiting for another command that uses {folder}", None, None)
            time.sleep(_LOCK_POLL)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def plugin_folders(folders: Iterable[Path]) -> tuple[str, ...]:
    """As a worker is told of them. Raises SandboxFailed for what is no folder, or cannot be told."""
    paths = tuple(str(folder.absolute()) for folder in folders)
    for path in paths:
        if "," in path:
            raise SandboxFailed(
                f"the path of the plugin directory {path} contains a comma, which Kafka does not support"
            )
        if not Path(path).is_dir():
            raise SandboxFailed(f"the plugin directory {path} does not exist")
    return paths


def prepare_folder(folder: Path) -> None:
    """Make the folder. Raises SandboxFailed where that cannot be, or Java could not be told of it."""
    if set(str(folder)) & set(",:"):
        raise SandboxFailed(
            f"the path {folder} contains a comma or a colon, which Kafka or Java does not support; choose another --dir"
        )
    try:
        for name in ("", "conf", "logs", "plugins"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"not writable: {folder}")
    except OSError as error:
        raise SandboxFailed(f"cannot use the directory {folder}: {error}") from error
