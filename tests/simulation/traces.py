"""Traces of a real Connect: requests, kills, and what a worker answers meanwhile; and their replay through the model.

The real cluster decides when an effect happens, and the model has no other choice either. So nothing happens in the
model before an answer of the trace needs it. An answer contradicts the model if the model cannot give it after anything
that may have happened by then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import Any, Protocol

import requests
from standin.cluster import Cluster
from standin.connect import Call, StandIn
from standin.group import Group

from gitops_connect.connect.responses import Answer, ConnectRequest, RefusedAnswer, read
from gitops_connect.errors import RebalanceInProgress

NAMES = ("a", "b", "c")
VERBS = {
    "pause": ("PUT", "pause"),
    "stop": ("PUT", "stop"),
    "resume": ("PUT", "resume"),
    "delete": ("DELETE", ""),
    "reset": ("DELETE", "offsets"),
    "offsets": ("GET", "offsets"),
    "restart": ("POST", "restart?includeTasks=true&onlyFailed=false"),
    "task": ("POST", "tasks/0/restart"),
}
CHOICES = (*VERBS, "stop", "resume", "config", "config", "create", "create", "alter", "alter", "alter")
_LONGEST_REBALANCE = 30.0
_END = 20
"""The last number that each source sends."""
Trace = list[dict[str, Any]]


def write_trace(file: Path, trace: Trace) -> None:
    file.write_text("[\n" + ",\n".join(json.dumps(event) for event in trace) + "\n]\n")


class Workers(Protocol):
    """What a recording needs of a sandbox."""

    @property
    def worker_urls(self) -> tuple[str, ...]: ...
    def kill_worker(self, index: int) -> None: ...
    def start_worker(self) -> str: ...


@dataclass(eq=False)
class Recording:
    """Random requests to the workers of a sandbox. `disturbances`: the number of a request, and what happens then.

    `names`: the real name of each connector, which is not in the trace.
    """

    sandbox: Workers
    names: Mapping[str, str]
    requests: int
    disturbances: Mapping[int, tuple[str, int]]
    random: Random
    events: Trace = field(default_factory=list)

    def __post_init__(self) -> None:
        self._urls = self.sandbox.worker_urls
        self._workers = {url.rpartition("/")[2]: number for number, url in enumerate(self._urls, 1)}
        self._alive = set(self._workers.values())
        self._began = time.monotonic()
        self._version = 1
        self._lock, self._done = Lock(), Event()
        self._starters: list[Thread] = []

    def run(self) -> Trace:
        watcher = Thread(target=self._watch)
        watcher.start()
        for name in NAMES:
            self._send("create", name)
        for number in range(self.requests):
            time.sleep(self.random.choice((0, 0, 0.05, 0.3, 1.0)))
            verb, name = self.random.choice(CHOICES), self.random.choice(NAMES)
            self._send(verb, name)
            if verb in ("alter", "reset"):
                self._send("offsets", name)
            if number in self.disturbances:
                self._disturb(*self.disturbances[number])
        for starter in self._starters:
            starter.join()
        time.sleep(_LONGEST_REBALANCE / 2)
        self._done.set()
        watcher.join()
        return sorted(self.events, key=lambda event: float(event["at"]))

    def now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _add(self, at: float, **event: Any) -> None:
        with self._lock:
            self.events.append({"at": at, **event})

    def _disturb(self, what: str, worker: int) -> None:
        for starter in self._starters:
            starter.join()
        if what == "kill":
            self._alive.discard(worker)
            self.sandbox.kill_worker(worker)
            self._add(self.now(), kill=worker)
        else:
            starter = Thread(target=self._start, args=[worker])
            starter.start()
            self._starters.append(starter)

    def _start(self, worker: int) -> None:
        self.sandbox.start_worker()
        self._add(self.now(), start=worker)
        self._alive.add(worker)

    def _watch(self) -> None:
        """Add what has changed since the look before. A dead worker does not answer."""
        before: Mapping[str, Any] = {}
        while not self._done.wait(0.02):
            with suppress(requests.RequestException):
                url = self._urls[min(self._alive) - 1]
                answer = requests.get(f"{url}/connectors?expand=status&expand=info", timeout=100)
                if answer.status_code == 200:
                    listed = {name: answer.json().get(real) for name, real in self.names.items()}
                    seen = {name: self._shown(one) for name, one in listed.items() if _is_whole(one)}
                    changed = {name: seen.get(name) for name in NAMES if seen.get(name) != before.get(name)}
                    if changed:
                        self._add(self.now(), seen=changed)
                    before = seen

    def _shown(self, one: Mapping[str, Any]) -> list[Any]:
        """The state, the worker, the states of the tasks, and the version in the config."""
        connector, tasks = one["status"]["connector"], [task["state"] for task in one["status"]["tasks"]]
        return [connector["state"], self._workers[connector["worker_id"]], tasks, one["info"]["config"]["version"]]

    def _send(self, verb: str, name: str) -> None:
        at, method, path, body = self.now(), *self._request(verb, name)
        url = self._urls[self.random.choice(sorted(self._alive)) - 1]
        real_path = path.replace(f"/connectors/{name}", f"/connectors/{self.names[name]}")
        real_body = {**body, "name": self.names[name]} if method == "POST" and body else body
        answer = requests.request(method, url + real_path, json=real_body, timeout=100)
        found = json.loads(answer.text.replace(self.names[name], name)) if answer.content else None
        told = found if answer.status_code >= 400 or path.endswith("/offsets") else None
        # A request has its effect at any time before its answer.
        at = at if answer.status_code < 400 else self.now()
        self._add(at, method=method, path=path, body=body, status=answer.status_code, answer=told)

    def _request(self, verb: str, name: str) -> tuple[str, str, Any]:
        path = f"/connectors/{name}"
        if verb in VERBS:
            method, endpoint = VERBS[verb]
            return method, f"{path}/{endpoint}".rstrip("/"), None
        if verb == "alter":
            offset = {"position": self.random.randrange(_END)}
            return "PATCH", f"{path}/offsets", {"offsets": [{"partition": {"stream": "a"}, "offset": offset}]}
        if verb == "config":
            self._version += 1
        config = {
            "connector.class": "org.example.fixtures.MovableNumberSource",
            "tasks.max": "1",
            "topic": f"numbers-{name}",
            "until": str(_END),
            "version": str(self._version),
        }
        if verb == "config":
            return "PUT", f"{path}/config", config
        state = {"initial_state": self.random.choice(("STOPPED", "PAUSED"))} if self.random.random() < 0.3 else {}
        return "POST", "/connectors", {"name": name, "config": config, **state}


def _is_whole(one: Any) -> bool:
    """Whether a connector is listed. While one is deleted, it may be listed without a config."""
    return one is not None and one["info"] is not None


class _Lazy(Cluster):
    """A cluster in which nothing happens by itself."""

    def catch_up(self, until: float | None = None) -> None:
        """Wait for `advance`."""


class Contradiction(AssertionError):
    """An answer of the real cluster that the model cannot give."""


class Replay:
    """Replays a trace. `workers`: how many there are at its beginning, of which the first is the leader.

    `max_delay`: seconds for which a group waits for a worker that is gone.
    """

    def __init__(self, workers: int, max_delay: float = 0.0) -> None:
        self.now = self._changed = 0.0
        self.cluster = _Lazy(now=lambda: self.now, delay=0.001)
        self.cluster.transit = 0.001
        self.cluster.progress = self._count
        self._have_run: set[str] = set()
        """The connectors that may have sent numbers since their offsets were read or changed."""
        group = self.cluster.group = Group(self.cluster, *map(str, range(1, workers + 1)))
        group.session_timeout, group.rebalance_time, group.max_delay = 4.0, 0.0, max_delay
        self._views = {name: _View(name, self) for name in NAMES}

    def run(self, trace: Trace) -> None:
        last: dict[str, Any] = {}
        with StandIn(self.cluster) as standin:
            for event in trace:
                self.now = event["at"]
                if "method" in event:
                    self._answer(standin, event)
                elif "seen" in event:
                    last |= event["seen"]
                    for name, seen in event["seen"].items():
                        self._views[name].require(seen)
                else:
                    (what,) = event.keys() - {"at"}
                    getattr(self.cluster.group, what)(str(event[what]))
                    self._changed = self.now
        for name, seen in last.items():
            while self.advance(name):
                continue
            self._views[name].require_end(seen)

    def advance(self, name: str) -> bool:
        """Let the next thing happen that may have happened by now, to this connector or else to the group."""
        has_advanced = self.cluster.advance(name) or self.cluster.advance("")
        self._look()
        return has_advanced

    def _look(self) -> None:
        for view in self._views.values():
            view.look()

    def _count(self, name: str) -> bool:
        self._have_run.add(name)
        return True

    def _answer(self, standin: StandIn, event: Mapping[str, Any]) -> None:
        name = event["path"].split("/")[2] if event["path"] != "/connectors" else event["body"]["name"]
        if _is_rebalancing(event):
            self._require(self.now < self._changed + _LONGEST_REBALANCE, event, "no rebalance")
            return
        # What is missing is gone after all that may have happened, or its status is not there yet.
        has_ended = event["status"] == 404 and not event["answer"]["message"].startswith("Status for")
        while has_ended and self.advance(name):
            continue
        while not self._is_answered(standin, event):
            self._require(self.advance(name), event, "another answer")
        if event["status"] < 300 and event["method"] != "GET":
            self._changed = self.now

    def _is_answered(self, standin: StandIn, event: Mapping[str, Any]) -> bool:
        reply = standin.carry_out(Call(event["method"], event["path"], event["body"]))
        self._look()
        name = event["path"].split("/")[2:3]
        if event["path"].endswith("/offsets") and reply.status == event["status"] == 200 and {*name} <= self._have_run:
            self._have_run -= {*name}
            if event["method"] == "GET":
                self.cluster.stored.sources[name[0]] = {}
                for one in event["answer"]["offsets"]:  # nobody knows how many numbers it has sent
                    self.cluster.stored.set_source(name[0], one["partition"], one["offset"])
                return True
        is_same = reply.status == event["status"] and event["answer"] in (None, reply.body)
        self._require(is_same or reply.status >= 400 or event["method"] == "GET", event, f"{reply}")
        return is_same

    def _require(self, is_possible: bool, event: object, why: str) -> None:
        if not is_possible:
            raise Contradiction(f"{event}, but in the model: {why}; {self.cluster.connectors}")


def _is_rebalancing(event: Mapping[str, Any]) -> bool:
    """Whether that answer says that the group rebalances."""
    request = ConnectRequest(event["method"], event["path"], effect=True)
    reading = read(request, Answer("", event["status"], json.dumps(event["answer"]).encode()))
    return isinstance(reading, RefusedAnswer) and isinstance(reading.error, RebalanceInProgress)


class _View:
    """What the workers report of one connector: its state, those of its tasks, and its config, each by itself."""

    def __init__(self, name: str, replay: Replay) -> None:
        self._name, self._replay = name, replay
        self._histories: list[list[Any]] = [[None], [None], [None]]
        self._seen = [0, 0, 0]
        """How much of each history was seen."""

    def look(self) -> None:
        """Add what the model reports now to the histories."""
        found = self._replay.cluster.connectors.get(self._name)
        reported = found.reported if found else None
        states = (reported.state, [state for state, _ in reported.tasks]) if reported else (None, None)
        for history, part in zip(self._histories, (*states, found and found.config["version"]), strict=True):
            if part != history[-1]:
                history.append(part)

    def require(self, seen: list[Any] | None) -> None:
        """Raise Contradiction if the model cannot report that after all that was seen before."""
        if seen is None:
            self._seen[:2] = self._find(None, 0), self._find(None, 1)
        else:
            state, worker, tasks, version = seen
            self._seen = [self._find(part, number) for number, part in enumerate((state, tasks, version))]
            self._require_worker(str(worker))

    def _require_worker(self, worker: str) -> None:
        """The group chooses a worker. Nobody runs the connectors of a dead one until the group knows of its death."""
        cluster = self._replay.cluster
        connector = cluster.connectors.get(self._name)
        if connector is None:  # what was seen is older than what was answered
            return
        while connector.worker in cluster.group.dead and connector.worker != worker:
            if not self._replay.advance(self._name):
                raise Contradiction(f"{self._name} runs on {worker} after {self._replay.now} s: {connector}")
        connector.worker = worker

    def _find(self, part: object, number: int) -> int:
        """The index of the part in its history, after the states that were already compared."""
        history = self._histories[number]
        while True:
            for place in range(self._seen[number], len(history)):
                if _is_like(part, history[place]):
                    return place
            if not self._replay.advance(self._name):
                left = history[self._seen[number] :]
                raise Contradiction(f"{self._name} was {part} after {self._replay.now} s, but in the model: {left}")

    def require_end(self, seen: list[Any] | None) -> None:
        """Raise Contradiction if the model does not report that now."""
        state, _, tasks, version = seen or [None] * 4
        last = [history[-1] for history in self._histories]
        if last != [state, tasks, version]:
            raise Contradiction(f"{self._name} is {seen} at last, but in the model: {last}")


def _is_like(seen: object, modelled: object) -> bool:
    """Whether the model reports that; it need not report what is passed through."""
    return (modelled is not None and seen in ("UNASSIGNED", ["UNASSIGNED"])) or seen == modelled
