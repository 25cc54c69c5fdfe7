"""The rules of a Connect cluster without HTTP: connectors, their target states, and their reported states.

A transition takes effect after `lag` reads of the status (0: at once). Until its first one, a connector has no status
and is left out of the expanded list, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from threading import RLock
from typing import Any

from gitops_connect.sandbox.sandbox_state import TopicTracking
from standin.plugins import Refused, check, find, keys_of
from standin.records import Stored, first_poll, move

WORKER = "127.0.0.1:1"
"""Nobody listens there. If something had, as a sandbox does on 8083, the worker would count as gone after its end."""
MASK = "********"


class Target(Enum):
    """Kafka's `TargetState`; the value is what a worker reports once it is reached."""

    STARTED = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass
class Reported:
    """What workers report: the state and the trace of the connector and of each task."""

    state: str
    trace: str = ""
    tasks: list[tuple[str, str]] = field(default_factory=list)
    looks: int = 0
    """How often the connector was read in this state."""


@dataclass
class Connector:
    """One connector of the config topic."""

    name: str
    config: dict[str, str]
    target: Target = Target.STARTED
    reported: Reported | None = None
    due: int = 0
    """Number of reads until `next` takes effect."""
    next: Callable[[], None] | None = None
    failure: str = ""
    """If set, the connector fails with this trace whenever it starts."""


