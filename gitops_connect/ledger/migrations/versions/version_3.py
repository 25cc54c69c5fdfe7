"""Large offset changes, whose offsets are stored in pieces."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, LargeBinary, String

revision = "3"
down_revision = "2"


def upgrade() -> None:
    op.add_column("operations", Column("entries", Integer))
    op.add_column("operations", Column("sent", Integer))
    op.create_table(
        "operation_pieces",
        Column("cluster", String, primary_key=True),
        Column("name", String, primary_key=True),
        Column("part", String, primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("entries", Integer, nullable=False),
        Column("content", LargeBinary, nullable=False),
    )
