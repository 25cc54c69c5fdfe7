"""The stand-in's cluster as a `ConnectClient`, without HTTP and on a manual clock: effects show after a while."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from standin.cluster import Cluster, Connector, Reported, Target
from standin.offsets import stopped_connector
from standin.plugins import Refused
from standin.records import Stored

from gitops_connect import errors
from gitops_connect.errors import AlreadyExists, ConnectRefused, NotFound, NotStopped
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from support.cluster.manual_clock import ManualClock

RUNNING, PAUSED, STOPPED, FAILED = WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.STOPPED, WorkerState.FAILED
TRACE = "java.lang.IllegalStateException: no\n\tat org.example.Connector.start(Connector.java:42)"
_NO_CLASS = "the class of a connector whose config names none"
_ERRORS: dict[int, type[Exception]] = {400: NotStopped, 404: NotFound, 409: AlreadyExists}


@dataclass(frozen=True)
class Fault:
    """The error that a request raises, and whether the request takes effect all the same."""

    error: BaseException
    happens: bool = False

    @classmethod
    def of(cls, text: str) -> Fault:
        """`ERROR: TEXT`, or `ERROR+: TEXT` if the request takes effect."""
        name, _, message = text.partition(": ")
        return cls(getattr(errors, name.removesuffix("+"))(message), happens=name.endswith("+"))


def refused(text: str = "no") -> Fault:
    return Fault(ConnectRefused(text))


def connector(
    name: str, state: WorkerState = RUNNING, config: Mapping[str, str] | None = None, trace: str = ""
) -> ObservedConnector:
    tasks = (TaskStatus(0, state, "w"),) if state in (RUNNING, PAUSED) else ()
    return ObservedConnector(ConnectorName(name), ConnectorType.SOURCE, state, "w", config or {}, tasks, trace)


class TimedCluster(Cluster):
    """What is accepted takes effect after `delay` seconds. Any config is valid; with `start` = fail it does not start.

    `task_fails_after`: seconds from a connector's start until its task fails. `no_tasks`: connectors without tasks.
    `progress` moves the offsets of a running connector at each read of them, and when its state changes. `leaving` are
    deleted, and still listed. `on_effect` gets the name of a connector whose state has changed.
    """

    def __init__(self, clock: ManualClock, delay: float) -> None:
        super().__init__()
        self.clock, self.delay = clock, delay
        self.task_fails_after: dict[str, float] = {}
        self.no_tasks: set[str] = set()
        self.progress: dict[str, Callable[[Offsets], Offsets]] = {}
        self.offsets = _StoredOffsets(self.stored)
        self.leaving: set[str] = set()
        self.on_effect: Callable[[str], None] = lambda name: None
        self._pending: list[tuple[float, Callable[[], None]]] = []

    def check(self, config: Mapping[str, str]) -> None:
        """Accept any config."""

    def catch_up(self) -> None:
        now = self.clock.monotonic()
        due = [effect for at, effect in self._pending if at <= now]
        self._pending = [(at, effect) for at, effect in self._pending if at > now]
        for effect in due:
            effect()

    def later(self, effect: Callable[[], None], delay: float) -> None:
        self._pending.append((self.clock.monotonic() + delay, effect))

    def delete(self, name: str) -> None:
        def forget() -> None:
            self.connectors.pop(name, None)
            self.leaving.discard(name)

        self.leaving.add(name)
        self.later(forget, self.delay)

    def _schedule(self, connector: Connector, effect: Callable[[], None]) -> None:
        def take_effect() -> None:
            if self.connectors.get(connector.name) is connector and connector.name not in self.leaving:
                self._move_on(connector)
                effect()
                self.on_effect(connector.name)

        self.later(take_effect, self.delay)

    def _start(self, connector: Connector) -> None:
        fails = connector.config.get("start") == "fail"
        connector.failure = TRACE if fails else connector.failure.replace(TRACE, "")
        super()._start(connector)
        self._break_task(connector)

    def _restarted(self, connector: Connector, parts: list[int | None]) -> None:
        super()._restarted(connector, parts)
        self._break_task(connector)

    def _break_task(self, connector: Connector) -> None:
        reported, name = connector.reported, connector.name
        if reported is None or reported.state != "RUNNING":
            return
        if name in self.no_tasks:
            reported.tasks = []
        if name in self.task_fails_after:
            self.later(lambda: self.fail_task(name, 0, TRACE), self.task_fails_after[name])

    def _move_on(self, connector: Connector) -> None:
        name, reported = ConnectorName(connector.name), connector.reported
        if name in self.progress and reported is not None and reported.state == "RUNNING":
            self.offsets[name] = self.progress[name](self.offsets.get(name, {}))


class _StoredOffsets(MutableMapping[ConnectorName, Offsets]):
    """The offsets of sources that the stand-in stores. They outlive their connector."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def __getitem__(self, name: ConnectorName) -> Offsets:
        pairs = self._stored.sources[name].values()
        return {partition_text(partition or {}): offset_text(offset) for partition, offset in pairs}

    def __setitem__(self, name: ConnectorName, offsets: Offsets) -> None:
        self._stored.sources[name] = {}
        self.patch(name, offsets)

    def patch(self, name: ConnectorName, patch: OffsetPatch) -> None:
        for partition, offset in patch.items():
            self._stored.set_source(name, json.loads(partition), None if offset is None else json.loads(offset))

    def __delitem__(self, name: ConnectorName) -> None:
        del self._stored.sources[name]

    def __iter__(self) -> Iterator[ConnectorName]:
        return map(ConnectorName, self._stored.sources)

    def __len__(self) -> int:
        return len(self._stored.sources)


