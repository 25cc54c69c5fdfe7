"""Reads the current offsets of a connector again and again, for `offsets get --watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import NotFound, UsageError, Waiting
from gitops_connect.model.clock import Clock
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import Offsets
from gitops_connect.offset_changes.subject import Note, read_current

Read = tuple[datetime, float, Offsets]
"""When the offsets were read, the seconds since they were read before, and the offsets."""


def watch(read: Callable[[], Offsets], interval: float, clock: Clock, note: Note) -> Iterator[Read]:
    """What `read` returns every `interval` seconds, without an end. Notes say when the workers do not answer.

    Raises what `read` raises, unless a retry can help.
    """
    before, is_answering = clock.monotonic(), True
    while True:
        try:
            found = read()
        except Waiting as error:
            if is_answering:
                note(f"{error}; trying again")
            is_answering = False
        else:
            if not is_answering:
                note("the cluster answers again")
            now, is_answering = clock.monotonic(), True
            yield clock.now(), now - before, found
            before = now
        clock.sleep(interval)


def read_watched(client: ConnectClient, name: ConnectorName, directory: Path) -> Offsets:
    """The current offsets. Raises NotFound if the connector was deleted, and UsageError if they are too many.

    A worker that starts does not know the connector yet, so that a second request has to confirm its absence.
    """
    try:
        found = read_current(client, name, directory)
    except NotFound as error:
        if client.absent(frozenset({name})):
            raise NotFound(f"connector {name!r} was deleted from cluster {client.cluster}") from error
        raise Waiting(str(error)) from error
    if isinstance(found, SavedOffsets):
        raise UsageError(f"{found.entries:,} offsets are too many for --watch; save them with --save FILE.jsonl")
    return found
