"""Deterministic simulation: replicas of the daemon, a Connect cluster, a repository and people in simulated time."""
