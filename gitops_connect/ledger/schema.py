"""The version of the ledger's schema, and its upgrade when an older ledger is opened."""

from __future__ import annotations

from sqlalchemy import Connection, func, inspect, select

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.tables import METADATA, PROPERTIES, get_property, set_property

SCHEMA_VERSION = 7
"""The version of the tables in `tables.METADATA`: the number of the newest migration."""
_VERSION = "schema_version"
_UPGRADE_LOCK = 0x6C656467
"""The advisory lock of PostgreSQL that an upgrade holds: the word "ledg" in ASCII."""


def find_version(connection: Connection) -> int:
    """The version of the schema; 0 for an empty database.

    Raises LedgerUnusable if the database belongs to another program, or is newer than this gitops-connect.
    """
    tables = inspect(connection).get_table_names()
    if PROPERTIES.name not in tables:
        if tables:
            raise LedgerUnusable(
                f"the database {_place(connection)} contains other tables ({', '.join(sorted(tables)[:3])}) but no"
                " ledger; give the ledger a database of its own with [state] url"
            )
        return 0
    written = get_property(connection, _VERSION) or ""
    if not (written.isascii() and written.isdigit() and 0 < len(written) < 6 and int(written) > 0):
        raise LedgerUnusable(
            f"the ledger {_place(connection)} is damaged: table {PROPERTIES.name}, row {_VERSION}, column value:"
            " expected a whole number above 0; restore a backup"
        )
    version = int(written)
    if version > SCHEMA_VERSION:
        raise LedgerUnusable(
            f"the ledger {_place(connection)} has schema version {version}, but this gitops-connect supports"
            f" {SCHEMA_VERSION} at most; run the newer gitops-connect that upgraded it, or restore the backup from"
            " before the upgrade"
        )
    return version


def is_current(connection: Connection) -> bool:
    """True if there is nothing to upgrade."""
    return find_version(connection) == SCHEMA_VERSION


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest version, in the transaction of `connection`: completely or not at all.

    A new database gets the newest tables at once.
    """
    if connection.dialect.name == "postgresql":  # SQLite's transaction holds the lock of the whole database already
        connection.execute(select(func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
    version = find_version(connection)
    if version == 0:
        METADATA.create_all(connection)
    elif version < SCHEMA_VERSION:
        from gitops_connect.ledger.migrations.migrate import migrate  # noqa: PLC0415 - takes 0.1 s, and is rarely used

        migrate(connection, version)
    set_property(connection, _VERSION, str(SCHEMA_VERSION))


def _place(connection: Connection) -> str:
    return connection.engine.url.render_as_string(hide_password=True)
