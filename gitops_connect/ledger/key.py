"""The key of every keyed digest, and the check that the key has not changed.

Digests made with another key differ: every secret would seem changed, and be sent again. So a ledger stores a
fingerprint of its key, and rejects another key.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from sqlalchemy import Connection

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.schema import check_rows, is_current, upgrade
from gitops_connect.ledger.tables import get_property, set_property
from gitops_connect.model.canonical import keyed_digest
from gitops_connect.safe_files import make_private, read_text

_LENGTH = 32
_SHORTEST = 16
FINGERPRINT = "key_fingerprint"
"""The property that stores the fingerprint."""


def prepare(database: Database, given: bytes | None) -> bytes:
    """Bring the schema up to date and return the key: the given key, or the key in the file, created if missing.

    A ledger that is up to date is only read. Raises UsageError, LedgerUnusable or LedgerBusy.
    """
    _require(database, given)
    with database.read() as connection:
        known = get_property(connection, FINGERPRINT) if is_current(connection) else None
        if known is not None:
            check_rows(connection, database.place)
    if known is None:
        # The database's write lock also prevents two processes from creating two keys.
        with database.write() as connection:
            return _prepare_locked(connection, database, given)
    key = given or load_key(_key_file(database))
    _compare(key, known, database)
    return key


def _prepare_locked(connection: Connection, database: Database, given: bytes | None) -> bytes:
    upgrade(connection)
    check_rows(connection, database.place)
    known = get_property(connection, FINGERPRINT)
    file = None if given else _key_file(database)
    if file and known is None and not file.exists():
        _create_key(file)
    key = given or load_key(_key_file(database))
    if known is None:
        set_property(connection, FINGERPRINT, _fingerprint(key))
    else:
        _compare(key, known, database)
    return key


def _require(database: Database, given: bytes | None) -> None:
    if given is None and database.file is None:
        raise UsageError(
            f"the ledger {database.place} is not a file, so its key cannot be stored next to it;"
            ' set [state] key = {env = "NAME"} or {file = "PATH"}'
        )
    if given is not None and len(given) < _SHORTEST:
        raise UsageError(f"[state] key: expected at least {_SHORTEST} bytes that cannot be guessed, found {len(given)}")


def _key_file(database: Database) -> Path:
    return Path(f"{database.place}.key")


def _fingerprint(key: bytes) -> str:
    return keyed_digest(key, "gitops-connect ledger")


def _compare(key: bytes, known: str, database: Database) -> None:
    if _fingerprint(key) != known:
        raise LedgerUnusable(
            f"the ledger {database.place} was written with a different key: restore the earlier [state] key,"
            f" or the file {database.place}.key, or start with a new key as docs/reference/ledger.md describes"
        )


def load_key(file: Path) -> bytes:
    """Read a key file. Raises LedgerUnusable if it is missing, damaged, or accessible to every user of the machine."""
    try:
        # The group may read the file: volumes of a Kubernetes pod with `fsGroup` add that permission on every start.
        if file.stat().st_mode & stat.S_IRWXO:
            raise LedgerUnusable(f"the key {file} can be read by every user of this machine; run chmod 600 on it")
        make_private(file)
        key = bytes.fromhex(read_text(file).strip())
    except FileNotFoundError as error:
        raise LedgerUnusable(
            f"the key {file} is missing, and the ledger was written with it; restore it from the backup,"
            " or start with a new key as docs/reference/ledger.md describes"
        ) from error
    except OSError as error:
        raise LedgerUnusable(f"cannot read the key {file}: {error.strerror}; give this user access to it") from error
    except ValueError as error:
        raise LedgerUnusable(_damaged(file)) from error
    if len(key) != _LENGTH:
        raise LedgerUnusable(_damaged(file))
    return key


def _damaged(file: Path) -> str:
    return f"the key {file} is damaged: expected {2 * _LENGTH} hex digits; restore it from the backup"


def _create_key(file: Path) -> None:
    """Create a key file atomically, readable by its owner only."""
    aside = Path(f"{file}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as writer:
            writer.write(secrets.token_hex(_LENGTH) + "\n")
            writer.flush()
            os.fsync(writer.fileno())
        aside.replace(file)
        _synchronise(file.parent)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise LedgerUnusable(
            f"cannot write the key {file}: {error.strerror}; check the directory and its disk"
        ) from error


def _synchronise(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
