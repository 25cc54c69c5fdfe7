"""Runs the migrations that an older ledger needs, in the transaction of the caller.

The version is `ledger_properties.schema_version`, and there is no table `alembic_version`: every release reads that
property, so that an older release also rejects a newer ledger, and two places cannot contradict each other.
"""

from __future__ import annotations

from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from `version` to the newest version. The caller records the new version."""
    newest_first = find_migrations().iterate_revisions("head", str(version))
    with Operations.context(MigrationContext.configure(connection)):
        for migration in reversed(list(newest_first)):
            migration.module.upgrade()


def find_migrations() -> ScriptDirectory:
    """All migrations. The name of each revision is the number of its version."""
    return ScriptDirectory(Path(__file__).parent)
