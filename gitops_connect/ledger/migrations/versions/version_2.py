"""Offset changes, and what happens to the offsets of a managed connector when it is deleted."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, Integer, LargeBinary, String, Text

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.add_column("ownership", Column("on_delete", String, nullable=False, server_default="keep"))
    op.create_table(
        "operations",
        Column("cluster", String, primary_key=True),
        Column("name", String, primary_key=True),
        Column("connector", String, nullable=False),
        Column("kind", String, nullable=False),
        Column("state", String, nullable=False),
        Column("digest", String),
        Column("revision", String, nullable=False),
        Column("since", String(27), nullable=False),
        Column("failures", Integer, nullable=False),
        Column("final", Boolean, nullable=False),
        Column("message", Text, nullable=False),
        Column("warning", Text, nullable=False),
        Column("digest_before", String),
        Column("digest_after", String),
        Column("acknowledged", Text, nullable=False),
        Column("declared", LargeBinary),
        Column("snapshot", LargeBinary),
    )
