"""A `Cluster` as a `ConnectClient`, without HTTP and on a manual clock: effects show after a while."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from standin import offsets
from standin.cluster import VERBS, Cluster, Connector, Reported, Target, type_of
from standin.plugins import Refused, listing
from standin.records import Stored, group_of

from gitops_connect import errors
from gitops_connect.connect import wire
from gitops_connect.connect.capabilities import Capability
from gitops_connect.connect.responses import Answer, ConnectRequest, RefusedAnswer, read
from gitops_connect.connect.validation import Plugin
from gitops_connect.errors import ConnectRefused, NotFound
from gitops_connect.model.desired import TargetState
from gitops_connect.model.masking import sensitive_values
from gitops_connect.model.names import ClusterName, ConnectorName, TopicName
from gitops_connect.model.observed_state import (
    ClusterInfo,
    ConnectorType,
    ConnectVersion,
    ObservedConnector,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from support.cluster.manual_clock import ManualClock

RUNNING, PAUSED, STOPPED, FAILED = WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.STOPPED, WorkerState.FAILED
_NO_CLASS = "the class of a connector whose config names none"


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


class _StoredOffsets(MutableMapping[ConnectorName, Offsets]):
    """The offsets that the cluster stores: none if it knows none. They outlive their connector."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def __getitem__(self, name: ConnectorName) -> Offsets:
        pairs = [*self._stored.sources.get(name, {}).values(), *self._stored.committed(group_of(name, {}))]
        return {partition_text(partition or {}): offset_text(offset) for partition, offset in pairs}

    def __setitem__(self, name: ConnectorName, offsets: Offsets) -> None:
        self._stored.sources[name] = {}
        for partition, offset in offsets.items():
            self._stored.set_source(name, json.loads(partition), json.loads(offset))

    def __delitem__(self, name: ConnectorName) -> None:
        del self._stored.sources[name]

    def __iter__(self) -> Iterator[ConnectorName]:
        return map(ConnectorName, self._stored.sources)

    def __len__(self) -> int:
        return len(self._stored.sources)


