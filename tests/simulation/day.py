"""One bad day: what people and faults do to the world, chosen by a seed, and what must be true when it is over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from standin.cluster import Target
from standin.plugins import Refused
from support.cluster.memory_cluster import TRACE

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from simulation.pull_requests import ACTIONS as OF_PULL_REQUESTS
from simulation.pull_requests import PullRequests
from simulation.world import CLASS, FOREIGN, LOCAL, World, counting

NAMES = ("one", "two", "three")
QUIET = 20
AFTER = 11.0
"""Seconds: a little more than `[repository] interval`."""
"""Polls of the repository after the last fault: until then, the cluster has to agree with the repository."""


@dataclass
class Declared:
    """The document of one connector."""

    state: str = "running"
    version: int = 1
    fails: bool = False
    restart: int = 0
    is_there: bool = True
    secret: int = 0
    """The number in the name of the variable with its secret; 0 if it has none."""

    @property
    def config(self) -> dict[str, str]:
        config = {"connector.class": CLASS, "version": str(self.version), "tasks.max": "1"}
        return config | ({"start": "fail"} if self.fails else {})

    def text(self, name: str) -> str:
        config = {key: value for key, value in self.config.items() if key != "connector.class"}
        restart = f"  restart: {{id: r{self.restart}}}\n" if self.restart else ""
        secrets = f"  secrets: {{password: {{env: SECRET_{self.secret}}}}}\n" if self.secret else ""
        return (
            f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\nspec:\n  class: {CLASS}\n"
            f"  state: {self.state}\n{restart}  config: {json.dumps(config)}\n{secrets}"
        )

    def differs_from(self, there: ObservedConnector | None) -> str:
        """How the connector differs from its document; empty if it does not."""
        if not self.is_there:
            return "" if there is None else "it is still there"
        if there is None:
            return "it is missing"
        if there.config.get("version") != str(self.version):
            return f"it has version {there.config.get('version')}, not {self.version}"
        wanted = TargetState(self.state).name
        return "" if self.fails or there.state.value == wanted else f"it is {there.state.value}, not {wanted}"


@dataclass(frozen=True)
class Happening:
    """One event of a day. `choice` decides its details, and so no other event depends on them."""

    wait: float
    """Seconds since the event before."""
    action: str
    connector: str
    choice: int


@dataclass(eq=False)
class Day:
    world: World
    declared: dict[str, Declared] = field(default_factory=lambda: {name: Declared() for name in NAMES})
    random: Random = field(default_factory=Random)
    met: list[tuple[float, str]] = field(default_factory=list)
    """What happened, and when."""
    holds: set[str] = field(default_factory=set)
    """The kinds of holds that a plan had after an event."""
    _changes: int = 0

    def __post_init__(self) -> None:
        world = self.world
        self.pull_requests: PullRequests | None = None
        if world.forge is not None and world.forge_settings is not None:
            self.pull_requests = PullRequests(self, world.forge, world.forge_settings)

    def begin(self, replicas: int, *, is_new: bool) -> None:
        """Begin with these connectors, or with a new repository and a cluster without them."""
        for name in NAMES:
            self._write(name)
            self.world.cluster.progress[ConnectorName(name)] = counting
            if not is_new:
                self.world.cluster.rules.create(name, self.declared[name].config, None)
                if self.pull_requests is not None:
                    self.pull_requests.reviewed.versions.add((name, "1"))
        self.world.cluster.rules.create(FOREIGN, {"connector.class": CLASS, "tasks.max": "1"}, None)
        self.world.timeline.run(60)
        for _ in range(replicas):
            self.world.start_replica()

    def _write(self, *names: str) -> None:
        documents = {name: self.declared[name] for name in names}
        self.world.repository.commit(
            {f"{name}.yaml": one.text(name) if one.is_there else None for name, one in documents.items()}
        )

    def event(self, happening: Happening) -> None:
        """Let one thing happen."""
        self.run(happening.wait)
        self.world.note(f"{happening.action} {happening.connector}")
        self.met.append((self.world.timeline.now, happening.action))
        self.random.seed(happening.choice)
        if self.pull_requests is not None and happening.action in OF_PULL_REQUESTS:
            OF_PULL_REQUESTS[happening.action](self.pull_requests, happening.connector)
        else:
            ACTIONS[happening.action](self, happening.connector)
        if self.pull_requests is not None:
            self.pull_requests.check()
        for replica in self.world.living:
            plan = replica.daemon.state.snapshot.clusters[LOCAL].plan
            self.holds |= {hold.kind.value for one in plan.connectors for hold in one.holds} if plan else set()

    # What people commit.

    def _config(self, name: str) -> None:
        self.declared[name].version += 1
        self.declared[name].fails = self.random.random() < 0.3
        self._write(name)

    def _configs(self, _: str) -> None:
        """One commit changes the configs of all connectors: a rollout, if the settings limit it."""
        for name in NAMES:
            self.declared[name].version += 1
            self.declared[name].fails = self.random.random() < 0.3
        self._write(*NAMES)

    def _revert(self, name: str) -> None:
        """Declare an earlier config again."""
        one = self.declared[name]
        one.version, one.fails = max(1, one.version - 1), False
        self._write(name)

    def _state(self, name: str) -> None:
        self.declared[name].state = self.random.choice(("running", "running", "paused", "stopped"))
        self._write(name)

    def _remove_or_restore(self, name: str) -> None:
        self.declared[name].is_there = not self.declared[name].is_there
        self._write(name)

    def _restart(self, name: str) -> None:
        self.declared[name].restart += 1
        self._write(name)

    def _offset_change(self, name: str) -> None:
        self.world.repository.commit(dict([self.offset_change(name)]))

    def offset_change(self, name: str, path: str = "") -> tuple[str, str]:
        """The path of a new document, or of one that is edited, and its text."""
        if not path:
            self._changes += 1
            path = f"changes/c{self._changes:03}.yaml"
        operation = self.random.choice(("alter", "alter", "replace", "reset"))
        entries = [{"partition": {"s": "a"}, "offset": {"n": self.random.randrange(200)}}]
        offsets = f"  offsets: {json.dumps(entries)}\n" if operation != "reset" else ""
        acknowledge = "[rewind, skip, tombstone, reset]" if self.random.random() < 0.8 else "[]"
        return path, (
            f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {path[8:12]}}}\nspec:\n"
            f"  connector: {name}\n  operation: {operation}\n{offsets}  acknowledge: {acknowledge}\n"
        )

    # What people do by hand.

    def _by_hand(self, name: str) -> None:
        rules = self.world.cluster.rules
        rules.catch_up()
        verb = self.random.choice(("pause", "stop", "resume", "delete", "restart"))
        self.world.note(f"someone sends {verb} to {name}")
        try:
            if verb == "delete":
                rules.connectors.pop(name, None)
            elif verb == "restart":
                rules.restart(name, rules.parts(name, tasks=True, only_failed=False))
            else:
                target = {"pause": Target.PAUSED, "stop": Target.STOPPED, "resume": Target.STARTED}[verb]
                rules.transition(name, target)
        except Refused:
            self.world.note(f"{name} does not exist")

    def _suspend_or_resume(self, name: str) -> None:
        connector = ConnectorName(name)
        ledger = self.world.ledger
        if not ledger.resume(LOCAL, connector):
            since = self.world.cluster.clock.now()
            ledger.suspend(LOCAL, connector, Suspension(SuspendedBy.COMMAND, False, "ann", since, "work"))

    # What breaks.

    def _task_fails(self, name: str) -> None:
        rules = self.world.cluster.rules
        rules.catch_up()
        found = rules.connectors.get(name)
        if found is not None and found.reported is not None and found.reported.tasks:
            rules.fail_task(name, 0, TRACE)

    def _kill(self, _: str) -> None:
        living = self.world.living
        if living:
            victim = self.random.choice(living)
            self.world.note(f"{victim.life.name} is killed")
            victim.life.is_dead = True

    def _new_replica(self, _: str) -> None:
        self.world.start_replica()

    def _outage(self, _: str) -> None:
        world = self.world
        forge = ("forge_is_down",) if world.forge is not None else ()
        part = self.random.choice(("git_is_down", "connect_is_down", "disk_is_full", *forge))
        setattr(world, part, True)
        world.timeline.at(self.random.uniform(5, 90), world.people, lambda: setattr(world, part, False))

    def _clock(self, _: str) -> None:
        self.world.timeline.moved += self.random.choice((-3600, -60, 60, 3600))

    # What must be true when it is over.

    def settle(self) -> None:
        """Faults cease. Raises AssertionError if the cluster then does not agree with the repository."""
        world = self.world
        world.faults.are_over, world.git_is_down, world.connect_is_down, world.disk_is_full = True, False, False, False
        world.forge_is_down = False
        if not world.living:
            world.start_replica()
        world.note("faults cease")
        for _ in range(QUIET):
            self.run(AFTER)
            wrong = self.differences()
            if self.pull_requests is not None:
                self.pull_requests.check()
                wrong += self.pull_requests.unfinished()
            if not wrong:
                if self.pull_requests is not None:
                    for replica in self.world.living:
                        self.pull_requests.require_clean(replica.daemon.state.snapshot)
                return
        raise AssertionError(f"the cluster does not agree with the repository: {wrong}")

    def run(self, seconds: float) -> None:
        self.world.timeline.run(seconds)
        if self.world.timeline.errors:
            raise self.world.timeline.errors[0]

    def differences(self) -> list[str]:
        """What differs without a reason that the product tells."""
        self.world.cluster.rules.catch_up()
        present, told = self.world.cluster.present, self._told()
        found = [
            f"{name}: {difference}"
            for name, one in self.declared.items()
            if ConnectorName(name) not in told and (difference := one.differs_from(present.get(ConnectorName(name))))
        ]
        foreign = present.get(FOREIGN)
        if foreign is None or foreign.state.value != "RUNNING":
            found.append("the connector of someone else was changed")
        return found

    def _told(self) -> frozenset[ConnectorName]:
        """The connectors of which the leader says why they are not in sync."""
        names = set[ConnectorName]()
        for replica in self.world.living:
            view = replica.daemon.state.snapshot.clusters[LOCAL]
            if replica.daemon.leadership.is_leader and view.plan is not None:
                held = (one for one in view.plan.connectors if one.holds or one.out_of_sync)
                names |= {one.name for one in held}
                names |= {one.connector for one in view.diagnostics.errors if one.connector}
        return frozenset(names)


ACTIONS: Mapping[str, Callable[[Day, str], None]] = {
    "config": Day._config,
    "configs": Day._configs,
    "revert": Day._revert,
    "state": Day._state,
    "removal": Day._remove_or_restore,
    "restart": Day._restart,
    "offset change": Day._offset_change,
    "by hand": Day._by_hand,
    "suspension": Day._suspend_or_resume,
    "task failure": Day._task_fails,
    "kill": Day._kill,
    "new replica": Day._new_replica,
    "outage": Day._outage,
    "clock": Day._clock,
}
