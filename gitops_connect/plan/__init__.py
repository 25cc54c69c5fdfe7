"""Computes a plan from the desired and the observed state, as a pure function."""