class MemoryCluster:
    """A `ConnectClient` of a `Cluster` whose effects take some time. `progress` moves the offsets of a connector.

    `changed` lists the changes of offsets that took effect: a patch, or None for a reset. `calls` lists all requests
    with an effect; `on_call` gets each before its effect, and also `offsets`, a read. `on_change` gets the offsets
    before and after each change of them.
    """

    cluster = ClusterName("local")
    concealed = frozenset[str]()

    def __init__(self, clock: ManualClock, *present: ObservedConnector, delay: float = 0.5) -> None:
        self.clock = clock
        self.rules = Cluster(now=clock.monotonic, delay=delay)
        self.rules.accepts_any_config = True
        self.rules.progress = self._progress
        self.stored = _StoredOffsets(self.rules.stored)
        self.progress: dict[ConnectorName, Callable[[Offsets], Offsets]] = {}
        self.unreadable: set[ConnectorName] = set()
        self.faults: dict[tuple[str, str], deque[Fault]] = defaultdict(deque)
        self.look_faults: deque[BaseException] = deque()
        self.warnings: dict[ConnectorName, str] = {}
        self.changed: list[tuple[ConnectorName, OffsetPatch | None]] = []
        self.offset_looks: list[ConnectorName] = []
        self.calls: list[tuple[str, str]] = []
        self.looks = self.name_looks = self.waits_for_herder = self.at_once = self.most_at_once = 0
        self.on_call: Callable[[str, str], None] = lambda verb, name: None
        self.on_change: Callable[[ConnectorName, Offsets, Offsets], None] = lambda name, before, after: None
        self._lock = threading.RLock()
        for one in present:
            self.put(one)

    def _progress(self, name: str) -> bool:
        connector = ConnectorName(name)
        if move := self.progress.get(connector):
            self.stored[connector] = move(self.stored[connector])
        return move is not None

    def put(self, one: ObservedConnector) -> None:
        """Let the connector be as it is given, at once."""
        target = Target(one.state.value) if one.state in (PAUSED, STOPPED) else Target.STARTED
        tasks = [(task.state.value, task.trace) for task in one.tasks]
        config = {"connector.class": _NO_CLASS, **one.config, "name": one.name}
        self.rules.connectors[one.name] = Connector(
            one.name, config, target, target, Reported(one.state.value, one.trace, tasks)
        )

    def pass_time(self, seconds: float = 0.1) -> None:
        """Let accepted requests take effect, and let running connectors make progress."""
        self.clock.sleep(seconds)
        self.rules.catch_up()
        for name in self.rules.connectors:
            self.rules.pass_time(name)

    @property
    def listed(self) -> set[str]:
        """The names that a worker lists, some of them without a status."""
        self.rules.catch_up()
        return set(self.rules.names())

    @property
    def present(self) -> dict[ConnectorName, ObservedConnector]:
        """The connectors with a status."""
        version = self.rules.version if self.rules.since >= (4, 1) else ""
        known = self.rules.connectors.values()
        return {
            ConnectorName(one.name): _observed(one, one.reported, version) for one in known if one.reported is not None
        }

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
        return frozenset(self.rules.group.dead & {*workers})

    def info(self) -> ClusterInfo:
        return wire.parse_info({"version": self.rules.version, "commit": "commit", "kafka_cluster_id": "kafka"})

    def other_versions(self) -> frozenset[ConnectVersion]:
        return frozenset()

    def plugins(self) -> tuple[Plugin, ...]:
        return wire.parse_plugins(listing(self.rules.version))

    all_plugins = plugins

    def require(self, _: Capability) -> None:
        """It has every capability."""

    def names(self) -> frozenset[ConnectorName]:
        return frozenset(map(ConnectorName, self.listed))

    def guarded_by(self, permit: Callable[[], float]) -> MemoryCluster:
        """No process takes over from another one here."""
        return self

    def close(self) -> None:
        """Nothing has to be closed."""

    def create(
        self,
        name: ConnectorName,
        config: Mapping[str, str],
        initial_state: TargetState | None = None,
        *,
        sensitive: Iterable[str] = (),
    ) -> None:
        given = self._with_class(config)
        state = initial_state.name if initial_state is not None else None
        self._request(
            "create", name, lambda: self.rules.create(name, given, state), sensitive_values(config, sensitive)
        )

    def configure(self, name: ConnectorName, config: Mapping[str, str], *, sensitive: Iterable[str] = ()) -> None:
        given = self._with_class(config)
        self._request("configure", name, lambda: self.rules.configure(name, given), sensitive_values(config, sensitive))

    def _with_class(self, config: Mapping[str, str]) -> dict[str, str]:
        return {"connector.class": _NO_CLASS, **config} if self.rules.accepts_any_config else {**config}

    def stop(self, name: ConnectorName) -> None:
        self._request("stop", name, lambda: self.rules.transition(name, VERBS["stop"]))

    def pause(self, name: ConnectorName) -> None:
        self._request("pause", name, lambda: self.rules.transition(name, VERBS["pause"]))

    def resume(self, name: ConnectorName) -> None:
        self._request("resume", name, lambda: self.rules.transition(name, VERBS["resume"]))

    def delete(self, name: ConnectorName) -> None:
        with suppress(NotFound):
            self._request("delete", name, lambda: self.rules.delete(name))

    def restart(self, name: ConnectorName, *, include_tasks: bool, only_failed: bool) -> None:
        def effect() -> None:
            self.rules.restart(name, self.rules.parts(name, tasks=include_tasks, only_failed=only_failed))

        self._request("restart", name, effect)

    def restart_part(self, name: ConnectorName, task: int | None) -> None:
        """One request of several: in `calls` with the number of the task."""

        def effect() -> None:
            if task is None:
                self.rules.restart_connector(name)
            else:
                self.rules.restart(name, [task])

        self._request(f"restart {task}", name, effect)

    def active_topics(self, name: ConnectorName) -> frozenset[TopicName]:
        with self._lock, _answered(ConnectRequest("GET", f"/connectors/{name}/topics")):
            self.rules.catch_up()
            return frozenset(self.rules.active_topics(name)[name]["topics"])

    def reset_active_topics(self, name: ConnectorName) -> None:
        self._request("reset-topics", name, lambda: self.rules.reset_active_topics(name))

    def offsets(self, name: ConnectorName, **_: Any) -> Offsets:
        self.on_call("offsets", name)
        with self._lock, _answered(ConnectRequest("GET", f"/connectors/{name}/offsets")):
            self.offset_looks.append(name)
            self.rules.catch_up()
            if faults := self.faults["offsets", name]:
                raise faults.popleft().error
            return wire.parse_offsets(offsets.listed(self.rules, name))

    def save_offsets(self, name: ConnectorName, file: Path, limit: int, **_: Any) -> Offsets:
        """Return the offsets: they always fit in memory."""
        return self.offsets(name)

    def alter_offsets(self, name: ConnectorName, patch: OffsetPatch) -> str:
        return self._change("alter", name, patch, partial(offsets.alter, self.rules, name, wire.offsets_body(patch)))

    def alter_offsets_with(self, name: ConnectorName, body: bytes) -> str:
        """Recorded in `calls` as `alter`, with the `faults` of `alter`."""
        entries = json.loads(body)["offsets"]
        patch = {
            partition_text(one["partition"]): None if one["offset"] is None else offset_text(one["offset"])
            for one in entries
        }
        assert len(patch) == len(entries)
        return self.alter_offsets(name, patch)

    def reset_offsets(self, name: ConnectorName) -> str:
        return self._change("reset", name, None, partial(offsets.reset, self.rules, name))

    def by_hand(self, verb: str, name: str, body: Any = None) -> None:
        """A request of someone else, to which no fault applies. `body`: the config, or offsets. Raises Refused."""
        self.rules.catch_up()
        if verb == "delete":
            self.rules.delete(name)
        elif verb == "configure":
            self.rules.configure(name, body)
        elif verb == "alter":
            offsets.alter(self.rules, name, body)
        elif verb == "restart":
            self.rules.restart(name, self.rules.parts(name, tasks=True, only_failed=False))
        else:
            self.rules.transition(name, VERBS[verb])

    def _change(
        self, verb: str, name: ConnectorName, patch: OffsetPatch | None, change: Callable[[], dict[str, Any]]
    ) -> str:
        warnings = []

        def effect() -> None:
            before = self.stored[name]
            warnings.append(wire.parse_warning(change()))
            self.changed.append((name, patch))
            self.on_change(name, before, self.stored[name])

        self._request(verb, name, effect)
        return self.warnings.get(name, "".join(warnings))

    def _request(
        self, verb: str, name: ConnectorName, effect: Callable[[], object], secrets: frozenset[str] = frozenset()
    ) -> None:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.on_call(verb, name)
            request = ConnectRequest(
                verb, name, effect=True, changes_offsets=verb in ("alter", "reset"), secrets=secrets
            )
            with self._lock, _answered(request):
                self.rules.catch_up()
                self.calls.append((verb, name))
                fault = self.faults[verb, name].popleft() if self.faults[verb, name] else None
                if fault is None or fault.happens:
                    effect()
                if fault:
                    raise fault.error
        finally:
            with self._lock:
                self.at_once -= 1


@contextmanager
def _answered(request: ConnectRequest) -> Iterator[None]:
    """Raise what the client raises for an error of Connect."""
    try:
        yield
    except Refused as refused:
        body = json.dumps({"error_code": refused.status, "message": refused.message})
        reading = read(request, Answer("memory", refused.status, body.encode()))
        assert isinstance(reading, RefusedAnswer)
        raise reading.error from refused


def _observed(one: Connector, reported: Reported, version: str) -> ObservedConnector:
    tasks = (
        TaskStatus(number, WorkerState(state), one.worker, trace)
        for number, (state, trace) in enumerate(reported.tasks)
    )
    config = {key: value for key, value in one.config.items() if key != "name" and value != _NO_CLASS}
    kind = ConnectorType.SINK if type_of(one.config) == "sink" else ConnectorType.SOURCE
    state, name = WorkerState(reported.state), ConnectorName(one.name)
    return ObservedConnector(
        name, kind, state, one.worker, config, tuple(tasks), reported.trace, version, tuple(range(reported.starting))
    )
