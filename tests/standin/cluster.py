"""The rules of a Connect cluster: connectors, their target states, and their reported states.

`connect.py` serves them over HTTP, and `support/cluster/memory_cluster.py` to the product without HTTP. What is
accepted takes effect after `delay` seconds (0: at once). Until the first effect, a connector has no status, and is left
out of the expanded list, as in Kafka.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from gitops_connect.sandbox.sandbox_state import TopicTracking
from standin.group import WORKER, Group
from standin.plugins import Refused, check, find, keys_of
from standin.records import Stored, first_poll, move

MASK = "********"
TRACE = "java.lang.IllegalStateException: no\n\tat org.example.Connector.start(Connector.java:42)"
"""Of a connector whose config has `start: fail`."""


class Target(Enum):
    """Kafka's `TargetState`; the value is what a worker reports once it is reached."""

    STARTED = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


VERBS = {"stop": Target.STOPPED, "pause": Target.PAUSED, "resume": Target.STARTED}


@dataclass
class Reported:
    """What workers report: the state and the trace of the connector and of each task."""

    state: str
    trace: str = ""
    tasks: list[tuple[str, str]] = field(default_factory=list)
    starting: int = 0
    """Tasks that are configured and have no status yet."""
    looks: int = 0
    """How often the connector was read in this state."""


@dataclass
class Connector:
    """One connector of the config topic."""

    name: str
    config: dict[str, str]
    target: Target
    known: Target
    """The target state of which its worker knows so far."""
    reported: Reported | None = None
    worker: str = WORKER
    failure: str = ""
    """If set, the connector fails with this trace whenever it starts."""


