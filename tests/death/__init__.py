"""Reconciliations with faults: killed at each step, with a deleted ledger, a killed worker, or two at once."""
