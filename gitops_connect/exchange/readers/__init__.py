"""Reads connectors from files of other tools, and finds out the format of a file. No side effects."""
