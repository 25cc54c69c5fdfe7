"""Indexes, so that neither a plan nor a page reads every offset change that was ever applied."""

from __future__ import annotations

from alembic import op

revision = "11"
down_revision = "10"


def upgrade() -> None:
    op.create_index("operations_by_time", "operations", ["cluster", "since"])
    op.create_index("operations_by_state", "operations", ["cluster", "state", "since"])
    op.create_index("operations_by_connector", "operations", ["cluster", "connector", "since"])
    op.create_index("operations_by_kind", "operations", ["cluster", "kind"])
