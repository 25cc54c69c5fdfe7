"""Reads one Connect cluster into `ObservedState`, in at most five calls however many connectors there are.

For up to 0.5 s after a new config, and while the group rebalances, a connector is UNASSIGNED or has no status, and the
target state that Kafka has stored is unknown. If a read finds such a connector, the read is repeated for some seconds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_connect.connect.capabilities import EXACTLY_ONCE
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exactly_once_answers import OF_KAFKA, support_shown_by
from gitops_connect.errors import ConnectRefused, GitopsConnectError, TopicTrackingDisabled, Unauthorized
from gitops_connect.families.registry import Registry
from gitops_connect.families.shapes import Shape, compare
from gitops_connect.model.active_topics import ReadTopics, TopicChange
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Direction
from gitops_connect.model.exactly_once import SUPPORT, ExactlyOnceSupport
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest, TopicName
from gitops_connect.model.observed_state import (
    ConnectorType,
    ObservedConnector,
    ObservedState,
    OffsetPosition,
    PartitionPosition,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import Offsets, offsets_digest
from gitops_connect.tracing.spans import in_trace

MAX_HELD = 16 * 1024 * 1024
"""Bytes of an answer with offsets. As Python values they take about six times as much."""
MOST_FOLLOWED = 256 * 1024
"""Characters of the offsets of a connector whose partitions are followed, about 2,500 partitions."""
_WITH_MOST = 64
"""The number of connectors of a cluster with so many partitions that are followed."""
_FURTHEST = 2**63
"""The longest distance between two offsets that is counted: a number from outside may have thousands of digits."""
NO_OFFSETS: Offsets = {}
PATIENCE = 5.0
"""Seconds. Longer than a restart takes; a connector that is in transit for longer is planned in its current state."""
_PAUSE = 0.25
_PROBES = 3
"""The number of classes with which the support of exactly-once sources is looked for."""
_REQUIRES = {SUPPORT: "required", "source.consumer.isolation.level": "read_committed"}
"""The second key is for MirrorMaker, which otherwise rejects the first one for another reason."""
_IN_TRANSIT = {WorkerState.UNASSIGNED, WorkerState.RESTARTING, WorkerState.DESTROYED}


def observe_at_rest(client: ConnectClient, expected: Collection[ConnectorName], clock: Clock) -> ObservedState:
    """Read until none of `expected` is in transit, or until the timeout; nearly always one read is enough."""
    until = clock.monotonic() + PATIENCE
    observed = observe(client, expected)
    while _in_transit(observed, expected) and clock.monotonic() < until:
        clock.sleep(_PAUSE)
        observed = observe(client, expected)
    versions = client.other_versions() | {observed.version}
    return replace(observed, gone=client.gone(_workers(observed)), version=min(versions), versions=versions)


def _workers(observed: ObservedState) -> frozenset[str]:
    connectors = observed.connectors.values()
    parts: list[ObservedConnector | TaskStatus] = [*connectors, *chain.from_iterable(one.tasks for one in connectors)]
    return frozenset(part.worker for part in parts if part.state is WorkerState.RUNNING)


def _in_transit(observed: ObservedState, expected: Collection[ConnectorName]) -> bool:
    seen = observed.connectors
    return any(name in observed.unknown or (name in seen and seen[name].state in _IN_TRANSIT) for name in expected)


def observe(client: ConnectClient, expected: Collection[ConnectorName]) -> ObservedState:
    """Read every connector of the cluster once.

    `expected` are the names that are needed: declared or managed. If the expanded list lacks one of them, the connector
    is absent; or it has no status yet and was left out (`ConnectorsResource.listConnectors`); or the worker is
    starting, and its answer may be incomplete. Only then more requests are sent to distinguish these cases. Raises what
    `ConnectClient` raises: a connector that cannot be read is never absent.
    """
    info = client.info()
    connectors, unknown = client.connectors()
    missing = frozenset(expected) - connectors.keys() - unknown
    if missing:
        absent = client.absent(missing)
        connectors, unknown = client.connectors()
        unknown |= missing - absent - connectors.keys()
    return ObservedState(client.cluster, info.version, connectors, unknown)


def observe_exactly_once(client: ConnectClient) -> ExactlyOnceSupport:
    """Whether the worker that answers supports exactly-once sources (`exactly.once.source.support`, KIP-618).

    No answer of Connect contains this. So a config that requires it is validated, of a source class and nothing else
    (`DistributedHerder.validateSourceConnectorExactlyOnceSupport`). Classes of Kafka come first: their validation
    connects to nothing. No document and no secret is part of the request. Raises nothing for an answer.
    """
    try:
        if not EXACTLY_ONCE.is_in(client.info().version):
            return ExactlyOnceSupport.NOT_ENABLED
        sources = {one.class_name for one in client.plugins() if one.type is ConnectorType.SOURCE}
    except GitopsConnectError:
        return ExactlyOnceSupport.UNKNOWN
    for name in sorted(sources, key=lambda name: (not name.startswith(OF_KAFKA), name))[:_PROBES]:
        with suppress(GitopsConnectError):  # this class tells nothing, and another one may
            verdict = client.validate(name, {"connector.class": name, "name": "gitops-connect", **_REQUIRES})
            if (found := support_shown_by(verdict, name)) is not ExactlyOnceSupport.UNKNOWN:
                return found
    return ExactlyOnceSupport.UNKNOWN


@dataclass(frozen=True, slots=True)
class ObservedOffsets:
    """The current offsets: `large` are those in files, and `unread` are the reasons why some could not be read."""

    current: Mapping[ConnectorName, Offsets]
    large: Mapping[ConnectorName, SavedOffsets]
    unread: Mapping[ConnectorName, str]


def observe_offsets(client: ConnectClient, names: Collection[ConnectorName], directory: Path) -> ObservedOffsets:
    """Read the offsets of these connectors, one request each. If they exceed `MAX_HELD`, they go into the directory.

    Raises OSError.
    """
    current, large, unread = {}, {}, {}
    for number, name in enumerate(names):
        try:
            found = client.save_offsets(name, directory / f"current-{number}.jsonl", MAX_HELD)
        except GitopsConnectError as error:
            unread[name] = f"the current offsets of its connector could not be read: {error}"
            continue
        if isinstance(found, SavedOffsets):
            large[name] = found
        else:
            current[name] = found
    return ObservedOffsets(current, large, unread)


def observe_topics(
    client: ConnectClient, names: Collection[ConnectorName]
) -> tuple[Mapping[ConnectorName, frozenset[TopicName]], Mapping[ConnectorName, ConnectRefused]]:
    """The active topics of these connectors, one request each, and the errors of those that could not be read.

    As many requests run in parallel as the client allows. Raises what concerns the whole cluster: its workers do not
    answer, reject the credentials, or do not track topics.
    """
    found, unread = {}, {}
    with client.threads() as pool:
        asked = {name: pool.submit(in_trace(client.active_topics), name) for name in names}
        try:
            for name, one in asked.items():
                try:
                    found[name] = one.result()
                except (TopicTrackingDisabled, Unauthorized):
                    raise
                except ConnectRefused as error:
                    unread[name] = error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found, unread


class TopicReads:
    """The active topics of one cluster as they were last read: a few requests a reconciliation read all in turn.

    They are kept in memory only. Used by one thread at a time.
    """

    def __init__(self) -> None:
        self._read: dict[ConnectorName, tuple[frozenset[TopicName], datetime]] = {}
        self._turns: dict[ConnectorName, int] = {}
        self._turn = 0
        self._reset: set[ConnectorName] = set()

    def after_reset(self, names: Iterable[ConnectorName]) -> None:
        """The topics of these connectors are not known until they are read again, before those of others."""
        self._reset.update(names)

    def read(
        self,
        client: ConnectClient,
        urgent: Collection[ConnectorName],
        others: Iterable[ConnectorName],
        limit: int,
        now: datetime,
    ) -> ReadTopics:
        """What is known of these connectors after at most `limit` requests: `urgent` first, then who waits longest."""
        self._turn += 1
        wanted = dict.fromkeys([*urgent, *others])
        first = self._reset.union(urgent)
        waiting = sorted(wanted, key=lambda name: (name not in first, self._turns.get(name, 0)))[:limit]
        self._turns = {name: turn for name, turn in self._turns.items() if name in wanted}
        self._turns |= dict.fromkeys(waiting, self._turn)
        try:
            found, errors = observe_topics(client, waiting) if waiting else ({}, {})
            unread = {name: str(error) for name, error in errors.items()}
        except GitopsConnectError as error:
            found, unread = {}, dict.fromkeys(waiting, str(error))
        changes = tuple(chain.from_iterable(self._changes(name, topics) for name, topics in sorted(found.items())))
        self._read = {name: one for name, one in self._read.items() if name in wanted}
        self._read |= {name: (topics, now) for name, topics in found.items()}
        self._reset &= wanted.keys() - found.keys()
        known = {name: topics for name, (topics, _) in self._read.items() if name not in unread.keys() | self._reset}
        return ReadTopics(known, unread, changes)

    def _changes(self, name: ConnectorName, topics: frozenset[TopicName]) -> Iterator[TopicChange]:
        if name in self._read:
            before, since = self._read[name]
            for topic in sorted(topics ^ before):
                yield TopicChange(name, topic, topic in topics, since)


def observe_positions(
    client: ConnectClient,
    connectors: Iterable[ObservedConnector],
    families: Registry,
    before: Mapping[ConnectorName, OffsetPosition],
    now: datetime,
) -> Mapping[ConnectorName, OffsetPosition]:
    """The current offsets of these connectors, and since when they are the same.

    One request for each that is RUNNING. If its offsets cannot be read, its position remains as it was. Of the others,
    only what is known of their partitions is kept.
    """
    positions, room = {}, MOST_FOLLOWED * _WITH_MOST
    with TemporaryDirectory(prefix="gitops-connect-") as directory:
        for one in connectors:
            known = before.get(one.name)
            if one.state is not WorkerState.RUNNING:
                if known is not None:
                    positions[one.name] = replace(known, digest=Digest(""))
                continue
            try:
                found = client.save_offsets(one.name, Path(directory, "current.jsonl"), MAX_HELD)
            except GitopsConnectError:
                if known is not None:
                    positions[one.name] = known
                continue
            if isinstance(found, SavedOffsets):
                current, offsets = found.digest, NO_OFFSETS
            else:
                current, offsets = offsets_digest(found), found
            size = sum(len(partition) + len(offset) for partition, offset in offsets.items())
            followed = offsets if size <= min(MOST_FOLLOWED, room) else NO_OFFSETS
            room -= size if followed else 0
            positions[one.name] = _position(known, current, followed, families.shape(one.config), now)
    return positions


def _position(
    known: OffsetPosition | None, current: Digest, offsets: Offsets, shape: Shape | None, now: datetime
) -> OffsetPosition:
    """The position after `known`; `offsets` are empty if the partitions are too many.

    If the connector did not run before, the time of each partition begins now, and no distance is added.
    """
    if known is None:
        known = OffsetPosition(Digest(""), now)
    if known.digest == current:
        return known
    before, was_followed = known.partitions, bool(known.partitions) or known.digest == offsets_digest(NO_OFFSETS)
    partitions, distance = {}, known.distance
    for partition, offset in offsets.items():
        earlier = before.get(partition)
        if earlier is not None and earlier.offset == offset:
            partitions[partition] = earlier if known.digest else replace(earlier, since=now)
            continue
        partitions[partition] = PartitionPosition(offset, now, was_followed)
        if earlier is not None and known.digest:
            direction, far = compare(shape, json.loads(earlier.offset), json.loads(offset))
            distance += min(far or 0, _FURTHEST) if direction is Direction.FORWARD else 0
    return OffsetPosition(current, now, partitions, distance)
