"""Reads the first and last offsets of Kafka partitions, and the offsets of times.

No record is read. Like `kafka_client`, this module needs the extra `kafka`. The number of requests is bounded: one for
the metadata, and for each 2,000 partitions one to each of their leaders, two for `ranges`, at most 37 for `times`.

Do not read committed offsets with librdkafka 2.16: if a broker does not answer ListConsumerGroupOffsets in time, the
whole process is aborted (https://github.com/confluentinc/librdkafka/issues/4605). Connect returns those of sinks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as AskedPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from gitops_connect.kafka_client import Kafka
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.settings.sections import KafkaSettings

_PARTITIONS_AT_ONCE = 2000
"""librdkafka's time for a request grows with the square of its partitions: 10,000 took 0.6 s, 5 x 2,000 0.4 s."""
_PAUSE = 0.1
"""Seconds until partitions whose leader has moved are asked again. It doubles with each attempt."""
_TOPICS, _OFFSETS = "its topics could not be read", "its offsets could not be read"
_LONGEST_TIMEOUT = 3600.0
_LAST_TIME = 2**63 - 1
_LIKELY_TIME = 4_102_444_800_000
"""The year 2100. A later timestamp is probably in microseconds. A search must not need all its rounds to skip it."""
_SECOND = 1000
_MOST_ROUNDS = 35
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""One topic with another name makes librdkafka fail the request for all of them, after the timeout."""
# ruff: noqa: SLF001 - public constants of the library begin with an underscore
_MOVED = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
    }
)
"""Errors after which another broker, or the same one a moment later, may answer."""
_CAUSES = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: "the topic does not exist",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "its principal needs Describe on the topic",
}

Errors = dict[KafkaPartition, str]
"""Why the partitions could not be read."""


class KafkaLogs:
    """The logs of one Kafka cluster. Every method raises KafkaUnavailable if no broker answers within the timeout."""

    def __init__(self, settings: KafkaSettings, where: str) -> None:
        """Connect when something is read. `where` names the settings in errors. Raises UsageError."""
        self._kafka = Kafka(settings, where)
        self._timeout = float(settings.timeout)
        with self._kafka.failures("its clients could not be created"):
            self._client = AdminClient(self._kafka.config)

    def partitions(self, topics: Collection[str] | None) -> Mapping[str, int]:
        """The number of partitions of each of these topics, or of all topics, with one request.

        A topic that does not exist or may not be described is absent. No topic is created.
        """
        until = self._begin()
        if topics is not None:
            return {topic: one for topic, one in self._describe(topics, until).items() if isinstance(one, int)}
        with self._failures(_TOPICS):
            found = self._client.list_topics(timeout=_left(until)).topics
        return {topic: len(one.partitions) for topic, one in found.items() if one.error is None}

    def ranges(
        self, partitions: Collection[KafkaPartition], *, committed_only: bool = False
    ) -> tuple[Mapping[KafkaPartition, LogRange], Errors]:
        """The ends of these logs, and why some could not be read.

        `committed_only`: a log ends before the first transaction in progress, as for consumers of committed records.
        """
        until = self._begin()
        known, errors = self._existing(partitions, until)
        isolation = IsolationLevel.READ_COMMITTED if committed_only else IsolationLevel.READ_UNCOMMITTED
        starts = self._ask(dict.fromkeys(known, OffsetSpec.earliest()), until, errors)
        ends = self._ask(dict.fromkeys(starts, OffsetSpec.latest()), until, errors, isolation)
        found = {one: LogRange(starts[one].offset, end.offset) for one, end in ends.items()}
        wrong = {one: log for one, log in found.items() if not 0 <= log.start <= log.end}
        errors |= {one: f"its broker answers a log from {log.start} to {log.end}" for one, log in wrong.items()}
        return {one: log for one, log in found.items() if one not in wrong}, errors

    def at(self, times: Mapping[KafkaPartition, int]) -> tuple[Mapping[KafkaPartition, LoggedRecord | None], Errors]:
        """The first record of each log whose timestamp is not before the time, and why some could not be read.

        It is the first by offset, also if timestamps do not grow with offsets, and may be a marker of a transaction.
        """
        until = self._begin()
        known, errors = self._existing(times, until)
        return self._records({one: times[one] for one in known}, until, errors), errors

    def times(self, offsets: Mapping[KafkaPartition, int]) -> Mapping[KafkaPartition, int]:
        """The newest timestamp of the records up to each offset, up to a second before it. No record is read.

        This is the time of the record at the offset if timestamps grow with offsets, as with LogAppendTime. Otherwise,
        records before it may be newer, and the newest counts. If the record was compacted or is a gap of a transaction,
        it is the time of records before it; for an offset before the start of the log, that of the first record; at the
        end, that of the newest. A partition without records or with an error is absent, and with brokers before 3.0.
        """
        until, errors = self._begin(), Errors()
        known, _ = self._existing(offsets, until)
        first = self._records(dict.fromkeys(known, 0), until, errors)
        newest = self._ask({one: OffsetSpec.max_timestamp() for one, has in first.items() if has}, until, errors)
        searches = {}
        for one, last in newest.items():
            low = first[one]
            if low is not None and last.offset >= 0:
                low = LoggedRecord(last.offset, last.timestamp) if last.offset <= offsets[one] else low
                searches[one] = _Search(offsets[one], low, LoggedRecord(last.offset + 1, last.timestamp + 1))
        found: dict[KafkaPartition, int] = {}
        for _ in range(_MOST_ROUNDS + 1):
            found |= {one: search.low.timestamp for one, search in searches.items() if search.ended}
            if not (searches := {one: search for one, search in searches.items() if not search.ended}):
                break
            probes = {one: search.probe() for one, search in searches.items()}
            answers = self._records(probes, until, Errors())
            for one, record in answers.items():
                searches[one].add(probes[one], record)
            searches = {one: searches[one] for one in answers}
        return found

    def _begin(self) -> float:
        """Forget errors of earlier operations, and say when this one has to end."""
        self._client.poll(0)
        self._kafka.last_error = ""
        return time.monotonic() + self._timeout

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        with self._kafka.failures(what):
            try:
                yield
            finally:
                self._client.poll(0)  # reports the errors of connections

    def _describe(self, topics: Iterable[str], until: float) -> dict[str, int | KafkaError]:
        """The number of partitions of each topic, or what the brokers say instead."""
        asked = sorted({one for one in topics if _TOPIC_NAME.fullmatch(one)})
        answers: dict[str, int | KafkaError] = {}
        for _ in _attempts(until) if asked else ():
            answers = self._renew(asked, until)
            if not all(isinstance(one, KafkaError) and one.code() < 0 for one in answers.values()):
                return answers
        failed = {topic: one for topic, one in answers.items() if isinstance(one, KafkaError)}
        self._reasons(failed, _TOPICS, some=False)
        return answers

    def _renew(self, topics: list[str], until: float) -> dict[str, int | KafkaError]:
        """Describe topics, which also tells the client the leaders of their partitions."""
        limit = _half(until)
        end = time.monotonic() + limit
        with self._failures(_TOPICS):
            futures = self._client.describe_topics(TopicCollection(topics), request_timeout=limit)
            answers = {topic: _answer(one, end) for topic, one in futures.items()}
        if all(isinstance(one, KafkaError) and one.code() < 0 for one in answers.values()):
            # librdkafka asks one broker, the controller, also after it has died. Any broker names another one.
            with suppress(KafkaException):
                self._client.list_topics(timeout=_half(until))
        return {topic: one if isinstance(one, KafkaError) else len(one.partitions) for topic, one in answers.items()}

    def _existing(self, partitions: Iterable[KafkaPartition], until: float) -> tuple[list[KafkaPartition], Errors]:
        """Those of the partitions that exist, and what is wrong with the others."""
        described = self._describe({one.topic for one in partitions}, until)
        reasons = self._reasons({topic: one for topic, one in described.items() if isinstance(one, KafkaError)})
        existing, errors = [], Errors()
        for one in partitions:
            count = described.get(one.topic)
            if not isinstance(count, int):
                errors[one] = reasons.get(one.topic, "no topic can have this name")
            elif 0 <= one.partition < count:
                existing.append(one)
            else:
                errors[one] = f"the topic has {count} partitions"
        return existing, errors

    def _records(
        self, times: Mapping[KafkaPartition, int], until: float, errors: Errors
    ) -> dict[KafkaPartition, LoggedRecord | None]:
        specs = {one: OffsetSpec.for_timestamp(min(max(at, 0), _LAST_TIME)) for one, at in times.items()}
        found: dict[KafkaPartition, LoggedRecord | None] = {}
        for one, answer in self._ask(specs, until, errors).items():
            if answer.offset >= 0 and answer.timestamp >= min(max(times[one], 0), _LAST_TIME):
                found[one] = LoggedRecord(answer.offset, answer.timestamp)
            elif answer.offset == -1:
                found[one] = None
            else:
                errors[one] = f"its broker answers offset {answer.offset} of time {answer.timestamp}"
        return found

    def _ask(
        self,
        specs: Mapping[KafkaPartition, OffsetSpec],
        until: float,
        errors: Errors,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[KafkaPartition, ListOffsetsResultInfo]:
        """The answer for each partition. If no leader answers, ask again with new metadata, for half of the time left.

        The other half is for partitions whose leaders answer: they are asked for more than one thing.
        """
        answers: dict[KafkaPartition, ListOffsetsResultInfo] = {}
        failed: dict[KafkaPartition, KafkaError] = {}
        open_, end = dict(specs), time.monotonic() + _half(until)
        for _ in _attempts(end) if specs else ():
            if failed:
                self._renew(sorted({one.topic for one in open_}), end)
            failed = {one: error for one, error in failed.items() if one not in open_}
            for one, answer in self._attempt(open_, _half(end), isolation).items():
                (failed if isinstance(answer, KafkaError) else answers)[one] = answer
            open_ = {one: open_[one] for one, error in failed.items() if one in open_ and error.code() in _MOVED}
            if not open_:
                break
        errors |= self._reasons(failed, _OFFSETS, some=bool(answers))
        return answers

    def _attempt(
        self, specs: Mapping[KafkaPartition, OffsetSpec], limit: float, isolation: IsolationLevel
    ) -> dict[KafkaPartition, ListOffsetsResultInfo | KafkaError]:
        rest, end = iter(specs), time.monotonic() + limit
        futures: dict[AskedPartition, Future[ListOffsetsResultInfo]] = {}
        with self._failures(_OFFSETS):
            while chunk := list(islice(rest, _PARTITIONS_AT_ONCE)):
                asked = {AskedPartition(*one): specs[one] for one in chunk}
                futures |= self._client.list_offsets(asked, isolation_level=isolation, request_timeout=limit)
            answers = {(one.topic, one.partition): _answer(future, end) for one, future in futures.items()}
        # If one of several brokers does not answer, librdkafka 2.16 returns this offset for its partitions, no error
        lost = KafkaError(KafkaError._TRANSPORT)
        return {
            KafkaPartition(*one): lost if getattr(answer, "offset", 0) == OFFSET_INVALID else answer
            for one, answer in answers.items()
        }

    def _reasons(self, failed: Mapping[Any, KafkaError], what: str = "", *, some: bool = True) -> dict[Any, str]:
        """The reason of each error. Raises the first one if no broker has answered: not even `some` of the requests."""
        self._client.poll(0)  # reports the errors of connections
        if failed and not some and all(error.code() < 0 for error in failed.values()):
            raise self._kafka.error(what, next(iter(failed.values())))
        texts: dict[tuple[int, str], str] = {}
        for error in failed.values():
            key = error.code(), error.str()
            texts[key] = texts.get(key) or _CAUSES.get(error.code()) or self._kafka.reason(error)
        return {one: texts[error.code(), error.str()] for one, error in failed.items()}


@dataclass(slots=True)
class _Search:
    """The search for the time of one offset: no record up to it has the timestamp of `high` or a later one.

    `low` is a record up to the offset, `high.offset` that of the first record from the time of `high` on.
    """

    offset: int
    low: LoggedRecord
    high: LoggedRecord
    rounds: int = 0

    def __post_init__(self) -> None:
        """The rounds that bisecting needs to reach a second, and two for guesses that do not halve."""
        top = min(self.high.timestamp, max(_LIKELY_TIME, self.low.timestamp))
        self.rounds = min(_MOST_ROUNDS, ((top - self.low.timestamp) // _SECOND).bit_length() + 3)

    @property
    def ended(self) -> bool:
        near = self.high.timestamp - self.low.timestamp <= _SECOND
        return near or self.low.offset >= self.offset or self.rounds == 0

    def probe(self) -> int:
        """The next time to ask for: half a record before the offset, but near enough to reach a second by bisecting."""
        self.rounds -= 1
        low, high, reach = self.low, self.high, _SECOND << self.rounds
        share = 2 * (self.offset - low.offset) - 1, 2 * max(1, high.offset - low.offset)
        guess = low.timestamp + (high.timestamp - low.timestamp) * share[0] // share[1]
        guess = min(max(guess, high.timestamp - reach), low.timestamp + reach)
        if low.timestamp < _LIKELY_TIME < guess:
            return _LIKELY_TIME
        return min(max(guess, low.timestamp + 1), high.timestamp - 1)

    def add(self, asked: int, record: LoggedRecord | None) -> None:
        if record is None or record.offset > self.offset:
            self.high = LoggedRecord(self.high.offset if record is None else record.offset, asked)
        else:
            self.low = record


def _answer(future: Future[Any], until: float) -> Any:
    """The result, or the error of the library."""
    try:
        return future.result(max(0, until + 1 - time.monotonic()))
    except KafkaException as failed:
        return failed.args[0]
    except TimeoutError:
        return KafkaError(KafkaError._TIMED_OUT)
    except RuntimeError:  # the answer has fewer or other parts than the request
        return KafkaError(KafkaError._BAD_MSG)


def _attempts(until: float) -> Iterator[None]:
    """Return from a pause before each attempt but the first, until the time is over."""
    pause = _PAUSE
    while True:
        yield
        if time.monotonic() + pause > until:
            return
        time.sleep(pause)
        pause *= 2


def _half(until: float) -> float:
    """Half of the seconds that are left: a broker that has died leaves time for others."""
    return _left(until) / 2


def _left(until: float) -> float:
    """The seconds that are left, as librdkafka accepts them."""
    return min(max(until - time.monotonic(), _PAUSE), _LONGEST_TIMEOUT)
