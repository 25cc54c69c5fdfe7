"""Access to the database: its place, how a transaction begins, and one connection for each use.

SQLite keeps its rollback journal and is not switched to WAL. WAL needs memory that all processes share, which network
disks do not have. Its readers must be able to write files next to the database, which a plan with a read-only ledger
cannot do. A backup would be three files. A ledger is written a few times per step, so readers and writers rarely
conflict.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from gitops_connect.errors import GitopsConnectError, LedgerBusy, LedgerUnusable, UsageError
from gitops_connect.safe_files import free_space, make_private, without_space

CONNECT_TIMEOUT = 10
"""Seconds until a database server that does not answer is given up."""
STATEMENT_TIMEOUT = 60
"""Seconds that PostgreSQL may work on one statement, including the wait for locks."""
SILENCE = 30
"""Seconds until a PostgreSQL whose machine or network no longer answers is given up."""
_CHECK_EVERY = 1000
"""Instructions of SQLite between two looks at the clock."""
_LOWER_TIMEOUT = """\
SELECT set_config('statement_timeout', :limit, true) FROM pg_settings
 WHERE name = 'statement_timeout' AND CAST(setting AS integer) NOT BETWEEN 1 AND CAST(:limit AS integer)"""
"""In milliseconds, until the transaction ends."""
_CANCELED = "57014"
"""The SQLSTATE of a statement that PostgreSQL has ended at its timeout."""
_PAGE = 4096
"""Bytes: the least that SQLite writes to its journal."""
_WRITES = "gitops_connect_writes"
_ALONE = "gitops_connect_alone"
"""The option of a statement that no transaction may contain."""
_SIZES = ("page_count", "freelist_count", "page_size")
_WORTH_IT = 64 * 1024**2
"""Bytes that must be free before a file is rewritten."""
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

Write = Callable[[], AbstractContextManager[Connection]]
"""Begins a transaction that writes."""


@dataclass(eq=False)
class _SharedTransaction:
    """The transaction of a block `Database.together`. It begins with the first write of the block."""

    database: Database
    end: ExitStack
    connection: Connection | None = None


_SHARED: ContextVar[_SharedTransaction | None] = ContextVar("shared transaction", default=None)
"""That of this thread."""


class Database:
    """A database by its URL. `timeout` is how long (seconds) SQLite waits for the lock of another process."""

    def __init__(self, url: str, directory: Path, *, timeout: float = 10.0) -> None:
        """Prepare the access, without a connection. Raises UsageError for a URL that cannot be used, LedgerUnusable
        for a file that every user can access and that belongs to another user.
        """
        parsed = _parse(url)
        self.file = _file(parsed, directory) if parsed.get_backend_name() == "sqlite" else None
        self._make_private()
        self.place = str(self.file) if self.file else parsed.set(query={}).render_as_string(hide_password=True)
        if self.file:
            parsed = parsed.set(database=str(self.file))
        try:
            engine = create_engine(
                parsed,
                poolclass=NullPool,
                connect_args={"timeout": timeout} if self.file else _limits(parsed),
                hide_parameters=True,
            )
        except (ImportError, NoSuchModuleError) as error:
            raise UsageError(f"[state] url: the database driver for {self.place} is not installed: {error}") from error
        if self.file:
            event.listen(engine, "connect", _set_up)
            event.listen(engine, "begin", _begin)
        self._readers = engine
        self._writers = engine.execution_options(**{_WRITES: True})

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state and changes nothing. Raises LedgerBusy or LedgerUnusable.

        In a block `together`, it also sees what the block has written.
        """
        shared = self._shared()
        if shared is None or shared.connection is None:
            with self._reading() as connection:
                yield connection
        else:
            with self._translated():
                yield shared.connection

    @contextmanager
    def read_within(self, seconds: float, way_out: str) -> Iterator[Connection]:
        """As `read`, in a transaction of its own, for a query that may read all rows of a large table.

        Raises LedgerUnusable with the `way_out` if the query takes longer.
        """
        with self._reading() as connection:
            if self.file:
                driver: Any = connection.connection.driver_connection
                end = time.monotonic() + seconds
                driver.set_progress_handler(lambda: time.monotonic() >= end, _CHECK_EVERY)
            else:
                connection.execute(text(_LOWER_TIMEOUT), {"limit": f"{seconds * 1000:.0f}"})
            try:
                yield connection
            except OperationalError as error:
                if not _is_timeout(error):
                    raise
                message = f"the ledger {self.place} did not answer a query within {seconds:g}s; {way_out}"
                raise LedgerUnusable(message) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is durable when the block ends, and rolled back if the block raises.

        On SQLite it holds the single write lock from the beginning, so that what it reads is still true when it writes.
        Raises LedgerBusy or LedgerUnusable.
        """
        if (shared := self._shared()) is None:
            with self._writing() as connection:
                yield connection
            return
        if shared.connection is None:
            shared.connection = shared.end.enter_context(self._writing())
        with self._translated():
            yield shared.connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """All writes of this thread in the block are one transaction: durable when it ends, rolled back if it raises.

        The block must not catch an error of a write, and not contain another such block. Without a write, there is no
        transaction.
        """
        with ExitStack() as end:
            token = _SHARED.set(_SharedTransaction(self, end))
            try:
                yield
            finally:
                _SHARED.reset(token)

    def _shared(self) -> _SharedTransaction | None:
        shared = _SHARED.get()
        return shared if shared is not None and shared.database is self else None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._require_directory()
        with self._translated(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self._require_directory()
        with self._translated(), self._writers.begin() as connection:
            yield connection

    def compact(self) -> bool:
        """Rewrite an SQLite file of which most is free, and return whether that was done. PostgreSQL does so itself.

        Nobody else can use the ledger meanwhile: a second for some hundred MiB. Raises LedgerBusy or LedgerUnusable.
        """
        if self.file is None:
            return False
        alone = self._readers.execution_options(**{_ALONE: True})
        with self._translated(), alone.connect() as connection:
            pages, free, size = (connection.exec_driver_sql(f"PRAGMA {one}").scalar_one() for one in _SIZES)
            has_room = free_space(self.file.parent).bytes >= 2 * pages * size  # others must not find a full disk
            is_worth_it = bool(has_room and free * size >= _WORTH_IT and 2 * free >= pages)
            if is_worth_it:
                connection.exec_driver_sql("VACUUM")
            return is_worth_it

    def close(self) -> None:
        self._readers.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise LedgerBusy or LedgerUnusable, which name the ledger without a password, instead of a database error."""
        try:
            yield
        except SQLAlchemyError as error:
            raise _explain(error, self.place, self.file) from error

    def _make_private(self) -> None:
        """Remove the permissions of other users from a SQLite file, and from what SQLite has left next to it."""
        try:
            make_private(*(Path(f"{self.file}{end}") for end in ("", "-journal", "-wal", "-shm") if self.file))
        except OSError as error:
            raise LedgerUnusable(f"the ledger is not private: {error.strerror}") from error

    def _require_directory(self) -> None:
        """Raise LedgerUnusable for a missing directory: SQLite reports it like missing access ("unable to open")."""
        if self.file and not self.file.parent.is_dir():
            raise LedgerUnusable(
                f"the ledger {self.file} cannot be opened: the directory {self.file.parent} does not exist;"
                " create it, or change [state] url"
            )


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:
        # The URL is not quoted: a URL with a small mistake may contain a password.
        raise UsageError(
            "[state] url: expected a database URL such as sqlite:///state.db or postgresql+psycopg://user@host/name"
        ) from error


