"""The world of a simulation: a repository, a Connect cluster, a ledger, replicas of the daemon, and their faults.

All choices come from one seed. A replica may die or freeze before each instruction that touches the world: a request to
Connect, a transaction of the ledger, a fetch from Git.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from greenlet import getcurrent, greenlet
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool
from standin.group import Group
from standin.plugins import Refused
from support.cluster.memory_cluster import MemoryCluster
from support.log_events import violation

from gitops_connect.connect.client import ConnectClient, save_offsets
from gitops_connect.connect.responses import PATIENT
from gitops_connect.connect.transport import RETRY
from gitops_connect.connect.validation import ConfigKey, ConfigVerdict, KeyType, Plugin
from gitops_connect.connect.wire import offsets_body
from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import ClusterView
from gitops_connect.declare import Caches
from gitops_connect.errors import (
    ConnectUnavailable,
    LedgerBusy,
    LedgerUnusable,
    OutcomeUnknown,
    RebalanceInProgress,
    SourceUnavailable,
)
from gitops_connect.forge.forge import Forge
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Process
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Duration
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.offsets.spark.verdict_cache import VerdictCache
from gitops_connect.review.pull_request_plans import PullRequestPlanner
from gitops_connect.review.reviews import PullRequestReviews
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import (
    ClusterSettings,
    DaemonSettings,
    ForgeSettings,
    RepositorySettings,
    SecretsSettings,
    Settings,
    SparkSettings,
)
from gitops_connect.source.checkout import Checkout
from gitops_connect.spark.session import SharedSession
from simulation.accounts import AccountedLedger, Accounts
from simulation.alarms import Alarms
from simulation.creations import Creations
from simulation.declared import BY_HAND, CLASS, REJECTED, SINK_CLASS
from simulation.faults import ERRORS, HALF, PRECEDED, UNSEEN, Faults, Point
from simulation.forge import (
    ForgeClient,
    MergeSource,
    Secrets,
    SimulatedEvent,
    SimulatedForge,
    WatchedDirectories,
)
from simulation.jobs import SimulatedJobs
from simulation.kafka import KafkaClient, Producers
from simulation.large_changes import HELD, without_spark
from simulation.postgresql import PostgresDatabase, PostgresServer
from simulation.promises import LOCAL, Promises
from simulation.repository import Repository
from simulation.timeline import START, AtOnce, Killed, Life, SimulatedClock, Timeline

KEY = b"k" * 32
NOWHERE = Path("/nonexistent")
ELSEWHERE = Process("elsewhere", "", 1, 0.0)
"""Each replica has its own host: nobody sees whether another one has ended."""
CACHES = Caches()
"""They only save time, so all replicas of all days share them."""
EFFECTS = frozenset(
    (
        "create",
        "configure",
        "stop",
        "pause",
        "resume",
        "delete",
        "restart",
        "restart_part",
        "alter_offsets",
        "alter_offsets_with",
        "reset_offsets",
        "reset_active_topics",
    )
)
_HALVES: Mapping[str, Callable[[Any], Any]] = {
    "alter_offsets": lambda patch: dict([*patch.items()][: -(-len(patch) // 2)]),
    "alter_offsets_with": lambda body: body.partition(b"},{")[0].removesuffix(b"}]}") + b"}]}",
    "reset_offsets": lambda _: (),
}
"""What a worker carries out of such a request before it fails: a part of the offsets, or all."""
READS = frozenset(("info", "connectors", "offsets", "save_offsets", "active_topics", "absent"))
"""Requests that may be answered with an error."""


_COUNTED = partition_text({"s": "a"})


def counting(current: Offsets) -> Offsets:
    """The offsets after a read of a running connector: one more of one stream."""
    number = int(current.get(_COUNTED, '{"n":0}').partition(":")[2].rstrip("}"))
    return {**current, _COUNTED: offset_text({"n": number + 1})}


class _Cluster(MemoryCluster):
    """With the class of the connectors: a pull request with a class that no worker has is not planned."""

    def plugins(self) -> tuple[Plugin, ...]:
        kinds = {CLASS: ConnectorType.SOURCE, SINK_CLASS: ConnectorType.SINK}
        return tuple(Plugin(name, kind, self.rules.version) for name, kind in kinds.items())

    all_plugins = plugins

    def definition(self, *_: str) -> Mapping[str, ConfigKey]:
        types = {**dict.fromkeys(("version", "start", REJECTED), KeyType.STRING), "password": KeyType.PASSWORD}
        return {key: ConfigKey(one, False) for key, one in types.items()}


class SimulatedDatabase(Database):
    """An SQLite ledger as one replica uses it. A transaction is rolled back if the replica dies in it.

    All share one connection: activities only give way before a transaction, never in it.
    """

    def __init__(self, connection: Connection, replica: Replica | None = None) -> None:
        self.file, self.place = None, "memory"
        self._connection = connection
        self._driver = _driver(connection)
        self._replica = replica

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._replica is not None:
            self._replica.touch("ledger")
        with self._translated():
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        if self._replica is not None:
            self._replica.touch("ledger")
        self._driver.execute("BEGIN")
        try:
            with self._translated():
                yield self._connection
            if self._replica is not None:
                self._replica.commits()
        except BaseException:
            self._driver.execute("ROLLBACK")
            raise
        self._driver.execute("COMMIT")

    def close(self) -> None:
        """The connection is closed by the world."""


class SimulatedLedger(AccountedLedger):
    """SQLite allows one replica, although this ledger has no file."""

    @property
    def allows_replicas(self) -> bool:
        return isinstance(self._database, PostgresDatabase)


class SimulatedClient:
    """The `ConnectClient` of one replica."""

    cluster, threads = LOCAL, AtOnce

    def end_requests_at(self, until: float) -> None:
        """Each request ends at once."""

    def __init__(self, replica: Replica, permit: Callable[[], float] | None = None) -> None:
        self._replica = replica
        self._permit = permit

    def guarded_by(self, permit: Callable[[], float]) -> SimulatedClient:
        return SimulatedClient(self._replica, permit)

    def close(self) -> None:
        """Nothing has to be closed."""

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._replica.world.cluster, verb)
        if verb in EFFECTS:
            return partial(self._effect, verb, found)
        return partial(self._read, verb, found) if callable(found) else found

    def validate(self, name: str, config: Mapping[str, str], **_: object) -> ConfigVerdict:
        self._replica.touch(f"validate {name}")
        return ConfigVerdict({REJECTED: ("no such key",)} if REJECTED in config else {}, frozenset(), frozenset(config))

    def save_offsets(self, name: ConnectorName, file: Path, limit: int, **_: object) -> Offsets | SavedOffsets:
        """They are too many for memory, although they are few."""
        found: Offsets = self._read("save_offsets", self._replica.world.cluster.offsets, name)
        if limit and len(found) <= HELD:
            return found
        saved = save_offsets([json.dumps(offsets_body(found)).encode()], file)
        self._replica.world.accounts.saved[saved.digest] = found
        return saved

    def _read(self, verb: str, work: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        self._replica.touch(verb)
        if verb in READS and (fault := self._replica.world.fault(Point.READ)):
            raise ERRORS[fault]()
        return work(*arguments, **more)

    def _effect(self, *request: Any, **more: Any) -> Any:
        """As in `Transport.send`: a request that the group refuses during a rebalance is sent again."""
        for tried in range(1, PATIENT):
            try:
                return self._send(*request, **more)
            except (RebalanceInProgress, ConnectUnavailable) as error:
                if not isinstance(error.__cause__, Refused):
                    raise
            self._replica.clock.sleep(RETRY.after(tried))
        return self._send(*request, **more)

    def _send(self, verb: str, work: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """As in `bounded_http.Deadline`: a request is only sent for as long as its permit lasts."""
        world, replica = self._replica.world, self._replica
        until = float("inf")
        if self._permit is not None:
            began = world.timeline.now
            until = began + self._permit()
        replica.touch(verb)
        if world.timeline.now >= until:
            raise LedgerBusy("this process was suspended for longer than its lease lasts; the request was not sent")
        world.note(f"{replica.life.name}: {verb} {arguments[0]}")
        world.promises.requested(replica, verb, arguments[0], arguments[1:], self._permit)
        world.creations.requested(replica, verb, arguments[0])
        world.before_effect(verb, *arguments)
        fault, answer = self._fault(verb, arguments), None
        if fault == HALF:
            arguments = (arguments[0], *map(_HALVES[verb], arguments[1:]))
        if fault in ("", UNSEEN, HALF):
            answer = work(*arguments, **more)
            world.promises.took_effect(replica, verb, arguments[0], arguments[1:])
            world.creations.may_be_ours(arguments[0])
        if fault:
            world.note(f"{verb} {fault}")
            if isinstance(error := ERRORS[fault](), OutcomeUnknown):
                world.creations.may_be_ours(arguments[0])
            raise error
        return answer

    def _fault(self, verb: str, arguments: Sequence[Any]) -> str:
        """What goes wrong with the request."""
        fault = self._replica.world.fault(Point.REQUEST)
        if verb in ("create", "configure") and REJECTED in arguments[1]:
            return "is answered 400"
        if fault == HALF and verb == "create" and self._is_preceded(*arguments[:2]):
            return ""
        return "is answered 500" if fault == HALF and verb not in _HALVES else fault

    def _is_preceded(self, name: ConnectorName, config: Mapping[str, str]) -> bool:
        """Let someone else create the connector now, with another config. False if Connect does not accept that."""
        world = self._replica.world
        theirs = {key: value for key, value in config.items() if key not in ("password", "start")}
        try:
            world.cluster.rules.catch_up()
            world.cluster.rules.create(name, {**theirs, "version": "0", BY_HAND: "theirs"}, None)
        except Refused:  # the group rebalances, or the first request has created it
            return False
        world.note(f"{PRECEDED}: {name}")
        world.creations.was_preceded(name)
        return True


class SimulatedSource:
    """The repository as one replica reads it."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.last_good: Checkout | None = None

    def fetch(self) -> Checkout:
        self._replica.touch("fetch")
        if self._replica.world.git_is_down:
            raise SourceUnavailable("the Git server does not answer")
        repository = self._replica.world.repository
        if self.last_good is None or self.last_good.revision != repository.revision:
            self.last_good = repository.fetch()
        return self.last_good

    def close(self) -> None:
        """Nothing has to be closed."""


