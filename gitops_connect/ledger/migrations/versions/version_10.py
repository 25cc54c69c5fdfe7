"""The offset of each partition, and how far all of them have moved."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Text

revision = "10"
down_revision = "9"


def upgrade() -> None:
    op.add_column("offset_positions", Column("partitions", Text, nullable=False, server_default="{}"))
    op.add_column("offset_positions", Column("distance", Double, nullable=False, server_default="0"))
