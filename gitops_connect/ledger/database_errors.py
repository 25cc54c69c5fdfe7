"""Translates errors of the database and its driver into LedgerBusy or LedgerUnusable, with place, cause and fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from gitops_connect.errors import GitopsConnectError, LedgerBusy, LedgerUnusable

_PRIMARY_CODE = 0xFF
"""SQLite's extended result codes contain the primary code in their lowest byte."""

_DAMAGED = (
    "is damaged, or is not a database; restore a backup, or move the file away to start a new ledger"
    " (docs/how-to/back-up-and-restore-the-ledger.md describes the consequences)"
)
_SQLITE_FAULTS = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "cannot grow because the disk is full; free some space and run again (no write is incomplete)",
    sqlite3.SQLITE_IOERR: "cannot be read or written because of a disk error; check the disk and its free space",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its directory writable for this user",
    sqlite3.SQLITE_PERM: "cannot be opened; give this user access to the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened or created; give this user access to the file and its directory",
}


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise LedgerBusy or LedgerUnusable instead of a database error; `place` names the ledger, without a password."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _explain(error, place) from error


def _explain(error: SQLAlchemyError, place: str) -> GitopsConnectError:
    # The text of `error` quotes the statement and its values; the text of the driver's error does not.
    cause = getattr(error, "orig", None) or error
    if isinstance(error, IntegrityError):
        return LedgerBusy(f"the ledger {place}: another process wrote the same record at the same moment; run again")
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return LedgerUnusable(f"the ledger {place} cannot be used: {cause}")
    if code & _PRIMARY_CODE in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusy(f"the ledger {place} is locked by another process; wait until it ends")
    known = _SQLITE_FAULTS.get(code & _PRIMARY_CODE, "cannot be used")
    return LedgerUnusable(f"the ledger {place} {known} ({cause})")
