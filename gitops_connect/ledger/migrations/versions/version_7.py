"""The sources of the secrets that were last applied."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "7"
down_revision = "6"


def upgrade() -> None:
    op.add_column("ownership", Column("secret_references", Text, nullable=False, server_default="{}"))
