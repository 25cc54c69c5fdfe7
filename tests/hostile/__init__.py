"""Hostile inputs to whole commands, each in a separate process with limits for memory and time."""
