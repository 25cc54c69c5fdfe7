"""Reads replication slots from the PostgreSQL servers that the settings name: one query for each server.

`pg_replication_slots` and the functions of the query need no privilege, only a role that may connect. This module needs
the extra `postgresql`: `runtime.open_runtime` checks that before.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Timer
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from gitops_connect.errors import UsageError
from gitops_connect.model.masking import mask
from gitops_connect.model.observed_state import ReplicationSlot
from gitops_connect.settings.sections import DatabaseSettings

TIMEOUT = 5
"""Seconds for a connection to each address of the server, and for the query: a plan must not wait long for it."""
_AT_ONCE = 8
_LONGEST_REASON = 200
_NAME = re.compile(r"[a-z0-9_]{1,63}")
"""`ReplicationSlotValidateName` of PostgreSQL."""
_QUERY = """
SELECT slot_name::text, active, restart_lsn - '0/0', confirmed_flush_lsn - '0/0', CASE
  WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn()
  END - '0/0'
FROM pg_catalog.pg_replication_slots WHERE slot_name = ANY(%s)"""
_OPTIONS = f"-c default_transaction_read_only=on -c statement_timeout={TIMEOUT}s"
_NO_NAME = "`slot.name` is not the name of a slot: a worker may replace a placeholder, or it is a secret"
_NO_URL = "url is not valid: expected a connection URI of PostgreSQL, such as postgresql://user@host/database"


def read_slots(
    wanted: Mapping[str, Collection[str]], databases: Mapping[str, DatabaseSettings]
) -> Iterator[ReplicationSlot]:
    """The slots of these names of each database. Raises nothing: a slot that could not be read says why."""
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slots") as pool:
        for slots in pool.map(lambda one: _read(one, databases[one], wanted[one]), wanted):
            yield from slots.values()


def _read(database: str, settings: DatabaseSettings, names: Collection[str]) -> Mapping[str, ReplicationSlot]:
    valid = [name for name in names if _NAME.fullmatch(name)]
    found = {name: ReplicationSlot(database, name, unread=_NO_NAME) for name in names}
    found |= {name: ReplicationSlot(database, name, exists=False) for name in valid}
    secrets = frozenset[str]()
    try:
        url = settings.url.read()
        secrets = _secrets(url)
        found |= {row[0]: _slot(database, row) for row in (_rows(url, valid) if valid else ())}
    except (UsageError, psycopg.Error, OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        reason = mask(next(iter(str(error).splitlines()), type(error).__name__), secrets)[:_LONGEST_REASON]
        found |= {name: ReplicationSlot(database, name, unread=f"database {database}: {reason}") for name in valid}
    return found


def _slot(database: str, row: tuple[Any, ...]) -> ReplicationSlot:
    name, active, *positions = row
    restart, confirmed, end = (None if one is None else int(one) for one in positions)
    return ReplicationSlot(database, name, confirmed=confirmed, restart=restart, end=end, active=active)


def _secrets(url: str) -> frozenset[str]:
    """The password. Raises UsageError for what is not a URL: libpq's own message quotes parts of it."""
    try:
        return frozenset({str(conninfo_to_dict(url).get("password") or "")} - {""})
    except psycopg.Error:
        raise UsageError(_NO_URL) from None


def _rows(url: str, names: Collection[str]) -> list[tuple[Any, ...]]:
    """Raises psycopg.Error."""
    with (
        psycopg.connect(
            url, connect_timeout=TIMEOUT, options=_OPTIONS, application_name="gitops-connect"
        ) as connection,
        _cut_after(TIMEOUT + 1, connection),
    ):
        return connection.execute(_QUERY, [list(names)]).fetchmany(len(names))


@contextmanager
def _cut_after(seconds: float, connection: psycopg.Connection[Any]) -> Iterator[None]:
    """End the connection if the block takes longer: `statement_timeout` needs a server process that is not stopped."""
    with closing(socket.socket(fileno=os.dup(connection.fileno()))) as copy:
        timer = Timer(seconds, partial(_cut, copy))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):  # the query ended at the same moment
        sock.shutdown(socket.SHUT_RDWR)
