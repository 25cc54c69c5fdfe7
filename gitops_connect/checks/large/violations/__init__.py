"""Violations that tasks find: counts for each rule, the first ones in words, and all of them in a file."""