class Cluster:
    """The connectors of one group, which may have several workers.

    `is_reading`: its workers were just started. Lists are still empty, and a request to the herder waits for it.
    """

    def __init__(self, version: str = "4.3.1", *, lag: int = 0, masks_passwords: bool = False) -> None:
        self.version = version
        self.exactly_once = True
        self.lag = lag
        self.masks_passwords = masks_passwords
        self.mask = MASK
        self.adds: dict[str, str] = {}
        """Config keys that a proxy in front of the workers adds to each connector."""
        self.connectors: dict[str, Connector] = {}
        self.stored = Stored()
        self.topic_tracking = TopicTracking.ENABLED
        self._active: dict[str, set[str]] = {}
        self.is_reading = False
        self.lock = RLock()

    @property
    def since(self) -> tuple[int, int]:
        """The major and minor version, to decide which features it has."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    def names(self) -> list[str]:
        return [] if self.is_reading else list(self.connectors)

    def await_herder(self) -> None:
        self.is_reading = False

    def check(self, config: Mapping[str, str]) -> None:
        check(config, exactly_once=self.exactly_once)

    def create(self, name: str, config: dict[str, str], initial_state: str | None) -> dict[str, Any]:
        config = self._named(name, config)
        self.check(config)
        if name in self.connectors:
            raise Refused(409, f"Connector {name} already exists")
        target = next((target for target in Target if target.value == initial_state), Target.STARTED)
        connector = self.connectors[name] = Connector(name, config, target)
        answer = self.info(name)
        self._schedule(connector, lambda: self._start(connector))
        return answer

    def configure(self, name: str, config: dict[str, str]) -> tuple[bool, dict[str, Any]]:
        """Whether the connector was created, and its info."""
        if name not in self.connectors:
            return True, self.create(name, config, None)
        config = self._named(name, config)
        self.check(config)
        connector = self.connectors[name]
        connector.config = config
        answer = self.info(name)
        if connector.target is not Target.STOPPED:
            self._schedule(connector, lambda: self._start(connector))
        return False, answer

    def transition(self, name: str, target: Target) -> None:
        connector = self.connectors.get(name)
        if connector is None:
            raise Refused(404, f"Unknown connector {name}")
        self._move_on(connector)
        connector.target = target
        self._schedule(connector, lambda: self._move(connector))

    def parts(self, name: str, *, tasks: bool, only_failed: bool) -> list[int | None]:
        """The numbers of the tasks, and None for the connector itself."""
        reported = self.connectors[name].reported if name in self.connectors else None
        if reported is None:
            raise Refused(404, f"Unknown connector: {name}")
        states: list[tuple[int | None, str]] = [(None, reported.state)]
        states += [(number, state) for number, (state, _) in enumerate(reported.tasks) if tasks]
        return [part for part, state in states if state == "FAILED" or not only_failed]

    def restart(self, name: str, parts: list[int | None]) -> dict[str, Any]:
        """Restart these parts; the answer shows them as RESTARTING."""
        connector = self.connectors.get(name)
        if connector is None or connector.reported is None:
            raise Refused(404, f"Unknown connector: {name}")
        reported = connector.reported
        for part in parts:
            if part is not None and part >= len(reported.tasks):
                raise Refused(404, f"Unknown task: {name}-{part}")
            if part is None:
                reported.state, reported.trace = "RESTARTING", ""
            else:
                reported.tasks[part] = ("RESTARTING", "")
        answer = self._status(connector)
        self._schedule(connector, lambda: self._restarted(connector, parts))
        return answer

    def restart_connector(self, name: str) -> None:
        """Restart the connector without its tasks. The answer waits for the start."""
        self.restart(name, [None])
        if self.connectors[name].failure or _fault(self.connectors[name].config):
            raise Refused(500, f"Failed to start connector: {name}")

    def _restarted(self, connector: Connector, parts: list[int | None]) -> None:
        if None in parts:
            self._start(connector)
        elif connector.reported is not None:
            started = _tasks(connector.config)
            for part in parts:
                if part is not None and part < len(connector.reported.tasks):  # none are left if it was stopped
                    connector.reported.tasks[part] = started[part]
            connector.reported.looks = 0

    def delete(self, name: str) -> None:
        if self.connectors.pop(name, None) is None:
            raise Refused(404, f"Connector {name} not found")
        if self.topic_tracking is not TopicTracking.DISABLED:
            self._active.pop(name, None)

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
        connector.next, connector.due = effect, self.lag
        if not self.lag:
            self._settle(connector)

    def _settle(self, connector: Connector) -> None:
        effect, connector.next = connector.next, None
        if effect is not None:
            effect()

    def _start(self, connector: Connector) -> None:
        """Start a new instance of the connector: an earlier failure is forgotten."""
        before = connector.reported
        if connector.target is Target.STARTED:
            trace = connector.failure or _fault(connector.config)
            connector.reported = (
                Reported("FAILED", trace) if trace else Reported("RUNNING", "", _tasks(connector.config))
            )
        elif connector.target is Target.PAUSED:
            connector.reported = Reported("PAUSED", "", [("PAUSED", "") for _ in before.tasks] if before else [])
        else:
            connector.reported = Reported("STOPPED")

    def _move(self, connector: Connector) -> None:
        """Change the state of the instance; after a failure, only a stop changes it."""
        reported = connector.reported
        if connector.target is Target.STOPPED:
            self._stop(connector)
        elif reported is None or reported.state == "STOPPED":
            self._start(connector)
        elif reported.state == "FAILED":
            return
        elif connector.target is Target.STARTED and not reported.tasks:
            self._start(connector)
        else:
            state = connector.target.value
            tasks = [task if task[0] == "FAILED" else (state, "") for task in reported.tasks]
            connector.reported = Reported(state, "", tasks)

    def _stop(self, connector: Connector) -> None:
        tasks = connector.reported.tasks if connector.reported else []
        if self.lag and tasks:  # the tasks are reported for a while longer than the connector
            connector.reported = Reported("STOPPED", "", tasks)
            connector.next, connector.due = (lambda: self._start(connector)), 1
        else:
            connector.reported = Reported("STOPPED")

    def pass_time(self, name: str) -> None:
        """Let time pass with a read of a connector: its transition comes nearer, and if it runs, it makes progress."""
        connector = self.connectors.get(name)
        if connector is None:
            return
        if connector.next is not None:
            if connector.due <= 0:
                self._settle(connector)
            else:
                connector.due -= 1
        self._move_on(connector)

    def _move_on(self, connector: Connector) -> None:
        """Let a running connector make progress. Its tasks are RUNNING for one read before a first poll that fails."""
        reported = connector.reported
        if reported and reported.state == "RUNNING" and any(state == "RUNNING" for state, _ in reported.tasks):
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
        self._active.pop(name, None)

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
        tasks = [{"id": number, **self._entry(*task)} for number, task in enumerate(reported.tasks)]
        entry = self._entry(reported.state, reported.trace)
        return {"name": connector.name, "connector": entry, "tasks": tasks, "type": type_of(connector.config)}

    def _entry(self, state: str, trace: str) -> dict[str, Any]:
        entry = {"state": state, "worker_id": WORKER}
        if self.since >= (4, 1):
            entry["version"] = self.version
        return entry | ({"trace": trace} if trace else {})

    def info(self, name: str) -> dict[str, Any]:
        connector = self.connectors.get(name)
        if connector is None:
            raise Refused(404, f"Connector {name} not found")
        tasks = connector.reported.tasks if connector.reported else []
        return {
            "name": name,
            "config": self._shown(connector.config),
            "tasks": [{"connector": name, "task": number} for number in range(len(tasks))],
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


def type_of(config: Mapping[str, str]) -> str:
    plugin = find(config["connector.class"])
    return plugin.type if plugin else "unknown"


def _fault(config: Mapping[str, str]) -> str:
    """The trace of a config with which the real connector fails too: a mirror without the address of its source."""
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
