"""The first tables: managed connectors, revisions, leases and properties.

No database is older, and a new database gets the newest tables at once. So this migration changes nothing.
"""

from __future__ import annotations

revision = "1"
down_revision = None


def upgrade() -> None:
    """Change nothing."""