class Cluster:
    """The connectors of one group, which may have several workers.

    `is_reading`: its workers were just started. Lists are still empty, and a request to the herder waits for it.
    `task_fails_after`: seconds from a connector's start until its task fails. `no_tasks`: connectors without tasks.
    `leaving` are deleted, and still listed. `on_effect` gets the name of a connector whose state has changed.
    `progress` replaces the progress that a running connector makes; it returns False for a connector of which it knows
    nothing.
    """

    def __init__(
        self,
        version: str = "4.3.1",
        *,
        masks_passwords: bool = False,
        now: Callable[[], float] = time.monotonic,
        delay: float = 0.0,
    ) -> None:
        self.version = version
        self.exactly_once = True
        self.now, self.delay = now, delay
        self.transit = 0.0
        """Seconds of each state that a connector passes through, such as STOPPED with tasks that still end."""
        self.accepts_any_config = False
        self.task_fails_after: dict[str, float] = {}
        self.no_tasks: set[str] = set()
        self.leaving: set[str] = set()
        self.on_effect: Callable[[str], None] = lambda name: None
        self.progress: Callable[[str], bool] = lambda name: False
        self.masks_passwords = masks_passwords
        self.mask = MASK
        self.adds: dict[str, str] = {}
        """Config keys that a proxy in front of the workers adds to each connector."""
        self.connectors: dict[str, Connector] = {}
        self.group = Group(self, WORKER)
        self.stored = Stored()
        self.topic_tracking = TopicTracking.ENABLED
        self._active: dict[str, set[str]] = {}
        self.is_reading = False
        self.lock = RLock()
        self._pending: list[tuple[float, int, str, Callable[[], object]]] = []
        self._order = count()
        self._due: float | None = None

    @property
    def since(self) -> tuple[int, int]:
        """The major and minor version, to decide which features it has."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    def names(self) -> list[str]:
        return [] if self.is_reading else list(self.connectors)

    def await_herder(self) -> None:
        self.is_reading = False

    @property
    def time(self) -> float:
        """When what happens now is due, which may be before now: nobody has looked since then."""
        return self.now() if self._due is None else self._due

    def later(self, name: str, effect: Callable[[], object], delay: float) -> None:
        """Let something happen to a connector after so many seconds."""
        heapq.heappush(self._pending, (self.time + delay, next(self._order), name, effect))

    def catch_up(self, until: float | None = None) -> None:
        """Let everything happen that is due by now."""
        until = self.now() if until is None else until
        while self._pending and self._pending[0][0] <= until:
            self._due, *_, effect = heapq.heappop(self._pending)
            effect()
        self._due = None

    def advance(self, name: str) -> bool:
        """Let the next thing happen to a connector. False if nothing is due."""
        found = min((one for one in self._pending if one[2] == name and one[0] <= self.now()), default=None)
        if found is not None:
            self._pending.remove(found)
            heapq.heapify(self._pending)
            self._due = found[0]
            found[-1]()
            self._due = None
        return found is not None

    def check(self, config: Mapping[str, str]) -> None:
        if not self.accepts_any_config:
            check(config, exactly_once=self.exactly_once)

    def create(self, name: str, config: dict[str, str], initial_state: str | None) -> dict[str, Any]:
        self.group.require_leader()
        config = self._named(name, config)
        self.check(config)
        if name in self.connectors and name not in self.leaving:
            raise Refused(409, f"Connector {name} already exists")
        self.leaving.discard(name)
        target = next((target for target in Target if target.value == initial_state), Target.STARTED)
        connector = self.connectors[name] = Connector(name, config, target, target, worker=self.group.choose(name))
        answer = self.info(name)
        self._schedule(connector, lambda: self._start(connector))
        return answer

    def configure(self, name: str, config: dict[str, str]) -> tuple[bool, dict[str, Any]]:
        """Whether the connector was created, and its info."""
        if name not in self.connectors or name in self.leaving:
            return True, self.create(name, config, None)
        self.group.require_leader()
        config = self._named(name, config)
        self.check(config)
        connector = self.connectors[name]
        connector.config = config
        answer = self.info(name)
        self._schedule(connector, lambda: self._start_anew(connector))
        return False, answer

    def transition(self, name: str, target: Target) -> None:
        connector = self.connectors.get(name)
        if target is Target.STOPPED:
            self.group.require_leader()
        if connector is None or name in self.leaving:
            raise Refused(404, f"Unknown connector {name}")
        self._move_on(connector)
        connector.target = target
        self._schedule(connector, lambda: self._move(connector, target))

    def parts(self, name: str, *, tasks: bool, only_failed: bool) -> list[int | None]:
        """The numbers of the tasks, and None for the connector itself."""
        self.group.require_leader()
        if name not in self.connectors or name in self.leaving:
            raise Refused(404, f"Unknown connector: {name}")
        reported = self.connectors[name].reported
        if reported is None:
            raise Refused(404, f"Status for connector {name} not found")
        states: list[tuple[int | None, str]] = [(None, reported.state)]
        states += [(number, state) for number, (state, _) in enumerate(reported.tasks) if tasks]
        return [part for part, state in states if state == "FAILED" or not only_failed]

    def restart(self, name: str, parts: list[int | None]) -> dict[str, Any]:
        """Restart these parts; the answer shows them as RESTARTING."""
        self.group.require_leader()
        connector = self.connectors.get(name)
        if connector is None or connector.reported is None or name in self.leaving:
            raise Refused(404, f"Unknown connector: {name}")
        for part in parts:
            if part is not None and part >= len(connector.reported.tasks):
                raise Refused(404, f"Unknown task: {name}-{part}")
        _mark_restarting(connector.reported, parts)
        answer = self._status(connector)
        self._schedule(connector, lambda: self._restart(connector, parts))
        return answer

    def restart_connector(self, name: str) -> None:
        """Restart the connector without its tasks. The answer waits for the start."""
        self.restart(name, [None])
        if self.connectors[name].failure or _fault(self.connectors[name].config):
            raise Refused(500, f"Failed to start connector: {name}")

    def _restart(self, connector: Connector, parts: list[int | None]) -> None:
        """Restart these parts, as far as a stop has left them."""
        if connector.reported is None or (connector.known is Target.STOPPED and None not in parts):
            return
        passing = Reported(connector.reported.state, connector.reported.trace, [*connector.reported.tasks])
        _mark_restarting(passing, parts)
        self._pass_through(connector, passing, lambda: self._restarted(connector, passing, parts))

    def _restarted(self, connector: Connector, passing: Reported, parts: list[int | None]) -> None:
        if None in parts:
            self._start(connector)
            return
        started = _tasks(connector.config)
        tasks = [started[number] if number in parts else task for number, task in enumerate(passing.tasks)]
        connector.reported = Reported(passing.state, passing.trace, tasks)
        self._break_task(connector)

    def delete(self, name: str) -> None:
        self.group.require_leader()
        if name not in self.connectors or name in self.leaving:
            raise Refused(404, f"Connector {name} not found")

        connector = self.connectors[name]

        def forget() -> None:
            if self.connectors.get(name) is connector:
                del self.connectors[name]
                self.leaving.discard(name)
            if self.topic_tracking is not TopicTracking.DISABLED:
                self._active.pop(name, None)

        self.leaving.add(name)
        self._after_delay(name, forget)

    def fail(self, name: str, trace: str = "java.lang.RuntimeException: made to fail") -> None:
        """Let a connector fail, now and whenever it starts, until `failure` is emptied."""
        connector = self.connectors[name]
        connector.failure = trace
        connector.reported = Reported("FAILED", trace)

    def fail_task(self, name: str, task: int, trace: str = "java.lang.RuntimeException: made to fail") -> None:
        """Let one task fail; the connector stays as it is."""
        reported = self.connectors[name].reported
        assert reported is not None
        reported.tasks[task] = ("FAILED", trace)

    def _named(self, name: str, config: dict[str, str]) -> dict[str, str]:
        if config.get("name", name) != name:
            text = f"Connector name configuration ({config['name']}) doesn't match connector name in the URL ({name})"
            raise Refused(400, text)
        return {**config, "name": name}

    def _schedule(self, connector: Connector, effect: Callable[[], None]) -> None:
        def take_effect() -> None:
            if self._runs(connector):
                self._move_on(connector)
                effect()
                self.on_effect(connector.name)
            elif connector.reported and connector.target is Target.STOPPED:  # the leader removes its tasks
                connector.reported = Reported(connector.reported.state, connector.reported.trace)

        self._after_delay(connector.name, take_effect)

    def _runs(self, connector: Connector) -> bool:
        """Whether the connector exists, and a worker looks after it."""
        return self.connectors.get(connector.name) is connector and connector.worker not in self.group.dead

    def move(self, connector: Connector, worker: str, seconds: float) -> None:
        """Let a worker start the connector. Meanwhile its parts are UNASSIGNED, except on a worker that was killed."""

        def start() -> None:
            connector.worker, connector.known = worker, connector.target
            if self._runs(connector):
                self._start(connector)
                self.on_effect(connector.name)

        if connector.reported and self._runs(connector):
            connector.reported = Reported("UNASSIGNED", "", [("UNASSIGNED", "") for _ in connector.reported.tasks])
        self.later(connector.name, start, seconds)

    def _after_delay(self, name: str, effect: Callable[[], object]) -> None:
        if self.delay:
            self.later(name, effect, self.delay)
        else:
            effect()

    def _pass_through(self, connector: Connector, passing: Reported, then: Callable[[], None]) -> None:
        """Report a state for a moment, and go on unless something else has changed the state by then."""

        def go_on() -> None:
            if self._runs(connector) and connector.reported is passing:
                then()
                self.on_effect(connector.name)

        if self.transit:
            connector.reported = passing
            self.later(connector.name, go_on, self.transit)
        else:
            then()

    def _start_anew(self, connector: Connector) -> None:
        """Start with a new config. Meanwhile the connector is UNASSIGNED, and the tasks are those before."""
        tasks = connector.reported.tasks if connector.reported else []
        self._pass_through(connector, Reported("UNASSIGNED", "", [*tasks]), lambda: self._start(connector))

    def _start(self, connector: Connector) -> None:
        """Start a new instance of the connector: an earlier failure is forgotten."""
        before = connector.reported if connector.reported and connector.reported.state != "STOPPED" else None
        if connector.known is Target.STARTED:
            if trace := connector.failure or _fault(connector.config):
                connector.reported = Reported("FAILED", trace)
            elif before and before.tasks:
                self._run(connector)
            else:
                starting = Reported("RUNNING", starting=len(self._tasks(connector)))
                self._pass_through(connector, starting, lambda: self._run(connector))
        elif connector.known is Target.PAUSED:
            connector.reported = Reported("PAUSED", "", [("PAUSED", "") for _ in before.tasks] if before else [])
        else:
            self._stop(connector)

    def _run(self, connector: Connector) -> None:
        connector.reported = Reported("RUNNING", "", self._tasks(connector))
        self._break_task(connector)

    def _tasks(self, connector: Connector) -> list[tuple[str, str]]:
        return [] if connector.name in self.no_tasks else _tasks(connector.config)

    def _break_task(self, connector: Connector) -> None:
        if (after := self.task_fails_after.get(connector.name)) is not None:
            self.later(connector.name, lambda: self.fail_task(connector.name, 0, TRACE), after)

    def _move(self, connector: Connector, target: Target) -> None:
        """Change the state of the instance; after a failure, only a stop changes it.

        A stop removes the tasks, whatever was requested since then.
        """
        reported, connector.known = connector.reported, target
        if target is Target.STOPPED:
            self._stop(connector)
        elif reported is None or reported.state == "STOPPED":
            self._start(connector)
        elif reported.state == "FAILED":
            return
        elif target is Target.STARTED and not reported.tasks:
            self._start(connector)
        else:
            state = target.value
            tasks = [task if task[0] == "FAILED" else (state, "") for task in reported.tasks]
            connector.reported = Reported(state, "", tasks)

    def _stop(self, connector: Connector) -> None:
        """The tasks are reported for a moment longer than the connector; those that were paused are RUNNING then."""

        def end() -> None:
            connector.reported = Reported("STOPPED")

        tasks = connector.reported.tasks if connector.reported else []
        if tasks:
            left = [task if task[0] == "FAILED" else ("RUNNING", "") for task in tasks]
            self._pass_through(connector, Reported("STOPPED", "", left), end)
        else:
            end()

    def pass_time(self, name: str) -> None:
        """Let a running connector make progress with a read of it."""
        if connector := self.connectors.get(name):
            self._move_on(connector)

    def _move_on(self, connector: Connector) -> None:
        """Let a running connector make progress. Its tasks are RUNNING for one read before a first poll that fails."""
        reported = connector.reported
        if reported and reported.state == "RUNNING" and any(state == "RUNNING" for state, _ in reported.tasks):
            if self.progress(connector.name):
                return
            reported.looks += 1
            if trace := first_poll(self.stored, connector.name, connector.config):
                if reported.looks > 1:
                    reported.tasks = [("FAILED", trace) for _ in reported.tasks]
                return
            used = move(self.stored, connector.name, connector.config)
            if self.topic_tracking is not TopicTracking.DISABLED:
                self._active.setdefault(connector.name, set()).update(used)

    def active_topics(self, name: str) -> dict[str, Any]:
        """KIP-558: answered by the worker alone, which does not look whether there is such a connector."""
        self._require_tracking()
        return {name: {"topics": list(self._active.get(name, ()))}}

    def keep_active_topics(self, name: str, *topics: str) -> None:
        """Leave topics of a deleted connector, as a worker that ends during the deletion does."""
        self._active[name] = {*topics}

    def reset_active_topics(self, name: str) -> None:
        self._require_tracking()
        if self.topic_tracking is TopicTracking.NO_RESET:
            raise Refused(403, "Topic tracking reset is disabled.")
        self._after_delay(name, lambda: self._active.pop(name, None))

    def _require_tracking(self) -> None:
        if self.topic_tracking is TopicTracking.DISABLED:
            raise Refused(403, "Topic tracking is disabled.")

    def status(self, name: str) -> dict[str, Any]:
        """One read of the status, which lets time pass for that connector."""
        self.pass_time(name)
        connector = self.connectors.get(name)
        if connector is None or connector.reported is None:
            raise Refused(404, f"No status found for connector {name}")
        return self._status(connector)

    def _status(self, connector: Connector) -> dict[str, Any]:
        reported = connector.reported
        assert reported is not None
        worker = connector.worker
        tasks = [{"id": number, **self._entry(worker, *task)} for number, task in enumerate(reported.tasks)]
        entry = self._entry(worker, reported.state, reported.trace)
        return {"name": connector.name, "connector": entry, "tasks": tasks, "type": type_of(connector.config)}

    def _entry(self, worker: str, state: str, trace: str) -> dict[str, Any]:
        entry = {"state": state, "worker_id": worker}
        if self.since >= (4, 1):
            entry["version"] = self.version
        return entry | ({"trace": trace} if trace else {})

    def info(self, name: str) -> dict[str, Any]:
        connector = self.connectors.get(name)
        if connector is None:
            raise Refused(404, f"Connector {name} not found")
        reported = connector.reported if connector.target is not Target.STOPPED else None
        tasks = len(reported.tasks) + reported.starting if reported else 0
        return {
            "name": name,
            "config": self._shown(connector.config),
            "tasks": [{"connector": name, "task": number} for number in range(tasks)],
            "type": type_of(connector.config),
        }

    def _shown(self, config: Mapping[str, str]) -> dict[str, str]:
        plugin = find(config["connector.class"])
        if not self.masks_passwords or plugin is None:
            return {**config, **self.adds}
        secret = {key for key, spec in keys_of(plugin).items() if spec.type == "PASSWORD"}
        return {**{key: self.mask if key in secret else value for key, value in config.items()}, **self.adds}

    def expanded(self, expansions: list[str]) -> dict[str, Any]:
        found = {}
        for name in self.names():
            try:
                parts = {"status": self.status, "info": self.info}
                found[name] = {part: parts[part](name) for part in expansions if part in parts}
            except Refused:
                continue
        return found


def _mark_restarting(reported: Reported, parts: list[int | None]) -> None:
    if None in parts:
        reported.state, reported.trace = "RESTARTING", ""
    reported.tasks = [("RESTARTING", "") if number in parts else task for number, task in enumerate(reported.tasks)]


def type_of(config: Mapping[str, str]) -> str:
    plugin = find(config["connector.class"])
    return plugin.type if plugin else "unknown"


def _fault(config: Mapping[str, str]) -> str:
    """The trace of a config with which the connector fails: also a real mirror without the address of its source."""
    if config.get("start") == "fail":
        return TRACE
    if "mirror" in config["connector.class"].lower() and "source.cluster.bootstrap.servers" not in config:
        return "org.apache.kafka.common.KafkaException: The constructor of ForwardingAdmin threw an exception\n\tat …"
    return ""


def _tasks(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """The tasks of a connector that starts.

    A source has one task, or none if it has nothing to read; a sink has `tasks.max` tasks, which fail if they cannot
    create its file.
    """
    if type_of(config) == "source":
        return [] if config.get("streams") == "" else [("RUNNING", "")]
    file = config.get("file")
    broken = file is not None and not Path(file).parent.is_dir()
    trace = f"org.apache.kafka.connect.errors.ConnectException: Couldn't find or create file '{file}'\n\tat …"
    return [("FAILED", trace) if broken else ("RUNNING", "")] * int(config.get("tasks.max", "1"))
