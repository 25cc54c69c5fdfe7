"""Cycles that die: killed at each step in turn, their ledger full or gone, their worker killed, two of them at once."""