class MemoryCluster:
    """A `ConnectClient` of a `TimedCluster`.

    `changed` lists the changes of offsets that took effect: a patch, or None for a reset. `calls` lists all requests
    with an effect; `on_call` gets each before its effect, and also `offsets`, a read.
    """

    def __init__(self, clock: ManualClock, *present: ObservedConnector, delay: float = 0.5) -> None:
        self.clock = clock
        self.rules = TimedCluster(clock, delay)
        self.stored = self.rules.offsets
        self.progress = self.rules.progress
        self.unreadable: set[ConnectorName] = set()
        self.faults: dict[tuple[str, str], deque[Fault]] = defaultdict(deque)
        self.look_faults: deque[BaseException] = deque()
        self.warnings: dict[ConnectorName, str] = {}
        self.changed: list[tuple[ConnectorName, OffsetPatch | None]] = []
        self.offset_looks: list[ConnectorName] = []
        self.calls: list[tuple[str, str]] = []
        self.looks = self.name_looks = self.waits_for_herder = self.most_at_once = 0
        self.on_call: Callable[[str, str], None] = lambda verb, name: None
        self._at_once = 0
        self._lock = threading.RLock()
        for one in present:
            self.put(one)

    def put(self, one: ObservedConnector) -> None:
        """Let the connector be as it is given, at once."""
        target = Target(one.state.value) if one.state in (PAUSED, STOPPED) else Target.STARTED
        tasks = [(task.state.value, task.trace) for task in one.tasks]
        config = {"connector.class": _NO_CLASS, **one.config, "name": one.name}
        self.rules.connectors[one.name] = Connector(
            one.name, config, target, Reported(one.state.value, one.trace, tasks)
        )

    @property
    def listed(self) -> set[str]:
        """The names that a worker lists, some of them without a status."""
        self.rules.catch_up()
        return set(self.rules.names())

    @property
    def present(self) -> dict[ConnectorName, ObservedConnector]:
        """The connectors with a status."""
        known = (one for name, one in self.rules.connectors.items() if name not in self.rules.leaving)
        return {ConnectorName(one.name): _observed(one, one.reported) for one in known if one.reported is not None}

    def connectors(self) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        with self._lock:
            self.looks += 1
            if self.look_faults:
                raise self.look_faults.popleft()
            self.rules.catch_up()
            there = self.present
            return {name: there[name] for name in there.keys() - self.unreadable}, self.unreadable & there.keys()

    def threads(self, count: int = 1) -> Executor:
        return ThreadPoolExecutor(count)

    def conceal(self, secrets: Iterable[str]) -> None:
        """Do nothing: no answer of this cluster quotes a config."""

    def await_herder(self) -> None:
        with self._lock:
            self.waits_for_herder += 1
            self.rules.catch_up()

    def absent(self, names: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
        with self._lock:
            self.name_looks += bool(names)
            return names - self.listed

    def gone(self, workers: Collection[str]) -> frozenset[str]:
        return frozenset()

    def create(
        self, name: ConnectorName, config: Mapping[str, str], initial_state: TargetState | None = None, **_: Any
    ) -> None:
        given = {"connector.class": _NO_CLASS, **config}
        state = initial_state.name if initial_state is not None else None
        self._request("create", name, lambda: self.rules.create(name, given, state))

    def configure(self, name: ConnectorName, config: Mapping[str, str], **_: Any) -> None:
        given = {"connector.class": _NO_CLASS, **config}
        self._request("configure", name, lambda: self.rules.configure(name, given))

    def stop(self, name: ConnectorName) -> None:
        self._request("stop", name, lambda: self.rules.transition(name, Target.STOPPED))

    def pause(self, name: ConnectorName) -> None:
        self._request("pause", name, lambda: self.rules.transition(name, Target.PAUSED))

    def resume(self, name: ConnectorName) -> None:
        self._request("resume", name, lambda: self.rules.transition(name, Target.STARTED))

    def delete(self, name: ConnectorName) -> None:
        self._request("delete", name, lambda: self.rules.delete(name))

    def restart(self, name: ConnectorName, *, include_tasks: bool, only_failed: bool) -> None:
        def effect() -> None:
            self.rules.restart(name, self.rules.parts(name, tasks=include_tasks, only_failed=only_failed))

        self._request("restart", name, effect)

    def restart_part(self, name: ConnectorName, task: int | None) -> None:
        """One request of several: in `calls` with the number of the task."""
        self._request(f"restart {task}", name, lambda: self.rules.restart(name, [task]))

    def active_topics(self, name: ConnectorName) -> frozenset[TopicName]:
        with self._lock:
            self.rules.catch_up()
            return frozenset(self.rules.active_topics(name)[name]["topics"])

    def reset_active_topics(self, name: ConnectorName) -> None:
        """The topics are forgotten after the delay."""
        forget = partial(self.rules.reset_active_topics, name)
        self._request("reset-topics", name, lambda: self.rules.later(forget, self.rules.delay))

    def offsets(self, name: ConnectorName, **_: Any) -> Offsets:
        self.on_call("offsets", name)
        with self._lock:
            self.offset_looks.append(name)
            self.rules.catch_up()
            if faults := self.faults["offsets", name]:
                raise faults.popleft().error
            if name not in self.rules.connectors:
                raise NotFound(f"Connector {name} not found")
            self.rules.pass_time(name)
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
        stopped_connector(self.rules, name)
        if patch is None:
            self.stored[name] = {}
        else:
            self.stored.patch(name, patch)
        self.changed.append((name, patch))

    def _request(self, verb: str, name: ConnectorName, effect: Callable[[], object]) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.on_call(verb, name)
            with self._lock:
                self.rules.catch_up()
                self._answer(verb, name, effect)
        except Refused as error:
            raise _ERRORS[error.status](error.message) from error
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, verb: str, name: ConnectorName, effect: Callable[[], object]) -> None:
        self.calls.append((verb, name))
        fault = self.faults[verb, name].popleft() if self.faults[verb, name] else None
        if fault is None or fault.happens:
            if verb not in ("create", "delete", "reset-topics") and name not in self.present:
                raise NotFound(f"Connector {name} not found")
            effect()
        if fault:
            raise fault.error


def _observed(one: Connector, reported: Reported) -> ObservedConnector:
    tasks = (TaskStatus(number, WorkerState(state), "w", trace) for number, (state, trace) in enumerate(reported.tasks))
    config = {key: value for key, value in one.config.items() if key != "name" and value != _NO_CLASS}
    kind, state = ConnectorType.SOURCE, WorkerState(reported.state)
    return ObservedConnector(ConnectorName(one.name), kind, state, "w", config, tuple(tasks), reported.trace)
