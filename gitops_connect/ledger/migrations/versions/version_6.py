"""The plans that pull requests have shown, and their approvals."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, String, Text

revision = "6"
down_revision = "5"


def upgrade() -> None:
    op.create_table(
        "reviewed_plans",
        Column("pull_request", Integer, primary_key=True, autoincrement=False),
        Column("purpose", String, primary_key=True),
        Column("digest", String, nullable=False),
        Column("at", String(27), nullable=False),
        Column("plan", Text, nullable=False),
    )
    op.create_table(
        "approvals",
        Column("pull_request", Integer, primary_key=True, autoincrement=False),
        Column("digest", String, primary_key=True),
        Column("who", String, nullable=False),
        Column("at", String(27), nullable=False),
        Column("place", String, nullable=False),
        Column("plan", Text, nullable=False),
    )
