"""Violations that tasks find: counts for each rule, the first ones with their lines, and all of them in a file."""
