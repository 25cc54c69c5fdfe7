"""Ledgers for tests."""