class Replica:
    """One process of the daemon. It is never ended, only killed."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.life = Life(f"replica {number}")
        self.clock = SimulatedClock(world.timeline, self.life)
        database = (
            SimulatedDatabase(world.connection, self) if world.server is None else PostgresDatabase(world.server, self)
        )
        ledger = SimulatedLedger(database, KEY, world.accounts)
        client = cast(ConnectClient, SimulatedClient(self))
        runtime = replace(
            world.runtime,
            ledger=ledger,
            clients={LOCAL: client},
            clock=self.clock,
            verdicts=VerdictCache(),
            open_kafka=lambda *_: KafkaClient(self),
        )
        self.daemon = Daemon(runtime, SimulatedSource(self), jobs=self._jobs)
        self.daemon._repository._caches = CACHES
        world.timeline.at(0, self.life, self._begin)
        self.alarms = Alarms(world.timeline, self.life)
        self._touches: dict[greenlet, int] = {}  # by the activities that carry out jobs
        if world.forge is not None:
            self._begin_reviews(replace(runtime, clients={LOCAL: cast(ConnectClient, SimulatedClient(self))}))

    @property
    def view(self) -> ClusterView:
        return self.daemon.state.snapshot.clusters[LOCAL]

    @property
    def observed(self) -> float:
        """When the cluster was observed for the plan in effect; earlier if the clock was set meanwhile."""
        at = self.view.observed
        return -inf if at is None else self.world.seconds_of(at)

    def _begin(self) -> None:
        try:
            self.daemon.begin()
        except (LedgerBusy, LedgerUnusable) as error:
            self.world.note(f"{self.life.name} ends: {error}")
            self.life.is_dead = True

    def _begin_reviews(self, runtime: Runtime) -> None:
        forge = cast(Forge, ForgeClient(self.world, self.clock, self.touch))
        planner = PullRequestPlanner(runtime, CACHES, lambda _, head: MergeSource(self.world, self.touch, head))
        reviews = self.reviews = PullRequestReviews.of(runtime, self.daemon, forge, planner)
        reviews.inputs.late = 10  # this forge shows everything at once, and a day is short
        reviews._due, reviews._ended = SimulatedEvent(self.clock), SimulatedEvent(self.clock)
        self.world.timeline.at(0, self.life, reviews.run)

    def _jobs(self, _threads: int, ended: Any, changed: Any) -> SimulatedJobs:
        return SimulatedJobs(self.world.timeline, self.life, ended, changed, self._run)

    def _run(self, name: str, job: Callable[[], None]) -> None:
        activity = getcurrent()
        self._touches[activity] = 0
        job()
        self.world.promises.job_ended(self, name, self._touches.pop(activity))

    def touch(self, what: str) -> None:
        """This process is about to touch the world: it may die before, or freeze."""
        self.life.require()
        if (activity := getcurrent()) in self._touches:
            self._touches[activity] += 1
        fault = self.world.faults.next(Point.TOUCH)
        if fault == "dies":
            self.die(what)
        elif fault:
            self.freeze(fault, what)

    def commits(self) -> None:
        """This process is about to end a transaction of the ledger."""
        self.life.require()
        fault = "finds a full disk" if self.world.ledger_is_down else self.world.faults.next(Point.COMMIT)
        if fault == "dies":
            self.die("the commit")
        elif fault:
            self.world.note(f"{self.life.name} {fault}")
            raise ERRORS[fault]()

    def freeze(self, fault: str, what: str) -> None:
        self.world.note(f"{self.life.name} {fault} before {what}")
        seconds = float(fault.rpartition(" ")[2])
        self.life.frozen_until = self.world.timeline.now + seconds
        self.clock.sleep(seconds)

    def die(self, what: str) -> None:
        self.world.note(f"{self.life.name} dies before {what}")
        self.life.is_dead = True
        raise Killed(self.life.name)


@dataclass(eq=False)
class World:
    """Everything that a simulation acts on. `history` tells what happened, with its time."""

    faults: Faults
    connection: Connection
    """Of the ledger."""
    directory: Path
    """Of large offset changes."""
    cluster_settings: Mapping[str, Any]
    version: str = "4.3.1"
    """Of the workers."""
    forge_settings: ForgeSettings | None = None
    """None: without pull requests."""
    is_postgres: bool = False
    """Whether the ledger has the rules of PostgreSQL."""
    skew: float = 0.0
    """Seconds by which the clock of each replica is ahead of that of the replica before."""
    history: list[str] = field(default_factory=list)
    git_is_down: bool = False
    connect_is_down: bool = False
    ledger_is_down: bool = False
    """The disk of an SQLite ledger is full, or the PostgreSQL server is away."""
    forge_is_down: bool = False

    def __post_init__(self) -> None:
        self.timeline = Timeline()
        self.people = Life("people")
        self.repository = Repository()
        self.cluster = self._cluster()
        self.accounts = Accounts()
        self.promises = Promises(self)
        self.creations = Creations(self)
        self.accounts.on_record = self.creations.recorded
        self.accounts.follow(self.cluster, self.promises.state_changed)
        self.producers = Producers(self.timeline, self.people, self.cluster.rules)
        self.server = PostgresServer(self) if self.is_postgres else None
        self.clock_set = inf if self.skew else -inf
        """When a clock was last set; another leader with another clock is like a clock that is set."""
        self.moved = [0.0]
        """By how many seconds the clock was off so far, each time."""
        self._replicas = 0
        self.replicas: list[Replica] = []
        self.before_effect: Callable[..., None] = lambda verb, *_: None
        self.secrets = Secrets(self.fail)
        self._replaced = ExitStack()
        self.forge = self._forge() if self.forge_settings is not None else None
        cluster = ClusterSettings(
            LOCAL, ("http://127.0.0.1:1",), **{"connect_validate": False, **self.cluster_settings}
        )
        self.settings = Settings(
            NOWHERE,
            repository=RepositorySettings(interval=Duration(10)),
            daemon=DaemonSettings(jitter=Duration(0), max_retry_interval=Duration(60)),
            clusters={LOCAL: cluster},
            spark=SparkSettings(directory=self.directory),
            forge=self.forge_settings or ForgeSettings(),
            secrets=SecretsSettings(("SECRET_*",), WatchedDirectories(self.fail)),
        )
        self.ledger = SimulatedLedger(SimulatedDatabase(self.connection), KEY, self.accounts)
        spark = SharedSession(self.settings.spark, {}, NOWHERE)
        clients = {LOCAL: cast(ConnectClient, self.cluster)}
        self.runtime = Runtime(self.settings, self.ledger, clients, self.secrets, spark, self.cluster.clock)
        """For the commands of people."""
        self._replace()

    def _replace(self) -> None:
        """What all worlds of this process share, until the end of this one."""
        logger, log = logging.getLogger("gitops_connect"), _Collected(self)
        logger.addHandler(log)
        self._replaced.callback(logger.removeHandler, log)
        self._replaced.enter_context(patch.object(logger, "level", logging.INFO))
        self._replaced.enter_context(patch.object(Process, "current", lambda: replace(ELSEWHERE, host=self._host)))
        self._replaced.enter_context(without_spark())

    def close(self) -> None:
        for life in (self.people, *(one.life for one in self.replicas)):
            life.is_dead = True
        self.timeline.close()
        self._replaced.close()
        self.connection.close()

    def _cluster(self) -> MemoryCluster:
        cluster = _Cluster(SimulatedClock(self.timeline, self.people))
        cluster.rules.version = self.version
        cluster.rules.transit = 0.3
        cluster.rules.group = Group(cluster.rules, "worker-1:8083", "worker-2:8083")
        cluster.rules.group.max_delay = 20
        return cluster

    def _forge(self) -> SimulatedForge:
        timeline = self.timeline
        return SimulatedForge(
            repository=self.repository,
            timeline=timeline,
            require_clean=self.require_clean,
            now=lambda: START + timedelta(seconds=timeline.now),
        )

    def fail(self, why: str) -> None:
        """Report a broken promise. An exception is not enough: the product may catch it."""
        self.timeline.errors.append(AssertionError(why))

    def require_clean(self, output: object) -> None:
        if Secrets.MARK in repr(output):
            self.fail(f"an output contains a secret: {output!r}")

    def note(self, text: str) -> None:
        self.history.append(f"{self.timeline.now:8.2f} {text}")

    @property
    def _host(self) -> str:
        life = self.timeline.life
        return self.people.name if life is None else life.name

    def start_replica(self) -> None:
        self._replicas += 1
        self.replicas.append(Replica(self, self._replicas))
        self.replicas[-1].life.moved = self._replicas * self.skew
        self._note_clocks()

    @property
    def living(self) -> list[Replica]:
        return [one for one in self.replicas if not one.life.is_dead]

    def fault(self, point: Point) -> str:
        """What goes wrong with the next request to Connect."""
        return "is not answered" if self.connect_is_down else self.faults.next(point)

    def seconds_of(self, at: datetime) -> float:
        """The seconds since the start at that time of day; the least if the clock was set meanwhile.

        Rounded, as a difference of floats may be later than the time itself.
        """
        return round(min((at - START).total_seconds() - one for one in self.moved), 6)

    def set_clock(self, by: float, life: Life | None = None) -> None:
        """Someone sets the clock of the machine of that replica, or of all machines."""
        if life is not None:
            life.moved += by
        else:
            self.timeline.moved += by
        self.clock_set = max(self.clock_set, self.timeline.now)
        self._note_clocks()

    def _note_clocks(self) -> None:
        self.moved += {self.timeline.moved + one.life.moved for one in self.replicas} - {*self.moved}


class _Collected(logging.Handler):
    """The log events of all replicas. A bug in the product is an error of the simulation."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, "fields", {})
        event, life = record.getMessage(), self._world.timeline.life
        if self._world.forge is not None:
            self._world.require_clean(fields)
        for replica in self._world.replicas:
            if replica.life is life:
                replica.alarms.add(event, record.levelno, fields)
        if wrong := violation(record):
            self._world.timeline.errors.append(AssertionError(wrong))
        if record.exc_info and record.exc_info[1] is not None:
            self._world.timeline.errors.append(record.exc_info[1])


class LedgerTemplate:
    """The ledger at the beginning of a day: copied, because its migrations and the first plan take long."""

    def __init__(self, content: sqlite3.Connection) -> None:
        self._content = content
        self._engine = create_engine("sqlite://", poolclass=StaticPool)
        event.listen(self._engine, "connect", _without_transactions)

    @staticmethod
    def empty(directory: Path) -> LedgerTemplate:
        Ledger.open("sqlite:///state.db", directory, KEY).close()
        return LedgerTemplate(sqlite3.connect(directory / "state.db"))

    @staticmethod
    def of(connection: Connection) -> LedgerTemplate:
        """What the ledger of that connection contains now."""
        content = sqlite3.connect(":memory:")
        _driver(connection).backup(content)
        return LedgerTemplate(content)

    def copy(self) -> Connection:
        """A connection to a copy in memory. It replaces the last copy."""
        connection = self._engine.connect()
        self._content.backup(_driver(connection))
        return connection


def _driver(connection: Connection) -> sqlite3.Connection:
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _without_transactions(connection: Any, _record: object) -> None:
    """`SimulatedDatabase` begins and ends the transactions."""
    connection.isolation_level = None
