"""A few requests in each reconciliation read the active topics of all connectors in turn."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import timedelta

from support.planner.situations import NOW

from gitops_connect.errors import ConnectRefused, TopicTrackingDisabled
from gitops_connect.model.active_topics import TopicChange
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.observe import TopicReads

NAMES = [ConnectorName(name) for name in "abcde"]


class Worker:
    """The part of a `ConnectClient` that returns active topics: those in `topics`, or the error of `errors`."""

    def threads(self, count: int = 2) -> Executor:
        return ThreadPoolExecutor(count)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.topics: dict[str, Iterable[str]] = {}
        self.errors: dict[str, Exception] = {}

    def active_topics(self, name: ConnectorName) -> frozenset[TopicName]:
        self.asked.append(name)
        if name in self.errors:
            raise self.errors[name]
        return frozenset(map(TopicName, self.topics.get(name, ())))

    def read(self, reads: TopicReads, urgent: str = "", limit: int = 2) -> dict[str, list[str]]:
        self.asked = []
        found = reads.read(self, frozenset(map(ConnectorName, urgent)), NAMES, limit, NOW)
        return {name: sorted(topics) for name, topics in found.known.items()}


def test_all_are_read_in_turn_and_what_was_read_before_is_known() -> None:
    worker, reads = Worker(), TopicReads()
    worker.topics = {name: [name] for name in NAMES}
    asked = []
    for _ in range(5):
        known = worker.read(reads)
        asked.append("".join(sorted(worker.asked)))
    assert asked == ["ab", "cd", "ae", "bc", "ad"]
    assert known == {name: [name] for name in NAMES}


def test_what_is_urgent_is_read_first_and_within_the_same_limit() -> None:
    worker, reads = Worker(), TopicReads()
    worker.read(reads, urgent="exyz", limit=4)
    assert sorted(worker.asked) == ["e", "x", "y", "z"]
    worker.read(reads, limit=4)
    assert sorted(worker.asked) == ["a", "b", "c", "d"]


def test_one_that_cannot_be_read_is_not_known_any_more_and_has_its_turn_again() -> None:
    worker, reads = Worker(), TopicReads()
    worker.topics = {"a": ["x"]}
    assert worker.read(reads, limit=5)["a"] == ["x"]
    worker.errors = {"a": ConnectRefused("no")}
    found = reads.read(worker, frozenset(), NAMES, 5, NOW)
    assert (ConnectorName("a") in found.known, found.unread) == (False, {"a": "no"})
    worker.errors = {"b": TopicTrackingDisabled("off")}
    found = reads.read(worker, frozenset(), NAMES, 2, NOW)
    assert set(found.unread.values()) == {"off"}
    assert len(found.unread) == 2


def test_after_a_reset_topics_are_not_known_until_they_are_read_again_before_others() -> None:
    worker, reads = Worker(), TopicReads()
    worker.topics = {name: [name] for name in NAMES}
    worker.read(reads, limit=5)
    reads.after_reset(NAMES[-2:])
    worker.errors = {"e": ConnectRefused("no")}
    assert worker.read(reads).keys() == {"a", "b", "c", "d"}
    assert sorted(worker.asked) == ["d", "e"]
    assert worker.read(reads, limit=1).keys() == {"a", "b", "c", "d"}
    assert worker.asked == ["e"]
    worker.errors = {}
    assert len(worker.read(reads, limit=1)) == 5


def test_a_connector_that_is_no_longer_asked_for_is_forgotten() -> None:
    worker, reads = Worker(), TopicReads()
    worker.read(reads, limit=5)
    assert reads.read(worker, frozenset(), NAMES[:1], 5, NOW).known.keys() == {"a"}


def test_changes_are_those_since_the_last_read_also_after_one_that_failed() -> None:
    worker, reads, name = Worker(), TopicReads(), NAMES[0]

    def changes(minute: int, *topics: str, error: Exception | None = None) -> tuple[TopicChange, ...]:
        worker.topics, worker.errors = {"a": topics}, {} if error is None else {"a": error}
        return reads.read(worker, frozenset(), NAMES, 5, NOW + timedelta(minutes=minute)).changes

    def change(topic: str, minute: int, *, added: bool) -> TopicChange:
        return TopicChange(name, TopicName(topic), added, NOW + timedelta(minutes=minute))

    assert changes(0, "x") == (), "nothing was read before"
    assert changes(1, "x") == ()
    assert changes(2, error=ConnectRefused("no")) == ()
    assert changes(3, "z", "y") == (change("x", 1, added=False), change("y", 1, added=True), change("z", 1, added=True))
    assert changes(4, "z", "y") == ()
