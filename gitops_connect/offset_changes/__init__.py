"""Knows, checks and records the offset changes of a reconciliation."""
