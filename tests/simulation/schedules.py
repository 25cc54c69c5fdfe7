"""The schedule of a day, chosen by a seed: how to live it, and how to find the shortest one that fails."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from gitops_connect.model.clock import Duration
from gitops_connect.model.desired import OnManualPause
from gitops_connect.model.reviewed_plans import ReviewMode
from gitops_connect.settings.sections import ForgeSettings, KafkaSettings, SkipSettings
from simulation.day import ACTIONS, FEATURES, NAMES, Day, Happening
from simulation.faults import Faults, Rates
from simulation.pull_requests import ACTIONS as OF_PULL_REQUESTS
from simulation.world import LedgerTemplate, World

_SKEWS = (0, 0, 0, 0, 60, -3600)
_REVIEWS = (
    *[("merge", "review", "merge")] * 4,
    ("merge", "approval", "approval"),
    ("approval", "merge", "approval"),
    *[("approval", "push to a pull request", "merge after a push")] * 4,
    *[("push to a pull request", "merge after a push", "approval")] * 3,
    *[("push to a pull request", "merge after its plan", "approval")] * 4,
)
"""How people go on after they have opened a pull request."""
_WITH_REVIEWS = 6
"""One of so many seeds has pull requests."""
_MOST_TRIES = 400
"""Days that are lived at most to find a shorter one that fails."""


@dataclass(frozen=True)
class Schedule:
    """Everything that decides how a day goes. With `faults`, by the number of an instruction, no others happen."""

    seed: int
    settings: Mapping[str, Any]
    rates: Rates
    replicas: int
    is_new: bool
    """Whether nothing was applied before."""
    of_strimzi: tuple[str, ...]
    """The connectors whose documents are resources of Strimzi."""
    happenings: tuple[Happening, ...]
    version: str = "4.3.1"
    """Of the workers."""
    faults: Mapping[int, str] | None = None
    is_postgres: bool = False
    skew: float = 0.0
    forge: ForgeSettings | None = None
    """Which reviews are required; None: nobody uses pull requests."""

    def __str__(self) -> str:
        ledger = f"PostgreSQL, clocks {self.skew} s apart" if self.is_postgres else "SQLite"
        began = "new" if self.is_new else "in sync"
        lines = [f"SEED={self.seed}, {self.replicas} replicas, {ledger}, {began}, {self.settings}"]
        lines += [f"  workers: {self.version}"]
        lines += [f"  reviews: {self.forge}"] if self.forge is not None else []
        lines += [f"  after {one.wait} s: {one.action} {one.connector} ({one.choice})" for one in self.happenings]
        lines += [f"  instruction {number} {fault}" for number, fault in (self.faults or {}).items()]
        return "\n".join(lines)


class BadDay(AssertionError):
    """The product broke a promise, or has a bug: its `__cause__`. `schedule` repeats the day, faults included."""

    def __init__(self, schedule: Schedule, history: list[str], error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.schedule = schedule
        self.history = history
        self.kind = type(error)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), str(self.schedule), *self.history])


class Beginnings:
    """The ledgers with which days begin."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.new = directory, LedgerTemplate.empty(directory)
        faults, settings = Faults(Rates(), Random(0)), {"rollback_watch": Duration(1)}
        with closing(World(faults, self.new.copy(), directory, settings)) as world:
            day = Day(world)
            day.begin(1, is_new=True)
            day.settle()
            self.in_sync = LedgerTemplate.of(world.connection)
        gc.freeze()  # the modules are there until the end: with each day, they were searched for garbage again
        gc.set_threshold(5000, 20, 50)  # a day leaves few cycles, and the search for them took 7 % of its time


