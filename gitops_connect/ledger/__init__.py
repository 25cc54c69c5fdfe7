"""Stores what later reconciliations need in a database: ownership, operations, revisions and leases."""
