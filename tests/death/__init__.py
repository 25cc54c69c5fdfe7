"""Reconciliations with faults: killed at each step, with a full or deleted ledger, a killed worker, or two at once."""