def schedule_of(seed: int) -> Schedule:
    random, has_reviews = Random(seed), seed % _WITH_REVIEWS == 0
    theme = random.sample(FEATURES, 2)  # so that each pair of features meets often enough
    actions = [*theme, *random.choices(tuple(ACTIONS), k=random.randint(0, 2))]
    random.shuffle(actions)
    replicas = random.choice((1, 1, 1, 1, 1, 1, 1, 2, 2, 3))
    schedule = Schedule(
        seed,
        _settings(random, theme, seed),
        Rates(
            death=random.choice((0, 0, 0.004)) if replicas == 1 else 0.004,
            freeze=random.choice((0, 0, 0, 0.006) if replicas == 1 else (0.006, 0.02)),
            request=random.choice((0, 0.1, 0.3)),
            read=random.choice((0, 0, 0.02)),
            disk=random.choice((0, 0, 0.01)),
            forge=(seed // 6) % 3 * 0.03 if has_reviews else 0.0,
        ),
        replicas,
        random.random() < 0.15,
        random.choice(((), ("three",), NAMES)),
        _happenings(random, actions),
        random.choice(("4.3.1", "4.3.1", "4.3.1", "3.6.0")),
    )
    if schedule.replicas > 1 or seed % 5 == 0:
        schedule = replace(schedule, is_postgres=True, skew=_SKEWS[seed // 5 % len(_SKEWS)])
    if not has_reviews:
        return schedule
    settings = ForgeSettings(
        review=random.choice((ReviewMode.REVIEWED, ReviewMode.MANUAL)),
        author_may_approve=random.random() < 0.7,
        approvals=random.choice((1, 1, 1, 2)),
    )
    happenings = _review(random, settings.review)
    others = [*theme, random.choice(tuple(OF_PULL_REQUESTS))]
    for another in _happenings(random, others):
        last = len(happenings)
        happenings.insert(random.choice((*range(1, last - 1), last)), another)  # not between a push and its merge
    return replace(schedule, forge=settings, of_strimzi=(), happenings=tuple(happenings))


def _review(random: Random, mode: ReviewMode) -> list[Happening]:
    """A pull request and what people do with it. Those who merge directly after a push do not read its plan."""
    scripts = [one for one in _REVIEWS if mode is ReviewMode.REVIEWED or "approval" in one]
    waits = {"approval": 11.0, "push to a pull request": 11.0, "merge after a push": 0.3, "merge after its plan": 15.0}
    return [
        Happening(
            waits.get(action) or random.choice((2.0, 5.0, 11.0, 23.0)),
            action.partition(" after ")[0],
            random.choice(NAMES),
            random.getrandbits(32),
        )
        for action in ("review", *random.choice(scripts))
    ]


def _happenings(random: Random, actions: Sequence[str]) -> tuple[Happening, ...]:
    return tuple(
        Happening(
            random.choice((0.3, 0.3, 2.0, 5.0, 11.0, 15.0)),
            one,
            random.choice(NAMES),
            random.getrandbits(32),
        )
        for one in actions
    )


def _settings(random: Random, theme: Collection[str], seed: int) -> Mapping[str, Any]:
    return {
        "prune": True,
        "max_deletions": 1.0,
        "max_skip": SkipSettings(records=50, other=50),
        "settle_timeout": Duration(20),
        "min_running": Duration(random.choice((0, 5))),
        "on_manual_pause": random.choice(tuple(OnManualPause)),
        "rollback_watch": Duration(30 if "bad config" in theme else random.choice((0, 30))),
        "rollout_max_failures": 1 if seed % 3 == 1 else 0,
        "connect_validate": seed % 8 == 3,
        "rollout_size": 1 if "configs" in theme else random.choice((0, 0, 1)),
        "kafka": KafkaSettings(("kafka:9092",)) if seed % 4 == 1 else None,
        "parallelism": 1 if seed % 7 == 2 else 8,
    }


def live(schedule: Schedule, beginnings: Beginnings) -> Day:
    """Live that day. Raises BadDay."""
    ledger = (beginnings.new if schedule.is_new else beginnings.in_sync).copy()
    faults = Faults(schedule.rates, Random(schedule.seed + 1), schedule.faults)
    with closing(
        World(
            faults,
            ledger,
            beginnings.directory,
            schedule.settings,
            schedule.version,
            schedule.forge,
            is_postgres=schedule.is_postgres,
            skew=schedule.skew,
        )
    ) as world:
        day = Day(world)
        try:
            day.begin(schedule.replicas, is_new=schedule.is_new, of_strimzi=schedule.of_strimzi)
            for happening in schedule.happenings:
                day.event(happening)
            day.settle()
        except Exception as error:
            raise BadDay(replace(schedule, faults=world.faults.met), world.history, error) from error
        return day


def shortest_of(seed: int, beginnings: Beginnings) -> BadDay | None:
    """Live the day of that seed. Returns the shortest one that fails in the same way; None if it does not fail."""
    try:
        live(schedule_of(seed), beginnings)
    except BadDay as bad:
        return shortest(bad, beginnings)
    return None


def shortest(bad: BadDay, beginnings: Beginnings) -> BadDay:
    """The day without whatever it does not need to fail with the same kind of error."""
    tries, is_shorter = 0, True
    while is_shorter:
        is_shorter = False
        for schedule in _without_one(bad.schedule):
            if (tries := tries + 1) > _MOST_TRIES:
                return bad
            try:
                live(schedule, beginnings)
            except BadDay as shorter:
                if shorter.kind is bad.kind:
                    bad, is_shorter = shorter, True
                    break
    return bad


def _without_one(schedule: Schedule) -> Iterator[Schedule]:
    """This schedule without an event, without a replica, or without a fault."""
    happenings, faults = schedule.happenings, schedule.faults or {}
    for number in range(len(happenings)):
        yield replace(schedule, happenings=happenings[:number] + happenings[number + 1 :])
    if schedule.replicas > 1:
        yield replace(schedule, replicas=schedule.replicas - 1)
    for one in faults:
        yield replace(schedule, faults={number: fault for number, fault in faults.items() if number != one})