def _limits(url: URL) -> dict[str, Any]:
    """How long a server may take, as parameters of the driver (psycopg: libpq's), unless the URL has them."""
    limits: dict[str, Any] = {"timeout": CONNECT_TIMEOUT}
    if url.get_driver_name() in ("psycopg", "psycopg2"):
        limits = {
            "connect_timeout": CONNECT_TIMEOUT,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT}s",
            "keepalives_idle": SILENCE // 3,
            "keepalives_interval": SILENCE // 3,
            "keepalives_count": 2,
            "tcp_user_timeout": SILENCE * 1000,
        }
    return {name: limit for name, limit in limits.items() if name not in url.query}


def _file(url: URL, directory: Path) -> Path:
    if url.query:
        raise UsageError("[state] url: a SQLite URL takes no parameters; remove the question mark and what follows")
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise UsageError(
            f"[state] url: expected the path of a file, as in sqlite:///state.db, found {url.database or 'none'};"
            " a ledger in memory would be lost when the process ends"
        )
    try:
        return directory / Path(url.database).expanduser()
    except RuntimeError as error:
        raise UsageError("[state] url: its path begins with the name of a user that does not exist") from error


def _set_up(connection: Any, _record: object) -> None:
    # The driver would begin transactions by itself, and only before some statements; `_begin` does it before all.
    connection.isolation_level = None
    # EXTRA is FULL, and the directory is also synchronised after the journal is removed. That removal is the commit:
    # without EXTRA, a power failure can restore the journal and undo a durable transaction.
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get(_ALONE, False):
        return
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _explain(error: SQLAlchemyError, place: str, file: Path | None) -> GitopsConnectError:
    # The text of `error` quotes the statement and its values; the text of the driver's error does not.
    cause = getattr(error, "orig", None) or error
    if isinstance(error, IntegrityError):
        return LedgerBusy(f"the ledger {place}: another process wrote the same record at the same moment; run again")
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None:
        return LedgerUnusable(f"the ledger {place} cannot be used: {cause}")
    if code & _PRIMARY_CODE in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusy(f"the ledger {place} is locked by another process; wait until it ends")
    if file and _is_full(code & _PRIMARY_CODE, file.parent):
        message = f"the ledger {place} {_SQLITE_FAULTS[sqlite3.SQLITE_FULL]} ({cause})"
        return without_space(LedgerUnusable, message, file.parent)
    known = _SQLITE_FAULTS.get(code & _PRIMARY_CODE, "cannot be used")
    return LedgerUnusable(f"the ledger {place} {known} ({cause})")


def _is_timeout(error: OperationalError) -> bool:
    is_interrupted = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    return is_interrupted or getattr(error.orig, "sqlstate", None) == _CANCELED


def _is_full(code: int, directory: Path) -> bool:
    """SQLite does not say so if its journal could not be created or written to the disk: then look at the disk."""
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        free = free_space(directory)
        return free.bytes < _PAGE or free.files == 0
    return code == sqlite3.SQLITE_FULL
