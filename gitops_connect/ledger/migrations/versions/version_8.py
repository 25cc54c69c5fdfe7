"""Decisions about rollouts."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, Text

revision = "8"
down_revision = "7"


def upgrade() -> None:
    op.create_table(
        "rollout_decisions",
        Column("cluster", String, primary_key=True),
        Column("revision", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("choice", String, nullable=False),
        Column("who", String, nullable=False),
        Column("since", String(27), nullable=False),
        Column("reason", Text, nullable=False),
    )
