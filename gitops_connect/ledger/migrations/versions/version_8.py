"""Decisions about rollouts, and several approvals of one plan."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, String, Text

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
    op.rename_table("approvals", "earlier_approvals")
    op.create_table(
        "approvals",
        Column("pull_request", Integer, primary_key=True, autoincrement=False),
        Column("digest", String, primary_key=True),
        Column("who", String, primary_key=True),
        Column("at", String(27), nullable=False),
        Column("place", String, nullable=False),
        Column("plan", Text, nullable=False),
    )
    op.execute("INSERT INTO approvals SELECT pull_request, digest, who, at, place, plan FROM earlier_approvals")
    op.drop_table("earlier_approvals")
