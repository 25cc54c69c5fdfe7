"""Several conditions `Warning` of one connector."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, Text

revision = "9"
down_revision = "8"


def upgrade() -> None:
    """Copy the conditions: no database changes a primary key in the same way. Warnings are found again."""
    op.rename_table("conditions", "conditions_before_9")
    op.create_table(
        "conditions",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("type", String, primary_key=True),
        Column("status", String, nullable=False),
        Column("reason", String, nullable=False),
        Column("message", Text, nullable=False),
        Column("since", String(27), nullable=False),
        Column("revision", String, nullable=False),
        Column("request", String, primary_key=True),
    )
    op.execute(
        "INSERT INTO conditions (cluster, connector, type, status, reason, message, since, revision, request)"
        " SELECT cluster, connector, type, status, reason, message, since, revision, '' FROM conditions_before_9"
        " WHERE type != 'Warning'"
    )
    op.drop_table("conditions_before_9")
