"""Leases with a fencing number, which rises with each holder, and a lease of the leader."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Integer, String

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """Replace the table `leases`. A process of an earlier release that still runs can then change nothing more."""
    op.drop_table("leases")
    op.create_table(
        "leases",
        Column("name", String, primary_key=True),
        Column("number", Integer, nullable=False),
        Column("token", String, nullable=False),
        Column("host", String, nullable=False),
        Column("place", String, nullable=False),
        Column("pid", Integer, nullable=False),
        Column("process_started", Double, nullable=False),
        Column("since", String(27), nullable=False),
        Column("expires", String(27), nullable=False),
    )
