"""Commits, process deaths, faults and manual requests in any order: each offset change takes effect once."""
