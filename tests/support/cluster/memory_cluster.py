"""A Connect cluster in memory, on a manual clock: it accepts requests at once, and shows their effect later."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.errors import AlreadyExists, ConnectRefused, NotFound, NotStopped
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.offsets import OffsetPatch, Offsets, merged, offset_text, partition_text
from support.cluster.manual_clock import ManualClock

RUNNING, PAUSED, STOPPED, FAILED = WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.STOPPED, WorkerState.FAILED
TRACE = "java.lang.IllegalStateException: no\n\tat org.example.Connector.start(Connector.java:42)"


@dataclass(frozen=True)
class Fault:
    """The error that a request raises, and whether the request takes effect all the same."""

    error: BaseException
    happens: bool = False


def connector(
    name: str, state: WorkerState = RUNNING, config: Mapping[str, str] | None = None, trace: str = ""
) -> ObservedConnector:
    tasks = (TaskStatus(0, state, "w"),) if state in (RUNNING, PAUSED) else ()
    return ObservedConnector(ConnectorName(name), ConnectorType.SOURCE, state, "w", config or {}, tasks, trace)


class MemoryCluster:
    """A `ConnectClient` in memory. A config with `start` = fail makes its connector fail.

    `delay`: seconds until an effect shows. `task_fails_after`: seconds from a connector's start until its task fails.
    `no_tasks`: connectors without tasks.

    Offsets outlive their connector. `progress` moves the offsets of a running connector at each read of them, and when
    its state changes. `changed` lists the changes of offsets that took effect: a patch, or None for a reset.
    """

    def __init__(self, clock: ManualClock, *present: ObservedConnector, delay: float = 0.5) -> None:
        self.clock = clock
        self.delay = delay
        self.present = {one.name: one for one in present}
        self.listed = set(self.present)
        self.unreadable: set[ConnectorName] = set()
        self.faults: dict[tuple[str, str], deque[Fault]] = defaultdict(deque)
        self.look_faults: deque[BaseException] = deque()
        self.stored: dict[ConnectorName, Offsets] = {}
        self.progress: dict[ConnectorName, Callable[[Offsets], Offsets]] = {}
        self.warnings: dict[ConnectorName, str] = {}
        self.task_fails_after: dict[str, float] = {}
        self.no_tasks: set[str] = set()
        self.changed: list[tuple[ConnectorName, OffsetPatch | None]] = []
        self.offset_looks: list[ConnectorName] = []
        self.calls: list[tuple[str, str]] = []
        self.looks = 0
        self.name_looks = 0
        self.waits_for_herder = 0
        self.most_at_once = 0
        self.on_call: Callable[[str, str], None] = lambda verb, name: None
        self._at_once = 0
        self._lock = threading.RLock()
        self._pending: list[tuple[float, Callable[[], None]]] = []

    def connectors(self) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        with self._lock:
            self.looks += 1
            if self.look_faults:
                raise self.look_faults.popleft()
            self._catch_up()
            seen = {name: one for name, one in self.present.items() if name not in self.unreadable}
            return seen, frozenset(self.unreadable & self.present.keys())

    def conceal(self, secrets: Iterable[str]) -> None:
        """Do nothing: no answer of this cluster quotes a config."""

    def await_herder(self) -> None:
        with self._lock:
            self.waits_for_herder += 1
            self._catch_up()

    def absent(self, names: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
        with self._lock:
            self.name_looks += bool(names)
            self._catch_up()
            return names - self.listed

    def create(
        self,
        name: ConnectorName,
        config: Mapping[str, str],
        initial_state: TargetState | None = None,
        *,
        sensitive: Iterable[str] = (),
    ) -> None:
        def effect() -> None:
            if name in self.listed:
                raise AlreadyExists(f"Connector {name} already exists")
            self.listed.add(name)
            state = RUNNING if initial_state is None else WorkerState[initial_state.name]
            self._later(lambda: self._put(_started(connector(name, state, config))))

        self._request("create", name, effect)

    def configure(self, name: ConnectorName, config: Mapping[str, str], *, sensitive: Iterable[str] = ()) -> None:
        def effect() -> None:
            before = self.present[name]
            self.present[name] = replace(before, config=config)
            if before.state in (RUNNING, FAILED):
                self._later(lambda: self._put(_started(connector(name, RUNNING, config))))

        self._request("configure", name, effect)

    def stop(self, name: ConnectorName) -> None:
        self._request("stop", name, lambda: self._become(name, STOPPED))

    def pause(self, name: ConnectorName) -> None:
        self._request("pause", name, lambda: self.present[name].state is FAILED or self._become(name, PAUSED))

    def resume(self, name: ConnectorName) -> None:
        self._request("resume", name, lambda: self.present[name].state is FAILED or self._become(name, RUNNING))

    def gone(self, workers: Collection[str]) -> frozenset[str]:
        return frozenset()

    def restart(self, name: ConnectorName, *, include_tasks: bool, only_failed: bool) -> None:
        """Start it again; its parts fail again as `task_fails_after` and the config say."""

        def effect() -> None:
            before = self.present[name]
            if not only_failed or before.state is FAILED or any(task.state is FAILED for task in before.tasks):
                self._later(lambda: self._put(_started(connector(name, RUNNING, before.config))))

        self._request("restart", name, effect)

    def restart_part(self, name: ConnectorName, task: int | None) -> None:
        """One request of several: in `calls` with the number of the task."""
        self._request(f"restart {task}", name, lambda: self._become(name, RUNNING))

    def offsets(self, name: ConnectorName) -> Offsets:
        """A read, which is not in `calls`; `on_call` and `faults` know it as `offsets`."""
        self.on_call("offsets", name)
        with self._lock:
            self.offset_looks.append(name)
            self._catch_up()
            if faults := self.faults["offsets", name]:
                raise faults.popleft().error
            if name not in self.listed:
                raise NotFound(f"Connector {name} not found")
            self._move_on(name)
            return self.stored.get(name, {})

    def save_offsets(self, name: ConnectorName, file: Path, limit: int) -> Offsets:
        """Return the offsets: they always fit in memory."""
        return self.offsets(name)

    def alter_offsets(self, name: ConnectorName, offsets: OffsetPatch) -> str:
        self._request("alter", name, lambda: self._change(name, offsets))
        return self.warnings.get(name, "")

    def alter_offsets_with(self, name: ConnectorName, body: bytes) -> str:
        """Recorded in `calls` as `alter`, with the `faults` of `alter`."""
        entries = json.loads(body)["offsets"]
        patch = {
            partition_text(one["partition"]): None if one["offset"] is None else offset_text(one["offset"])
            for one in entries
        }
        assert len(patch) == len(entries) > 0
        return self.alter_offsets(name, patch)

    def reset_offsets(self, name: ConnectorName) -> str:
        self._request("reset", name, lambda: self._change(name, None))
        return self.warnings.get(name, "")

    def _change(self, name: ConnectorName, patch: OffsetPatch | None) -> None:
        if self.present[name].state is not STOPPED or self.present[name].tasks:
            raise NotStopped(f"Connectors must be in the STOPPED state: {name}")
        self.stored[name] = {} if patch is None else merged(self.stored.get(name, {}), patch)
        self.changed.append((name, patch))

    def _move_on(self, name: ConnectorName) -> None:
        if name in self.progress and name in self.present and self.present[name].state is RUNNING:
            self.stored[name] = self.progress[name](self.stored.get(name, {}))

    def delete(self, name: ConnectorName) -> None:
        def effect() -> None:
            self.present.pop(name, None)
            self._later(lambda: self.listed.discard(name))

        self._request("delete", name, effect)

    def _request(self, verb: str, name: ConnectorName, effect: Callable[[], object]) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.on_call(verb, name)
            with self._lock:
                self._catch_up()
                self._answer(verb, name, effect)
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, verb: str, name: ConnectorName, effect: Callable[[], object]) -> None:
        self.calls.append((verb, name))
        fault = self.faults[verb, name].popleft() if self.faults[verb, name] else None
        if fault is None or fault.happens:
            if verb not in ("create", "delete") and name not in self.present:
                raise NotFound(f"Connector {name} not found")
            effect()
        if fault:
            raise fault.error

    def _become(self, name: ConnectorName, state: WorkerState) -> None:
        def effect() -> None:
            if name in self.present:
                self._move_on(name)
                self._put(_started(connector(name, state, self.present[name].config)))

        self._later(effect)

    def _put(self, one: ObservedConnector) -> None:
        if one.name in self.listed:
            self.present[one.name] = replace(one, tasks=()) if one.name in self.no_tasks else one
            if one.name in self.task_fails_after and one.state is RUNNING:
                failed = replace(one, tasks=(TaskStatus(0, FAILED, "w", TRACE),))
                self._later(lambda: self.present.update({one.name: failed}), self.task_fails_after[one.name])

    def _later(self, effect: Callable[[], None], delay: float | None = None) -> None:
        self._pending.append((self.clock.monotonic() + (self.delay if delay is None else delay), effect))

    def _catch_up(self) -> None:
        due = [effect for at, effect in self._pending if at <= self.clock.monotonic()]
        self._pending = [(at, effect) for at, effect in self._pending if at > self.clock.monotonic()]
        for effect in due:
            effect()


def _started(one: ObservedConnector) -> ObservedConnector:
    if one.state is RUNNING and one.config.get("start") == "fail":
        return replace(one, state=FAILED, tasks=(), trace=TRACE)
    return one


def refused(text: str = "no") -> Fault:
    return Fault(ConnectRefused(text))
