"""Reads one Connect cluster into `ObservedState`, in at most five calls however many connectors there are.

For up to 0.5 s after a new config, and while the group rebalances, a connector is UNASSIGNED or has no status, and the
target state that Kafka has stored is unknown. If a read finds such a connector, the read is repeated for some seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectRefused, GitopsConnectError, Rejected, TopicTrackingDisabled, Unauthorized
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import (
    ObservedConnector,
    ObservedState,
    OffsetPosition,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import Offsets, offsets_digest
from gitops_connect.tracing.spans import in_trace

MAX_HELD = 16 * 1024 * 1024
"""Bytes of an answer with offsets. As Python values they take about six times as much."""
PATIENCE = 5.0
"""Seconds. Longer than a restart takes; a connector that is in transit for longer is planned in its current state."""
_PAUSE = 0.25
_NO_EXACTLY_ONCE = "does not have exactly-once source support enabled"
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


def has_exactly_once(client: ConnectClient, config: Mapping[str, str], sensitive: Iterable[str]) -> bool:
    """Whether the workers support exactly-once sources (`exactly.once.source.support`, KIP-618).

    No answer of Connect contains this. So this config, whose `sensitive` keys no message shows, is validated as one
    that requires it, and the error shows it. MirrorMaker checks its isolation level first.
    """
    required = {"exactly.once.support": "required", "source.consumer.isolation.level": "read_committed"}
    try:
        verdict = client.validate(config["connector.class"], {**config, **required}, sensitive=sensitive)
    except Rejected:
        return False
    return not any(_NO_EXACTLY_ONCE in text for text in verdict.errors.get("exactly.once.support", ()))


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
    with ThreadPoolExecutor(client.parallelism, thread_name_prefix="topics") as pool:
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


def must_move(desired: DesiredConnector, observed: ObservedConnector | None) -> bool:
    """Whether the connector is RUNNING, and its document limits how long its offsets may be the same."""
    return desired.offsets_move_within is not None and observed is not None and observed.state is WorkerState.RUNNING


def observe_positions(
    client: ConnectClient, names: Iterable[ConnectorName], before: Mapping[ConnectorName, OffsetPosition], now: datetime
) -> Mapping[ConnectorName, OffsetPosition]:
    """The current offsets of these connectors as digests, and since when they are the same.

    One request for each. If the offsets of a connector cannot be read, its position remains as it was.
    """
    positions = {}
    with TemporaryDirectory(prefix="gitops-connect-") as directory:
        for name in names:
            known = before.get(name)
            try:
                found = client.save_offsets(name, Path(directory, "current.jsonl"), MAX_HELD)
            except GitopsConnectError:
                if known is not None:
                    positions[name] = known
                continue
            current = found.digest if isinstance(found, SavedOffsets) else offsets_digest(found)
            positions[name] = known if known and known.digest == current else OffsetPosition(current, now)
    return positions
