"""Stores what later reconciliations need in a database: ownership, offset changes, revisions and leases."""
