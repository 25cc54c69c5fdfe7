"""Alembic's migrations of the ledger, one module in `versions` for each version of the schema."""
