"""What a daemon that runs for months records, and leases with a fencing number, which rises with each holder."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Integer, String, Text

revision = "5"
down_revision = "4"


def upgrade() -> None:
    _add_what_was_observed()
    _add_what_was_decided()
    _replace_leases()


def _add_what_was_observed() -> None:
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
    )
    op.create_table(
        "offset_positions",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("digest", String, nullable=False),
        Column("since", String(27), nullable=False),
    )
    op.create_table(
        "steps",
        Column("id", Integer, primary_key=True),
        Column("cluster", String, nullable=False),
        Column("at", String(27), nullable=False),
        Column("revision", String, nullable=False),
        Column("author", String, nullable=False),
        Column("connector", String, nullable=False),
        Column("action", String, nullable=False),
        Column("operation", String, nullable=False),
        Column("result", String, nullable=False),
        Column("reason", Text, nullable=False),
        Column("message", Text, nullable=False),
        Column("seconds", Double, nullable=False),
    )


def _add_what_was_decided() -> None:
    op.create_table(
        "config_histories",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("history", Text, nullable=False),
    )
    op.create_table(
        "suspensions",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("who", String, nullable=False),
        Column("since", String(27), nullable=False),
        Column("reason", Text, nullable=False),
    )
    op.create_table(
        "stopped_connectors",
        Column("cluster", String, primary_key=True),
        Column("connector", String, primary_key=True),
        Column("returns_to", String, nullable=False),
    )


def _replace_leases() -> None:
    """A process of an earlier release that still runs can then change nothing more."""
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
