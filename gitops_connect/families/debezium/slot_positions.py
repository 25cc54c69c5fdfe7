"""What the replication slot of Debezium for PostgreSQL means for new offsets. `facts.yaml` names the sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from gitops_connect.families.debezium import is_in_snapshot, write_pg_lsn
from gitops_connect.families.family import Config, class_names
from gitops_connect.model.differences import Direction, Move, ResumeAspect, ResumeLine
from gitops_connect.model.observed_state import ReplicationSlot
from gitops_connect.model.offsets import OffsetText

_CLASS_NAMES = class_names("io.debezium.connector.postgresql.PostgresConnector")


def slot_name(config: Config) -> str | None:
    """The name of the slot (`PostgresConnectorConfig.SLOT_NAME`); None for other classes."""
    return config.get("slot.name", "debezium") if config.get("connector.class") in _CLASS_NAMES else None


def slot_lines(slot: ReplicationSlot, moves: Iterable[Move]) -> tuple[ResumeLine, ...]:
    """What the slot was when it was read, and what PostgreSQL does with the new offsets. It was read before the stop.

    From then on, the slot only moves forward: what PostgreSQL does not send, it will not send later either.
    """
    lines = [ResumeLine(ResumeAspect.SLOT, text) for text in dict.fromkeys(_text(slot, move) for move in moves)]
    if slot.taken_by_others:
        why = "is active although the connector does not run: another client uses it, and the connector cannot start"
        lines.append(ResumeLine(ResumeAspect.SLOT, f"{slot.name} {why}"))
    return tuple(lines)


def _text(slot: ReplicationSlot, move: Move) -> str:
    if slot.unread:
        return f"could not be read: {slot.unread}"
    if not slot.exists:
        if move.declared is None:
            return f"{slot.name} does not exist: the connector creates it, and changes before that are not sent"
        fails = "the task fails (`no longer available on the server`)"
        return f"{slot.name} does not exist: {fails}, or with `snapshot.mode: when_needed` takes a new snapshot"
    if slot.confirmed is None or slot.restart is None:
        return f"{slot.name} retains no WAL: PostgreSQL has invalidated it, or it is not a logical slot"
    words = f"{slot.name} is {'active and ' if slot.active else ''}confirmed up to {write_pg_lsn(slot.confirmed)}"
    position = _position(move.declared)
    return words if position is None else f"{words}; {'; '.join(_consequences(slot, slot.confirmed, move, position))}"


def _consequences(slot: ReplicationSlot, confirmed: int, move: Move, position: int) -> Iterator[str]:
    new = f"the new offset {write_pg_lsn(position)}"
    if position < confirmed:
        between = f"the {confirmed - position:,} bytes of WAL between"
        yield f"{new} is before it: PostgreSQL does not send transactions again that ended in {between}"
        if slot.restart is not None and position < slot.restart:
            yield f"it is also before the restart_lsn {write_pg_lsn(slot.restart)}"
        return
    unless = ""
    if slot.active and move.direction is not Direction.FORWARD:
        unless = ", unless the connector confirms more before it is stopped"
    yield f"{new} is not before it: PostgreSQL sends each transaction that ends after the new offset{unless}"
    if slot.end is not None and position > slot.end:
        end = f"the end of the WAL {write_pg_lsn(slot.end)}"
        yield f"it is after {end}: no new rows are delivered until the WAL reaches it"


def _position(offset: OffsetText | None) -> int | None:
    """The first position (`PostgresStreamingChangeEventSource.execute`); None if the connector takes a snapshot."""
    found: Mapping[str, object] = json.loads(offset) if offset is not None else {}
    position = found.get("lsn") if found.get("lsn_proc") is None else found["lsn_proc"]
    return position if type(position) is int and not is_in_snapshot(found) else None
