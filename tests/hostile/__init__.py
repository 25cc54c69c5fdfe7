"""Hostile inputs against whole commands, each in a process of its own with bounds for memory and time."""
