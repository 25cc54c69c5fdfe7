"""The brokers of a simulation: the topics of the sink, and what its targets must resolve to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from standin.cluster import Cluster
from support.cluster.memory_logs import MemoryLogs

from gitops_connect.errors import KafkaUnavailable
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord
from gitops_connect.model.offsets import Offsets
from simulation.account import positions
from simulation.declared import RECORDS, STREAMS
from simulation.faults import Point
from simulation.timeline import START, Life, Timeline

_FIRST = START - timedelta(seconds=RECORDS)
"""When the first record of each topic was written; the others follow each second."""


def logs_of(rules: Cluster) -> MemoryLogs:
    first = round(_FIRST.timestamp() * 1000)
    topics = {KafkaPartition(one, 0): len(rules.stored.topics[one]) for one in STREAMS}
    records = {
        one: [LoggedRecord(number, first + 1000 * number) for number in range(end)] for one, end in topics.items()
    }
    return MemoryLogs(records, topics)


class Producers:
    """Programs that write records to the topics of the sink, soon after a replica has asked how long these are.

    `ends` has the time of each change, and how many records the topics have since then.
    """

    def __init__(self, timeline: Timeline, life: Life, rules: Cluster) -> None:
        self._timeline, self._life, self._rules = timeline, life, rules
        self._asked = 0
        self.ends: list[tuple[float, Mapping[str, int]]] = []

    def asked(self, *, are_over: bool) -> None:
        self._asked += 1
        if not self.ends:
            self._note()
        if self._asked % 3 and not are_over:
            self._timeline.at(0.3, self._life, self._write)

    def _write(self) -> None:
        self._rules.stored.topics[STREAMS[self._asked % 2]].extend([""] * (3000 if self._asked % 5 == 0 else 3))
        self._note()

    def _note(self) -> None:
        self.ends.append((self._timeline.now, {one: len(self._rules.stored.topics[one]) for one in STREAMS}))

    def since(self, time: float) -> list[Mapping[str, int]]:
        """The numbers of records at that time, and after each later change."""
        earlier = [ends for at, ends in self.ends if at < time][-1:]
        return [*earlier, *(ends for at, ends in self.ends if at >= time)]


class KafkaClient:
    """The brokers as one replica reaches them."""

    def __init__(self, replica: Any) -> None:
        self._replica = replica

    def __getattr__(self, verb: str) -> Any:
        world = self._replica.world
        self._replica.touch("Kafka")
        if fault := world.faults.next(Point.READ):
            world.note(f"{verb} on the brokers {fault}")
            raise KafkaUnavailable(fault)
        if verb == "ranges":
            world.producers.asked(are_over=world.faults.are_over)
        return getattr(logs_of(world.cluster.rules), verb)


def choose(random: Random) -> Any:
    """The value of `to` in a document."""
    topic = random.choice(STREAMS[:2])
    single = random.choice(
        (
            {"position": random.choice(("earliest", "latest"))},
            {"shift": random.choice((-3, -60, 1, 200))},
            {"offset": random.choice((0, 50, 100, 130))},
            {"time": _time(random.randrange(-10, RECORDS + 10))},
        )
    )
    if "position" in single and random.random() < 0.5:
        return single["position"]
    return random.choice(({"topics": topic, **single}, [{"topics": topic, **single}, {"position": "latest"}]))


def _time(seconds: int) -> str:
    return f"{_FIRST + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def expected(to: Any, before: Offsets, ends: Mapping[str, int]) -> Mapping[str, int]:
    """The positions to which a target moves a sink with these offsets, if its topics have so many records.

    None if that is impossible.
    """
    targets = to if isinstance(to, list) else [{"position": to} if isinstance(to, str) else to]
    current, found = positions(before), {}
    for topic in STREAMS:
        mine = [one for one in targets if one.get("topics") == topic] or [one for one in targets if "topics" not in one]
        if mine and "shift" in mine[0] and topic not in current:
            return {}
        if mine:
            end = ends[topic]
            found[topic] = min(max(_position(mine[0], current.get(topic, 0), end), 0), end)
    return found


def _position(target: Mapping[str, Any], current: int, end: int) -> int:
    if "position" in target:
        return 0 if target["position"] == "earliest" else end
    if "offset" in target:
        return int(target["offset"])
    if "shift" in target:
        return current + int(target["shift"])
    return round((datetime.fromisoformat(target["time"]) - _FIRST).total_seconds())
