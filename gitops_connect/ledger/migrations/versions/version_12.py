"""The cause, approval and request of each step, and what an offset change did, or lacked, when it was sent."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, LargeBinary, String, Text

revision = "12"
down_revision = "11"


def upgrade() -> None:
    op.add_column("steps", Column("actor", String, nullable=False, server_default="unknown"))
    for name in ("who", "cause"):
        op.add_column("steps", Column(name, String, nullable=False, server_default=""))
    op.add_column("steps", Column("pull_request", Integer))
    for name, kind in (("approved_digest", String), ("approved_by", String), ("request", Text), ("answer", Text)):
        op.add_column("steps", Column(name, kind, nullable=False, server_default=""))
    op.execute("UPDATE steps SET actor = 'rollback' WHERE action = 'rollback'")
    automatic = "action = 'restart' AND reason LIKE 'automatic restart %'"
    op.execute(f"UPDATE steps SET actor = 'automatic-restart' WHERE {automatic}")  # noqa: S608 - our own names
    op.create_index("steps_by_cluster", "steps", ["cluster", "id"])
    op.create_index("steps_by_connector", "steps", ["cluster", "connector", "id"])
    op.create_index("steps_by_person", "steps", ["who", "id"])
    op.create_index("steps_by_revision", "steps", ["cluster", "revision"])
    op.add_column("operations", Column("lacks", Text, nullable=False, server_default="[]"))
    op.add_column("operations", Column("effect", LargeBinary))
