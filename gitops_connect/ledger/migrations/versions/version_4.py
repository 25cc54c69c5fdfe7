"""Automatic and requested restarts."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, String

revision = "4"
down_revision = "3"


def upgrade() -> None:
    op.create_table(
        "restarts",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("number", Integer, nullable=False),
        Column("last", String(27), nullable=False),
    )
    op.create_table(
        "restart_requests",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("kind", String, primary_key=True),
        Column("id", String, nullable=False),
    )
